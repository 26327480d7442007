"""Agents as a factor: several of them in one run."""

import json
import os
import platform
import threading
from collections import Counter
from collections.abc import Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from process_executor import ProcessExecutor
from profiler_fakes import FakeProvider, FakeSession, SaysThree, answers_three, config, profile, scenario

from ghx_profiler.errors import (
    BadMatrixError,
    CanaryError,
    ClusterError,
    NotPicklableError,
    RunMismatchError,
    UnknownNameError,
)
from ghx_profiler.events import CanaryFinished, CellFinished, CellStarted, Event
from ghx_profiler.evidence import Answer, Mode
from ghx_profiler.executors import LocalExecutor
from ghx_profiler.plan.blocks import Share
from ghx_profiler.plan.cell import Arm, Cell
from ghx_profiler.profile import ModeTable, Profile
from ghx_profiler.records.causes import Cause, EnvironmentFailure, TransientError
from ghx_profiler.records.metric_table import METRICS
from ghx_profiler.records.metrics import CustomMetric
from ghx_profiler.records.row import Attempt
from ghx_profiler.reports import generate_report
from ghx_profiler.reports.data.material import gather
from ghx_profiler.reports.data.reading import read_sources
from ghx_profiler.reports.data.sources import open_run
from ghx_profiler.runner.instruments import Backoff, Instruments, Setup
from ghx_profiler.scenario import BaseScenario
from ghx_profiler.store.directory import RunDirectory
from ghx_profiler.store.rows import read_rows
from ghx_profiler.suite import SuiteResult, plan_suite, run_planned, run_profile_suite

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@dataclass
class Versioned(FakeProvider):
    version: str | None = None
    control_kind: str | None = None


def two_agents(**agents: FakeProvider) -> Profile[Any]:
    providers = agents or {"quick": Versioned(version="1.2"), "slow": Versioned()}
    instruments = Instruments(providers=providers, scorer=SaysThree(), backoff=Backoff(first_s=0))
    modes = [Mode(name="plain"), Mode(name="fancy")]
    return Profile(scenarios=[scenario("a-001"), scenario("b-001")], modes=modes, instruments=instruments)


def settings(results: Path, **sections: Any) -> Any:
    return config(results, modes=["plain", "fancy"], models=["one", "two"], **sections)


def rows_of(result: SuiteResult) -> list[Any]:
    return list(read_rows(result.directory / "rows.jsonl"))


async def test_every_arm_is_measured_once_per_block(tmp_path: Path) -> None:
    result = await two_agents().run(settings(tmp_path, execution={"repetitions": 2}))

    rows = sorted(rows_of(result), key=lambda row: row.start_order)
    arms = {
        Arm(agent=agent, model=model, mode=mode)
        for agent in ("quick", "slow")
        for model in ("one", "two")
        for mode in ("plain", "fancy")
    }
    assert len(rows) == 8 * 2 * 2
    for start in range(0, len(rows), 8):
        block = rows[start : start + 8]
        assert {row.cell.arm for row in block} == arms
        assert len({(row.scenario_id, row.iteration) for row in block}) == 1
    assert (result.directory / "sessions/slow/two/fancy/b-001/1.json").is_file()


async def test_a_row_names_its_agent_and_version_and_where_its_numbers_come_from(tmp_path: Path) -> None:
    result = await two_agents().run(settings(tmp_path))

    lines = [json.loads(line) for line in (result.directory / "rows.jsonl").read_text().splitlines()]
    assert {(line["agent"], line["provider"], line["agentVersion"]) for line in lines} == {
        ("quick", "quick", "1.2"),
        ("slow", "slow", None),
    }
    record = json.loads((result.directory / "run.json").read_text())
    assert record["machines"][platform.node()]["versions"]["python"] == platform.python_version()
    for line in lines:
        assert line["version"] == 2
        assert line["provenanceId"] == record["provenance"][0]["id"]
        assert (line["purity"], line["tokenAnatomy"]) == (None,) * 2
        assert line["machine"] == platform.node()
        assert line["sources"] == {"timing": "bench", "tokens": "agent", "toolCalls": "agent", "agentTurns": "agent"}
        assert line["metrics"] == {}, "no number stands on a row twice"


async def test_the_configuration_chooses_among_the_agents(tmp_path: Path) -> None:
    result = await two_agents().run(settings(tmp_path, agents=["slow"]))

    assert {row.agent for row in rows_of(result)} == {"slow"}
    with pytest.raises(UnknownNameError, match="no agent 'slwo'; did you mean 'slow'"):
        await two_agents().run(settings(tmp_path, agents=["slwo"]))


async def test_each_agent_has_one_canary_in_each_mode(tmp_path: Path) -> None:
    seen = list[Event]()

    await two_agents().run(settings(tmp_path, execution={"warmup": True}), observers=[seen.append])

    warmed_up = [(event.cell.agent, event.cell.mode) for event in seen if isinstance(event, CanaryFinished)]
    assert warmed_up == [("quick", "plain"), ("quick", "fancy"), ("slow", "plain"), ("slow", "fancy")]


async def test_the_agent_whose_warm_up_failed_is_named(tmp_path: Path) -> None:
    async def breaks(_session: FakeSession, _text: str) -> Answer:
        raise EnvironmentFailure("not installed")

    subject = two_agents(fine=FakeProvider(), broken=FakeProvider(breaks))
    with pytest.raises(CanaryError, match="the warm-up of agent 'broken' in mode 'plain'"):
        await subject.run(settings(tmp_path, execution={"warmup": True}))


async def test_a_run_of_another_version_of_an_agent_is_not_resumed(tmp_path: Path) -> None:
    result = await two_agents(mine=Versioned(version="1")).run(settings(tmp_path))

    with pytest.raises(RunMismatchError, match=r"different: agents: mine \(version\)"):
        await two_agents(mine=Versioned(version="2")).run(settings(tmp_path), resume=result.directory)


async def test_whether_agents_are_controls_is_in_the_record_and_the_report_reads_it_there(tmp_path: Path) -> None:
    subject = two_agents(proof=Versioned(control_kind="solution"))
    result = await subject.run(settings(tmp_path / "results"))

    record = json.loads((result.directory / "run.json").read_text())
    assert record["agents"] == [{"name": "proof", "version": None, "controlKind": "solution"}]
    generate_report([result.directory], generated_at="2026-04-01T12:00:00Z", output_dir=tmp_path / "out")
    assert "A control run: it is worked by scripts" in (tmp_path / "out" / "report.md").read_text()


class Steps:
    def collect(self, evidence: Any) -> list[CustomMetric]:
        return [CustomMetric("steps_walked", 7, "m")]


async def test_the_units_that_collectors_give_are_in_the_record_and_the_report_uses_them(tmp_path: Path) -> None:
    subject = two_agents()
    with_steps = replace(subject, instruments=replace(subject.instruments, collectors=(Steps(),)))
    result = await with_steps.run(settings(tmp_path))

    record = json.loads((result.directory / "run.json").read_text())
    material = gather(read_sources([open_run(result.directory)]), (), METRICS)

    assert record["metricUnits"] == {"steps_walked": "m"}
    assert material.metrics.unit("steps_walked") == "m"
    assert METRICS.unit("steps_walked") == ""


async def test_arms_are_compared_where_they_differ_in_mode_agent_or_model_alone(tmp_path: Path) -> None:
    result = await two_agents().run(settings(tmp_path))

    material = gather(read_sources([open_run(result.directory)]), (), METRICS)

    assert len(material.arms) == 8
    assert len(material.pairs) == 12
    assert {sum((a.mode != b.mode, a.agent != b.agent, a.model != b.model)) for a, b in material.pairs} == {1}


async def test_the_pages_of_sessions_lie_below_their_agent_where_there_are_several(tmp_path: Path) -> None:
    result = await two_agents().run(settings(tmp_path))

    made = generate_report([result.directory], sessions="all", formats=["html"])

    folders = {page.relative_to(made.directory / "sessions").parts[0] for page in made.directory.rglob("0.html")}
    assert folders == {"quick", "slow"}


def test_instruments_have_one_agent_or_several() -> None:
    assert list(Instruments(provider=FakeProvider(), scorer=SaysThree()).providers) == ["fake"]
    with pytest.raises(BadMatrixError, match="either one `provider`, or `providers`"):
        Instruments(scorer=SaysThree())
    with pytest.raises(BadMatrixError, match="either one `provider`, or `providers`"):
        Instruments(provider=FakeProvider(), providers={"x": FakeProvider()}, scorer=SaysThree())


async def test_a_cell_waits_for_its_turn_before_it_starts(tmp_path: Path) -> None:
    seen, inside = list[Event](), list[Cell]()

    @asynccontextmanager
    async def one_by_one(cell: Cell) -> Any:
        async with lock:
            inside.append(cell)
            assert not any(isinstance(event, CellStarted) and event.cell == cell for event in seen)
            yield
            assert isinstance(seen[-1], CellFinished), "a turn lasts until the row is on disk"
            inside.remove(cell)

    async def alone(session: FakeSession, text: str) -> Answer:
        await anyio.sleep(0.001)
        assert inside == [session.request.cell]
        return await answers_three(session, text)

    lock = anyio.Lock()
    subject = profile(FakeProvider(alone), take_turn=one_by_one)
    result = await subject.run(
        config(tmp_path, execution={"repetitions": 6, "max_concurrency": 4}), observers=[seen.append]
    )

    assert result.measured == 6


# The seam: workers in other processes


class Picky(BaseScenario):
    """A scenario of the consumer's own kind."""

    wanted: int


async def checks_type(session: FakeSession, text: str) -> Answer:
    return await answers_three(session, text)


class WantsPicky(SaysThree):
    async def score(self, evidence: Any) -> Any:
        assert type(evidence.scenario) is Picky
        assert evidence.scenario.wanted == 3
        return await super().score(evidence)


def build_instruments() -> Instruments[Any]:
    return Instruments(
        providers={"quick": Versioned(checks_type, version="1.2"), "slow": Versioned(checks_type)},
        scorer=WantsPicky(),
        backoff=Backoff(first_s=0),
    )


async def run_in_processes(results: Path, **options: Any) -> SuiteResult:
    picky = Picky(**scenario("a-001").model_dump(by_alias=False), wanted=3)

    async def loader(_ids: Any) -> list[Picky]:
        return [picky]

    return await run_profile_suite(
        settings(results, scenarios={"ids": ["a-001"]}, execution={"repetitions": 3, "warmup": True}),
        loader=loader,
        modes=ModeTable([Mode(name="plain"), Mode(name="fancy")]),
        instruments=build_instruments(),
        build_instruments=build_instruments,
        executor=ProcessExecutor(2),
        **options,
    )


async def test_a_run_whose_workers_are_other_processes_leaves_the_same_rows(tmp_path: Path) -> None:
    seen = list[Event]()

    result = await run_in_processes(tmp_path, observers=[seen.append])

    rows = rows_of(result)
    assert result.measured == len(rows) == 24
    assert set(Counter(row.cell for row in rows).values()) == {1}
    assert {(row.agent, row.agent_version) for row in rows} == {("quick", "1.2"), ("slow", None)}
    assert len(list((result.directory / "sessions").rglob("*.json"))) == 24
    assert sum(isinstance(event, CellStarted) for event in seen) == 24
    assert sum(isinstance(event, CellFinished) for event in seen) == 24
    assert sum(isinstance(event, CanaryFinished) for event in seen) == 4
    # The cells of a block have one machine, and `run.json` says of each that measured what it is.
    blocks = {(row.iteration, row.machine) for row in rows}
    assert len(blocks) == 3
    machines = json.loads((result.directory / "run.json").read_text())["machines"]
    assert {machine for _, machine in blocks} == machines.keys() <= {"process-1", "process-2"}


async def test_of_a_block_only_the_cells_without_a_row_are_run_again(tmp_path: Path) -> None:
    result = await run_in_processes(tmp_path)
    rows = (result.directory / "rows.jsonl").read_bytes().splitlines(keepends=True)
    (result.directory / "rows.jsonl").write_bytes(b"".join(rows[:5]) + rows[5][:40])

    resumed = await run_in_processes(tmp_path, resume=result.directory)

    assert resumed.measured == 24
    assert (resumed.directory / "rows.jsonl").read_bytes().splitlines(keepends=True)[:5] == rows[:5]
    assert set(Counter(row.cell for row in rows_of(resumed)).values()) == {1}


async def test_what_cannot_be_sent_to_workers_is_named_before_anything_starts(tmp_path: Path) -> None:
    class Local(BaseScenario):
        pass

    fields = scenario("a-001").model_dump(by_alias=False)
    picky, local = Picky(**fields, wanted=3), Local(**fields)
    plain, locked = Mode(name="plain"), Mode(name="plain", settings=cast("Any", {"lock": threading.Lock()}))
    cases: list[tuple[str, Any, Mode, BaseScenario]] = [
        ("agent 'quick', 'slow': is an object of this process", None, plain, picky),
        ("build_instruments: cannot be sent", lambda: local and build_instruments(), plain, picky),
        ("mode 'plain': cannot be sent", build_instruments, locked, picky),
        (r"scenario 'a-001' \(a Local\): cannot be sent", build_instruments, plain, local),
    ]
    for message, build, mode, brought in cases:

        async def loader(_ids: Any, brought: BaseScenario = brought) -> list[Any]:
            return [brought]

        with pytest.raises(NotPicklableError, match=message):
            await run_profile_suite(
                config(tmp_path / "results", modes=["plain"], scenarios={"ids": ["a-001"]}),
                loader=loader,
                modes=ModeTable([mode]),
                instruments=build_instruments(),
                build_instruments=build,
                executor=ProcessExecutor(2),
            )
        assert not (tmp_path / "results").exists(), message


def tell_process(_setup: Setup[Any]) -> dict[str, str]:
    return {"git": "2.41", "process": str(os.getpid())}


async def test_a_worker_that_measures_with_other_things_than_the_run_was_started_with_is_refused(
    tmp_path: Path,
) -> None:
    picky = Picky(**scenario("a-001").model_dump(by_alias=False), wanted=3)
    modes = {"plain": Mode(name="plain")}

    async def loader(_ids: Any) -> list[Picky]:
        return [picky]

    plan = await plan_suite(
        config(tmp_path / "results", modes=["plain"], scenarios={"ids": ["a-001"]}),
        loader=loader,
        modes=ModeTable(modes.values()),
        agents=["quick", "slow"],
    )

    with pytest.raises(ClusterError, match=r"machine process-.: .*\(process \d+ instead of \d+\); install the same"):
        await run_planned(
            plan,
            instruments=build_instruments(),
            executor=ProcessExecutor(2),
            open_elsewhere=partial(open_built, modes),
            ingredients=tell_process,
        )

    assert not list((tmp_path / "results").iterdir())


@asynccontextmanager
async def open_built(modes: Mapping[str, Mode], _share: Share) -> Any:
    yield Setup(instruments=build_instruments(), modes=modes)


class Recording(FakeProvider):
    """Writes a file for each session into the directory of the run, as recorded model traffic is."""

    @asynccontextmanager
    async def run(self, directory: Path) -> Any:
        self.directory = RunDirectory(directory)
        yield

    @asynccontextmanager
    async def session(self, request: Any) -> Any:
        place = self.directory.session(request.cell).with_suffix(".model.jsonl")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(str(request.cell))
        async with super().session(request) as session:
            yield session


def build_recording() -> Instruments[Any]:
    return Instruments(provider=Recording(), scorer=SaysThree())


async def test_files_that_a_worker_elsewhere_writes_for_the_run_are_sent_to_its_head(tmp_path: Path) -> None:
    async def loader(_ids: Any) -> list[BaseScenario]:
        return [scenario("a-001")]

    result = await run_profile_suite(
        config(tmp_path, scenarios={"ids": ["a-001"]}, execution={"repetitions": 3, "warmup": True}),
        loader=loader,
        modes=ModeTable([Mode(name="plain")]),
        instruments=build_recording(),
        build_instruments=build_recording,
        executor=ProcessExecutor(2),
    )

    directory = RunDirectory(result.directory)
    places = {row.cell: directory.session(row.cell).with_suffix(".model.jsonl") for row in rows_of(result)}
    assert len(places) == 3
    assert all(place.read_text() == str(cell) for cell, place in places.items())
    assert len(list(result.directory.rglob("*.model.jsonl"))) == 4, "those of the cells, and of the warm-up"
    assert not directory.spent_before.exists()


@dataclass(frozen=True)
class Retelling:
    """Runs cells here, changed before they are run, or more often than once."""

    change: Any = None
    times: int = 1

    @asynccontextmanager
    async def open(self, spec: Any, receive: Any) -> Any:
        async with LocalExecutor().open(spec, receive) as workers:
            yield _Retelling(workers, self)


@dataclass(frozen=True)
class _Retelling:
    workers: Any
    how: Retelling

    async def run(self, blocks: Any) -> None:
        if self.how.change is not None:
            blocks = [replace(each, cells=tuple(map(self.how.change, each.cells))) for each in blocks]
        for _ in range(self.how.times):
            await self.workers.run(blocks)


async def run_here(results: Path, provider: FakeProvider, executor: Any, **execution: Any) -> SuiteResult:
    async def loader(_ids: Any) -> list[BaseScenario]:
        return [scenario("a-001")]

    return await run_profile_suite(
        config(results, scenarios={"ids": ["a-001"]}, execution={"repetitions": 2, **execution}),
        loader=loader,
        modes=ModeTable([Mode(name="plain")]),
        instruments=Instruments(provider=provider, scorer=SaysThree(), backoff=Backoff(first_s=0)),
        executor=executor,
    )


@pytest.mark.parametrize(("code", "takes_retry"), [("MACHINE_LOST", False), ("MACHINE_UNFIT", False), (None, True)])
async def test_an_attempt_on_another_machine_stays_on_the_row_and_takes_no_retry_where_that_was_to_blame(
    code: str | None, takes_retry: bool, tmp_path: Path
) -> None:
    lost = Attempt(number=1, started_at="2026-01-01T00:00:00Z", cause=Cause.ENVIRONMENT, error="gone", error_code=code)
    failures = iter([True, False] * 2)

    async def fails_once(session: FakeSession, text: str) -> Answer:
        if next(failures):
            raise TransientError("busy")
        return await answers_three(session, text)

    executor = Retelling(change=lambda placed: replace(placed, lost_attempts=(lost,)))
    result = await run_here(tmp_path, FakeProvider(fails_once), executor, retries=1)

    first = rows_of(result)[0]
    made = [(1, "gone"), (2, "busy")] if takes_retry else [(1, "gone"), (2, "busy"), (3, None)]
    assert bool(first.success) is not takes_retry
    assert [(each.number, each.error) for each in first.attempts] == made
    assert first.started_at == lost.started_at


async def test_the_first_row_of_a_cell_counts_and_later_ones_are_dropped(tmp_path: Path) -> None:
    seen = FakeProvider()

    result = await run_here(tmp_path, seen, Retelling(times=2))

    assert seen.opened == 4
    assert [row.session_id for row in rows_of(result)] == ["ses-1", "ses-2"]


# Scenarios that come through a profile's own loader and sets


async def test_a_profile_brings_its_own_loader_and_sets(tmp_path: Path) -> None:
    requests: list[Any] = []

    async def load(ids: Any) -> list[BaseScenario]:
        requests.append(tuple(ids))
        return [scenario(each) for each in ids]

    modes, instruments = [Mode(name="plain")], Instruments(provider=FakeProvider(), scorer=SaysThree())
    subject = Profile(loader=load, sets={"quick": ["Löwe/1", "b"]}, modes=modes, instruments=instruments)

    result = await subject.run(config(tmp_path, scenarios={"set": "quick"}))

    assert requests == [("Löwe/1", "b")]
    assert {row.scenario_id for row in rows_of(result)} == {"Löwe/1", "b"}
    with pytest.raises(UnknownNameError, match="no scenario set 'default'; known: quick"):
        await subject.run(config(tmp_path))
    with pytest.raises(BadMatrixError, match="either `scenarios` or a `loader`"):
        Profile(scenarios=[scenario()], loader=load, modes=modes, instruments=instruments)


async def test_sets_choose_among_the_scenarios_of_a_profile(tmp_path: Path) -> None:
    modes, instruments = [Mode(name="plain")], Instruments(provider=FakeProvider(), scorer=SaysThree())
    scenarios = [scenario("a"), scenario("b")]
    subject = Profile(scenarios=scenarios, sets={"quick": ["b"]}, modes=modes, instruments=instruments)

    quick = await subject.run(config(tmp_path, scenarios={"set": "quick"}))
    every = await subject.run(config(tmp_path))

    assert {row.scenario_id for row in rows_of(quick)} == {"b"}
    assert {row.scenario_id for row in rows_of(every)} == {"a", "b"}
