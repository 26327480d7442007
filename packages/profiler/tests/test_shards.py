"""Shards: which blocks are whose, and what a batch system tells a job."""

from collections import Counter
from pathlib import Path

import pytest
from profiler_fakes import FakeLifecycle, FakeProvider, config, profile, scenario

from ghx_profiler.errors import RunMismatchError
from ghx_profiler.plan.cell import Matrix
from ghx_profiler.plan.shards import Shard, find_shard
from ghx_profiler.store.directory import RunDirectory
from ghx_profiler.store.record import read_record
from ghx_profiler.store.rows import read_rows
from ghx_profiler.suite import SuiteResult

pytestmark = pytest.mark.anyio

SCENARIOS = tuple(f"task-{number:03d}" for number in range(40))


def matrix(shard: Shard | None = None, **changes: object) -> Matrix:
    given: dict[str, object] = {"models": ("m", "n"), "modes": ("a", "b"), "scenario_ids": SCENARIOS, "repetitions": 3}
    return Matrix(**{**given, **changes}, shard=shard)  # pyright: ignore[reportArgumentType] - of several types


def every_shard(count: int) -> list[Shard]:
    return [Shard(number, count) for number in range(1, count + 1)]


@pytest.mark.parametrize("order", ["interleaved", "sequential"])
def test_shards_share_out_all_cells_in_whole_blocks_at_the_places_of_the_whole_run(order: str) -> None:
    whole = list(matrix(order=order).placed())
    parts = [list(matrix(each, order=order).placed()) for each in every_shard(8)]

    assert sorted(cell for part in parts for cell in part) == sorted(whole, key=lambda each: each[0])
    owners = Counter(block for part in parts for block in {(cell.scenario_id, cell.iteration) for _, cell in part})
    assert set(owners.values()) == {1}
    assert [len(part) for part in parts] == [matrix(each, order=order).total for each in every_shard(8)]
    # 15 blocks each, were they dealt out evenly: a hash is not that fair, and nowhere near unfair.
    assert all(5 <= len(part) / 4 <= 30 for part in parts)


def test_names_alone_decide_so_that_nothing_else_moves_a_block() -> None:
    shard = Shard(2, 3)
    mine = {(cell.scenario_id, cell.iteration) for cell in matrix(shard).cells()}

    for changed in (
        matrix(shard, modes=("b", "c", "a"), models=("m",), seed=7),
        matrix(shard, scenario_ids=("another", *reversed(SCENARIOS))),
        matrix(shard, repetitions=5),
    ):
        now = {(cell.scenario_id, cell.iteration) for cell in changed.cells()}
        assert {block for block in now if block[0] != "another" and block[1] < 3} == mine
    # The same in every process, on every machine and in every version: shards of today merge with those of tomorrow.
    owners = [[each.has("issue-triage-001", number) for each in every_shard(3)].index(True) for number in range(8)]
    assert owners == [1, 0, 0, 0, 0, 1, 0, 2]


@pytest.mark.parametrize(
    ("asked", "environ", "found"),
    [
        ("3/8", {}, "3/8"),
        ("3/8", {"JOB_COMPLETION_INDEX": "5"}, "3/8"),
        ("auto/8", {"JOB_COMPLETION_INDEX": "0"}, "1/8"),
        ("auto/8", {"JOB_COMPLETION_INDEX": "7"}, "8/8"),
        ("auto", {"SLURM_ARRAY_TASK_ID": "0", "SLURM_ARRAY_TASK_MIN": "0", "SLURM_ARRAY_TASK_COUNT": "8"}, "1/8"),
        ("auto", {"SLURM_ARRAY_TASK_ID": "8", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_COUNT": "8"}, "8/8"),
        (
            "auto/4",
            {
                "SLURM_ARRAY_TASK_ID": "30",
                "SLURM_ARRAY_TASK_MIN": "10",
                "SLURM_ARRAY_TASK_MAX": "40",
                "SLURM_ARRAY_TASK_STEP": "10",
                "SLURM_ARRAY_TASK_COUNT": "4",
            },
            "3/4",
        ),
        ("auto", {"CI_NODE_INDEX": "3", "CI_NODE_TOTAL": "8"}, "3/8"),
    ],
)
def test_a_shard_is_named_or_asked_of_the_environment(asked: str, environ: dict[str, str], found: str) -> None:
    assert str(find_shard(asked, environ)) == found


@pytest.mark.parametrize(
    ("asked", "environ"),
    [
        ("0/8", {}),
        ("9/8", {}),
        ("3", {}),
        ("3/0", {}),
        ("three/8", {}),
        ("auto", {}),
        ("auto/x", {"JOB_COMPLETION_INDEX": "1"}),
        ("auto", {"JOB_COMPLETION_INDEX": "1"}),  # of how many?
        ("auto/8", {"JOB_COMPLETION_INDEX": "8"}),
        ("auto", {"CI_NODE_INDEX": "0", "CI_NODE_TOTAL": "8"}),  # counted from 0, which GitLab does not
        ("auto", {"CI_NODE_TOTAL": "1"}),  # a job of GitLab that is not parallel
        ("auto/8", {"CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "4"}),
        ("auto", {"CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "4", "JOB_COMPLETION_INDEX": "1"}),
        ("auto/8", {"JOB_COMPLETION_INDEX": "first"}),
        # --array=1,5,7, and one task of an array that is run again alone.
        ("auto", {"SLURM_ARRAY_TASK_ID": "7", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_COUNT": "3"}),
        (
            "auto",
            {
                "SLURM_ARRAY_TASK_ID": "1",
                "SLURM_ARRAY_TASK_MIN": "1",
                "SLURM_ARRAY_TASK_MAX": "7",
                "SLURM_ARRAY_TASK_COUNT": "3",
            },
        ),
        ("auto/8", {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_MIN": "3", "SLURM_ARRAY_TASK_COUNT": "1"}),
    ],
)
def test_what_does_not_tell_the_shard_for_certain_is_refused(asked: str, environ: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"shard|auto"):
        find_shard(asked, environ)


async def run_shard(results: Path, shard: str, provider: FakeProvider | None = None, **fields: object) -> SuiteResult:
    tasks = [scenario(each) for each in SCENARIOS[:4]]
    settings = config(results, modes=["plain", "fancy"], execution={"repetitions": 1, "shard": shard})
    return await profile(provider, scenarios=tasks, modes=["plain", "fancy"], **fields).run(settings)


async def test_a_shard_is_complete_with_its_own_cells_and_has_the_whole_plan(tmp_path: Path) -> None:
    results = [await run_shard(tmp_path, str(each)) for each in every_shard(2)]

    records = [read_record(RunDirectory(each.directory).record) for each in results]
    assert [(each.status, each.matrix.shard) for each in records] == [("complete", "1/2"), ("complete", "2/2")]
    assert {each.matrix.scenario_ids for each in records} == {SCENARIOS[:4]}
    assert [each.total for each in results] == [each.matrix.total for each in records]
    rows = [row for each in results for row in read_rows(each.directory / "rows.jsonl")]
    assert sorted(row.start_order or 0 for row in rows) == list(range(8))


async def test_a_shard_without_a_block_is_complete_and_starts_nothing(tmp_path: Path) -> None:
    empty = next(str(each) for each in every_shard(64) if not matrix(each, scenario_ids=SCENARIOS[:4]).total)
    lifecycle = FakeLifecycle()

    result = await run_shard(tmp_path, empty, lifecycle=lifecycle)

    assert (result.total, result.failed, lifecycle.log) == (0, 0, [])
    assert read_record(RunDirectory(result.directory).record).status == "complete"
    assert (result.directory / "rows.jsonl").read_bytes() == b""


async def test_a_shard_is_not_resumed_as_another(tmp_path: Path) -> None:
    result = await run_shard(tmp_path, "1/2")
    tasks = [scenario(each) for each in SCENARIOS[:4]]
    other = config(tmp_path, modes=["plain", "fancy"], execution={"repetitions": 1, "shard": "2/2"})

    with pytest.raises(RunMismatchError, match="shard '1/2', now '2/2'"):
        await profile(scenarios=tasks, modes=["plain", "fancy"]).run(other, resume=result.directory)
