"""How long a report takes, and how much memory: rows of a usual size, three modes, a tenth of them failed.

Writing the rows is not measured. Every report is made in a process of its own, from a file of rows alone, with all that
`ghx-bench report` writes by default. Linear means: ten times the rows take at most about ten times the time.

What a report of one row takes is start, imports and what every report has: measured as the whole command, in processor
time, and next to it that of two rows of different modes, which has charts.
"""

import argparse
import json
import random
import resource
import statistics
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

from _figures import Budget, Figure, show
from _processes import time_program, workplace

ROWS = 100_000
MODES = ("baseline", "ghx", "mcp")
SECONDS = Budget(value=60, words="under 60 s")
MEGABYTES = Budget(value=1024, words="under 1 GiB")
LINEAR = Budget(value=12, words="about 10 (at most 12)")
ONE_ROW = Budget(value=1.5, words="under 1.5 s")
ONE_PAGE = Budget(value=0.8, words="under 0.8 s")


def rows(count: int) -> Iterator[dict[str, object]]:
    """Yield rows with ten tool calls and four checkpoints each, in 50 scenarios."""
    chance = random.Random(1)
    for number in range(count):
        mode, scenario = MODES[number % 3], number // 3 % 50
        size = (1 + scenario % 7) * (0.7 if mode == "ghx" else 1) * chance.lognormvariate(0, 0.3)
        won = chance.random() < 0.9
        tokens, wall_ms, calls = round(9_000 * size), round(20_000 * size), 4 + round(3 * size)
        record = {"name": "bash", "category": "shell", "success": True, "durationMs": 120}
        yield {
            "runId": "run_1",
            "scenarioId": f"scenario-{scenario:03d}",
            "mode": mode,
            "model": "vendor/model-1",
            "iteration": number // 150,
            "startedAt": f"2026-03-{1 + number % 28:02d}T16:37:17.{number % 1000:03d}Z",
            "completedAt": "2026-03-03T16:38:43.411Z",
            "tokens": {"input": tokens, "output": 900, "cacheRead": 50, "total": tokens + 950, "active": tokens + 900},
            "timing": {"wallMs": wall_ms, "segments": [{"label": "model", "startMs": 0, "endMs": wall_ms - 9}]},
            "toolCalls": {
                "total": calls,
                "byCategory": {"shell": calls},
                "failed": 0,
                "retried": 0,
                "errorRate": 0,
                "records": [record] * 10,
            },
            "cost": {"totalUsd": round(0.02 * size, 6)},
            "success": won,
            "checkpointsPassed": 4 if won else 3,
            "checkpointsTotal": 4,
            "checkpointDetails": [
                {"id": f"check-{each}", "description": "The state is as asked for", "passed": won or each > 0}
                for each in range(4)
            ],
            "outputValid": True,
            "provider": "opencode",
            "sessionId": f"session-{number}",
            "agentTurns": 2 + calls // 2,
            "completionReason": "stop",
            "extensions": {},
            "startOrder": number,
            "version": 1,
        }


def report(path: Path, folder: Path) -> None:
    """Make a report and print the seconds that took and the most memory ever held; runs in a process of its own."""
    began = time.perf_counter()
    from ghx_profiler.reports import generate_report  # noqa: PLC0415 - importing is part of what is measured

    made = generate_report(results=[path], output_dir=folder, generated_at="2026-01-01T00:00:00Z")
    seconds = time.perf_counter() - began
    print(json.dumps([made.rows, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))


def write_rows(folder: Path, count: int) -> Path:
    """Write a file of rows and return its path."""
    path = folder / f"{count}.jsonl"
    with path.open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows(count))
    return path


def measure(count: int, folder: Path) -> tuple[float, float]:
    """Return seconds and megabytes of one report."""
    path = write_rows(folder, count)
    output = time_program([sys.executable, __file__, "--report", path, folder / f"report-{count}"]).output
    reported, seconds, peak = json.loads(output)
    if reported != count:
        raise SystemExit(f"expected {count} rows, got {reported}")
    return seconds, peak / (1024 if sys.platform == "linux" else 1024**2)


def measure_small(folder: Path, rounds: int) -> list[Figure]:
    """Time the command with next to no rows; the first round, which may make what is kept, does not count."""
    command = [Path(sysconfig.get_path("scripts"), "ghx-bench"), "report", "--results"]
    kinds = {
        "report of one row": ([write_rows(folder, 1)], ONE_ROW),
        "report of one row, HTML alone": ([write_rows(folder, 1), "--format", "html"], ONE_PAGE),
        "report of two rows, with charts": ([write_rows(folder, 2)], None),
    }
    spent: dict[str, list[float]] = {what: [] for what in kinds}
    for number in range(rounds + 1):
        for what, (flags, _) in kinds.items():
            taken = time_program([*command, *flags, "--output-dir", folder / f"{what}-{number}"])
            spent[what].append(taken.cpu_s)
    return [
        Figure(
            what=f"{what}, processor time",
            value=statistics.median(spent[what][1:]),
            unit="s",
            spread=(min(spent[what][1:]), max(spent[what][1:])),
            budget=budget,
        )
        for what, (_, budget) in kinds.items()
    ]


def measure_all(count: int, rounds: int, folder: Path) -> list[Figure]:
    small = measure_small(folder, rounds)
    few_seconds, _ = measure(count // 10, folder)
    seconds, megabytes = measure(count, folder)
    is_whole = count == ROWS
    return [
        *small,
        Figure(what=f"report over {count // 10:,} rows", value=few_seconds, unit="s"),
        Figure(what=f"report over {count:,} rows", value=seconds, unit="s", budget=SECONDS if is_whole else None),
        Figure(what="  most memory held", value=megabytes, unit="MB", budget=MEGABYTES),
        Figure(what="  times as long as a tenth", value=seconds / few_seconds, budget=LINEAR),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--rounds", type=int, default=5, help="runs of each small report")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the rows; to see that it runs")
    parser.add_argument("--report", nargs=2, type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.report:
        report(*given.report)
        return
    packages = ["ghx-bench", "numpy", "scipy", "altair", "vl-convert-python"]
    count, rounds = (given.rows // 100, 1) if given.quick else (given.rows, given.rounds)
    with workplace() as folder:
        show(measure_all(count, rounds, folder), packages=packages, as_json=given.json)


if __name__ == "__main__":
    main()
