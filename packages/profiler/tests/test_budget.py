"""A run that has spent what it may: no further cell is started, and resuming with more runs the rest."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from process_executor import ProcessExecutor
from profiler_fakes import FakeProvider, FakeSession, SaysThree, config, profile, scenario

from ghx_profiler import Instruments, Mode, Profile, read_rows
from ghx_profiler.config import Budget
from ghx_profiler.contracts import SessionRequest
from ghx_profiler.evidence import Answer
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.causes import Cause
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.model_calls import ModelCall
from ghx_profiler.records.row import Attempt
from ghx_profiler.records.trace import NamedCause, SessionTrace
from ghx_profiler.runner.spend import RunSpend
from ghx_profiler.scenario import ScenarioSets
from ghx_profiler.store.directory import RunDirectory
from ghx_profiler.store.record import read_record
from ghx_profiler.suite import run_profile_suite

SCENARIOS = tuple(scenario(f"add-00{number}") for number in range(1, 5))


def limits(**budget: Any) -> dict[str, Any]:
    return {"budget": {"run": budget}}


@pytest.mark.anyio
async def test_no_cell_is_started_after_the_budget_is_spent_and_resuming_runs_the_rest(tmp_path: Path) -> None:
    provider = FakeProvider()  # 110 tokens a session
    subject = profile(provider, scenarios=SCENARIOS)

    result = await subject.run(config(tmp_path, **limits(max_tokens=220)))

    assert (provider.opened, result.measured, result.left, result.failed) == (2, 2, 2, 0)
    assert result.stopped_by == "max_tokens of the run is used up (220 of 220)"
    record = read_record(RunDirectory(result.directory).record)
    assert record.status == "interrupted"
    assert [(each.code, each.message) for each in record.problems] == [
        ("RUN_BUDGET_SPENT", "max_tokens of the run is used up (220 of 220): 2 of 4 cells were not measured")
    ]

    again = await subject.run(config(tmp_path, **limits(max_tokens=220)), resume=result.directory)
    assert (provider.opened, again.left) == (2, 2)

    rest = await subject.run(config(tmp_path, **limits(max_tokens=1_000)), resume=result.directory)
    assert (provider.opened, rest.measured, rest.left, rest.stopped_by) == (4, 4, 0, None)
    assert read_record(RunDirectory(result.directory).record).status == "complete"


@pytest.mark.anyio
async def test_warm_ups_are_spent_too(tmp_path: Path) -> None:
    settings = config(tmp_path, **limits(max_tokens=100), execution={"warmup": True, "repetitions": 1})

    result = await profile(FakeProvider(), scenarios=SCENARIOS).run(settings)

    assert (result.measured, result.left) == (0, 4)


@pytest.mark.anyio
async def test_cells_that_run_come_to_their_end(tmp_path: Path) -> None:
    both_run = anyio.Event()

    async def waits(session: FakeSession, _text: str) -> Answer:
        session.call()
        if provider.opened == 2:
            both_run.set()
        await both_run.wait()
        return Answer(text="3")

    provider = FakeProvider(waits)
    settings = config(tmp_path, **limits(max_tokens=1), execution={"max_concurrency": 2})

    result = await profile(provider, scenarios=SCENARIOS).run(settings)

    assert (result.measured, result.left) == (2, 2)


def called(number: int, **told: Any) -> ModelCall:
    started_at = "2026-01-01T00:00:00Z"
    return ModelCall(number=number, wire="openai-chat", model_asked="gpt-5", started_at=started_at, **told)


class MeteredSession:
    def __init__(self, *, is_stopped: bool) -> None:
        self.is_stopped, self.recorder = is_stopped, TraceRecorder()
        self.calls: tuple[ModelCall, ...] = (called(1, usage=TokenUsage.of(input=100, output=10)),)

    async def prompt(self, text: str) -> Answer:
        self.recorder.model_calls.extend(self.calls)
        if self.is_stopped:
            self.recorder.cause = NamedCause(kind=Cause.RUN_BUDGET, message="max_usd of the run is used up: 5 of 5")
        return Answer(text="3")

    async def trace(self) -> SessionTrace:
        return self.recorder.trace()


class MeteredProvider:
    """Its second session is stopped in the middle, since the meter counts what the run has spent."""

    name = "metered"
    opened = 0

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator[MeteredSession]:
        self.opened += 1
        yield MeteredSession(is_stopped=self.opened == 2)


@pytest.mark.anyio
async def test_a_cell_whose_session_spent_the_rest_has_no_row_and_is_measured_on_resuming(tmp_path: Path) -> None:
    subject = Profile(
        scenarios=SCENARIOS,
        modes=[Mode(name="plain")],
        instruments=Instruments(provider=MeteredProvider(), scorer=SaysThree()),
    )

    result = await subject.run(config(tmp_path))

    assert (result.measured, result.left) == (1, 3)
    assert result.stopped_by == "max_usd of the run is used up: 5 of 5"
    [interruption] = read_record(RunDirectory(result.directory).record).interruptions
    assert (interruption.attempts[0].tokens.total, interruption.attempts[0].cause) == (110, Cause.RUN_BUDGET)

    rest = await subject.run(config(tmp_path), resume=result.directory)

    assert (rest.measured, rest.left) == (4, 0)
    assert len(list(read_rows(result.directory / "rows.jsonl"))) == 4


class Plain:
    async def resolve(self, name: str) -> Mode:
        return Mode(name=name)


def build_instruments() -> Instruments[Any]:
    return profile(FakeProvider()).instruments


@pytest.mark.anyio
async def test_workers_elsewhere_stop_as_well(tmp_path: Path) -> None:
    subject = profile(FakeProvider(), scenarios=SCENARIOS)

    result = await run_profile_suite(
        config(tmp_path, **limits(max_tokens=110)),
        loader=subject.load,
        modes=Plain(),
        instruments=subject.instruments,
        sets=ScenarioSets.model_validate({"default": [each.id for each in SCENARIOS]}),
        executor=ProcessExecutor(processes=1),
        build_instruments=build_instruments,
    )

    # A worker elsewhere may have begun its next cell before it hears of the end.
    assert 1 <= result.measured < len(SCENARIOS)
    assert result.stopped_by is not None
    assert result.stopped_by.startswith("max_tokens of the run is used up (")


def attempt(**fields: Any) -> Attempt:
    return Attempt(number=1, started_at="2026-01-01T00:00:00Z", **fields)


def test_the_limits_of_a_budget_are_held_against_what_attempts_spent() -> None:
    spend = RunSpend()
    spend.add([attempt(tokens=TokenUsage.of(input=1_000, output=200), cost_usd=0.25, model_calls=3, turns=2)] * 2)

    assert spend.find_excess(Budget()) is None
    assert spend.find_excess(Budget(max_usd=0.6, max_tokens=3_000, max_model_calls=7, max_turns=5)) is None
    assert spend.find_excess(Budget(max_usd=0.5)) == "max_usd of the run is used up (0.5 of 0.5)"
    assert spend.find_excess(Budget(max_model_calls=5)) == "max_model_calls of the run is used up (6 of 5)"
    assert spend.find_excess(Budget(max_turns=4)) == "max_turns of the run is used up (4 of 4)"


def test_of_tokens_that_are_not_known_the_lower_bound_counts_and_an_unknown_price_keeps_no_limit() -> None:
    spend = RunSpend()
    spend.add([attempt(tokens_at_least=TokenUsage.of(input=500, output=0))])

    assert spend.find_excess(Budget(max_tokens=500)) == "max_tokens of the run is used up (500 of 500)"
    unknown = "max_usd of the run cannot be kept: what a session cost is not known"
    assert spend.find_excess(Budget(max_usd=9)) == unknown
    assert RunSpend().find_excess(Budget(max_usd=9)) is None


def test_of_tokens_that_were_not_told_the_estimate_counts_and_is_said_to_be_one() -> None:
    spend = RunSpend()
    at_least, estimate = TokenUsage.of(input=5, output=0), TokenUsage.of(input=400, output=100)
    spend.add([attempt(tokens_at_least=at_least, tokens_estimated=estimate, cost_estimated_usd=0.5)])
    spend.add([attempt(tokens=TokenUsage.of(input=100, output=0), cost_usd=0.1)])

    words = "(600 of 600; 500 tokens estimated, of answers that did not tell theirs)"
    assert spend.find_excess(Budget(max_tokens=600)) == f"max_tokens of the run is used up {words}"
    assert spend.find_excess(Budget(max_usd=0.61)) is None
    assert "0.6 of 0.6; 500 tokens estimated" in (spend.find_excess(Budget(max_usd=0.6)) or "")


class CutProvider:
    """Its sessions end in the middle of an answer, as they do at a deadline."""

    name = "cut"

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator[MeteredSession]:
        session = MeteredSession(is_stopped=False)
        whole, nothing = TokenUsage.of(input=1_000_000, output=0), TokenUsage.of(input=0, output=0)
        session.calls = (called(1, usage=whole), called(2, cut=True, usage_at_least=nothing))
        yield session


@pytest.mark.anyio
async def test_an_answer_that_was_cut_costs_what_is_known_of_it_and_does_not_end_a_limited_run(tmp_path: Path) -> None:
    subject = Profile(
        scenarios=SCENARIOS,
        modes=[Mode(name="plain")],
        instruments=Instruments(provider=CutProvider(), scorer=SaysThree()),
    )

    result = await subject.run(config(tmp_path, **limits(max_usd=100.0), models=["openai/gpt-5"]))

    assert (result.measured, result.stopped_by) == (4, None)
    spent = next(iter(read_rows(result.directory / "rows.jsonl"))).attempts[0]
    assert spent.cost_usd is None
    assert spent.cost_at_least_usd == pytest.approx(1.25)
