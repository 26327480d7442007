"""Where `ghx` starts; on an agent's critical path, so it loads only what the one command needs."""

from importlib.metadata import version

from cyclopts import App

app = App(
    name="ghx",
    help="Typed GitHub operations for AI agents: one call in, one JSON envelope out.",
    version=lambda: version("ghx-bench"),
    help_format="plaintext",  # the default loads a Markdown parser, a quarter of the time `--help` takes
)


def main() -> None:
    """Run the command that the arguments of this process name."""
    app()
