"""The `ghx-bench` command: its list of commands."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

from ghx_base.commandline import command_line, run_and_exit, run_command_line, run_to_exit_code

if TYPE_CHECKING:  # loaded with the first command: the list of commands is printed in half the time it takes
    from cyclopts import App

PURPOSE = "Measure AI agents that work on GitHub: scenarios, modes, repetitions, honest statistics."

COMMANDS: Mapping[str, tuple[str, str]] = {
    "run": ("running.run:run", "Run scenarios with an agent in every mode, and report what came of it."),
    "resume": ("running.resume:resume", "Run the cells that an interrupted run has left."),
    "show": ("stored.show:show", "Show a run, or one of its cells."),
    "shell": ("stored.shell:shell", "Open the world that an agent left, in a shell with gh and git."),
    "rescore": (
        "stored.rescore:rescore",
        "Score the sessions of a run again with mended checkpoints, beside the old scores.",
    ),
    "doctor": ("doctor:doctor", "Say what is missing on this machine, and how to get it."),
    "init": ("init:init", "Write a project that runs at once."),
    "profile": ("running.profile:profile", "Measure an agent of your own, described in a Python file."),
    "check": (
        "check:check",
        "Say everything that is wrong with scenarios, sets, fixtures, manifests and configurations.",
    ),
    "schema": ("schema:schema", "Print the JSON Schema of a kind of file, for editors."),
    "report": ("stored.report:report", "Write what runs have shown, as pages for people and files for programs."),
    "analyze": ("stored.analyze:analyze", "Say how agents worked in sessions that are over."),
    "plan": ("running.plan:plan", "Say how many scenarios and repetitions it takes to show an effect."),
    "pack": ("stored.pack:pack", "Write a run into one file, for somebody else to open."),
    "merge": ("stored.merge:merge", "Make one run of shards that were measured apart."),
    "import": ("stored.import_rows:import_rows", "Make a run of rows that another benchmark has measured."),
    "compare": (
        "verdicts.compare:compare",
        "Say whether a run is worse than an earlier one, and stop a pipeline if so.",
    ),
    "bless": ("verdicts.bless:bless", "Make a run the baseline that later ones are held against."),
    "expose": ("expose:expose", "Say which text of others reaches an agent through which tool; no model."),
    "surface": (
        "surface:surface",
        "Say what tool sets cost an agent, before it asks anything and when it does; no model.",
    ),
    "export": ("stored.export:export", "Write the sessions of a run in the formats of others."),
}
"""Commands by name: module and function in this package, and what it is for."""

_STARTS_AGENTS = {"run", "resume", "profile"}

GROUPS: Mapping[str, tuple[str, Mapping[str, tuple[str, str]]]] = {
    "list": (
        "List what there is to run, and to run it with.",
        {
            "scenarios": ("listing:list_scenarios", "List scenarios (the default)."),
            "sets": ("listing:list_sets", "List the named sets of scenarios."),
            "modes": ("listing:list_modes", "List the modes."),
            "agents": ("listing:list_agents", "List the agents."),
            "fixtures": ("listing:list_fixtures", "List the fixtures."),
            "runs": ("stored.runs:list_runs", "List the runs of the project, the newest first."),
        },
    ),
    "fixture": (
        "Make, look at, put back and take away what scenarios need on GitHub.",
        {
            "list": ("listing:list_fixtures", "List the fixtures there are."),
            "show": ("running.source:show_fixture", "Print the file of a fixture."),
            "seed": ("fixture:seed", "Let fixtures be there, and write down where."),
            "status": ("fixture:status", "Say what has become of fixtures."),
            "reset": ("fixture:reset", "Put fixtures back to what they were."),
            "cleanup": ("fixture:cleanup", "Close and remove all that is a fixture's."),
        },
    ),
    "scenario": ("Look at scenarios.", {"show": ("running.source:show_scenario", "Print the file of a scenario.")}),
    "new": (
        "Write first drafts of files.",
        {
            "scenario": ("new:new_scenario", "Write the first draft of a scenario."),
            "fixture": ("new:new_fixture", "Write a fixture that begins as a copy of another."),
        },
    ),
}
"""Commands that have commands: what they are for, and those by name."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and end the process with its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] and (words[0] in _STARTS_AGENTS or (words[0] == "check" and "--solve" in words)):
        from ghx_base.environment_block import hide_environment

        hide_environment()
    run_and_exit(lambda: run(words))


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code; whatever a user can cause is one line on standard error."""
    if list(arguments) in ([], ["--help"], ["-h"]):
        return run_to_exit_code(lambda: print(_help()))
    return run_command_line(_build_app(), arguments)


def _build_app() -> "App":
    from cyclopts import App

    from ghx_bench.cli.listing import list_scenarios

    app = command_line("ghx-bench", PURPOSE)
    _add_commands(app, COMMANDS)
    for name, (purpose, commands) in GROUPS.items():
        app.command(group := App(name=name, help=purpose))
        if name == "list":
            group.default(list_scenarios)
        _add_commands(group, commands)
    return app


def _add_commands(app: "App", commands: Mapping[str, tuple[str, str]]) -> None:
    for name, (place, purpose) in commands.items():
        # Named as text, with their help: a list of commands imports none of them.
        app.command(f"ghx_bench.cli.{place}", name=name, help=purpose)


def _help() -> str:
    purposes = {name: purpose for name, (_, purpose) in COMMANDS.items()}
    purposes |= {name: purpose for name, (purpose, _) in GROUPS.items()}
    width = max(map(len, purposes))
    listed = "\n".join(f"  {name.ljust(width)}  {purpose}" for name, purpose in sorted(purposes.items()))
    return f"""Usage: ghx-bench COMMAND ...

{PURPOSE}

Commands:
{listed}

`ghx-bench COMMAND --help` tells more, `ghx-bench --version` the version."""


if __name__ == "__main__":
    main()
