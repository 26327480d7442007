"""The `ghx-bench` command: its list of commands."""

import sys
from collections.abc import Sequence
from typing import NoReturn

from cyclopts import App

from ghx_bench._base.commandline import command_line, run_and_exit, run_command_line
from ghx_bench.eval.cli.listing import list_scenarios

app = command_line(
    "ghx-bench", "Measure AI agents that work on GitHub: scenarios, modes, repetitions, honest statistics."
)
# Commands are named as text, with their help: `ghx-bench --help` imports none of them.
app.command(
    "ghx_bench.eval.cli.run:run",
    name="run",
    help="Run scenarios with an agent in every mode, and report what came of it.",
)
app.command(
    "ghx_bench.eval.cli.resume:resume",
    name="resume",
    help="Run the cells that an interrupted run has left.",
)
app.command("ghx_bench.eval.cli.show:show", name="show", help="Show a run, or one of its cells.")
app.command(
    "ghx_bench.eval.cli.doctor:doctor",
    name="doctor",
    help="Say what is missing on this machine, and how to get it.",
)
app.command("ghx_bench.eval.cli.init:init", name="init", help="Write a project that runs at once.")
app.command(
    "ghx_bench.eval.cli.profile:profile",
    name="profile",
    help="Measure an agent of your own, described in a Python file.",
)
app.command(
    "ghx_bench.eval.cli.check:check",
    name="check",
    help="Say everything that is wrong with scenarios, sets, fixtures, manifests and configurations.",
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
app.command(listing := App(name="list", help="List what there is to run, and to run it with."))
listing.default(list_scenarios)
listing.command("ghx_bench.eval.cli.listing:list_scenarios", name="scenarios", help="List scenarios (the default).")
listing.command("ghx_bench.eval.cli.listing:list_sets", name="sets", help="List the named sets of scenarios.")
listing.command("ghx_bench.eval.cli.listing:list_modes", name="modes", help="List the modes.")
listing.command("ghx_bench.eval.cli.listing:list_agents", name="agents", help="List the agents.")
listing.command("ghx_bench.eval.cli.listing:list_fixtures", name="fixtures", help="List the fixtures.")
app.command(fixture := App(name="fixture", help="Make, look at, put back and take away what scenarios need on GitHub."))
fixture.command("ghx_bench.eval.cli.listing:list_fixtures", name="list", help="List the fixtures there are.")
fixture.command("ghx_bench.eval.cli.fixture:seed", name="seed", help="Let fixtures be there, and write down where.")
fixture.command("ghx_bench.eval.cli.fixture:status", name="status", help="Say what has become of fixtures.")
fixture.command("ghx_bench.eval.cli.fixture:reset", name="reset", help="Put fixtures back to what they were.")
fixture.command("ghx_bench.eval.cli.fixture:cleanup", name="cleanup", help="Close and remove all that is a fixture's.")
app.command(new := App(name="new", help="Write first drafts of files."))
new.command("ghx_bench.eval.cli.new:new_scenario", name="scenario", help="Write the first draft of a scenario.")


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and end the process with its exit code."""
    run_and_exit(lambda: run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code; whatever a user can cause is one line on standard error."""
    return run_command_line(app, arguments)


if __name__ == "__main__":
    main()
