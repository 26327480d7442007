"""Where cells run: in one process, in eight shards that are merged, and on two nodes of a Ray cluster on this machine.

1. Many sessions at once: agents that take one second, as many as there are places, from the start of the first to the
   row of the last. Ideal is one second in all.
2. Many cells that take no time: how many in a second, and whether the process that writes the run grows with them.

Starting Ray is not counted; it takes some seconds, once for a run. The budgets are goals, not gates.
"""

import argparse
import json
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from _figures import Budget, Figure, show
from _processes import compiled_environment, time_program, workplace

WORKER = Path(__file__).parent / "_executor_worker.py"
SHARDS = 8
REPETITIONS = 10
MIB = 1 << 20
OF_IDEAL = Budget(value=0.88, words="at least 0.88", at_least=True)
GROWTH = Budget(value=1.2, words="at most 1.2")


def command(results: Path, **flags: object) -> list[str]:
    return [
        sys.executable,
        str(WORKER),
        f"--results={results}",
        *(f"--{name}={value}" for name, value in flags.items()),
    ]


def read(output: str) -> Mapping[str, Any]:
    return json.loads(output.splitlines()[-1])


def run_whole(folder: Path, **flags: object) -> Mapping[str, Any]:
    return read(time_program(command(Path(tempfile.mkdtemp(dir=folder)), **flags)).output)


def run_shards(folder: Path, **flags: object) -> tuple[list[Mapping[str, Any]], float]:
    """Run all shards at the same time; return what each told, and the seconds that merging them took."""
    results = Path(tempfile.mkdtemp(dir=folder))
    processes = [
        subprocess.Popen(
            command(results, shard=f"{number}/{SHARDS}", **flags),
            env=compiled_environment(),
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(1, SHARDS + 1)
    ]
    told = [read(process.communicate()[0]) for process in processes]
    runs = [each["directory"] for each in told]
    program = Path(sysconfig.get_path("scripts"), "ghx-bench")
    began = time.perf_counter()
    time_program([str(program), "merge", str(results / "merged"), *runs])
    return told, time.perf_counter() - began


def span_s(told: Sequence[Mapping[str, Any]]) -> float:
    begun = [each["first"] for each in told if each["first"]]
    return max(each["last"] for each in told) - min(begun)


def measure_sleepers(folder: Path, rounds: int, sessions: int) -> list[Figure]:
    size: dict[str, object] = {"scenarios": sessions, "repetitions": 1, "sleep": 1, "concurrency": sessions}

    def shards() -> float:
        # Each by itself: when the processes of others begin is a matter of whoever starts them.
        return max(span_s([each]) for each in run_shards(folder, **size)[0])

    def whole(executor: str) -> float:
        return span_s([run_whole(folder, executor=executor, **size)])

    # In turns, so that whatever else the machine does hits all alike.
    took = [(whole("local"), shards(), whole("ray")) for _ in range(rounds)]
    names = ("local", "shards, the slowest", "ray")
    return [
        of_ideal(f"{name}: {sessions} of 1 s, of ideal", each)
        for name, each in zip(names, zip(*took, strict=True), strict=True)
    ]


def of_ideal(what: str, seconds: Sequence[float]) -> Figure:
    shares = [1 / each for each in seconds]
    return Figure(what=what, value=statistics.median(shares), spread=(min(shares), max(shares)), budget=OF_IDEAL)


def measure_many(folder: Path, cells: int) -> list[Figure]:
    size: dict[str, object] = {
        "scenarios": cells // REPETITIONS,
        "repetitions": REPETITIONS,
        "sleep": 0,
        "concurrency": 10,
    }
    figures: list[Figure] = []
    for executor in ("local", "ray"):
        told = run_whole(folder, executor=executor, **size)
        figures.append(Figure(what=f"{executor}: {cells:,} cells", value=cells / span_s([told]), unit="cells/s"))
        if told["earlyBytes"]:
            end, early = told["endBytes"] / MIB, told["earlyBytes"] / MIB
            figures += [
                Figure(what=f"{executor}: memory after 1,000 cells", value=early, unit="MiB"),
                Figure(what=f"{executor}: memory at the end", value=end, unit="MiB"),
                Figure(what=f"{executor}: the end / after 1,000", value=end / early, budget=GROWTH),
            ]
    shards, merging_s = run_shards(folder, **size)
    figures.append(Figure(what=f"shards: {cells:,} cells", value=cells / span_s(shards), unit="cells/s"))
    figures.append(Figure(what="shards: merging them", value=merging_s, unit="s"))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="runs of each with sessions of a second")
    parser.add_argument("--sessions", type=int, default=200, help="sessions at once")
    parser.add_argument("--cells", type=int, default=10_000, help="cells that take no time, a multiple of 10")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--quick", action="store_true", help="little of everything; to see that it runs")
    given = parser.parse_args()
    if given.quick:
        given.rounds, given.sessions, given.cells = 1, 20, 100
    with workplace() as folder:
        figures = [*measure_sleepers(folder, given.rounds, given.sessions), *measure_many(folder, given.cells)]
    show(figures, packages=("ghx-bench", "ray"), as_json=given.json)


if __name__ == "__main__":
    main()
