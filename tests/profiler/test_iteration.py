"""One cell, measured: what becomes of it when something goes wrong, and what is kept."""

from dataclasses import replace
from typing import Any

import anyio
import pytest
from profiler_fakes import FakeLifecycle, FakeProvider, FakeSession, answers_three, instruments, scenario

from ghx_bench.profiler.causes import AgentError, Cause, TransientError
from ghx_bench.profiler.cell import Cell
from ghx_bench.profiler.evidence import Answer, Mode
from ghx_bench.profiler.iteration import Task, iterate, measure
from ghx_bench.profiler.metrics import CustomMetric
from ghx_bench.profiler.outcome import Completed, Failed
from ghx_bench.profiler.phases import Limits

pytestmark = pytest.mark.anyio

CELL = Cell(model="none", mode="plain", scenario_id="add-001", iteration=0)


def task(provider: FakeProvider | None = None, *, timeout_ms: int = 10_000, **fields: Any) -> Task[Any]:
    return Task(
        cell=CELL,
        scenario=scenario(timeout_ms=timeout_ms),
        mode=Mode(name="plain"),
        instruments=instruments(provider, **fields),
    )


async def works_for_ever(session: FakeSession, _text: str) -> Answer:
    for _ in range(3):
        session.call()
    await anyio.sleep_forever()
    raise AssertionError


async def test_a_right_answer_is_completed_and_scored() -> None:
    outcome = await measure(task())

    assert isinstance(outcome, Completed)
    assert outcome.success
    assert outcome.cause is None
    assert outcome.evidence.tokens.total == 110
    assert outcome.evidence.tool_calls.total == 1
    assert {metric.name for metric in outcome.metrics} >= {"tokens_active", "latency_wall_ms", "tool_calls_total"}


async def test_a_wrong_answer_is_completed_without_success_and_never_retried() -> None:
    async def answers_four(_session: FakeSession, _text: str) -> Answer:
        return Answer(text="4")

    provider = FakeProvider(answers_four)
    outcome, attempts = await iterate(task(provider), retries=5, retrying=_forget)

    assert isinstance(outcome, Completed)
    assert not outcome.success
    assert len(attempts) == provider.opened == 1


async def test_an_agent_past_its_deadline_is_stopped_and_what_it_did_is_kept() -> None:
    provider = FakeProvider(works_for_ever)

    outcome = await measure(task(provider, timeout_ms=50))

    assert isinstance(outcome, Completed)
    assert outcome.cause is Cause.AGENT_TIMEOUT
    assert outcome.evidence.completion_reason == "timeout"
    assert outcome.evidence.trace is not None
    assert len(outcome.evidence.trace.tool_calls) == 3
    assert outcome.evidence.timing.wall_ms is not None
    assert outcome.evidence.timing.wall_ms >= 50
    assert outcome.score.checkpoints[0].passed is False
    assert provider.open_sessions == 0


async def test_an_agent_that_did_the_task_but_never_ended_is_scored_and_yet_no_success() -> None:
    class AlwaysRight:
        async def score(self, _evidence: object) -> Any:
            from ghx_bench.profiler.score import Score

            return Score(success=True)

    outcome = await measure(task(FakeProvider(works_for_ever), timeout_ms=20, scorer=AlwaysRight()))

    assert isinstance(outcome, Completed)
    assert outcome.score.success
    assert not outcome.success


@pytest.mark.parametrize(("reason", "cause"), [("tool_limit", Cause.AGENT_BUDGET), ("refusal", Cause.AGENT_REFUSAL)])
async def test_an_agent_that_stops_short_by_its_own_fault_is_no_success(reason: Any, cause: Cause) -> None:
    async def stops_short(_session: FakeSession, _text: str) -> Answer:
        return Answer(text="3", reason=reason)

    outcome = await measure(task(FakeProvider(stops_short)))

    assert isinstance(outcome, Completed)
    assert outcome.cause is cause
    assert not outcome.success


async def test_a_failing_scorer_keeps_trace_and_spend() -> None:
    class Broken:
        async def score(self, _evidence: object) -> Any:
            raise RuntimeError("GitHub is down")

    outcome = await measure(task(scorer=Broken()))

    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.SCORER
    assert outcome.evidence is not None
    assert outcome.evidence.tokens.total == 110
    assert outcome.evidence.trace is not None
    assert not outcome.may_work_next_time


async def test_a_scorer_that_hangs_is_a_failing_scorer() -> None:
    class Hangs:
        async def score(self, _evidence: object) -> Any:
            await anyio.sleep_forever()

    outcome = await measure(task(scorer=Hangs(), limits=Limits(scoring_s=0.02)))

    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.SCORER


async def test_a_failing_cleanup_is_noted_beside_the_result() -> None:
    lifecycle = FakeLifecycle(fail={"leave add-001": OSError("cannot remove the world")})

    outcome = await measure(task(lifecycle=lifecycle))

    assert isinstance(outcome, Completed)
    assert outcome.success
    assert [(problem.where, problem.message) for problem in outcome.problems] == [
        ("cleanup", "cannot remove the world")
    ]


async def test_a_cleanup_that_hangs_is_cut_off_and_noted() -> None:
    class Hangs(FakeLifecycle):
        def cell(self, cell: Any, scenario: Any, mode: Any) -> Any:
            from contextlib import asynccontextmanager

            from ghx_bench.profiler.evidence import Stage

            @asynccontextmanager
            async def held() -> Any:
                yield Stage(scenario=scenario)
                await anyio.sleep_forever()

            return held()

    outcome = await measure(task(lifecycle=Hangs(), limits=Limits(cleanup_s=0.02)))

    assert isinstance(outcome, Completed)
    assert outcome.success
    assert [problem.code for problem in outcome.problems] == ["OVERRAN"]


async def test_a_session_that_cannot_be_closed_is_still_scored() -> None:
    outcome = await measure(task(FakeProvider(close_error=OSError("socket is gone"))))

    assert isinstance(outcome, Completed)
    assert outcome.success
    assert outcome.problems[0].where == "session"


async def test_a_failing_stage_fails_the_cell_and_blames_the_environment() -> None:
    lifecycle = FakeLifecycle(fail={"enter add-001": OSError("no space for the world")})

    outcome = await measure(task(lifecycle=lifecycle))

    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.ENVIRONMENT
    assert outcome.evidence is None


async def test_a_session_that_cannot_be_opened_fails_the_cell() -> None:
    outcome = await measure(task(FakeProvider(open_error=FileNotFoundError("no such agent"))))

    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.BENCH


async def test_a_session_that_takes_for_ever_to_open_is_cut_off_and_the_stage_is_left_in_peace() -> None:
    class SlowToOpen(FakeProvider):
        def session(self, request: Any) -> Any:
            from contextlib import asynccontextmanager

            @asynccontextmanager
            async def opening() -> Any:
                await anyio.sleep_forever()
                yield None

            return opening()

    lifecycle = FakeLifecycle()
    outcome = await measure(task(SlowToOpen(), lifecycle=lifecycle, limits=Limits(setup_s=0.02)))

    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.ENVIRONMENT
    assert lifecycle.log == ["enter add-001", "leave add-001"]


async def test_an_agent_that_breaks_down_keeps_what_it_spent() -> None:
    async def breaks(session: FakeSession, _text: str) -> Answer:
        session.call()
        raise AgentError("segmentation fault")

    outcome = await measure(task(FakeProvider(breaks)))

    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.AGENT_CRASH
    assert outcome.evidence is not None
    assert outcome.evidence.tokens.total == 110


async def test_a_trace_that_cannot_be_exported_leaves_numbers_unknown_and_the_score_standing() -> None:
    async def forgets(session: FakeSession, _text: str) -> Answer:
        session.export_error = ValueError("transcript is gone")
        return Answer(text="3")

    outcome = await measure(task(FakeProvider(forgets)))

    assert isinstance(outcome, Completed)
    assert outcome.success
    assert outcome.evidence.tokens.total is None
    assert outcome.evidence.tool_calls.total is None
    assert outcome.problems[0].where == "trace"


async def test_only_transient_failures_are_retried_in_fresh_sessions_and_stages() -> None:
    async def fails_twice(session: FakeSession, text: str) -> Answer:
        session.call()
        if session.number < 3:
            raise TransientError("503 from the model service")
        return await answers_three(session, text)

    provider, lifecycle = FakeProvider(fails_twice), FakeLifecycle()
    told: list[int] = []

    outcome, attempts = await iterate(
        task(provider, lifecycle=lifecycle), retries=2, retrying=lambda number, _error, _pause: told.append(number)
    )

    assert isinstance(outcome, Completed)
    assert [attempt.cause for attempt in attempts] == [Cause.MODEL_PROVIDER, Cause.MODEL_PROVIDER, None]
    assert [attempt.tokens.total for attempt in attempts] == [110, 110, 220]
    assert [attempt.session_id for attempt in attempts] == ["ses-1", "ses-2", "ses-3"]
    assert lifecycle.log == ["enter add-001", "leave add-001"] * 3
    assert told == [1, 2]


class _ServerError(Exception):
    status_code = 502


@pytest.mark.parametrize(
    ("error", "is_retried"),
    [
        (TransientError("later"), True),
        (ConnectionResetError("gone"), True),
        (_ServerError("bad gateway"), True),
        (ExceptionGroup("one", [ConnectionError("gone")]), True),
        (ValueError("bad input"), False),
        (TimeoutError("too slow"), False),
        (AgentError("crashed"), False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
async def test_which_failures_are_transient(error: Exception, is_retried: bool) -> None:
    async def fails(_session: FakeSession, _text: str) -> Answer:
        raise error

    _outcome, attempts = await iterate(task(FakeProvider(fails)), retries=1, retrying=_forget)

    assert len(attempts) == (2 if is_retried else 1)


async def test_a_service_that_asks_for_a_pause_gets_it() -> None:
    async def limited(session: FakeSession, text: str) -> Answer:
        if session.number == 1:
            raise TransientError("429", retry_after_s=0.03)
        return await answers_three(session, text)

    pauses: list[float] = []
    await iterate(task(FakeProvider(limited)), retries=1, retrying=lambda _n, _e, pause: pauses.append(pause))

    assert pauses == [0.03]


async def test_a_failing_collector_or_analyzer_costs_only_its_own_findings() -> None:
    class Broken:
        name = "broken"

        def collect(self, _evidence: object) -> Any:
            raise KeyError("nothing there")

        def analyze(self, _evidence: object) -> Any:
            raise KeyError("nothing there")

    class Counts:
        def collect(self, _evidence: object) -> Any:
            return [CustomMetric(name="ones", value=1)]

    outcome = await measure(task(collectors=(Broken(), Counts()), analyzers=(Broken(),)))

    assert isinstance(outcome, Completed)
    assert [metric.name for metric in outcome.metrics] == ["ones"]
    assert [problem.where for problem in outcome.problems] == ["collector Broken", "analyzer broken"]


async def test_a_failing_tool_classifier_falls_back_to_tool_names() -> None:
    def broken(_call: object) -> str:
        raise ValueError("unheard of")

    outcome = await measure(task(classify=broken))

    assert isinstance(outcome, Completed)
    assert outcome.evidence.tool_calls.by_category == {"add": 1}
    assert outcome.problems[0].where == "classifier"


async def test_the_environment_is_the_benchs_the_modes_and_the_stages_in_that_order() -> None:
    provider = FakeProvider()
    base = task(
        provider,
        environment={"A": "bench", "B": "bench", "C": "bench"},
        lifecycle=FakeLifecycle(environment={"C": "stage"}),
    )

    await measure(replace(base, mode=Mode(name="plain", environment={"B": "mode", "C": "mode"})))

    assert provider.requests[0].environment == {"A": "bench", "B": "mode", "C": "stage"}


async def test_an_interrupted_session_is_exported_before_the_interruption_goes_on() -> None:
    kept: list[Any] = []
    started = anyio.Event()

    async def starts(session: FakeSession, text: str) -> Answer:
        started.set()
        return await works_for_ever(session, text)

    provider, lifecycle = FakeProvider(starts), FakeLifecycle()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(measure, task(provider, lifecycle=lifecycle), kept.append)
        await started.wait()
        await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()

    assert len(kept) == 1
    assert kept[0].trace.session_id == "ses-1"
    assert provider.open_sessions == 0


async def test_segments_say_where_the_time_went() -> None:
    outcome = await measure(task())

    assert outcome.evidence is not None
    labels = [segment.label for segment in outcome.evidence.timing.segments]
    assert labels == ["stage", "session", "prompt", "export", "close", "score"]


def _forget(*_arguments: object) -> None:
    pass
