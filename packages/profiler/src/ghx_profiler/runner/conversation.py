"""Holding one session: the prompt under its deadline, the export, and the evidence made of both."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Generic, TypeVar, cast

import anyio
import anyio.to_thread
from pydantic import JsonValue

from ghx_profiler.contracts import Scorer, Session, SessionRequest
from ghx_profiler.evidence import Answer, CompletionReason, Evidence, Mode, Stage
from ghx_profiler.plan.cell import Cell
from ghx_profiler.records.causes import (
    AgentBlockedError,
    Cause,
    OverranError,
    TamperedToolsError,
    error_with_cause,
)
from ghx_profiler.records.metered_trace import fill_from_model_calls
from ghx_profiler.records.metrics import Cost, Timing, TokenUsage, ToolCallSummary
from ghx_profiler.records.score import Score
from ghx_profiler.records.trace import SessionTrace
from ghx_profiler.runner.deadlines import (
    Phases,
    Suspensions,
    allow_pausing,
    limit_running_time,
    set_deadline,
)
from ghx_profiler.runner.instruments import Instruments, name_of_tool
from ghx_profiler.runner.plugins import Caught, plugin_call, require
from ghx_profiler.runner.pricing import cost_of
from ghx_profiler.runner.redaction import Redaction
from ghx_profiler.runner.toolcalls import summarise_tool_calls
from ghx_profiler.scenario import S
from ghx_profiler.session_limits import ALLOWANCE, Allowance

C = TypeVar("C")
"""What a stage counts."""


@dataclass(slots=True, kw_only=True)
class Conversation(Generic[S]):
    """One session as it goes on; what is known of it is here at every moment, also when it is cut off."""

    cell: Cell
    mode: Mode
    stage: Stage[S]
    instruments: Instruments[S]
    phases: Phases
    suspensions: Suspensions
    allowance: Allowance
    answer: Answer | None = None
    trace: SessionTrace | None = None
    unredacted_answer: Answer | None = None
    unredacted_trace: SessionTrace | None = None
    error: Exception | None = None
    timed_out: bool = False
    blocked: AgentBlockedError | None = None
    """Why an agent that was late could not be stopped, if that is so."""
    changed_tools: Exception | None = None
    """What is wrong with the tools of the session after it, if anything is."""
    wall_ms: int | None = None
    prompted_at: datetime | None = None
    problems: list[tuple[str, Exception]] = field(default_factory=list[tuple[str, Exception]])
    redaction: Redaction = field(init=False)
    """Removes the session's secrets from all texts about it."""

    def __post_init__(self) -> None:
        """Learn the secrets, and give the scorer what only it may see."""
        self.redaction = Redaction.of(self._secrets, keys=self.instruments.keys)
        scorer = _ScorerOfUnredacted(self, self.instruments.scorer)
        self.instruments = replace(self.instruments, provider=None, scorer=scorer)

    @property
    def _secrets(self) -> frozenset[str]:
        return self.instruments.secrets_of(self.mode, self.stage)

    async def hold(self) -> None:
        """Open a session, prompt it, export it, close it."""
        outside = ALLOWANCE.set(self.allowance)
        try:
            await self._hold()
        finally:
            ALLOWANCE.reset(outside)
            if self.allowance.unseen is not None:
                self.problems.append(("limits", self.allowance.unseen))

    async def check_tools(self) -> None:
        """Find out whether the tools are what they were before the session."""
        if self.stage.check_tools is not None:
            async with plugin_call() as checking:
                await anyio.to_thread.run_sync(self.stage.check_tools)
            self.changed_tools = checking.error

    async def _hold(self) -> None:
        limits, provider = self.instruments.limits, self.instruments.providers[self.cell.agent]
        with anyio.CancelScope() as scope, allow_pausing(scope):
            self.phases.enter("session")
            # One scope whose deadline moves, instead of one for each phase: those would have to be left in the order
            # they were entered, and the provider holds scopes of its own across them.
            set_deadline(scope, limits.opening_s)
            async with plugin_call(scope) as holding, provider.session(self._request()) as session:
                set_deadline(scope)
                try:
                    await self._converse(session)
                finally:
                    self.phases.enter("close")
                    # Shielded: an interruption must not leave the agent's processes behind. Bounded: nor must they
                    # keep the run from ending.
                    set_deadline(scope, limits.cleanup_s, shielded=True)
            # Errors while it opened are a consequence: its programs were ended.
            self._take(holding.error if self.wall_ms is not None else self.allowance.broken or holding.error)
        if scope.cancelled_caught:
            what = f"the session within {limits.opening_s:g} s" if self.prompted_at is None else "the session"
            self._take(OverranError("opening" if self.prompted_at is None else "closing", what))
        self.phases.leave()

    @property
    def cause(self) -> Cause | None:
        """The agent's own fault, if it was cut short by one or changed its tools."""
        if self.has_tampered:
            return Cause.AGENT_TAMPERED
        if self.allowance.broken is not None:
            return Cause.AGENT_LIMIT
        if self.trace is not None and self.trace.cause is not None:
            return self.trace.cause.kind
        if self.timed_out:
            return Cause.AGENT_TIMEOUT
        return None if self.answer is None else _FAULTS.get(self.answer.reason)

    @property
    def failure(self) -> Exception | None:
        """What kept the session from coming to its end, if that is not a fault of the agent that is scored as such."""
        if self.changed_tools is not None and not self.has_tampered:
            return self.changed_tools
        if self.allowance.broken is not None and self.wall_ms is not None:
            return None  # its programs were ended: an error of the session is only a consequence
        cause = self.trace.cause if self.trace else None
        if cause is not None and not (cause.kind.is_the_agents_own and self.error is None):
            # The cause from the session is better than the result: an outage may look like an answer, or like a
            # timeout.
            error = error_with_cause(
                cause.kind, cause.message, is_transient=cause.may_work_next_time, retry_after_s=cause.retry_after_s
            )
            if str(self.error) != cause.message:  # otherwise it is the same error twice
                error.__cause__ = self.error
            return error
        return None if self.timed_out else self.error

    @property
    def has_tampered(self) -> bool:
        """Whether the session changed its own tools."""
        return isinstance(self.changed_tools, TamperedToolsError)

    def evidence(self) -> Evidence[S]:
        """Return everything known so far."""
        trace = self.trace
        return Evidence(
            cell=self.cell,
            scenario=self.stage.scenario,
            mode=self.mode,
            stage=self.stage,
            completion_reason=self._completion_reason(),
            answer=self.answer,
            trace=trace,
            tokens=trace.summary.total_tokens if trace else TokenUsage(),
            timing=self.timing(),
            tool_calls=self._tool_calls(),
            facts=self._facts(),
            cost=cost_of(trace, self.cell.model) if trace else Cost(),
            refused_hosts=self._count("refused hosts", self.stage.count_refused_hosts),
            not_implemented=self._count("not implemented", self.stage.count_not_implemented),
            tool_use=self._count("tool use", partial(self.stage.measure_tool_use, trace, self.prompted_at)),
        )

    def timing(self) -> Timing:
        """Return how long it took so far."""
        timing = Timing(wall_ms=self.wall_ms, segments=self.phases.segments)
        # Side calls do not count: one agent asks for a title before it waits for its servers.
        calls = [each for each in self.trace.model_calls if each.side is None] if self.trace else []
        if not calls or self.prompted_at is None or self.wall_ms is None:
            return timing
        waited_s = (datetime.fromisoformat(calls[0].started_at) - self.prompted_at).total_seconds()
        # A call that began with the session, before the prompt, keeps nothing from being the agent's own time.
        since_first_ms = self.wall_ms - round(max(waited_s, 0) * 1000)
        return timing.model_copy(update={"from_first_request_ms": max(since_first_ms, 0)})

    async def _converse(self, session: Session) -> None:
        """Prompt under the scenario's deadline; however that ends, ask for the trace."""
        clock, scenario = self.instruments.clock, self.stage.scenario
        self.phases.enter("prompt")
        self.prompted_at = clock.now()
        began = clock.monotonic() - self.suspensions.update()
        prompting = Caught()
        try:
            limit_s = scenario.timeout_ms / 1000
            async with limit_running_time(limit_s, self.suspensions, is_over=self._has_broken_limit) as deadline:
                async with plugin_call() as prompting:
                    answer = require(await session.prompt(scenario.prompt), Answer, "Session.prompt()")
                    self.unredacted_answer = answer
                    self.answer = replace(answer, text=self.redaction.text(answer.text))
                self.error = prompting.error
            self.timed_out = deadline.cancel_called and not self._has_broken_limit()
        finally:
            # While the bench was stopped, GitHub and the tools answered nothing: that time is not the agent's.
            self.wall_ms = round((clock.monotonic() - began - self.suspensions.update()) * 1000)
            if isinstance(prompting.error, AgentBlockedError):
                self.blocked = prompting.error
            elif self.wall_ms > scenario.timeout_ms and (self.answer is not None or not self.timed_out):
                # An agent that keeps the bench itself from looking at the clock is late all the same.
                self.timed_out = True
                if self.wall_ms > scenario.timeout_ms + _LATE_MS:
                    self.blocked = AgentBlockedError(f"it blocked the event loop for up to {self.wall_ms / 1000:.1f} s")
            await self._export(session)

    async def _export(self, session: Session) -> None:
        """Ask for the trace, also while the run is being interrupted: what the agent spent is never forgotten."""
        self.phases.enter("export")
        with anyio.CancelScope(shield=True):
            async with plugin_call() as exporting:
                with anyio.fail_after(self.instruments.limits.export_s):
                    trace = require(await session.trace(), SessionTrace, "Session.trace()").with_all_keys()
                    answer = None if self.unredacted_answer is None else self.unredacted_answer.text
                    texts = {"prompt": self.stage.scenario.prompt, "answer": answer}
                    texts["instructions"] = self.mode.instructions
                    trace = trace.model_copy(update={name: text for name, text in texts.items() if text is not None})
                    trace = fill_from_model_calls(trace) if trace.model_calls else trace
                    self.trace, self.unredacted_trace = self.redaction.trace(trace), trace
            if exporting.error is not None:
                # An agent without a trace still did its work.
                self.problems.append(("trace", exporting.error))

    def _has_broken_limit(self) -> bool:
        return self.allowance.broken is not None

    def _request(self) -> SessionRequest:
        # The stage last: its token and its address of GitHub must not be overridden by a mode.
        environment = {**self.instruments.environment, **self.mode.environment, **self.stage.environment}
        return SessionRequest(
            cell=self.cell,
            mode=self.mode,
            environment=environment,
            server_environments=self.stage.server_environments,
            directory=self.stage.directory,
            facts=self.stage.facts,
            secrets=self._secrets,
            keys=self.instruments.keys,
            watch_model_request=self.stage.watch_model_request,
        )

    def _take(self, error: Exception | None) -> None:
        """Take an error of the session's scope as the session's own, unless the agent had ended its turn before."""
        if error is None:
            return
        # After a timeout the result stands: errors while the agent is being stopped are noted next to it.
        if self.answer is None and not self.timed_out and self.error is None:
            self.error = error
        else:
            self.problems.append(("session", error))

    def _facts(self) -> Mapping[str, JsonValue]:
        """Return the facts of the provider and of the session."""
        own = getattr(self.instruments.providers[self.cell.agent], "facts", None)
        facts = dict(cast("Mapping[str, JsonValue]", own)) if isinstance(own, Mapping) else {}
        return {**facts, **(self.trace.facts if self.trace else {})}

    def _count(self, what: str, count: Callable[[], C | None]) -> C | None:
        try:
            return count()
        except Exception as error:  # noqa: BLE001 - plugin call: the lifecycle's
            self.problems.append((what, error))
            return None

    def _completion_reason(self) -> CompletionReason:
        if self.timed_out:
            return "timeout"
        if self.answer is None:
            return "error"
        return "tool_limit" if self.answer.reason == "tool_limit" else "stop"

    def _tool_calls(self) -> ToolCallSummary:
        try:
            return summarise_tool_calls(self.trace, self.instruments.classify)
        except Exception as error:  # noqa: BLE001 - plugin call: the classifier's
            self.problems.append(("classifier", error))
            return summarise_tool_calls(self.trace, name_of_tool)


@dataclass(frozen=True, slots=True)
class _ScorerOfUnredacted(Generic[S]):
    """Scores the unredacted answer and trace, and removes the secrets from the score.

    A text with a stand-in in it is not what a checkpoint looks for. Collectors, analyzers and files get the others.
    """

    conversation: Conversation[S]
    scorer: Scorer[S]

    async def score(self, evidence: Evidence[S]) -> Score:
        answer, trace = self.conversation.unredacted_answer, self.conversation.unredacted_trace
        score = await self.scorer.score(replace(evidence, answer=answer, trace=trace))
        return self.conversation.redaction.record(require(score, Score, "Scorer.score()"))


_LATE_MS = 1000
"""Lateness of a deadline beyond which the agent must have blocked the event loop."""

_FAULTS = {"tool_limit": Cause.AGENT_BUDGET, "refusal": Cause.AGENT_REFUSAL}
