"""One run on the nodes of a Ray cluster; all tests that start Ray are in this module, and share a cluster."""

import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Generator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from bench_command import ghx_bench, rows_of, run_in, start, wait_for_rows
from profiler_fakes import config, scenario
from ray_cluster import SmallCluster, small_cluster, wait_until_no_worker_is_left
from waiting_instruments import build_waiting

from ghx_bench.assembly import assemble
from ghx_bench.catalogue import Catalogue
from ghx_bench.project.config import EvalConfig
from ghx_profiler.errors import ClusterError, MachinesLostError
from ghx_profiler.events import CellFinished, CellRetried, CellStarted, Event, Observer
from ghx_profiler.evidence import Mode
from ghx_profiler.executors import RayExecutor
from ghx_profiler.profile import ModeTable
from ghx_profiler.records.causes import Cause
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.suite import SuiteResult, run_profile_suite
from ghx_profiler.testing import ExecutorContract

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def started() -> Generator[SmallCluster]:
    with small_cluster() as cluster:
        yield cluster


@pytest.fixture
def cluster(started: SmallCluster) -> SmallCluster:
    started.have_nodes(2)
    return started


@pytest.mark.usefixtures("cluster")
@pytest.mark.nightly
class TestRayExecutor(ExecutorContract):
    max_concurrency = 3
    patience_s = 120.0

    def make_executor(self) -> Any:
        return RayExecutor(max_concurrency=3)


# Evaluations

SCENARIOS = ["issue-triage-001", "issue-find-and-close-001", "pr-merge-ready-001", "repo-release-notes-001"]
if os.environ.get("GHX_BENCH_FULL_SET"):  # as each night: it takes minutes
    SCENARIOS = list(Catalogue(EvalConfig(modes=("baseline",))).sets.root["full"])


def settings(results: Path, **sections: Any) -> EvalConfig:
    given = {
        "modes": ["baseline", "ghx"],
        "provider": {"id": "reference"},
        "scenarios": {"ids": SCENARIOS},
        "execution": {"repetitions": 1, "warmup": False, "max_concurrency": 4},
        "output": {"results_dir": str(results)},
    }
    return EvalConfig.model_validate(given | sections)


async def evaluate(settings: EvalConfig, executor: Any = None, observers: Sequence[Observer] = ()) -> SuiteResult:
    async with assemble(Catalogue(settings), environ=os.environ, project=Path.cwd(), executor=executor) as evaluation:
        return await evaluation.run(observers=observers)


def verdicts_of(result: SuiteResult) -> dict[str, Any]:
    rows = rows_of(result.directory)
    return {
        str(row.cell): (row.start_order, row.success, [(each.id, each.passed) for each in row.checkpoint_details])
        for row in rows
    }


@pytest.mark.anyio
async def test_two_nodes_leave_the_rows_and_the_worlds_that_this_process_leaves(
    cluster: SmallCluster, tmp_path: Path
) -> None:
    kept = {"keep_worlds": "all"}
    here = await evaluate(settings(tmp_path, output={"results_dir": str(tmp_path / "here"), **kept}))
    there = await evaluate(
        settings(tmp_path, output={"results_dir": str(tmp_path / "there"), **kept}), RayExecutor(max_concurrency=4)
    )

    rows = rows_of(there.directory)
    assert verdicts_of(here) == verdicts_of(there)
    assert all(row.success for row in rows)
    blocks = {(row.scenario_id, row.machine) for row in rows}
    assert len(blocks) == len(SCENARIOS), "the cells of a block are measured on one machine"
    machines = json.loads((there.directory / "run.json").read_text())["machines"]
    assert len(machines) == 2
    assert {machine for _, machine in blocks} == machines.keys()
    files = [
        {
            each.relative_to(run.directory).as_posix()
            for each in run.directory.rglob("*")
            if each.parent.name != "seeded"
        }
        for run in (here, there)
    ]
    assert files[0] == files[1]
    wait_until_no_worker_is_left()


@pytest.mark.nightly
@pytest.mark.anyio
async def test_a_node_that_is_lost_in_the_middle_changes_no_verdict(cluster: SmallCluster, tmp_path: Path) -> None:
    killer, done = threading.Thread(target=cluster.kill_node), list[Event]()

    def watch(event: Event) -> None:
        if isinstance(event, CellFinished):
            done.append(event)
            if len(done) == len(SCENARIOS) // 2:
                killer.start()

    here = await evaluate(settings(tmp_path / "here"))
    there = await evaluate(settings(tmp_path / "there"), RayExecutor(max_concurrency=4), [watch])
    killer.join()

    assert verdicts_of(here) == verdicts_of(there)
    assert there.measured == len(rows_of(there.directory)) == 2 * len(SCENARIOS)
    problems = json.loads((there.directory / "run.json").read_text())["problems"]
    assert {each["code"] for each in problems} <= {"MACHINE_LOST"}, "which a node that was idle may not be missed for"


@pytest.mark.nightly
@pytest.mark.anyio
async def test_of_a_model_service_for_one_session_at_a_time_only_one_machine_has_a_share(
    cluster: SmallCluster, tmp_path: Path
) -> None:
    limited = settings(tmp_path, modes=["baseline"], model_service={"sessions_at_once": 1})

    result = await evaluate(limited, RayExecutor(max_concurrency=4))

    assert result.measured == len(SCENARIOS)
    assert len({row.machine for row in rows_of(result.directory)}) == 1


# Machines that are lost, and a driver


async def run_waiting(results: Path, gate: Path, observer: Any, **options: Any) -> SuiteResult:
    """Run cells that end once the gate is there: two modes, four repetitions, four at a time."""

    async def loader(_ids: Any) -> list[Any]:
        return [scenario("a-001")]

    return await run_profile_suite(
        config(
            results,
            modes=["plain", "fancy"],
            scenarios={"ids": ["a-001"]},
            execution={"repetitions": 4, "max_concurrency": 4, "executor": "ray"},
        ),
        loader=loader,
        modes=ModeTable([Mode(name="plain"), Mode(name="fancy")]),
        instruments=build_waiting(str(gate)),
        build_instruments=partial(build_waiting, str(gate)),
        observers=[observer],
        **options,
    )


def lost_attempts(row: ProfileRow) -> list[Any]:
    return [each for each in row.attempts if each.error_code == "MACHINE_LOST"]


@pytest.mark.anyio
async def test_the_cells_of_a_lost_node_are_measured_on_another_and_say_so(
    cluster: SmallCluster, tmp_path: Path
) -> None:
    gate, began, lost = tmp_path / "gate", list[Event](), list[Event]()
    killer = threading.Thread(target=cluster.kill_node)

    def watch(event: Event) -> None:
        if isinstance(event, CellStarted):
            began.append(event)
            if len(began) == 4:
                killer.start()
        if isinstance(event, CellRetried):
            lost.append(event)
            gate.touch()

    result = await run_waiting(tmp_path / "results", gate, watch)
    killer.join()

    rows = rows_of(result.directory)
    assert Counter(row.cell for row in rows) == Counter({row.cell: 1 for row in rows})
    assert result.measured == len(rows) == 8
    attempts = [attempt for row in rows for attempt in lost_attempts(row)]
    assert len(attempts) == len(lost) == 2, "two of the four cells that ran were on that machine"
    assert {attempt.cause for attempt in attempts} == {Cause.ENVIRONMENT}
    assert all(row.success and row.error is None and len(row.attempts) == len(lost_attempts(row)) + 1 for row in rows)
    assert len({row.machine for row in rows}) == 1
    record = json.loads((result.directory / "run.json").read_text())
    assert [each["code"] for each in record["problems"]] == ["MACHINE_LOST"]
    assert record["status"] == "complete"


@pytest.mark.nightly
@pytest.mark.anyio
async def test_without_any_machine_the_run_ends_and_can_be_resumed(cluster: SmallCluster, tmp_path: Path) -> None:
    gate, began = tmp_path / "gate", list[Event]()

    def kill_all() -> None:
        while cluster.nodes:
            cluster.kill_node()

    killer = threading.Thread(target=kill_all)

    def watch(event: Event) -> None:
        if isinstance(event, CellStarted):
            began.append(event)
            if len(began) == 4:
                killer.start()

    with pytest.raises(MachinesLostError, match="no machine is left of"):
        await run_waiting(tmp_path / "results", gate, watch)
    killer.join()
    cluster.have_nodes(2)
    gate.touch()
    (directory,) = (tmp_path / "results").iterdir()
    record = json.loads((directory / "run.json").read_text())
    result = await run_waiting(tmp_path / "results", gate, lambda _: None, resume=directory)

    assert record["status"] == "failed"
    told = [attempt["errorCode"] for each in record["interruptions"] for attempt in each["attempts"]]
    assert "MACHINE_LOST" in told
    assert len(told) >= 4, "each of the cells that ran is told of"
    assert result.measured == 8


@pytest.mark.nightly
def test_a_driver_that_is_killed_takes_its_workers_along_and_its_run_is_resumed(
    cluster: SmallCluster, tmp_path: Path
) -> None:
    scenarios = [word for each in SCENARIOS for word in ("--scenario", each)]
    flags = ("--mode", "baseline", "--repetitions", "2", "--max-concurrency", "2", "--skip-warmup")
    driver = start(tmp_path, "run", *scenarios, *flags, "--executor", "ray", "--ray-address", cluster.address)
    wait_for_rows(tmp_path, driver, 1)
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    wait_until_no_worker_is_left()
    before = rows_of(run_in(tmp_path))

    done = ghx_bench(tmp_path, "resume", "latest", "--no-report", "--json")

    rows = rows_of(run_in(tmp_path))
    assert done.returncode == 0, done.stderr
    assert len(before) < len(rows) == 2 * len(SCENARIOS)
    assert rows[: len(before)] == before
    assert set(Counter(row.cell for row in rows).values()) == {1}
    wait_until_no_worker_is_left()


# What is refused before anything starts


@pytest.mark.nightly
@pytest.mark.anyio
async def test_other_versions_on_a_node_are_refused(
    cluster: SmallCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = {"ghxBench": "0.0.9", "python": "3.11.0"}
    monkeypatch.setattr("ghx_profiler.executors.ray.versions_here", lambda: there)

    with pytest.raises(ClusterError, match=r"has ghxBench .* install the same on both"):
        await evaluate(settings(tmp_path / "results"), RayExecutor())
    assert not list((tmp_path / "results").iterdir())
