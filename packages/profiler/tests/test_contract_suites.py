"""The contract suites themselves: good implementations pass, and for every rule a broken one fails."""

import asyncio
import os
import signal
import subprocess
import sys
import unittest
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import anyio
import anyio.abc
import anyio.lowlevel
import pytest
from process_executor import ProcessExecutor

from ghx_profiler.contracts import NoLifecycle, SessionProvider, SessionRequest
from ghx_profiler.errors import UnknownNameError
from ghx_profiler.evidence import Answer, Evidence, Mode, Stage
from ghx_profiler.executors import LocalExecutor
from ghx_profiler.plan.blocks import Block, PlacedCell
from ghx_profiler.plan.cell import Cell
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.analysis import AnalysisResult, NumberFinding, RatioFinding
from ghx_profiler.records.causes import AgentError
from ghx_profiler.records.metrics import CustomMetric, TokenUsage
from ghx_profiler.records.score import CheckpointDetail, Judgement, Score
from ghx_profiler.records.trace import SessionTrace
from ghx_profiler.scenario import BaseScenario
from ghx_profiler.scorers import AnswerScorer
from ghx_profiler.testing import (
    AnalyzerContract,
    CollectorContract,
    ExecutorContract,
    JudgeContract,
    LifecycleContract,
    ModeResolverContract,
    ScenarioLoaderContract,
    ScorerContract,
    SessionProviderContract,
    sample_cell,
    sample_evidence,
    sample_scenario,
    sample_trace,
    stopped_evidence,
    unknown_evidence,
)

CONTRACTS = (
    AnalyzerContract,
    CollectorContract,
    ExecutorContract,
    JudgeContract,
    LifecycleContract,
    ModeResolverContract,
    ScenarioLoaderContract,
    ScorerContract,
    SessionProviderContract,
)

BROKEN: list[tuple[type[Any], str, str]] = []
"""A suite with a broken implementation, the rule it breaks, and what the message must speak of."""


def breaks(rule: str, about: str = "") -> Callable[[type[Any]], type[Any]]:
    """Enter a suite into the table of broken implementations."""

    def enter(suite: type[Any]) -> type[Any]:
        BROKEN.append((suite, rule, about))
        return suite

    return enter


def rules_of(suite: type[Any]) -> set[str]:
    return {name for name in dir(suite) if name.startswith("test_")}


# -- sessions: an agent that runs its prompt as a shell command


async def start(text: str, environment: Mapping[str, str]) -> anyio.abc.Process:
    # Shielded: of a process that is cancelled while it starts, nobody would know the id.
    with anyio.CancelScope(shield=True):
        return await anyio.open_process(["/bin/sh", "-c", text], env=environment, start_new_session=True, stderr=None)


@dataclass
class ShellSession:
    request: SessionRequest
    notes: TraceRecorder

    async def prompt(self, text: str) -> Answer:
        self.notes.begin_turn()
        with self.notes.timed_tool_call("sh", text) as call:
            output, code = await self.execute(text)
            call.output = output
        self.notes.add_usage(TokenUsage.of(input=len(text), output=len(output)))
        if code:
            raise AgentError(f"exit code {code}")
        return Answer(text=output)

    async def execute(self, text: str) -> tuple[str, int]:
        process = await start(text, self.environment())
        async with process:
            try:
                assert process.stdout is not None
                output = b"".join([chunk async for chunk in process.stdout])
                return output.decode(), await process.wait()
            except BaseException:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                raise

    def environment(self) -> Mapping[str, str]:
        return self.request.environment

    async def trace(self) -> SessionTrace:
        return self.notes.trace()


class ShellProvider:
    """Runs every prompt as a shell command in a process group of its own."""

    name: Any = "shell"
    session_type: type[ShellSession] = ShellSession
    numbers: Iterator[int] = count()

    def session_id(self) -> str:
        return f"shell-{next(self.numbers)}"

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator[ShellSession]:
        yield self.session_type(request, TraceRecorder(session_id=self.session_id()))


class TestShellProvider(SessionProviderContract):
    cancel_after_s = 0.1
    provider_type: type[Any] = ShellProvider

    def make_provider(self) -> SessionProvider:
        return self.provider_type()

    def make_prompt(self) -> str:
        return "echo hello"

    def make_slow_prompt(self) -> str:
        return "sleep 1000 & sleep 1000"

    def make_failing_prompt(self) -> str:
        return "exit 3"

    def make_environment_prompt(self, variable: str) -> str:
        return f"printenv {variable} || true"


class TestShellProviderOnTrio(TestShellProvider):
    backend = "trio"


def broken_session(session: type[ShellSession]) -> type[Any]:
    return type(f"Provider{session.__name__}", (ShellProvider,), {"session_type": session})


@breaks("test_a_provider_has_a_name", "SessionProvider.name")
class NamelessProvider(TestShellProvider):
    __test__ = False

    class provider_type(ShellProvider):
        name = " "


@breaks("test_a_provider_has_a_name", "SessionProvider.name")
class NumberedProvider(TestShellProvider):
    __test__ = False

    class provider_type(ShellProvider):
        name = 7


class AnswersText(ShellSession):
    async def prompt(self, text: str) -> Any:
        return (await super().prompt(text)).text


@breaks("test_a_prompt_is_answered_and_traced", "Session.prompt")
class TextInsteadOfAnswer(TestShellProvider):
    __test__ = False
    provider_type = broken_session(AnswersText)


class TracesNothing(ShellSession):
    async def trace(self) -> Any:
        return None


@breaks("test_a_prompt_is_answered_and_traced", "Session.trace")
class NothingInsteadOfTrace(TestShellProvider):
    __test__ = False
    provider_type = broken_session(TracesNothing)


class CannotTrace(ShellSession):
    async def trace(self) -> SessionTrace:
        raise OSError("the log is gone")


@breaks("test_a_prompt_is_answered_and_traced", "the log is gone")
@breaks("test_a_cancelled_prompt_stops_and_can_be_traced", "must work after `prompt` was cancelled")
@breaks("test_a_failed_prompt_can_be_traced", "must work after `prompt` raised")
class TraceRaises(TestShellProvider):
    __test__ = False
    provider_type = broken_session(CannotTrace)


@breaks("test_a_prompt_is_answered_and_traced", "id of its session")
class NoSessionId(TestShellProvider):
    __test__ = False

    class provider_type(ShellProvider):
        def session_id(self) -> str:
            return ""


@breaks("test_sessions_side_by_side_have_ids_of_their_own", "must not share an id")
class SameSessionId(TestShellProvider):
    __test__ = False

    class provider_type(ShellProvider):
        def session_id(self) -> str:
            return "shell"


@breaks("test_sessions_side_by_side_have_ids_of_their_own", "open at the same time")
class OneAtATime(TestShellProvider):
    __test__ = False
    patience_s = 0.05

    class provider_type(ShellProvider):
        def __init__(self) -> None:
            self.lock = anyio.Lock()

        @asynccontextmanager
        async def session(self, request: SessionRequest) -> AsyncGenerator[ShellSession]:
            async with self.lock, super().session(request) as session:
                yield session


class TracesNan(ShellSession):
    async def trace(self) -> SessionTrace:
        trace = await super().trace()
        return trace.model_copy(update={"summary": trace.summary.model_copy(update={"total_duration": float("nan")})})


@breaks("test_a_trace_survives_a_file", "is not the same")
@breaks("test_a_cancelled_prompt_stops_and_can_be_traced", "is not the same")
@breaks("test_a_failed_prompt_can_be_traced", "is not the same")
class TraceWithNan(TestShellProvider):
    __test__ = False
    provider_type = broken_session(TracesNan)


class TracesSurrogates(ShellSession):
    async def trace(self) -> SessionTrace:
        return (await super().trace()).model_copy(update={"session_id": "\udc80"})


@breaks("test_a_trace_survives_a_file", "cannot be written")
class TraceWithSurrogates(TestShellProvider):
    __test__ = False
    provider_type = broken_session(TracesSurrogates)


@breaks("test_a_session_is_left_with_the_error_that_was_raised_in_it", "must not swallow")
class SwallowsErrors(TestShellProvider):
    __test__ = False

    class provider_type(ShellProvider):
        @asynccontextmanager
        async def session(self, request: SessionRequest) -> AsyncGenerator[ShellSession]:
            with suppress(Exception):
                async with super().session(request) as session:
                    yield session


class SwallowsCancellation(ShellSession):
    async def prompt(self, text: str) -> Answer:
        try:
            return await super().prompt(text)
        except anyio.get_cancelled_exc_class():
            return Answer(text="stopped")


@breaks("test_a_cancelled_prompt_stops_and_can_be_traced", "swallowed it")
class PromptSwallowsCancellation(TestShellProvider):
    __test__ = False
    provider_type = broken_session(SwallowsCancellation)


class RaisesOnCancellation(ShellSession):
    async def prompt(self, text: str) -> Answer:
        try:
            return await super().prompt(text)
        except anyio.get_cancelled_exc_class():
            raise OSError("interrupted") from None


@breaks("test_a_cancelled_prompt_stops_and_can_be_traced", "must let a cancellation through")
class PromptRaisesOnCancellation(TestShellProvider):
    __test__ = False
    provider_type = broken_session(RaisesOnCancellation)


class StopsLate(ShellSession):
    async def prompt(self, text: str) -> Answer:
        try:
            return await super().prompt(text)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.2)


@breaks("test_a_cancelled_prompt_stops_and_can_be_traced", "went on for")
@breaks("test_nothing_is_left_of_a_cancelled_session", "went on for")
class PromptStopsLate(TestShellProvider):
    __test__ = False
    patience_s = 0.05
    provider_type = broken_session(StopsLate)


class TracesNeverAfterCancellation(ShellSession):
    async def trace(self) -> SessionTrace:
        await anyio.sleep_forever()
        raise AssertionError


@breaks("test_a_cancelled_prompt_stops_and_can_be_traced", "took longer")
class TraceHangs(TestShellProvider):
    __test__ = False
    patience_s = 1.0
    provider_type = broken_session(TracesNeverAfterCancellation)


@breaks("test_a_cancelled_prompt_stops_and_can_be_traced", "make_slow_prompt")
class SlowPromptIsQuick(TestShellProvider):
    __test__ = False
    cancel_after_s = 60

    def make_slow_prompt(self) -> str:
        return "true"


@breaks("test_a_failed_prompt_can_be_traced", "make_failing_prompt")
class FailingPromptWorks(TestShellProvider):
    __test__ = False

    def make_failing_prompt(self) -> str:
        return "true"


class LeavesProcess(ShellSession):
    started: ClassVar[list[subprocess.Popen[bytes]]] = []

    @classmethod
    def leave(cls) -> None:
        cls.started.append(subprocess.Popen(["/bin/sleep", "1000"], env={}))

    async def execute(self, text: str) -> tuple[str, int]:
        self.leave()
        return await super().execute(text)


@pytest.fixture
def strays() -> Iterator[None]:
    """Clear away what broken implementations leave behind."""
    yield
    os.environ.pop(EXPORTED, None)
    for process in LeavesProcess.started:
        process.kill()
        process.wait()
    LeavesProcess.started.clear()
    for group in KillsOnlyTheShell.groups:
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    KillsOnlyTheShell.groups.clear()


@breaks("test_nothing_is_left_of_a_session", "process")
@breaks("test_nothing_is_left_of_a_cancelled_session", "process")
class LeavesProcesses(TestShellProvider):
    __test__ = False
    provider_type = broken_session(LeavesProcess)


class KillsOnlyTheShell(ShellSession):
    groups: ClassVar[list[int]] = []

    async def execute(self, text: str) -> tuple[str, int]:
        process = await start(text, self.environment())
        self.groups.append(process.pid)
        # Leaving the block kills the shell, and not what the shell started.
        async with process:
            return "", await process.wait()


@breaks("test_nothing_is_left_of_a_cancelled_session", "process")
class LeavesGrandchildren(TestShellProvider):
    __test__ = False
    provider_type = broken_session(KillsOnlyTheShell)

    def make_slow_prompt(self) -> str:
        return "sleep 1000 >/dev/null 2>&1 & wait"


@breaks("test_nothing_is_left_of_a_session", "task")
class LeavesTasks(TestShellProvider):
    __test__ = False

    class provider_type(ShellProvider):
        @asynccontextmanager
        async def session(self, request: SessionRequest) -> AsyncGenerator[ShellSession]:
            self.stray = asyncio.create_task(asyncio.sleep(1_000))
            async with super().session(request) as session:
                yield session


@breaks("test_nothing_is_left_of_a_session", "a container")
class LeavesSomethingElse(TestShellProvider):
    __test__ = False

    def find_leftovers(self) -> Iterable[str]:
        return ["a container"]


class SwallowingProvider(ShellProvider):
    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator[ShellSession]:
        with suppress(BaseException):
            async with super().session(request) as session:
                yield session


@breaks("test_nothing_is_left_of_a_cancelled_session", "swallowed it")
class SessionSwallowsCancellation(TestShellProvider):
    __test__ = False
    provider_type = SwallowingProvider


@breaks("test_the_process_is_left_alone", "os.environ was changed")
class ChangesEnvironment(TestShellProvider):
    __test__ = False

    class provider_type(ShellProvider):
        @asynccontextmanager
        async def session(self, request: SessionRequest) -> AsyncGenerator[ShellSession]:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("SHELL_AGENT", "1")
                async with super().session(request) as session:
                    yield session


@breaks("test_the_process_is_left_alone", "working directory")
class ChangesDirectory(TestShellProvider):
    __test__ = False

    class provider_type(ShellProvider):
        @asynccontextmanager
        async def session(self, request: SessionRequest) -> AsyncGenerator[ShellSession]:
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir("/")
                async with super().session(request) as session:
                    yield session


class IgnoresEnvironment(ShellSession):
    def environment(self) -> Mapping[str, str]:
        return {"PATH": os.defpath}


@breaks("test_the_environment_belongs_to_the_session", "its own variables")
class EnvironmentIsIgnored(TestShellProvider):
    __test__ = False
    provider_type = broken_session(IgnoresEnvironment)


class InheritsEnvironment(ShellSession):
    def environment(self) -> Mapping[str, str]:
        return {**os.environ, **self.request.environment}


@breaks("test_the_environment_belongs_to_the_session", "of this process")
class EnvironmentIsInherited(TestShellProvider):
    __test__ = False
    provider_type = broken_session(InheritsEnvironment)


class TellsAllEnvironments(ShellSession):
    known: ClassVar[list[str]] = []

    async def prompt(self, text: str) -> Answer:
        self.known.extend(self.request.environment.values())
        answer = await super().prompt(text)
        return replace(answer, text=" ".join((answer.text, *self.known)))


@breaks("test_the_environment_belongs_to_the_session", "of another one")
class EnvironmentIsShared(TestShellProvider):
    __test__ = False
    provider_type = broken_session(TellsAllEnvironments)


# -- collectors


class TestDefaultCollectors(CollectorContract):
    def make_collector(self) -> Any:
        class All:
            def collect(self, evidence: Evidence[Any]) -> Iterable[CustomMetric]:
                return (*evidence.tokens.metrics(), *evidence.timing.metrics(), *evidence.tool_calls.metrics())

        return All()


def collecting(collect: Callable[[Any, Evidence[Any]], Any]) -> Callable[[], Any]:
    """Make `make_collector` of a function."""
    return lambda *_: type("Broken", (), {"collect": collect})()


def events_in(evidence: Evidence[Any]) -> int | None:
    return None if evidence.trace is None else len(evidence.trace.events)


def metric(name: str, value: float | None) -> CustomMetric:
    return CustomMetric(name=name, value=value)


class BrokenCollector(CollectorContract):
    __test__ = False


@breaks("test_metrics_are_named_numbers", "must return CustomMetrics")
class CollectsTuples(BrokenCollector):
    make_collector = collecting(lambda self, evidence: [("events", 1)])


@breaks("test_metrics_are_named_numbers", "different from each other")
class CollectsTwice(BrokenCollector):
    make_collector = collecting(lambda self, evidence: [metric("a", 1), metric("a", 2)])


@breaks("test_metrics_are_named_numbers", "must not be empty")
class CollectsNameless(BrokenCollector):
    make_collector = collecting(lambda self, evidence: [metric("", 1)])


@breaks("test_numbers_are_finite", "finite")
class CollectsNan(BrokenCollector):
    make_collector = collecting(lambda self, evidence: [metric("share", 1 if evidence.answer else float("nan"))])


CALLS = count(1)


@breaks("test_the_same_evidence_gives_the_same_metrics", "the same evidence")
class CollectsCalls(BrokenCollector):
    make_collector = collecting(lambda self, evidence: [metric("calls", next(CALLS))])


@breaks("test_the_same_evidence_gives_the_same_metrics", "the same evidence")
class CollectsSums(BrokenCollector):
    """Remembers what it read before."""

    def make_collector(self) -> Any:
        class Sums:
            seen = 0

            def collect(self, evidence: Evidence[Any]) -> Iterable[CustomMetric]:
                self.seen += 1
                return [metric("seen", self.seen)]

        return Sums()


@breaks("test_evidence_is_not_changed", "must not change")
class ChangesEvidence(BrokenCollector):
    def make_evidence(self) -> Evidence[Any]:
        return sample_evidence(mode=Mode(name="m", facts={}))

    make_collector = collecting(lambda self, evidence: evidence.mode.facts.update(seen=True) or [])


@breaks("test_a_session_without_a_trace_can_be_read", "without a trace")
class NeedsTrace(BrokenCollector):
    make_collector = collecting(lambda self, evidence: [metric("events", len(evidence.trace.events))])


@breaks("test_a_session_in_which_nothing_happened_can_be_read", "empty trace")
class NeedsEvents(BrokenCollector):
    make_collector = collecting(
        lambda self, evidence: [metric("share", None if evidence.trace is None else 1 / len(evidence.trace.events))]
    )


@breaks("test_a_session_without_an_answer_can_be_read", "without an answer")
class NeedsAnswer(BrokenCollector):
    make_collector = collecting(lambda self, evidence: [metric("length", len(evidence.answer.text))])


@breaks("test_what_is_not_known_is_not_zero", "never zero")
class CollectsZero(BrokenCollector):
    make_collector = collecting(lambda self, evidence: [metric("events", events_in(evidence) or 0)])


class TestZerosThatAreKnown(CollectorContract):
    zeros_that_are_known = frozenset({"tags"})
    make_collector = collecting(lambda self, evidence: [metric("tags", len(evidence.scenario.tags))])


# -- analyzers


class EventCounter:
    name: Any = "events"

    def analyze(self, evidence: Evidence[Any]) -> AnalysisResult:
        calls, total = len(evidence.trace.tool_calls), len(evidence.trace.events)
        share = calls / total if total else None
        findings = {"events": NumberFinding(value=total), "calls": RatioFinding(value=share)}
        return AnalysisResult(analyzer=self.name, findings=findings)


class TestEventCounter(AnalyzerContract):
    def make_analyzer(self) -> Any:
        return EventCounter()


def analyzing(analyze: Callable[[Any, Evidence[Any]], Any], name: Any = "events") -> Callable[[], Any]:
    """Make `make_analyzer` of a function."""
    return lambda *_: type("Broken", (EventCounter,), {"analyze": analyze, "name": name})()


def found(value: float | None) -> AnalysisResult:
    return AnalysisResult(analyzer="events", findings={"value": NumberFinding(value=value)})


class BrokenAnalyzer(AnalyzerContract):
    __test__ = False


@breaks("test_results_carry_the_name_of_their_analyzer", "Analyzer.name")
class AnalyzerWithoutName(BrokenAnalyzer):
    make_analyzer = analyzing(EventCounter.analyze, name="")


@breaks("test_results_carry_the_name_of_their_analyzer", "Analyzer.name")
class AnalyzerWithNumber(BrokenAnalyzer):
    make_analyzer = analyzing(EventCounter.analyze, name=7)


@breaks("test_results_carry_the_name_of_their_analyzer", "must name itself 'other'")
class AnalyzerWithOtherName(BrokenAnalyzer):
    make_analyzer = analyzing(lambda self, evidence: found(1), name="other")


@breaks("test_results_carry_the_name_of_their_analyzer", "must return an AnalysisResult")
class AnalyzesNothing(BrokenAnalyzer):
    make_analyzer = analyzing(lambda self, evidence: None)


@breaks("test_results_survive_a_file", "is not the same")
@breaks("test_numbers_are_finite", "finite")
class FindsNan(BrokenAnalyzer):
    make_analyzer = analyzing(lambda self, evidence: found(float("nan")))


@breaks("test_the_same_evidence_gives_the_same_result", "the same evidence")
class FindsCalls(BrokenAnalyzer):
    make_analyzer = analyzing(lambda self, evidence: found(next(CALLS)))


@breaks("test_evidence_is_not_changed", "must not change")
class AnalyzerChangesEvidence(BrokenAnalyzer):
    def make_evidence(self) -> Evidence[Any]:
        return sample_evidence(mode=Mode(name="m", facts={}))

    make_analyzer = analyzing(lambda self, evidence: evidence.mode.facts.update(seen=True) or found(1))


@breaks("test_a_session_in_which_nothing_happened_can_be_read", "empty trace")
class AnalyzerNeedsEvents(BrokenAnalyzer):
    make_analyzer = analyzing(lambda self, evidence: found(1 / len(evidence.trace.events)))


@breaks("test_a_session_without_an_answer_can_be_read", "without an answer")
class AnalyzerNeedsAnswer(BrokenAnalyzer):
    make_analyzer = analyzing(lambda self, evidence: found(len(evidence.answer.text)))


# -- scorers


class TestAnswerScorer(ScorerContract):
    def make_scorer(self) -> Any:
        return AnswerScorer(lambda text: text == "Hello.")

    def make_evidence(self, *, done: bool) -> Evidence[Any]:
        return sample_evidence(answer=Answer(text="Hello." if done else "Goodbye."))


class TestScorerThatReadsTheStage(ScorerContract):
    """Success is what lies on the stage, which stands only while it is held."""

    @asynccontextmanager
    async def hold_evidence(self, *, done: bool) -> AsyncGenerator[Evidence[Any]]:
        stage = Stage(scenario=sample_scenario(), handles=[done])
        yield sample_evidence(stage=stage)
        stage.handles.clear()

    def make_scorer(self) -> Any:
        return Scoring(lambda self, evidence: Score(success=evidence.stage.handles[0]))


@dataclass
class Scoring:
    """A scorer made of a function."""

    judgement: Callable[[Any, Evidence[Any]], Any]
    memory: list[Any] = field(default_factory=list)

    async def score(self, evidence: Evidence[Any]) -> Any:
        await anyio.lowlevel.checkpoint()
        return self.judgement(self, evidence)


def is_done(evidence: Evidence[Any]) -> bool:
    return evidence.answer is not None and evidence.answer.text == "Hello."


def checked(success: bool, *ids: str) -> Score:
    return Score(success=success, checkpoints=tuple(CheckpointDetail(id=i, description=i, passed=success) for i in ids))


class BrokenScorer(TestAnswerScorer):
    __test__ = False
    judgement: ClassVar[Callable[[Any, Evidence[Any]], Any]]

    def make_scorer(self) -> Any:
        return Scoring(type(self).judgement)


@breaks("test_a_task_that_was_done_passes", "must pass")
@breaks("test_sessions_are_scored_side_by_side", "mix up")
class FailsAll(BrokenScorer):
    judgement = lambda self, evidence: Score(success=False)  # noqa: E731 - one of many


@breaks("test_a_task_that_was_not_done_does_not_pass", "must not pass")
class PassesAll(BrokenScorer):
    judgement = lambda self, evidence: Score(success=True)  # noqa: E731 - one of many


def raise_if_wrong(self: Any, evidence: Evidence[Any]) -> Score:
    assert_right = {True: Score(success=True)}
    return assert_right[is_done(evidence)]


@breaks("test_a_task_that_was_not_done_does_not_pass", "must raise only if")
@breaks("test_sessions_are_scored_side_by_side", "several sessions")
class RaisesIfWrong(BrokenScorer):
    judgement = raise_if_wrong


@breaks("test_checkpoints_can_be_told_apart", "different from each other")
class ChecksTwice(BrokenScorer):
    judgement = lambda self, evidence: checked(is_done(evidence), "a", "a")  # noqa: E731 - one of many


@breaks("test_checkpoints_can_be_told_apart", "must not be empty")
class ChecksNameless(BrokenScorer):
    judgement = lambda self, evidence: checked(is_done(evidence), "")  # noqa: E731 - one of many


@breaks("test_scores_survive_a_file", "is not the same")
class ScoresNan(BrokenScorer):
    judgement = lambda self, evidence: Score.of(  # noqa: E731 - one of many
        (CheckpointDetail(id="a", description="a", passed=is_done(evidence), actual=float("nan")),)
    )


@breaks("test_scoring_again_gives_the_same_score", "the same score")
class ScoresByMood(BrokenScorer):
    judgement = lambda self, evidence: checked(is_done(evidence), f"call-{next(CALLS)}")  # noqa: E731 - one of many


@breaks("test_sessions_are_scored_side_by_side", "mix up")
class MixesUp(BrokenScorer):
    """Keeps the session it is at on itself."""

    def make_scorer(self) -> Any:
        class Mixes:
            async def score(self, evidence: Evidence[Any]) -> Score:
                self.evidence = evidence
                await anyio.wait_all_tasks_blocked()
                return Score(success=is_done(self.evidence))

        return Mixes()


@breaks("test_an_agent_that_was_stopped_is_scored", "without an answer")
class NeedsAnAnswer(BrokenScorer):
    judgement = lambda self, evidence: Score(success=evidence.answer.text == "Hello.")  # noqa: E731 - one of many


@breaks("test_an_agent_that_was_stopped_is_scored", "must return a Score")
class ScoresNothing(BrokenScorer):
    judgement = lambda self, evidence: None  # noqa: E731 - one of many


@breaks("test_evidence_is_not_changed", "must not change")
class ScorerChangesEvidence(BrokenScorer):
    def make_evidence(self, *, done: bool) -> Evidence[Any]:
        return replace(super().make_evidence(done=done), mode=Mode(name="m", facts={}))

    judgement = lambda self, evidence: evidence.mode.facts.update(seen=True) or Score(success=True)  # noqa: E731


# -- judges


class Critic:
    """Says what it was told to say."""

    def __init__(self, **said: Any) -> None:
        self.said = {"passed": True, "reason": "It did.", **said}

    async def judge(self, evidence: Evidence[Any], rubric: str) -> Any:
        await anyio.lowlevel.checkpoint()
        return Judgement(**self.said)


class TestCritic(JudgeContract):
    def make_judge(self) -> Any:
        return Critic(grade=0.5)


class BrokenJudge(TestCritic):
    __test__ = False


@breaks("test_a_judgement_has_a_reason", "give its reason")
class JudgeWithoutReason(BrokenJudge):
    def make_judge(self) -> Any:
        return Critic(reason="  ")


@breaks("test_a_judgement_has_a_reason", "must return a Judgement")
class JudgeOfFewWords(BrokenJudge):
    def make_judge(self) -> Any:
        class Terse:
            async def judge(self, evidence: Evidence[Any], rubric: str) -> Any:
                return True

        return Terse()


@breaks("test_a_grade_is_a_number_or_not_given", "finite")
@breaks("test_judgements_survive_a_file", "is not the same")
class JudgeWithNan(BrokenJudge):
    def make_judge(self) -> Any:
        return Critic(grade=float("nan"))


@breaks("test_sessions_are_judged_side_by_side", "several sessions")
class JudgeOfOne(BrokenJudge):
    def make_judge(self) -> Any:
        class Busy(Critic):
            is_busy = False

            async def judge(self, evidence: Evidence[Any], rubric: str) -> Any:
                if self.is_busy:
                    raise RuntimeError("one at a time")
                self.is_busy = True
                await anyio.wait_all_tasks_blocked()
                return await super().judge(evidence, rubric)

        return Busy()


@breaks("test_an_agent_that_was_stopped_is_judged", "without an answer")
class JudgeOfAnswers(BrokenJudge):
    def make_judge(self) -> Any:
        class Reader(Critic):
            async def judge(self, evidence: Evidence[Any], rubric: str) -> Any:
                return Judgement(passed=True, reason=evidence.answer.text)

        return Reader()


@breaks("test_evidence_is_not_changed", "must not change")
class JudgeChangesEvidence(BrokenJudge):
    def make_evidence(self) -> Evidence[Any]:
        return sample_evidence(mode=Mode(name="m", facts={}))

    def make_judge(self) -> Any:
        class Marker(Critic):
            async def judge(self, evidence: Evidence[Any], rubric: str) -> Any:
                evidence.mode.facts["judged"] = True
                return await super().judge(evidence, rubric)

        return Marker()


# -- modes


@dataclass
class Table:
    """Modes by name."""

    modes: Mapping[str, Mode]

    async def resolve(self, name: str) -> Mode:
        if name not in self.modes:
            raise UnknownNameError("mode", name, known=self.modes)
        return self.modes[name]


MODES = {"baseline": Mode(name="baseline", environment={"A": "1"}, facts={"v": [1]}), "ghx": Mode(name="ghx")}


class TestTable(ModeResolverContract):
    def make_resolver(self) -> Any:
        return Table(MODES)

    def known_modes(self) -> Iterable[str]:
        return list(MODES)


class BrokenResolver(TestTable):
    __test__ = False


def always(**changes: Any) -> Callable[..., Any]:
    """Make `make_resolver` of changes to every mode."""
    return lambda *_: Table({name: replace(mode, **changes) for name, mode in MODES.items()})


@breaks("test_a_mode_is_found_by_its_name", "must be called so")
class RenamesModes(BrokenResolver):
    make_resolver = always(name="other")


@breaks("test_an_unknown_mode_is_refused_and_the_known_ones_are_named", "it returned one")
class InventsModes(BrokenResolver):
    def make_resolver(self) -> Any:
        class Invents:
            async def resolve(self, name: str) -> Mode:
                return Mode(name=name)

        return Invents()


@breaks("test_an_unknown_mode_is_refused_and_the_known_ones_are_named", "it raised KeyError")
class RaisesKeyError(BrokenResolver):
    def make_resolver(self) -> Any:
        class Bare:
            async def resolve(self, name: str) -> Mode:
                return MODES[name]

        return Bare()


@breaks("test_an_unknown_mode_is_refused_and_the_known_ones_are_named", "leaves out")
class NamesNone(BrokenResolver):
    def make_resolver(self) -> Any:
        class Silent:
            async def resolve(self, name: str) -> Mode:
                raise UnknownNameError("mode", name, known=())

        return Silent()


@breaks("test_a_mode_is_the_same_whenever_it_is_asked_for", "must stay the same")
class ChangesModes(BrokenResolver):
    def make_resolver(self) -> Any:
        return Table({name: replace(mode, facts={"asked": next(CALLS)}) for name, mode in MODES.items()})


@breaks("test_a_mode_can_be_used_and_written", "Mode.environment")
class NumbersInEnvironment(BrokenResolver):
    make_resolver = always(environment={"PORT": 80})


@breaks("test_a_mode_can_be_used_and_written", "Mode.facts")
class ObjectsInFacts(BrokenResolver):
    make_resolver = always(facts={"where": Path("x")})


@breaks("test_a_mode_can_be_used_and_written", "Mode.settings")
class ObjectsInSettings(BrokenResolver):
    make_resolver = always(settings={"where": Path("x")})


EXPORTED = "GHX_BENCH_EXPORTED_BY_A_TEST"


@breaks("test_the_process_is_left_alone", "os.environ was changed")
class ExportsModes(BrokenResolver):
    def make_resolver(self) -> Any:
        class Exports(Table):
            async def resolve(self, name: str) -> Mode:
                os.environ[EXPORTED] = name
                return await super().resolve(name)

        return Exports(MODES)


# -- lifecycles


class TestNoLifecycle(LifecycleContract):
    def make_lifecycle(self) -> Any:
        return NoLifecycle()


class Folders(NoLifecycle[Any]):
    """Gives every attempt a folder of its own."""

    @asynccontextmanager
    async def cell(self, cell: Cell, scenario: Any, mode: Mode) -> AsyncGenerator[Stage[Any]]:
        with TemporaryDirectory() as directory:
            yield Stage(scenario=scenario, directory=Path(directory), environment={"A": "1"}, facts={"n": 1})


class TestFolders(LifecycleContract):
    lifecycle_type: type[Any] = Folders

    def make_lifecycle(self) -> Any:
        return self.lifecycle_type()


class TestFoldersOnTrio(TestFolders):
    backend = "trio"


def staging(**changes: Any) -> type[Any]:
    """Make a lifecycle whose stages differ in these."""

    class Changed(Folders):
        @asynccontextmanager
        async def cell(self, cell: Cell, scenario: Any, mode: Mode) -> AsyncGenerator[Stage[Any]]:
            async with super().cell(cell, scenario, mode) as stage:
                yield replace(stage, **changes)

    return Changed


class BrokenLifecycle(TestFolders):
    __test__ = False


@breaks("test_a_cell_gets_a_stage_with_its_scenario", "must stage scenario")
class StagesAnother(BrokenLifecycle):
    lifecycle_type = staging(scenario=sample_scenario(id="another-scenario-002"))


@breaks("test_a_cell_gets_a_stage_with_its_scenario", "must yield a Stage")
class StagesNothing(BrokenLifecycle):
    class lifecycle_type(NoLifecycle[Any]):
        @asynccontextmanager
        async def cell(self, cell: Cell, scenario: Any, mode: Mode) -> AsyncGenerator[Any]:
            yield None


@breaks("test_a_stage_can_be_used_and_written", "Stage.environment")
class StagesNumbers(BrokenLifecycle):
    lifecycle_type = staging(environment={"PORT": 80})


@breaks("test_a_stage_can_be_used_and_written", "Stage.facts")
class StagesObjects(BrokenLifecycle):
    lifecycle_type = staging(facts={"where": Path("x")})


@breaks("test_a_stage_can_be_used_and_written", "Stage.directory")
class StagesNowhere(BrokenLifecycle):
    lifecycle_type = staging(directory=Path("no/such/folder"))


class SharedFolder(NoLifecycle[Any]):
    """Gives all cells of a run the same folder."""

    @asynccontextmanager
    async def run(self, directory: Path) -> AsyncGenerator[None]:
        self.directory = directory
        yield

    @asynccontextmanager
    async def cell(self, cell: Cell, scenario: Any, mode: Mode) -> AsyncGenerator[Stage[Any]]:
        yield Stage(scenario=scenario, directory=self.directory)


@breaks("test_cells_side_by_side_are_apart", "must not share a folder")
@breaks("test_every_attempt_gets_a_fresh_stage", "fresh folder")
class SharesFolder(BrokenLifecycle):
    lifecycle_type = SharedFolder


@breaks("test_cells_side_by_side_are_apart", "open at the same time")
class StagesOneAtATime(BrokenLifecycle):
    patience_s = 0.05

    class lifecycle_type(Folders):
        def __init__(self) -> None:
            self.lock = anyio.Lock()

        @asynccontextmanager
        async def cell(self, cell: Cell, scenario: Any, mode: Mode) -> AsyncGenerator[Stage[Any]]:
            async with self.lock, super().cell(cell, scenario, mode) as stage:
                yield stage


@breaks("test_every_attempt_gets_a_fresh_stage", "entered again")
class StagesOnce(BrokenLifecycle):
    class lifecycle_type(Folders):
        def __init__(self) -> None:
            self.staged: set[Cell] = set()

        @asynccontextmanager
        async def cell(self, cell: Cell, scenario: Any, mode: Mode) -> AsyncGenerator[Stage[Any]]:
            if cell in self.staged:
                raise FileExistsError(str(cell))
            self.staged.add(cell)
            async with super().cell(cell, scenario, mode) as stage:
                yield stage


@breaks("test_errors_come_out_of_every_scope", "must not swallow")
class CellSwallows(BrokenLifecycle):
    class lifecycle_type(Folders):
        @asynccontextmanager
        async def cell(self, cell: Cell, scenario: Any, mode: Mode) -> AsyncGenerator[Stage[Any]]:
            with suppress(Exception):
                async with super().cell(cell, scenario, mode) as stage:
                    yield stage


@breaks("test_errors_come_out_of_every_scope", "must not swallow")
class RunSwallows(BrokenLifecycle):
    class lifecycle_type(Folders):
        @asynccontextmanager
        async def run(self, directory: Path) -> AsyncGenerator[None]:
            with suppress(Exception):
                yield


@breaks("test_a_cancelled_cell_is_left_soon", "swallowed it")
class CellSwallowsCancellation(BrokenLifecycle):
    class lifecycle_type(Folders):
        @asynccontextmanager
        async def cell(self, cell: Cell, scenario: Any, mode: Mode) -> AsyncGenerator[Stage[Any]]:
            with suppress(BaseException):
                async with super().cell(cell, scenario, mode) as stage:
                    yield stage


@breaks("test_a_cancelled_cell_is_left_soon", "clean up soon")
class CleansUpForLong(BrokenLifecycle):
    patience_s = 0.05

    class lifecycle_type(Folders):
        @asynccontextmanager
        async def cell(self, cell: Cell, scenario: Any, mode: Mode) -> AsyncGenerator[Stage[Any]]:
            try:
                async with super().cell(cell, scenario, mode) as stage:
                    yield stage
            finally:
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(0.2)


@breaks("test_nothing_is_left", "process")
class LeavesServer(BrokenLifecycle):
    class lifecycle_type(Folders):
        @asynccontextmanager
        async def cell(self, cell: Cell, scenario: Any, mode: Mode) -> AsyncGenerator[Stage[Any]]:
            LeavesProcess.leave()
            async with super().cell(cell, scenario, mode) as stage:
                yield stage


@breaks("test_nothing_is_left", "a container")
class LeavesContainer(BrokenLifecycle):
    def find_leftovers(self) -> Iterable[str]:
        return ["a container"]


@breaks("test_the_process_is_left_alone", "os.environ was changed")
class ExportsStage(BrokenLifecycle):
    class lifecycle_type(Folders):
        @asynccontextmanager
        async def cell(self, cell: Cell, scenario: Any, mode: Mode) -> AsyncGenerator[Stage[Any]]:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("STAGE", "1")
                async with super().cell(cell, scenario, mode) as stage:
                    yield stage


# -- loaders


SCENARIOS = {f"greet-{number:03}": sample_scenario(id=f"greet-{number:03}") for number in (1, 2, 3)}


async def load(ids: Sequence[str]) -> Sequence[BaseScenario]:
    for each in ids:
        if each not in SCENARIOS:
            raise UnknownNameError("scenario", each, known=SCENARIOS)
    return [SCENARIOS[each] for each in ids]


class TestLoader(ScenarioLoaderContract):
    loader: ClassVar[Callable[[Sequence[str]], Awaitable[Sequence[Any]]]] = staticmethod(load)

    def make_loader(self) -> Any:
        return self.loader

    def known_ids(self) -> Sequence[str]:
        return list(SCENARIOS)


class TestLoaderThatLeavesOut(TestLoader):
    @staticmethod
    async def loader(ids: Sequence[str]) -> Sequence[BaseScenario]:
        return [SCENARIOS[each] for each in ids if each in SCENARIOS]


class BrokenLoader(TestLoader):
    __test__ = False


@breaks("test_exactly_the_scenarios_asked_for_are_loaded", "asked for")
class LoadsAll(BrokenLoader):
    @staticmethod
    async def loader(ids: Sequence[str]) -> Sequence[BaseScenario]:
        return list(SCENARIOS.values())


@breaks("test_exactly_the_scenarios_asked_for_are_loaded", "known_ids")
class KnowsOne(BrokenLoader):
    def known_ids(self) -> Sequence[str]:
        return ["greet-001"]


@breaks("test_scenarios_are_validated_records", "must load BaseScenarios")
class LoadsDictionaries(BrokenLoader):
    @staticmethod
    async def loader(ids: Sequence[str]) -> Sequence[Any]:
        return [SCENARIOS[each].to_wire() for each in ids]


@breaks("test_scenarios_are_validated_records", "is not the same")
class LoadsUnvalidated(BrokenLoader):
    @staticmethod
    async def loader(ids: Sequence[str]) -> Sequence[Any]:
        return [SCENARIOS[each].model_copy(update={"extensions": {"limit": float("nan")}}) for each in ids]


@breaks("test_loading_again_gives_the_same", "the same")
class LoadsByMood(BrokenLoader):
    @staticmethod
    async def loader(ids: Sequence[str]) -> Sequence[BaseScenario]:
        return [sample_scenario(id=each, prompt=f"Attempt {next(CALLS)}") for each in ids]


@breaks("test_an_unknown_scenario_is_no_crash_and_nothing_else_instead", "it raised KeyError")
class CrashesOnUnknown(BrokenLoader):
    @staticmethod
    async def loader(ids: Sequence[str]) -> Sequence[BaseScenario]:
        return [SCENARIOS[each] for each in ids]


@breaks("test_an_unknown_scenario_is_no_crash_and_nothing_else_instead", "it loaded")
class LoadsSomethingElse(BrokenLoader):
    @staticmethod
    async def loader(ids: Sequence[str]) -> Sequence[BaseScenario]:
        return [SCENARIOS.get(each, SCENARIOS["greet-001"]) for each in ids]


# -- executors


class TestLocalExecutor(ExecutorContract):
    max_concurrency = 3

    def make_executor(self) -> Any:
        return LocalExecutor(3)


class TestLocalExecutorOnTrio(TestLocalExecutor):
    backend = "trio"


class TestLocalExecutorOneByOne(ExecutorContract):
    max_concurrency = 1

    def make_executor(self) -> Any:
        return LocalExecutor()


@pytest.mark.nightly
class TestProcessExecutor(ExecutorContract):
    max_concurrency = 2
    patience_s = 60.0

    def make_executor(self) -> Any:
        return ProcessExecutor(2)


class BrokenExecutor(ExecutorContract):
    __test__ = False
    max_concurrency = 3
    worker: Any = None

    def make_executor(self) -> Any:
        return self

    @asynccontextmanager
    async def open(self, spec: Any, receive: Any) -> AsyncGenerator[Any]:
        async with spec.open(receive) as self.worker:
            yield self

    async def run(self, blocks: Sequence[Block]) -> None:
        await self.work_off([(placed, block.scenario) for block in blocks for placed in block.cells])

    async def work_off(self, cells: Sequence[Any]) -> None:
        raise NotImplementedError


@breaks("test_every_cell_comes_back_once", "every cell measured once")
class LeavesOutTheLast(BrokenExecutor):
    async def work_off(self, cells: Sequence[Any]) -> None:
        for cell in cells[:-1]:
            await self.worker.measure(*cell)


@breaks("test_every_cell_comes_back_once", "every cell measured once")
class WorksTwice(BrokenExecutor):
    async def work_off(self, cells: Sequence[Any]) -> None:
        for cell in (*cells, *cells):
            await self.worker.measure(*cell)


@breaks("test_cells_of_a_block_are_started_in_their_order", "in their order")
class WorksBackwards(BrokenExecutor):
    async def work_off(self, cells: Sequence[Any]) -> None:
        for cell in reversed(cells):
            await self.worker.measure(*cell)


@breaks("test_the_cells_of_a_block_are_measured_on_one_machine", "in one place, used 2")
class DealsOutCells(BrokenExecutor):
    @asynccontextmanager
    async def open(self, spec: Any, receive: Any) -> AsyncGenerator[Any]:
        async with spec.open(receive, machine="one") as one, spec.open(receive, machine="other") as other:
            self.places = one, other
            yield self

    async def work_off(self, cells: Sequence[Any]) -> None:
        for number, cell in enumerate(cells):
            await self.places[number % 2].measure(*cell)


@breaks("test_no_blocks_are_no_work", "it raised IndexError")
class NeedsACell(BrokenExecutor):
    async def work_off(self, cells: Sequence[Any]) -> None:
        await self.worker.measure(*cells[0])


@breaks("test_no_blocks_are_no_work", "must do no work")
class InventsACell(BrokenExecutor):
    async def work_off(self, cells: Sequence[Any]) -> None:
        invented = PlacedCell(cell=sample_cell(), start_order=0)
        await self.worker.measure(invented, {"id": invented.cell.scenario_id})


@breaks("test_no_blocks_are_no_work", "took longer")
class WaitsForCells(BrokenExecutor):
    patience_s = 0.1

    async def work_off(self, cells: Sequence[Any]) -> None:
        await anyio.sleep_forever()


@breaks("test_workers_run_blocks_more_than_once", "in two calls")
class WorksOnlyOnce(BrokenExecutor):
    has_worked = False

    async def work_off(self, cells: Sequence[Any]) -> None:
        for cell in () if self.has_worked else cells:
            await self.worker.measure(*cell)
        self.has_worked = True


@breaks("test_not_more_cells_run_than_may", "at most")
class WorksOnAllAtOnce(BrokenExecutor):
    async def work_off(self, cells: Sequence[Any]) -> None:
        async with anyio.create_task_group() as tasks:
            for cell in cells:
                tasks.start_soon(self.worker.measure, *cell)


@breaks("test_a_worker_that_cannot_be_opened_stops_the_run", "must raise what")
class WorksWithoutAWorker(BrokenExecutor):
    @asynccontextmanager
    async def open(self, spec: Any, receive: Any) -> AsyncGenerator[Any]:
        yield self

    async def work_off(self, cells: Sequence[Any]) -> None:
        await anyio.lowlevel.checkpoint()


@breaks("test_what_receive_raises_stops_the_run", "must raise what")
class SwallowsWorkErrors(BrokenExecutor):
    async def work_off(self, cells: Sequence[Any]) -> None:
        with suppress(Exception):
            await self.worker.measure(*cells[0])


@breaks("test_what_receive_raises_stops_the_run", "must stop")
class HangsAfterErrors(BrokenExecutor):
    patience_s = 0.1

    async def work_off(self, cells: Sequence[Any]) -> None:
        with suppress(Exception):
            await self.worker.measure(*cells[0])
        await anyio.sleep_forever()


@breaks("test_cancelling_stops_what_runs_and_starts_nothing_more", "swallowed it")
class SwallowsWorkCancellation(BrokenExecutor):
    max_concurrency = 1

    async def work_off(self, cells: Sequence[Any]) -> None:
        with suppress(BaseException):
            await self.worker.measure(*cells[0])


@breaks("test_cancelling_stops_what_runs_and_starts_nothing_more", "start no cells")
class StartsAfterCancellation(BrokenExecutor):
    max_concurrency = 1

    async def work_off(self, cells: Sequence[Any]) -> None:
        try:
            await self.worker.measure(*cells[0])
        finally:
            await self.worker.measure(*cells[1])


@breaks("test_cancelling_stops_what_runs_and_starts_nothing_more", "lost 1")
class LeavesWorkRunning(BrokenExecutor):
    max_concurrency = 1
    strays: ClassVar[list[Any]] = []

    async def work_off(self, cells: Sequence[Any]) -> None:
        stray = self.worker.measure(*cells[0])
        self.strays.append(stray)
        stray.send(None)
        await anyio.sleep_forever()


# -- the suites


@pytest.mark.usefixtures("strays")
@pytest.mark.parametrize(
    ("suite", "rule", "about"), [pytest.param(*each, id=f"{each[0].__name__}-{each[1]}") for each in BROKEN]
)
def test_a_broken_implementation_fails_the_rule_that_it_breaks(suite: type[Any], rule: str, about: str) -> None:
    with pytest.raises(AssertionError) as caught:
        getattr(suite(), rule)()

    assert about in str(caught.value)


@pytest.mark.parametrize("contract", CONTRACTS)
def test_every_rule_has_an_implementation_that_breaks_it(contract: type[Any]) -> None:
    broken = {rule for suite, rule, _ in BROKEN if issubclass(suite, contract)}

    assert broken == rules_of(contract)


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_suite_without_an_implementation_says_what_to_write(contract: type[Any]) -> None:
    said: set[str] = set()
    for rule in rules_of(contract):
        with pytest.raises((NotImplementedError, unittest.SkipTest)) as caught:
            getattr(contract(), rule)()
        said.add(str(caught.value))

    assert any(words.startswith("write make_") for words in said)
    assert all(words.startswith("write ") for words in said)


def test_rules_whose_hooks_are_not_written_are_skipped_and_name_the_hook() -> None:
    class Bare(SessionProviderContract):
        def make_provider(self) -> SessionProvider:
            return ShellProvider()

    with pytest.raises(unittest.SkipTest, match="make_slow_prompt"):
        Bare().test_a_cancelled_prompt_stops_and_can_be_traced()
    with pytest.raises(unittest.SkipTest, match="max_concurrency"):
        ExecutorContract().test_not_more_cells_run_than_may()


def test_a_suite_runs_under_unittest() -> None:
    case = type("ShellProviderCase", (TestShellProvider, unittest.TestCase), {})
    result = unittest.TestResult()

    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)

    assert result.testsRun == len(rules_of(SessionProviderContract))
    assert (result.failures, result.errors, result.skipped) == ([], [], [])


def test_a_broken_implementation_is_a_failure_under_unittest() -> None:
    case = type("NamelessCase", (NamelessProvider, unittest.TestCase), {})
    result = unittest.TestResult()

    case("test_a_provider_has_a_name").run(result)

    assert len(result.failures) == 1


def test_a_suite_runs_under_pytest_without_plugins(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from ghx_profiler.scorers import AnswerScorer
        from ghx_profiler.evidence import Answer
        from ghx_profiler.testing import ScorerContract, SessionProviderContract, sample_evidence

        class TestMine(ScorerContract):
            def make_scorer(self):
                return AnswerScorer(lambda text: text == "right")

            def make_evidence(self, *, done):
                return sample_evidence(answer=Answer(text="right" if done else "wrong"))
        """
    )

    run = pytester.run(sys.executable, "-m", "pytest", "-p", "no:anyio", "-p", "no:cacheprovider")

    run.assert_outcomes(passed=len(rules_of(ScorerContract)))


# -- samples


def test_a_sample_agrees_with_itself() -> None:
    evidence = sample_evidence()

    assert evidence.cell.scenario_id == evidence.scenario.id == evidence.stage.scenario.id
    assert evidence.trace is not None
    assert evidence.tokens == evidence.trace.summary.total_tokens
    assert evidence.tool_calls.total == len(evidence.trace.tool_calls) == evidence.trace.summary.total_tool_calls


def test_a_sample_takes_what_it_is_given() -> None:
    scenario = sample_scenario(id="mine-001")

    evidence = sample_evidence(scenario=scenario, trace=None, completion_reason="tool_limit")

    assert evidence.stage.scenario is scenario
    assert evidence.cell.scenario_id == "mine-001"
    assert (evidence.trace, evidence.tool_calls.total, evidence.tokens.total) == (None, None, None)
    assert evidence.completion_reason == "tool_limit"


@pytest.mark.parametrize("turns", [0, 1, 2, 5])
def test_a_sample_trace_has_the_turns_it_was_asked_for(turns: int) -> None:
    trace = sample_trace(turns=turns)

    assert len(trace.turns) == trace.summary.total_turns == turns
    assert SessionTrace.model_validate_json(trace.model_dump_json()) == trace
    assert sum(len(turn.events) for turn in trace.turns) + turns == len(trace.events)


def test_of_unknown_evidence_nothing_is_known() -> None:
    evidence = unknown_evidence()

    assert (evidence.trace, evidence.answer, evidence.score) == (None, None, None)
    assert (evidence.tokens.total, evidence.cost.total_usd, evidence.timing.wall_ms) == (None, None, None)


def test_stopped_evidence_has_a_trace_and_no_answer() -> None:
    evidence = stopped_evidence()

    assert evidence.completion_reason == "timeout"
    assert evidence.answer is None
    assert evidence.trace is not None
