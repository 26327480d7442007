"""What the bench itself costs, next to Inspect AI in the same run.

Three comparisons, each with its two sides taking turns, so that whatever else the machine does hits both alike; every
side runs in a process of its own, and what is told is the median. All results are kept until the last run is over.

1. The overhead of one iteration: an agent that answers at once, a row on disk for each, at concurrency 10.
2. Many sessions at once: agents that take one second, as many as there are places. Ideal is one second in all.
3. How long `--help` takes.

The budgets are goals, not gates: a figure that misses its budget says so, and the benchmark still ends well.
"""

import argparse
import os
import shutil
import statistics
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from _figures import Budget, Figure, show
from _processes import time_program, workplace

HERE = Path(__file__).parent
OURS = "_bench_worker.py"
RIVAL = "_inspect_worker.py"
REPETITIONS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Duel:
    """What both sides took, in seconds, run by run."""

    ours: tuple[float, ...]
    rival: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """Our median for one of theirs."""
        return statistics.median(self.ours) / statistics.median(self.rival)


def duel(rounds: int, ours: Callable[[], float], rival: Callable[[], float]) -> Duel:
    pairs = [(ours(), rival()) for _ in range(rounds)]
    return Duel(ours=tuple(pair[0] for pair in pairs), rival=tuple(pair[1] for pair in pairs))


def figure(
    what: str, values: Sequence[float], *, factor: float = 1, unit: str = "", budget: Budget | None = None
) -> Figure:
    scaled = [value * factor for value in values]
    spread = (min(scaled), max(scaled))
    return Figure(what=what, value=statistics.median(scaled), unit=unit, spread=spread, budget=budget)


def run_worker(
    worker: str, folder: Path, *, scenarios: int, repetitions: int, concurrency: int, sleep_s: float
) -> float:
    flags: dict[str, object] = {
        "scenarios": scenarios,
        "repetitions": repetitions,
        "concurrency": concurrency,
        "sleep": sleep_s,
        "results": tempfile.mkdtemp(dir=folder),
    }
    command = [sys.executable, str(HERE / worker), *(f"--{name}={value}" for name, value in flags.items())]
    return float(time_program(command).output.splitlines()[-1])


def run_help(command: str) -> float:
    path = shutil.which(command, path=sysconfig.get_path("scripts"))
    if path is None:
        raise SystemExit(f"the command {command} is not installed in this environment")
    return time_program([path, "--help"]).wall_s


def measure_disk(folder: Path) -> list[Figure]:
    """Time what a durable row cannot do without; on a slow disk it is most of the overhead."""
    with tempfile.TemporaryFile(dir=folder) as file:
        took = [time_fsync(file.fileno()) for _ in range(100)]
    return [figure("one fsync on this disk", took, factor=1000, unit="ms")]


def time_fsync(handle: int) -> float:
    began = time.perf_counter()
    os.write(handle, bytes(1000))
    os.fsync(handle)
    return time.perf_counter() - began


def measure_overhead(folder: Path, rounds: int, iterations: int) -> list[Figure]:
    def once(worker: str) -> float:
        scenarios = iterations // REPETITIONS
        return run_worker(worker, folder, scenarios=scenarios, repetitions=REPETITIONS, concurrency=10, sleep_s=0)

    took = duel(rounds, lambda: once(OURS), lambda: once(RIVAL))
    per_iteration = 1000 / iterations
    return [
        figure(
            f"overhead per iteration, {iterations} at concurrency 10",
            took.ours,
            factor=per_iteration,
            unit="ms",
            budget=Budget(value=1, words="under 1 ms"),
        ),
        figure("Inspect AI: overhead per sample", took.rival, factor=per_iteration, unit="ms"),
        Figure(what="overhead, ours / theirs", value=took.ratio, budget=Budget(value=0.1, words="at most 1/10")),
    ]


def measure_efficiency(folder: Path, rounds: int, sessions: int) -> list[Figure]:
    def once(worker: str) -> float:
        return run_worker(worker, folder, scenarios=sessions, repetitions=1, concurrency=sessions, sleep_s=1)

    took = duel(rounds, lambda: once(OURS), lambda: once(RIVAL))
    return [
        figure(
            f"{sessions} sessions of 1 s at once, of ideal",
            [1 / seconds for seconds in took.ours],
            budget=Budget(value=0.9, words="at least 0.9", at_least=True),
        ),
        figure("Inspect AI: of ideal", [1 / seconds for seconds in took.rival]),
    ]


def measure_help(rounds: int) -> list[Figure]:
    run_help("ghx-bench")  # compiles what has no bytecode yet
    run_help("inspect")
    took = duel(rounds, lambda: run_help("ghx-bench"), lambda: run_help("inspect"))
    return [
        figure("ghx-bench --help", took.ours, factor=1000, unit="ms"),
        figure("inspect --help", took.rival, factor=1000, unit="ms"),
        Figure(what="--help, ours / theirs", value=took.ratio, budget=Budget(value=1 / 15, words="at most 1/15")),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="runs of each side (--help: three times as many)")
    parser.add_argument("--iterations", type=int, default=1000, help="iterations in one run, a multiple of 10")
    parser.add_argument("--sessions", type=int, default=200, help="sessions at once")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--quick", action="store_true", help="once and little of everything; to see that it runs")
    given = parser.parse_args()
    if given.quick:
        given.rounds, given.iterations, given.sessions = 1, REPETITIONS, 10
    if given.rounds < 1 or given.sessions < 1 or given.iterations < 1 or given.iterations % REPETITIONS:
        parser.error(f"rounds and sessions are at least 1, iterations a multiple of {REPETITIONS}")
    if find_spec("inspect_ai") is None:
        raise SystemExit("inspect-ai is not installed here; `make bench` installs it")
    with workplace() as folder:
        figures = [
            *measure_disk(folder),
            *measure_overhead(folder, given.rounds, given.iterations),
            *measure_efficiency(folder, given.rounds, given.sessions),
            *measure_help(3 * given.rounds),
        ]
    show(figures, packages=["ghx-bench", "inspect-ai"], as_json=given.json)


if __name__ == "__main__":
    main()
