"""The `ghx-bench` command: its list of commands, and how errors end it."""

import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError, Parameter

from ghx_bench._base.errors import GhxBenchError
from ghx_bench.eval.cli.exits import BAD_USAGE, INTERRUPTED

DEBUG = "GHX_BENCH_DEBUG"
"""Set to anything, this variable shows the traceback of an error."""


def _version() -> str:
    from importlib.metadata import version

    return version("ghx-bench")


app = App(
    name="ghx-bench",
    help="Measure AI agents that work on GitHub: scenarios, modes, repetitions, honest statistics.",
    version=_version,
    help_format="plaintext",
    exit_on_error=False,
    print_error=False,
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(negative_iterable=(), show_default=False),
    result_action="return_value",
)
app.command(
    "ghx_bench.eval.cli.profile:profile",
    name="profile",
    help="Measure an agent of your own, described in a Python file.",
)
app.command(
    "ghx_bench.eval.cli.check:check",
    name="check",
    help="Say everything that is wrong with scenarios, sets, manifests and configurations.",
)
app.command(
    "ghx_bench.eval.cli.schema:schema",
    name="schema",
    help="Print the JSON Schema of a kind of file, for editors.",
)
app.command(
    "ghx_bench.eval.cli.report:report",
    name="report",
    help="Write what runs have shown, as pages for people and files for programs.",
)
app.command(
    "ghx_bench.eval.cli.analyze:analyze",
    name="analyze",
    help="Say how agents worked in sessions that are over.",
)
app.command(
    "ghx_bench.eval.cli.plan:plan",
    name="plan",
    help="Say how many scenarios and repetitions it takes to show an effect.",
)
app.command(
    "ghx_bench.eval.cli.export:export",
    name="export",
    help="Write the sessions of a run in the formats of others.",
)
app.command(listing := App(name="list", help="List what there is to run."))
listing.command("ghx_bench.eval.cli.listing:list_scenarios", name="scenarios", help="List scenarios.")
app.command(new := App(name="new", help="Write first drafts of files."))
new.command("ghx_bench.eval.cli.new:new_scenario", name="scenario", help="Write the first draft of a scenario.")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code; whatever a user can cause is one line on standard error."""
    try:
        return app(arguments) or 0
    except CycloptsError as error:
        return _complain(f"{error} (see `ghx-bench {' '.join(error.command_chain or ())} --help`)", BAD_USAGE)
    except GhxBenchError as error:
        if os.environ.get(DEBUG):
            raise
        return _complain(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _complain("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output is gone; nobody is left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        return _complain(f"{type(error).__name__}: {error} (this is a defect; {DEBUG}=1 shows where)", BAD_USAGE)


def _complain(message: str, exit_code: int) -> int:
    print(f"error: {message}", file=sys.stderr)  # noqa: T201 - the command line
    return exit_code


if __name__ == "__main__":
    main()
