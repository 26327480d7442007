"""How long merging takes, how much memory, and how that grows: eight shards, three modes, rows of a usual size.

Making the shards is not measured. Every merge is made in a process of its own, from imports to the folder of the merged
run; the report on it is measured by `report.py`. Next to the rows alone, a tenth of them is merged once more with the
files that an evaluation leaves for each cell: session, findings, activity.
"""

import argparse
import json
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from _figures import Budget, Figure, show
from _processes import time_program, workplace
from ghx_profiler.machine import describe_machine
from ghx_profiler.plan.cell import Matrix
from ghx_profiler.plan.shards import Shard
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.store.directory import RunDirectory
from ghx_profiler.store.record import AgentRecord, MatrixRecord, RunRecord, host_here, write_record
from report import MODES, rows

ROWS = 100_000
SHARDS = 8
SCENARIOS = tuple(f"scenario-{number:03d}" for number in range(50))
FILES = {"sessions": 7_000, "analysis": 4_000, "activity": 3_000}
"""Bytes of the files next to a row: about what a session of four tool calls leaves."""
LINEAR = Budget(value=12, words="about 10 (at most 12)")


def write_shards(folder: Path, count: int, *, with_files: bool) -> Sequence[Path]:
    """Write the shards of a run of so many cells, rounded up to whole repetitions, and return their folders."""
    given = {(str(row["scenarioId"]), str(row["mode"])): row for row in rows(len(SCENARIOS) * len(MODES))}
    repetitions = -(-count // len(given))
    return [_write_shard(folder, Shard(each, SHARDS), repetitions, given, with_files) for each in range(1, SHARDS + 1)]


def _write_shard(
    folder: Path, shard: Shard, repetitions: int, given: dict[tuple[str, str], dict[str, object]], with_files: bool
) -> Path:
    matrix = Matrix(
        agents=("opencode",),
        models=("vendor/model-1",),
        modes=MODES,
        scenario_ids=SCENARIOS,
        repetitions=repetitions,
        shard=shard,
    )
    place, machine = RunDirectory(folder / f"run_{shard.number}"), f"machine-{shard.number}"
    place.path.mkdir(parents=True)
    record = RunRecord(
        run_id=place.path.name,
        created_at="2026-03-03T16:00:00Z",
        status="complete",
        provider="opencode",
        agents=(AgentRecord(name="opencode"),),
        matrix=MatrixRecord.of(matrix),
        analysis={},
        config={},
        scenarios=tuple({"id": each} for each in SCENARIOS),
        versions={},
        host=host_here(),
        machines={machine: describe_machine()},
    )
    write_record(place.record, record)
    with place.rows.open("wb") as file:
        for order, cell in matrix.placed():
            own = {"runId": record.run_id, "iteration": cell.iteration, "startOrder": order, "machine": machine}
            row = ProfileRow.model_validate({**given[cell.scenario_id, cell.mode], **own}).upgraded()
            file.write(row.to_bytes() + b"\n")
            for kind, size in FILES.items() if with_files else ():
                path = place.path.joinpath(kind, *cell.path.parts).with_suffix(".json")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(b" " * size)
    return place.path


def merge(out: Path, shards: Sequence[Path]) -> None:
    """Merge and print the rows, the seconds that took and the most memory ever held; runs in a process of its own."""
    began = time.perf_counter()
    from ghx_profiler.reports.data.machines import MachineTally  # noqa: PLC0415 - importing is measured too
    from ghx_profiler.store.merging import merge_runs, open_shards  # noqa: PLC0415

    merged = merge_runs(out, open_shards(shards), watch=MachineTally().add)
    seconds = time.perf_counter() - began
    print(json.dumps([merged.rows, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))


def measure(count: int, folder: Path, *, with_files: bool = False) -> tuple[int, float, float]:
    """Return the rows, seconds and megabytes of one merge."""
    shards = write_shards(folder / "shards", count, with_files=with_files)
    merged, seconds, peak = json.loads(
        time_program([sys.executable, __file__, "--merge", folder / "out", *shards]).output
    )
    return merged, seconds, peak / (1024 if sys.platform == "linux" else 1024**2)


def measure_all(count: int, folder: Path) -> list[Figure]:
    few, few_seconds, few_megabytes = measure(count // 10, folder / "few")
    files, files_seconds, _ = measure(count // 10, folder / "files", with_files=True)
    many, seconds, megabytes = measure(count, folder / "many")
    return [
        Figure(what=f"merge of {few:,} rows", value=few_seconds, unit="s"),
        Figure(what="  most memory held", value=few_megabytes, unit="MB"),
        Figure(what=f"merge of {files:,} rows with {len(FILES)} files each", value=files_seconds, unit="s"),
        Figure(what=f"merge of {many:,} rows", value=seconds, unit="s"),
        Figure(what="  most memory held", value=megabytes, unit="MB"),
        Figure(what="  times as long as a tenth", value=seconds / few_seconds, budget=LINEAR),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the rows; to see that it runs")
    parser.add_argument("--merge", nargs="+", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.merge:
        merge(given.merge[0], given.merge[1:])
        return
    with workplace() as folder:
        figures = measure_all(given.rows // 100 if given.quick else given.rows, folder)
    show(figures, packages=["ghx-bench"], as_json=given.json)


if __name__ == "__main__":
    main()
