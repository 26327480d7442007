"""Where `ghx-twin` starts."""

from importlib.metadata import version

from cyclopts import App

app = App(
    name="ghx-twin",
    help="An embedded, GitHub-compatible server with private worlds for tests and agents.",
    version=lambda: version("ghx-bench"),
    help_format="plaintext",  # the default loads a Markdown parser, a quarter of the time `--help` takes
)


def main() -> None:
    """Run the command that the arguments of this process name."""
    app()
