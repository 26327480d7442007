"""The rules of a whole run."""

import contextlib
import json
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from profiler_fakes import (
    FakeLifecycle,
    FakeProvider,
    FakeSession,
    SaysThree,
    answers_three,
    config,
    instruments,
    profile,
    scenario,
)

from ghx_profiler.config import ProfileConfig
from ghx_profiler.contracts import SessionRequest
from ghx_profiler.errors import (
    BadMatrixError,
    CanaryError,
    RunMismatchError,
    ScenarioMismatchError,
    ScopeError,
    UnknownNameError,
)
from ghx_profiler.events import (
    CanaryFinished,
    CellFinished,
    CellRetried,
    CellStarted,
    Event,
    RunFinished,
    RunStarted,
)
from ghx_profiler.evidence import Answer, Evidence, Mode, Stage
from ghx_profiler.plan.cell import Matrix
from ghx_profiler.profile import ModeTable
from ghx_profiler.records.causes import AgentError, EnvironmentFailure
from ghx_profiler.records.score import CheckpointDetail, PartialScoreError, Score
from ghx_profiler.records.trace import SessionTrace
from ghx_profiler.scenario import BaseScenario, ScenarioSets
from ghx_profiler.store.rows import read_rows
from ghx_profiler.suite import SuiteResult, run_profile_suite

pytestmark = pytest.mark.anyio


def rows_of(result: SuiteResult) -> list[Any]:
    return list(read_rows(result.directory / "rows.jsonl"))


def record_of(directory: Path) -> dict[str, Any]:
    return json.loads((directory / "run.json").read_text())


async def test_every_cell_of_the_matrix_leaves_one_row_and_one_session(tmp_path: Path) -> None:
    subject = profile(scenarios=(scenario("a-001"), scenario("b-001")), modes=("plain", "fancy"))
    settings = config(
        tmp_path, modes=["plain", "fancy"], models=[{"id": "x/one"}, {"id": "two"}], execution={"repetitions": 3}
    )

    result = await subject.run(settings)

    rows = rows_of(result)
    assert len(rows) == len({row.cell for row in rows}) == 2 * 2 * 2 * 3 == result.measured
    assert len(list((result.directory / "sessions").rglob("*.json"))) == 24
    assert (result.directory / "sessions/fake/x%2Fone/plain/a-001/2.json").is_file()
    assert record_of(result.directory)["status"] == "complete"


# Rule 1: selection


async def test_a_set_resolves_to_ids_and_the_loader_is_called_once(tmp_path: Path) -> None:
    requests: list[Sequence[str]] = []

    async def loader(ids: Sequence[str]) -> Sequence[BaseScenario]:
        requests.append(ids)
        return [scenario(each) for each in reversed(ids)]

    result = await _run(tmp_path, loader, sets={"quick": ["b-001", "a-001"]}, scenarios={"set": "quick"})

    assert requests == [("b-001", "a-001")]
    assert [row.scenario_id for row in rows_of(result)] == ["b-001", "a-001"]


async def test_ids_override_the_set(tmp_path: Path) -> None:
    result = await _run(tmp_path, _load_any, sets={"quick": ["a-001"]}, scenarios={"set": "quick", "ids": ["z-001"]})

    assert [row.scenario_id for row in rows_of(result)] == ["z-001"]


async def test_tags_filter(tmp_path: Path) -> None:
    subject = profile(scenarios=(scenario("a-001", tags=("pr",)), scenario("b-001", tags=("issue",))))

    result = await subject.run(config(tmp_path, scenarios={"tags": ["issue"]}))

    assert [row.scenario_id for row in rows_of(result)] == ["b-001"]


@pytest.mark.parametrize(
    ("selected", "error", "words"),
    [
        ({"set": "quik"}, UnknownNameError, r"no scenario set 'quik'; did you mean 'quick'\? known: default, quick"),
        ({"set": "quik", "ids": ["a-001"]}, UnknownNameError, r"no scenario set 'quik'; did you mean 'quick'\?"),
        ({"tags": ["prr"]}, UnknownNameError, r"no tag 'prr'; did you mean 'pr'\? known: pr"),
        ({"set": "empty"}, BadMatrixError, "scenario set 'empty' is empty"),
        ({"set": "twice"}, BadMatrixError, "scenario 'a-001' is given twice in scenario set 'twice'"),
    ],
)
async def test_a_selection_that_cannot_be_met_says_what_is_known(
    selected: dict[str, Any], error: type[Exception], words: str, tmp_path: Path
) -> None:
    async def loader(ids: Sequence[str]) -> Sequence[BaseScenario]:
        return [scenario(each, tags=("pr",)) for each in ids]

    sets = {"default": ["a-001"], "quick": ["a-001"]}
    known = {**sets, "empty": [], "twice": ["a-001", "a-001"]} if selected.get("set") in ("empty", "twice") else sets
    with pytest.raises(error, match=words):
        await _run(tmp_path / "results", loader, sets=known, scenarios=selected)
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("brought", "words"),
    [
        (["a-001"], "did not return: b-001"),
        (["a-001", "b-001", "c-001"], "returned unasked: c-001"),
        (["a-001", "b-001", "b-001"], "returned twice: b-001"),
    ],
)
async def test_a_loader_that_returns_other_scenarios_is_an_error_that_names_them(
    brought: list[str], words: str, tmp_path: Path
) -> None:
    async def loader(_ids: Sequence[str]) -> Sequence[BaseScenario]:
        return [scenario(each) for each in brought]

    with pytest.raises(ScenarioMismatchError, match=words):
        await _run(tmp_path, loader, sets={"default": ["a-001", "b-001"]})


async def test_an_unknown_mode_is_an_error_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="no mode 'plian'; did you mean 'plain'"):
        await profile().run(config(tmp_path / "results", modes=["plian"]))
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("id_", ["../../etc/x", "a b", ".hidden", "x" * 129, "a/b", "nul\x00", "Löwe", "/", "a: b"])
async def test_a_scenario_id_of_any_text_is_run_and_its_files_stay_inside(id_: str, tmp_path: Path) -> None:
    result = await profile(scenarios=(scenario(id_),)).run(config(tmp_path / "results"))

    [row] = rows_of(result)
    assert row.scenario_id == id_
    assert len(list((result.directory / "sessions").rglob("*.json"))) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["results"]
    assert not (await profile(scenarios=(scenario(id_),)).run(config(tmp_path), resume=result.directory)).failed


@pytest.mark.parametrize("bad", ["x" * 201, "ü" * 40])
async def test_a_scenario_id_too_long_for_a_folder_is_refused(bad: str, tmp_path: Path) -> None:
    with pytest.raises(BadMatrixError, match="cannot name a folder"):
        await profile(scenarios=(scenario(bad),)).run(config(tmp_path / "results"))
    assert not (tmp_path / "results").exists()


def test_names_that_differ_only_in_case_are_refused_because_some_disks_cannot_tell_them_apart() -> None:
    with pytest.raises(BadMatrixError, match="differ only in case"):
        Matrix(models=("none",), modes=("plain", "Plain"), scenario_ids=("a",), repetitions=1)


# Rule 2: order


def test_blocks_hold_every_arm_once_in_an_order_that_the_seed_decides() -> None:
    factors: dict[str, Any] = {"agents": ("x", "y"), "models": ("one", "two"), "modes": ("a", "b")}
    matrix = Matrix(**factors, scenario_ids=("s", "t"), repetitions=20, order="interleaved", seed=7)
    cells = list(matrix.cells())

    blocks = [cells[start : start + 8] for start in range(0, len(cells), 8)]
    assert len(cells) == len(set(cells)) == len(matrix) == 320
    for block in blocks:
        assert {cell.arm for cell in block} == set(matrix.arms)
        assert len({(cell.scenario_id, cell.iteration) for cell in block}) == 1
    assert len({tuple(cell.arm for cell in block) for block in blocks}) > 35
    assert list(matrix.cells()) == cells
    other_seed = Matrix(**factors, scenario_ids=("s", "t"), repetitions=20, seed=8)
    assert list(other_seed.cells()) != cells
    more = Matrix(**factors, scenario_ids=("s", "u", "t"), repetitions=20, seed=7)
    assert [cell for cell in more.cells() if cell.scenario_id != "u"] == cells, "another scenario reorders no other"


def test_sequential_runs_mode_after_mode() -> None:
    matrix = Matrix(models=("m",), modes=("b", "a"), scenario_ids=("s", "t"), repetitions=2, order="sequential")

    assert [cell.mode for cell in matrix.cells()] == ["b"] * 4 + ["a"] * 4


async def test_cells_run_one_at_a_time_unless_asked(tmp_path: Path) -> None:
    running = most = 0

    async def counts(session: FakeSession, text: str) -> Answer:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        running -= 1
        return await answers_three(session, text)

    subject = profile(FakeProvider(counts))
    await subject.run(config(tmp_path, execution={"repetitions": 6}))
    assert most == 1
    await subject.run(config(tmp_path, execution={"repetitions": 6, "max_concurrency": 3}))
    assert most == 3


# Rule 3: environment


class PrintsVariable:
    """Runs a real program in each session, which says what it sees."""

    name = "prints"

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator[FakeSession]:
        async def behave(_session: FakeSession, _text: str) -> Answer:
            await anyio.lowlevel.checkpoint()
            result = await anyio.run_process(["env"], env=dict(request.environment))
            return Answer(text=result.stdout.decode())

        yield FakeSession(request=request, behave=behave, number=1)


async def test_two_modes_with_different_environments_run_at_once_and_neither_sees_the_others(tmp_path: Path) -> None:
    seen: dict[str, set[str]] = {"one": set(), "two": set()}

    class Remembers:
        async def score(self, evidence: Evidence[Any]) -> Any:
            seen[evidence.mode.name].add(evidence.answer.text if evidence.answer else "")
            return Score(success=True)

    modes = [
        Mode(name="one", environment={"PATH": os.environ["PATH"], "SECRET": "of one"}),
        Mode(name="two", environment={"PATH": os.environ["PATH"], "ONLY_TWO": "1"}),
    ]
    before = dict(os.environ)
    subject = profile(PrintsVariable(), modes=modes, scorer=Remembers())  # type: ignore[arg-type]

    await subject.run(config(tmp_path, modes=["one", "two"], execution={"repetitions": 4, "max_concurrency": 8}))

    assert dict(os.environ) == before
    [one], [two] = seen["one"], seen["two"]
    assert "SECRET=of one" in one
    assert "ONLY_TWO" not in one
    assert "ONLY_TWO=1" in two
    assert "SECRET" not in two


# Rules 5 to 7: retries, causes, unknown numbers, scopes


async def test_the_scenarios_own_retries_count_unless_overridden(tmp_path: Path) -> None:
    async def never(_session: FakeSession, _text: str) -> Answer:
        raise ConnectionError("refused")

    subject = profile(FakeProvider(never), scenarios=(scenario(allowed_retries=2),))

    [own] = rows_of(await subject.run(config(tmp_path)))
    [overridden] = rows_of(await subject.run(config(tmp_path, execution={"retries": 0})))

    assert len(own.attempts) == 3
    assert {(attempt.error or "").partition(" (")[0] for attempt in own.attempts} == {"ConnectionError: refused"}
    assert len(overridden.attempts) == 1
    assert own.cause == "model_provider"
    assert own.error_code == "ConnectionError"


async def test_a_row_that_could_not_be_measured_has_nulls_and_no_zeros(tmp_path: Path) -> None:
    lifecycle = FakeLifecycle(fail={"enter a-001": OSError("no world")})
    subject = profile(scenarios=(scenario("a-001"), scenario("b-001")), lifecycle=lifecycle)

    result = await subject.run(config(tmp_path))

    failed, fine = [json.loads(line) for line in (result.directory / "rows.jsonl").read_text().splitlines()]
    assert result.measured == 1
    assert result.failed == 1
    assert failed["success"] is None
    assert failed["tokens"] == dict.fromkeys(failed["tokens"])
    assert failed["timing"]["wallMs"] is None
    assert failed["toolCalls"]["total"] is None
    assert failed["agentTurns"] is None
    assert failed["cost"]["totalUsd"] is None
    assert failed["checkpointsTotal"] is None
    assert failed["errorCode"] == "OSError"
    assert fine["success"] is True
    assert "error" not in fine


@pytest.mark.parametrize("scope", ["enter run", "enter mode plain"])
async def test_a_failing_run_or_mode_scope_aborts_before_any_cell(scope: str, tmp_path: Path) -> None:
    provider = FakeProvider()
    subject = profile(provider, lifecycle=FakeLifecycle(fail={scope: OSError("no server")}))

    with pytest.raises(ScopeError, match="no cell was started: no server"):
        await subject.run(config(tmp_path))

    assert provider.opened == 0
    assert record_of(next(tmp_path.iterdir()))["status"] == "failed"


async def test_a_failing_cleanup_of_the_run_is_recorded_beside_the_result(tmp_path: Path) -> None:
    subject = profile(lifecycle=FakeLifecycle(fail={"leave run": OSError("server would not stop")}))

    result = await subject.run(config(tmp_path))

    record = record_of(result.directory)
    assert record["status"] == "complete"
    assert [problem["message"] for problem in record["problems"]] == ["server would not stop"]


async def test_scopes_are_entered_and_left_in_order(tmp_path: Path) -> None:
    lifecycle = FakeLifecycle()

    await profile(modes=("x", "y"), lifecycle=lifecycle).run(
        config(tmp_path, modes=["x", "y"], execution={"order": "sequential"})
    )

    assert lifecycle.log == [
        "enter run",
        "enter mode x",
        "enter mode y",
        *["enter add-001", "leave add-001"] * 2,
        "leave mode y",
        "leave mode x",
        "leave run",
    ]


class HeldProvider(FakeProvider):
    """Notes, in the log of a lifecycle, when its scope of the run is entered and left."""

    def __init__(self, lifecycle: FakeLifecycle, fails: Exception | None = None) -> None:
        super().__init__()
        self.lifecycle, self.fails = lifecycle, fails
        self.directories: list[Path] = []

    @asynccontextmanager
    async def run(self, directory: Path) -> AsyncGenerator[None]:
        self.directories.append(directory)
        if self.fails is not None:
            raise self.fails
        self.lifecycle.log.append("enter agent")
        yield
        self.lifecycle.log.append("leave agent")


async def test_what_an_agent_holds_for_the_run_is_held_around_all_cells(tmp_path: Path) -> None:
    lifecycle = FakeLifecycle()
    provider = HeldProvider(lifecycle)

    result = await profile(provider, lifecycle=lifecycle).run(config(tmp_path))

    assert provider.directories == [result.directory]
    assert lifecycle.log == [
        "enter run",
        "enter agent",
        "enter mode plain",
        "enter add-001",
        "leave add-001",
        "leave mode plain",
        "leave agent",
        "leave run",
    ]


async def test_an_agent_whose_scope_of_the_run_fails_aborts_before_any_cell(tmp_path: Path) -> None:
    provider = HeldProvider(FakeLifecycle(), fails=OSError("no port"))

    with pytest.raises(ScopeError, match="agent 'fake' could not be prepared, no cell was started: no port"):
        await profile(provider).run(config(tmp_path))

    assert provider.opened == 0


async def test_a_method_of_an_agent_that_is_only_called_run_is_left_alone(tmp_path: Path) -> None:
    class Runner(FakeProvider):
        async def run(self, task: str) -> None:
            raise AssertionError(task)

    result = await profile(Runner()).run(config(tmp_path))

    assert result.measured == 1


async def test_how_long_opening_a_session_may_take_is_a_setting(tmp_path: Path) -> None:
    class NeverOpens(FakeProvider):
        def session(self, request: Any) -> Any:
            @asynccontextmanager
            async def opening() -> Any:
                await anyio.sleep_forever()
                yield None

            return opening()

    result = await profile(NeverOpens()).run(config(tmp_path, execution={"open_timeout_s": 0.05}))

    [row] = read_rows(result.directory / "rows.jsonl")
    assert (row.cause, row.success) == ("environment", None)
    assert row.error == "opening the session within 0.05 s took longer than it may and was cancelled"


# Rule 8: canaries


async def test_each_mode_has_one_canary_whose_result_is_thrown_away(tmp_path: Path) -> None:
    provider, seen = FakeProvider(), list[Event]()
    subject = profile(provider, modes=("x", "y"))

    result = await subject.run(config(tmp_path, modes=["x", "y"], execution={"warmup": True}), observers=[seen.append])

    assert provider.opened == 4
    assert len(rows_of(result)) == 2
    assert [event.cell.mode for event in seen if isinstance(event, CanaryFinished)] == ["x", "y"]


async def test_a_canary_that_cannot_be_measured_aborts_before_money_is_spent(tmp_path: Path) -> None:
    provider = FakeProvider(open_error=FileNotFoundError("no agent installed"))

    with pytest.raises(CanaryError, match=r"mode 'plain'.*no cell was started: FileNotFoundError: no agent installed"):
        await profile(provider).run(config(tmp_path, execution={"warmup": True}))

    assert not (next(tmp_path.iterdir()) / "rows.jsonl").read_text()


async def test_of_a_canary_that_failed_the_session_is_kept_apart_from_those_of_cells(tmp_path: Path) -> None:
    async def breaks(session: FakeSession, _text: str) -> Answer:
        session.call("tried")
        raise EnvironmentFailure("the solution does not work")

    with pytest.raises(CanaryError, match=r"its session: .*/warm-ups/fake/none/plain/add-001/0\.json"):
        await profile(FakeProvider(breaks)).run(config(tmp_path, execution={"warmup": True}))

    (directory,) = tmp_path.iterdir()
    (kept,) = directory.rglob("0.json")
    assert kept.relative_to(directory).parts[0] == "warm-ups"
    assert [call.name for call in SessionTrace.model_validate_json(kept.read_text()).tool_calls] == ["tried"]


async def test_a_canary_with_a_wrong_answer_does_not_abort(tmp_path: Path) -> None:
    async def wrong(_session: FakeSession, _text: str) -> Answer:
        return Answer(text="4")

    result = await profile(FakeProvider(wrong)).run(config(tmp_path, execution={"warmup": True}))

    assert result.measured == 1


# Rules 10 and 11: interruption and events


async def test_an_interrupted_run_keeps_its_rows_and_spend_and_resumes_with_the_rest(tmp_path: Path) -> None:
    hangs = True

    async def third_hangs(session: FakeSession, text: str) -> Answer:
        if session.number == 3 and hangs:
            session.call()
            reached.set()
            await anyio.sleep_forever()
        return await answers_three(session, text)

    reached = anyio.Event()
    settings = config(tmp_path, execution={"repetitions": 5})
    provider, seen = FakeProvider(third_hangs), list[Event]()
    subject = profile(provider)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: subject.run(settings, observers=[seen.append]))
        await reached.wait()
        tasks.cancel_scope.cancel()

    [directory] = tmp_path.iterdir()
    record = record_of(directory)
    assert record["status"] == "interrupted"
    assert record["interruptions"][0]["attempts"][0]["tokens"]["total"] == 110
    assert (directory / "sessions/fake/none/plain/add-001/2.json").is_file()
    assert len(list(read_rows(directory / "rows.jsonl"))) == 2
    assert isinstance(seen[-1], RunFinished)
    assert provider.open_sessions == 0
    hangs = False

    result = await subject.run(settings, resume=directory)

    assert result.measured == 5
    assert provider.opened == 6
    assert record_of(directory)["status"] == "complete"


async def test_observers_are_told_everything_in_order_and_a_broken_one_changes_nothing(tmp_path: Path) -> None:
    async def fails_once(session: FakeSession, text: str) -> Answer:
        if session.number == 1:
            raise ConnectionError("reset")
        return await answers_three(session, text)

    def broken(_event: Event) -> None:
        raise ValueError("no terminal")

    seen: list[Event] = []
    subject = profile(FakeProvider(fails_once), scenarios=(scenario(allowed_retries=1),))

    result = await subject.run(config(tmp_path), observers=[broken, seen.append])

    assert [type(event) for event in seen] == [RunStarted, CellStarted, CellRetried, CellFinished, RunFinished]
    problems = record_of(result.directory)["problems"]
    assert len(problems) == 1
    assert "no terminal" in problems[0]["message"]


# The consumer's own types


class ReviewScenario(BaseScenario):
    reviewer: str


async def test_a_consumers_scenario_comes_out_in_evidence_as_its_own_type(tmp_path: Path) -> None:
    seen: list[Evidence[ReviewScenario]] = []

    class Looks:
        name = "looks"

        def collect(self, evidence: Evidence[ReviewScenario]) -> list[Any]:
            seen.append(evidence)
            return []

    task = ReviewScenario(
        id="r-001",
        name="R",
        description="d",
        prompt="p",
        timeout_ms=1000,
        reviewer="ann",
        extensions={"rubric": "be kind"},
    )
    await profile(scenarios=(task,), collectors=(Looks(),)).run(config(tmp_path))

    assert seen[0].scenario is task
    assert seen[0].scenario.reviewer == "ann"
    assert seen[0].scenario.extensions == {"rubric": "be kind"}


async def test_the_plan_is_frozen_into_the_record_before_the_first_cell(tmp_path: Path) -> None:
    record: dict[str, Any] = {}

    async def looks(session: FakeSession, text: str) -> Answer:
        record.update(record_of(next(tmp_path.iterdir())))
        return await answers_three(session, text)

    await profile(FakeProvider(looks)).run(config(tmp_path, analysis={"alpha": 0.01}))

    assert record["status"] == "running"
    assert record["analysis"]["alpha"] == 0.01
    assert record["matrix"]["seed"] == 0
    assert record["scenarios"][0]["timeoutMs"] == 10_000
    assert record["version"] == 2
    assert record["agents"] == [{"name": "fake", "version": None, "controlKind": None}]


async def _load_any(ids: Sequence[str]) -> Sequence[BaseScenario]:
    return [scenario(each) for each in ids]


async def _run(results: Path, loader: Any, *, sets: dict[str, list[str]], **sections: Any) -> SuiteResult:
    settings: ProfileConfig = config(results, **sections)
    return await run_profile_suite(
        settings,
        loader=loader,
        modes=ModeTable([Mode(name="plain")]),
        instruments=instruments(),
        sets=ScenarioSets.model_validate(sets),
    )


async def test_what_some_scorers_found_is_on_the_row_though_its_verdict_is_unknown(tmp_path: Path) -> None:
    class HalfBroken:
        async def score(self, evidence: Evidence[Any]) -> Score:
            right = await SaysThree().score(evidence)
            raise PartialScoreError("no route", checkpoints=right.checkpoints)

    result = await profile(scorer=HalfBroken()).run(config(tmp_path))

    [row] = rows_of(result)
    assert row.success is None
    assert row.cause == "scorer"
    assert [(each.id, each.passed) for each in row.checkpoint_details] == [("three", True)]
    assert result.failed == 1


async def test_an_agent_that_broke_down_by_itself_did_not_succeed_and_was_measured(tmp_path: Path) -> None:
    async def breaks(_session: FakeSession, _text: str) -> Answer:
        raise AgentError("segmentation fault")

    result = await profile(FakeProvider(breaks)).run(config(tmp_path))

    [row] = rows_of(result)
    assert row.success is False
    assert row.cause == "agent_crash"
    assert result.failed == 0


async def test_an_interruption_reaches_agents_that_never_wait(tmp_path: Path) -> None:
    provider = FakeProvider()
    subject = profile(provider)

    with anyio.CancelScope() as scope:

        def interrupt(event: Event) -> None:
            if isinstance(event, CellFinished) and event.cell.iteration == 4:
                scope.cancel()

        await subject.run(config(tmp_path, execution={"repetitions": 500}), observers=[interrupt])

    assert scope.cancelled_caught
    assert provider.opened < 10
    assert record_of(next(tmp_path.iterdir()))["status"] == "interrupted"


async def test_an_interruption_is_one_though_clean_ups_fail_and_no_cell_gets_a_false_row(tmp_path: Path) -> None:
    async def hangs(_session: FakeSession, _text: str) -> Answer:
        reached.set()
        await anyio.sleep_forever()
        raise AssertionError

    reached = anyio.Event()
    broken = OSError("broken pipe")
    lifecycle = FakeLifecycle(fail={"leave add-001": broken, "leave run": broken, "leave mode plain": broken})
    subject = profile(FakeProvider(hangs, close_error=broken), lifecycle=lifecycle)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: subject.run(config(tmp_path, execution={"repetitions": 20})))
        await reached.wait()
        tasks.cancel_scope.cancel()

    [directory] = tmp_path.iterdir()
    assert list(read_rows(directory / "rows.jsonl")) == []
    assert record_of(directory)["status"] == "interrupted"


async def test_a_run_scope_that_swallows_what_went_wrong_does_not_make_the_run_complete(tmp_path: Path) -> None:
    class Swallows(FakeLifecycle):
        @asynccontextmanager
        async def run(self, directory: Path) -> AsyncGenerator[None]:
            with contextlib.suppress(Exception):
                yield

    provider = FakeProvider(open_error=FileNotFoundError("no agent"))

    with pytest.raises(CanaryError):
        await profile(provider, lifecycle=Swallows()).run(config(tmp_path, execution={"warmup": True}))

    assert record_of(next(tmp_path.iterdir()))["status"] == "failed"


async def test_a_failing_clean_up_does_not_hide_why_the_run_stopped(tmp_path: Path) -> None:
    lifecycle = FakeLifecycle(fail={"enter mode plain": OSError("no server"), "leave run": OSError("no folder")})

    with pytest.raises(ScopeError, match="no server"):
        await profile(lifecycle=lifecycle).run(config(tmp_path))


async def test_facts_that_are_no_json_are_written_as_text(tmp_path: Path) -> None:
    mode = Mode(name="plain", facts={"server": Path("/opt/server"), "version": "1.2"})  # type: ignore[dict-item]

    [row] = rows_of(await profile(modes=[mode]).run(config(tmp_path)))

    assert row.extensions["mode"] == {"server": "/opt/server", "version": "1.2"}


async def test_a_value_nested_too_deeply_to_be_read_costs_no_row(tmp_path: Path) -> None:
    deep: Any = "bottom"
    for _ in range(220):
        deep = [deep]

    class Deep:
        async def score(self, evidence: Evidence[Any]) -> Score:
            return Score.of((CheckpointDetail(id="c", description="d", passed=True, actual=deep),))

    [row] = rows_of(await profile(scorer=Deep()).run(config(tmp_path)))

    assert row.success is True


async def test_a_mode_that_changed_is_not_resumed_as_the_same(tmp_path: Path) -> None:
    before = profile(modes=[Mode(name="plain", instructions="be brief", environment={"TOKEN": "a"})])
    renewed = profile(modes=[Mode(name="plain", instructions="be brief", environment={"TOKEN": "b"})])
    changed = profile(modes=[Mode(name="plain", instructions="be thorough")])
    result = await before.run(config(tmp_path))

    await renewed.run(config(tmp_path), resume=result.directory)
    with pytest.raises(RunMismatchError, match="modes"):
        await changed.run(config(tmp_path), resume=result.directory)


async def test_a_cancellation_of_an_agents_own_making_fails_its_cell_and_no_other(tmp_path: Path) -> None:
    async def cancels_itself(session: FakeSession, text: str) -> Answer:
        if session.number == 2:
            raise anyio.get_cancelled_exc_class()
        return await answers_three(session, text)

    result = await profile(FakeProvider(cancels_itself)).run(config(tmp_path, execution={"repetitions": 6}))

    assert [row.success for row in rows_of(result)] == [True, None, True, True, True, True]
    assert record_of(result.directory)["status"] == "complete"


async def test_an_interruption_waits_until_cell_mode_and_run_have_cleared_away(tmp_path: Path) -> None:
    class TakesItsTime(FakeLifecycle):
        """Clears away as servers and worlds do: not without waiting."""

        @asynccontextmanager
        async def run(self, directory: Path) -> AsyncGenerator[None]:
            async with self.cleared("run"):
                yield

        @asynccontextmanager
        async def mode(self, mode: Mode) -> AsyncGenerator[None]:
            async with self.cleared("mode"):
                yield

        @asynccontextmanager
        async def cell(self, cell: Any, scenario: Any, mode: Mode) -> AsyncGenerator[Stage[Any]]:
            async with self.cleared("cell"):
                yield Stage(scenario=scenario)

        @asynccontextmanager
        async def cleared(self, what: str) -> AsyncGenerator[None]:
            try:
                yield
            finally:
                await anyio.lowlevel.checkpoint()
                self.log.append(what)

    async def hangs(_session: FakeSession, _text: str) -> Answer:
        reached.set()
        await anyio.sleep_forever()
        raise AssertionError

    reached, lifecycle = anyio.Event(), TakesItsTime()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: profile(FakeProvider(hangs), lifecycle=lifecycle).run(config(tmp_path)))
        await reached.wait()
        tasks.cancel_scope.cancel()

    assert lifecycle.log == ["cell", "mode", "run"]


async def test_a_run_whose_executor_left_cells_undone_is_not_complete(tmp_path: Path) -> None:
    class Lazy:
        @asynccontextmanager
        async def open(self, spec: Any, receive: Any) -> AsyncGenerator[Any]:
            async with spec.open(receive) as self.worker:
                yield self

        async def run(self, blocks: Sequence[Any]) -> None:
            await self.worker.measure(blocks[0].cells[0], blocks[0].scenario)

    result = await run_profile_suite(
        config(tmp_path, execution={"repetitions": 3}, scenarios={"ids": ["a-001"]}),
        loader=_load_any,
        modes=ModeTable([Mode(name="plain")]),
        instruments=instruments(),
        executor=Lazy(),
    )

    assert result.measured == 1
    assert record_of(result.directory)["status"] == "failed"
