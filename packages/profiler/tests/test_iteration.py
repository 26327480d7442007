"""One cell, measured: what becomes of it when something goes wrong, and what is kept."""

import socket
import time
from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest
from profiler_fakes import FakeLifecycle, FakeProvider, FakeSession, answers_three, instruments, scenario

from ghx_profiler.evidence import Answer, EndedSession, Mode
from ghx_profiler.plan.cell import Cell
from ghx_profiler.records.activity import MOST_CHANGES, ObservedChange, SessionActivity
from ghx_profiler.records.causes import AgentError, Cause, ModelProviderError, TransientError
from ghx_profiler.records.metrics import CustomMetric
from ghx_profiler.records.outcome import Completed, Failed, attempt_of
from ghx_profiler.records.row import Attempt
from ghx_profiler.runner.deadlines import Limits, pause_deadline
from ghx_profiler.runner.instruments import Backoff
from ghx_profiler.runner.iteration import ReportRetry, Task, iterate, measure

pytestmark = [pytest.mark.anyio, pytest.mark.both_backends]

CELL = Cell(agent="fake", model="none", mode="plain", scenario_id="add-001", iteration=0)


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
    assert outcome.metrics == ()


async def test_a_wrong_answer_is_completed_without_success_and_never_retried() -> None:
    async def answers_four(_session: FakeSession, _text: str) -> Answer:
        return Answer(text="4")

    provider = FakeProvider(answers_four)
    work = task(provider)
    outcome = await iterate(work, retries=5, report_retry=_forget)

    assert isinstance(outcome, Completed)
    assert not outcome.success
    assert len(work.attempts) == provider.opened == 1


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
            from ghx_profiler.records.score import Score

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


async def test_a_scorer_that_cannot_reach_its_service_does_not_make_the_agent_work_again() -> None:
    class Unreachable:
        async def score(self, _evidence: object) -> Any:
            raise TransientError("502 from GitHub")

    provider = FakeProvider()
    work = task(provider, scorer=Unreachable())

    outcome = await iterate(work, retries=2, report_retry=_forget)

    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.SCORER
    assert provider.opened == len(work.attempts) == 1, "every further session would be paid for"


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
            from ghx_profiler.evidence import Stage

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


async def test_a_session_that_cannot_be_closed_after_a_timeout_is_noted_beside_the_timeout() -> None:
    outcome = await measure(task(FakeProvider(works_for_ever, close_error=OSError("socket is gone")), timeout_ms=20))

    assert isinstance(outcome, Completed)
    assert outcome.cause is Cause.AGENT_TIMEOUT
    assert [(problem.where, problem.message) for problem in outcome.problems] == [("session", "socket is gone")]


async def test_a_failing_stage_fails_the_cell_and_blames_the_environment() -> None:
    lifecycle = FakeLifecycle(fail={"enter add-001": OSError("no space for the world")})

    outcome = await measure(task(lifecycle=lifecycle))

    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.ENVIRONMENT
    assert outcome.evidence is None


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (FileNotFoundError("no such agent"), Cause.ENVIRONMENT),
        (AgentError("authentication required"), Cause.ENVIRONMENT),
        (ConnectionResetError("peer"), Cause.ENVIRONMENT),
        (ModelProviderError("no such model"), Cause.MODEL_PROVIDER),
    ],
)
async def test_a_failure_before_the_first_prompt_is_never_the_agents(error: Exception, cause: Cause) -> None:
    outcome = await measure(task(FakeProvider(open_error=error)))

    assert isinstance(outcome, Failed)
    assert (outcome.cause, outcome.error) == (cause, error)


async def test_a_session_that_takes_for_ever_to_open_is_cut_off_and_the_stage_is_left_in_peace() -> None:
    class SlowToOpen(FakeProvider):
        def session(self, request: Any) -> Any:
            @asynccontextmanager
            async def opening() -> Any:
                await anyio.sleep_forever()
                yield None

            return opening()

    lifecycle = FakeLifecycle()
    outcome = await measure(task(SlowToOpen(), lifecycle=lifecycle, limits=Limits(opening_s=0.02)))

    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.ENVIRONMENT
    assert str(outcome.error) == "opening the session within 0.02 s took longer than it may and was cancelled"
    assert lifecycle.log == ["enter add-001", "leave add-001"]


@pytest.mark.slow
@pytest.mark.parametrize("is_slow", [False, True])
async def test_the_time_for_opening_a_session_does_not_pass_while_it_waits_for_others(is_slow: bool) -> None:
    class WaitsForOthers(FakeProvider):
        @asynccontextmanager
        async def session(self, request: Any) -> Any:
            with pause_deadline():
                await anyio.sleep(1.1)
            if is_slow:
                await anyio.sleep_forever()
            async with super().session(request) as session:
                yield session

    outcome = await measure(task(WaitsForOthers(), limits=Limits(opening_s=1.0)))

    assert isinstance(outcome, Failed if is_slow else Completed)


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
    retries: list[int] = []

    work = task(provider, lifecycle=lifecycle)
    outcome = await iterate(
        work, retries=2, report_retry=_noting(lambda attempt, _pause: retries.append(attempt.number))
    )

    assert isinstance(outcome, Completed)
    assert [attempt.cause for attempt in work.attempts] == [Cause.MODEL_PROVIDER, Cause.MODEL_PROVIDER, None]
    assert [attempt.tokens.total for attempt in work.attempts] == [110, 110, 220]
    assert [attempt.session_id for attempt in work.attempts] == ["ses-1", "ses-2", "ses-3"]
    assert lifecycle.log == ["enter add-001", "leave add-001"] * 3
    assert retries == [1, 2]


class _ServerError(Exception):
    status_code = 502


def _from(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "is_retried"),
    [
        (TransientError("later"), True),
        (ConnectionResetError("gone"), True),
        (_ServerError("bad gateway"), True),
        (ExceptionGroup("one", [ConnectionError("gone")]), True),
        (ExceptionGroup("two", [ConnectionError("gone"), socket.gaierror("no such host")]), True),
        (ExceptionGroup("two", [ConnectionError("gone"), ValueError("bad")]), False),
        (_from(AgentError("crashed"), ConnectionError("gone")), False),
        (ValueError("bad input"), False),
        (TimeoutError("too slow"), False),
        (AgentError("crashed"), False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
async def test_which_failures_are_transient(error: Exception, is_retried: bool) -> None:
    async def fails(_session: FakeSession, _text: str) -> Answer:
        raise error

    work = task(FakeProvider(fails))
    await iterate(work, retries=1, report_retry=_forget)

    assert len(work.attempts) == (2 if is_retried else 1)


async def test_a_service_that_asks_for_a_pause_gets_it() -> None:
    async def limited(session: FakeSession, text: str) -> Answer:
        if session.number == 1:
            raise TransientError("429", retry_after_s=0.03)
        return await answers_three(session, text)

    pauses: list[float] = []
    await iterate(
        task(FakeProvider(limited)), retries=1, report_retry=_noting(lambda _attempt, pause: pauses.append(pause))
    )

    assert pauses == [0.03]


async def test_a_service_that_asks_for_a_day_does_not_stall_the_run_for_a_day() -> None:
    async def limited(_session: FakeSession, _text: str) -> Answer:
        raise TransientError("429", retry_after_s=86_400)

    pauses: list[float] = []
    with anyio.CancelScope() as scope:

        async def report_retry(_attempt: Attempt, pause_s: float) -> None:
            pauses.append(pause_s)
            scope.cancel()

        await iterate(task(FakeProvider(limited)), retries=1, report_retry=report_retry)

    assert pauses == [600]


async def test_pauses_double_with_jitter_below_and_never_pass_the_longest() -> None:
    backoff = Backoff(first_s=1, longest_s=60)

    for attempt in range(1, 20):
        bound = min(60, 2 ** (attempt - 1))
        pauses = [backoff.pause_s(attempt, chance) for chance in (0, 0.5, 0.999_999)]
        assert pauses == pytest.approx([bound / 2, bound * 0.75, bound], rel=1e-5)
        assert max(pauses) <= bound


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
    assert [problem.where for problem in outcome.problems] == ["collector Broken", "analyzer Broken"]


async def test_refused_hosts_that_cannot_be_counted_are_not_known_and_cost_no_result() -> None:
    def fail() -> None:
        raise OSError("no journal")

    class Unseeing(FakeLifecycle):
        @asynccontextmanager
        async def cell(self, cell: Any, scenario: Any, mode: Any) -> Any:
            async with super().cell(cell, scenario, mode) as stage:
                yield replace(stage, count_refused_hosts=fail)

    outcome = await measure(task(lifecycle=Unseeing()))

    assert isinstance(outcome, Completed)
    assert (outcome.success, outcome.evidence.refused_hosts) == (True, None)
    assert [each.where for each in outcome.problems] == ["refused hosts"]


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
    started = anyio.Event()

    async def starts(session: FakeSession, text: str) -> Answer:
        started.set()
        return await works_for_ever(session, text)

    provider, lifecycle = FakeProvider(starts), FakeLifecycle()
    work = task(provider, lifecycle=lifecycle)
    await _interrupt(work, started)

    [spent] = work.list_attempts()
    assert spent.session_id == "ses-1"
    assert spent.tokens.total == 330
    assert provider.open_sessions == 0


async def _interrupt(work: Task[Any], when: anyio.Event) -> None:
    """Measure, and interrupt it at that moment; there must be no outcome."""
    outcomes: list[object] = []

    async def run() -> None:
        outcomes.append(await iterate(work, retries=3, report_retry=_forget))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await when.wait()
        await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    assert outcomes == []


@pytest.mark.parametrize("turns_it_into", [ConnectionError("gone"), RuntimeError("broken"), SystemExit(0)])
async def test_an_interruption_that_a_prompt_turns_into_an_error_is_still_one(turns_it_into: BaseException) -> None:
    started = anyio.Event()

    async def converts(session: FakeSession, text: str) -> Answer:
        started.set()
        try:
            return await works_for_ever(session, text)
        except BaseException:  # noqa: BLE001 - that is the fault
            raise turns_it_into from None

    await _interrupt(task(FakeProvider(converts)), started)


async def test_an_interruption_is_one_though_closing_the_session_and_the_stage_fail() -> None:
    started = anyio.Event()

    async def starts(session: FakeSession, text: str) -> Answer:
        started.set()
        return await works_for_ever(session, text)

    class FailsToClose(FakeProvider):
        @asynccontextmanager
        async def session(self, request: Any) -> Any:
            try:
                async with super().session(request) as session:
                    yield session
            finally:
                raise OSError("broken pipe")

    class FailsToLeave(FakeLifecycle):
        @asynccontextmanager
        async def cell(self, cell: Any, scenario: Any, mode: Any) -> Any:
            try:
                async with super().cell(cell, scenario, mode) as stage:
                    yield stage
            finally:
                raise OSError("no such world")

    work = task(FailsToClose(starts), lifecycle=FailsToLeave())
    await _interrupt(work, started)

    assert len(work.list_attempts()) == 1


async def test_an_interruption_while_scoring_keeps_what_was_spent() -> None:
    started = anyio.Event()

    class Waits:
        async def score(self, _evidence: object) -> Any:
            started.set()
            await anyio.sleep_forever()

    work = task(scorer=Waits())
    await _interrupt(work, started)

    assert work.list_attempts()[0].tokens.total == 110


async def test_an_interruption_in_a_pause_keeps_what_the_attempts_spent() -> None:
    async def fails(session: FakeSession, _text: str) -> Answer:
        session.call()
        raise TransientError("later", retry_after_s=500)

    work = task(FakeProvider(fails))
    pausing = anyio.Event()

    async def run() -> None:
        await iterate(work, retries=3, report_retry=_noting(lambda *_: pausing.set()))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await pausing.wait()
        tasks.cancel_scope.cancel()

    assert [attempt.tokens.total for attempt in work.list_attempts()] == [110]


async def test_a_session_whose_background_task_fails_is_a_failed_session_with_what_it_spent() -> None:
    class Holds(FakeProvider):
        @asynccontextmanager
        async def session(self, request: Any) -> Any:
            async def reads() -> None:
                await reading.wait()
                raise ConnectionError("stream reset")

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(reads)
                async with super().session(request) as session:
                    yield session

    async def starts(session: FakeSession, text: str) -> Answer:
        session.call()
        reading.set()
        await anyio.sleep_forever()
        return Answer(text=text)

    reading = anyio.Event()
    outcome = await measure(task(Holds(starts)))

    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.MODEL_PROVIDER
    assert outcome.may_work_next_time
    assert outcome.evidence is not None
    assert outcome.evidence.tokens.total == 110


async def test_a_stage_that_gives_way_in_the_middle_keeps_what_the_session_spent() -> None:
    class Collapses(FakeLifecycle):
        @asynccontextmanager
        async def cell(self, cell: Any, scenario: Any, mode: Any) -> Any:
            async def serves() -> None:
                await working.wait()
                raise OSError("the world's server died")

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(serves)
                async with super().cell(cell, scenario, mode) as stage:
                    yield stage

    async def starts(session: FakeSession, text: str) -> Answer:
        session.call()
        working.set()
        await anyio.sleep_forever()
        return Answer(text=text)

    working = anyio.Event()
    outcome = await measure(task(FakeProvider(starts), lifecycle=Collapses()))

    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.ENVIRONMENT
    assert outcome.evidence is not None
    assert outcome.evidence.tokens.total == 110


@pytest.mark.parametrize("raised", [SystemExit(3), GeneratorExit("odd")], ids=str)
async def test_a_plugin_that_raises_what_no_plugin_may_has_failed_and_no_more(raised: BaseException) -> None:
    async def misbehaves(_session: FakeSession, _text: str) -> Answer:
        raise raised

    outcome = await measure(task(FakeProvider(misbehaves)))

    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.BENCH
    assert outcome.evidence is not None


@pytest.mark.parametrize("returned", [None, "3", {"text": "3"}])
async def test_a_wrong_answer_type_is_the_providers_fault_and_keeps_the_spend(returned: Any) -> None:
    async def returns(session: FakeSession, _text: str) -> Answer:
        session.call()
        return returned

    class Session(FakeSession):
        async def prompt(self, text: str) -> Answer:
            return await self.behave(self, text)

    class Provider(FakeProvider):
        @asynccontextmanager
        async def session(self, request: Any) -> Any:
            yield Session(request=request, behave=returns, number=1)

    outcome = await measure(task(Provider()))

    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.BENCH
    assert outcome.evidence is not None
    assert outcome.evidence.tokens.total == 110


@pytest.mark.parametrize("returned", [None, True, {"success": True}])
async def test_a_wrong_score_type_is_the_scorers_fault_and_keeps_the_spend(returned: Any) -> None:
    class Returns:
        async def score(self, _evidence: object) -> Any:
            return returned

    outcome = await measure(task(scorer=Returns()))

    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.SCORER
    assert outcome.evidence is not None
    assert outcome.evidence.tokens.total == 110


@pytest.mark.parametrize("bad", [3, CustomMetric("x", True), CustomMetric("x", "abc")])  # type: ignore[arg-type]
async def test_a_metric_that_is_no_number_is_noted_and_left_out(bad: Any) -> None:
    class Collects:
        def collect(self, _evidence: object) -> Any:
            return [bad]

    outcome = await measure(task(collectors=(Collects(),)))

    assert isinstance(outcome, Completed)
    assert outcome.metrics == ()
    assert outcome.problems[0].where == "collector Collects"


async def test_an_error_that_cannot_be_told_is_told_by_its_name() -> None:
    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    async def fails(_session: FakeSession, _text: str) -> Answer:
        raise Unspeakable

    work = task(FakeProvider(fails))
    await iterate(work, retries=0, report_retry=_forget)

    assert (work.attempts[0].error or "").startswith("Unspeakable (test_iteration.py line ")


async def test_an_error_raised_from_itself_does_not_go_round_for_ever() -> None:
    async def fails(_session: FakeSession, _text: str) -> Answer:
        error = ValueError("me")
        raise error from error

    assert isinstance(await measure(task(FakeProvider(fails))), Failed)


async def test_an_agent_that_blocks_the_bench_past_its_deadline_is_late_all_the_same() -> None:
    async def blocks(_session: FakeSession, _text: str) -> Answer:
        time.sleep(0.05)  # noqa: ASYNC251 - that is the fault
        return Answer(text="3")

    outcome = await measure(task(FakeProvider(blocks), timeout_ms=20))

    assert isinstance(outcome, Completed)
    assert outcome.cause is Cause.AGENT_TIMEOUT
    assert outcome.cut_short_by == ""  # so little may be a busy machine's doing


@pytest.mark.slow
async def test_an_agent_that_blocked_the_bench_for_long_is_told_so() -> None:
    async def blocks(_session: FakeSession, _text: str) -> Answer:
        time.sleep(1.2)  # noqa: ASYNC251 - that is the fault
        return Answer(text="3")

    outcome = await measure(task(FakeProvider(blocks), timeout_ms=20))

    assert isinstance(outcome, Completed)
    assert outcome.cut_short_by.startswith("it blocked the event loop for up to 1.")
    assert (attempt_of(outcome, 1).error or "").endswith(f"timeoutMs; {outcome.cut_short_by}")


async def test_segments_say_where_the_time_went() -> None:
    outcome = await measure(task())

    assert outcome.evidence is not None
    labels = [segment.label for segment in outcome.evidence.timing.segments]
    assert labels == ["stage", "session", "prompt", "export", "close", "score"]


async def _forget(*_arguments: object) -> None:
    pass


def _noting(note: Callable[[Attempt, float], object]) -> ReportRetry:
    async def report_retry(attempt: Attempt, pause_s: float) -> None:
        note(attempt, pause_s)

    return report_retry


def observing(observe: Callable[[], Any]) -> type[FakeLifecycle]:
    class Observing(FakeLifecycle):
        @asynccontextmanager
        async def cell(self, *given: Any) -> Any:
            async with super().cell(*given) as stage:
                yield replace(stage, secrets=frozenset({"swordfish"}), observe=observe)

    return Observing


async def test_what_a_session_changed_is_kept_without_its_secrets_and_bounded() -> None:
    change = ObservedChange(change="created", what="comments", name="#7", after={"body": "swordfish" + "x" * 5_000})
    seen = SessionActivity.bounded([change] * (MOST_CHANGES + 2), [])

    outcome = await measure(task(lifecycle=observing(lambda: seen)()))

    assert outcome.activity is not None
    assert outcome.evidence is not None
    assert outcome.evidence.trace is not None
    assert outcome.activity.session_id == outcome.evidence.trace.session_id
    assert (len(outcome.activity.changes), outcome.activity.changes_left_out) == (MOST_CHANGES, 2)
    assert outcome.activity.changes[0].after == {"body": "***" + "x" * 991 + "… (5,009 characters)"}


@pytest.mark.parametrize("returned", ["raises", "what is none"])
async def test_what_cannot_be_observed_is_a_problem_beside_the_result(returned: str) -> None:
    def observe() -> str:
        if returned == "raises":
            raise OSError("gone")
        return returned

    outcome = await measure(task(lifecycle=observing(observe)()))

    assert isinstance(outcome, Completed)
    assert outcome.success
    assert outcome.activity is None
    assert [each.where for each in outcome.problems] == ["activity"]


def keeping(keep: Callable[[EndedSession], None]) -> type[FakeLifecycle]:
    class Keeping(FakeLifecycle):
        @asynccontextmanager
        async def cell(self, *given: Any) -> Any:
            async with super().cell(*given) as stage:
                yield replace(stage, secrets=frozenset({"swordfish"}), keep=keep)

    return Keeping


async def test_what_a_session_left_is_kept_once_it_is_scored() -> None:
    ended: list[EndedSession] = []

    outcome = await measure(task(lifecycle=keeping(ended.append)()))

    (each,) = ended
    assert isinstance(outcome, Completed)
    assert each.success is outcome.success is True
    assert each.evidence.score == outcome.score
    assert each.evidence.answer is not None
    assert outcome.evidence.trace is not None
    assert outcome.evidence.trace.answer == each.evidence.answer.text
    assert each.redact("the swordfish") == "the ***"


async def test_a_session_that_broke_down_is_told_as_not_right() -> None:
    ended: list[EndedSession] = []

    async def breaks_down(_session: FakeSession, _text: str) -> Answer:
        raise AgentError("broken")

    outcome = await measure(task(FakeProvider(breaks_down), lifecycle=keeping(ended.append)()))

    assert not isinstance(outcome, Completed)
    assert [each.success for each in ended] == [False]


async def test_nothing_is_kept_of_a_warm_up() -> None:
    ended: list[EndedSession] = []
    work = task(lifecycle=keeping(ended.append)())
    work.cell = replace(work.cell, is_canary=True)

    await measure(work)

    assert ended == []


async def test_what_cannot_be_kept_is_a_problem_beside_the_result() -> None:
    def keep(_: EndedSession) -> None:
        raise OSError("no space left")

    outcome = await measure(task(lifecycle=keeping(keep)()))

    assert isinstance(outcome, Completed)
    assert outcome.success
    assert [each.where for each in outcome.problems] == ["world"]
