"""Holding one session: the prompt under its deadline, the export, and the evidence made of both."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic

import anyio

from ghx_bench.profiler.causes import Cause, OverranError
from ghx_bench.profiler.cell import Cell
from ghx_bench.profiler.contracts import Session, SessionRequest
from ghx_bench.profiler.evidence import Answer, CompletionReason, Evidence, Mode, Stage
from ghx_bench.profiler.instruments import Instruments, name_of_tool
from ghx_bench.profiler.metrics import Cost, Timing, TokenUsage, ToolCallSummary
from ghx_bench.profiler.phases import Phases, allow
from ghx_bench.profiler.pricing import cost_of
from ghx_bench.profiler.scenario import S
from ghx_bench.profiler.toolcalls import summarise_tool_calls
from ghx_bench.profiler.trace import SessionTrace

Interrupted = Callable[[Evidence[Any]], None]
"""Told what a session had done and spent when the run was interrupted in the middle of it."""


@dataclass(slots=True, kw_only=True)
class Conversation(Generic[S]):
    """One session as it goes on; what is known of it is here at every moment, also when it is cut off."""

    cell: Cell
    mode: Mode
    stage: Stage[S]
    instruments: Instruments[S]
    phases: Phases
    interrupted: Interrupted
    answer: Answer | None = None
    trace: SessionTrace | None = None
    error: Exception | None = None
    timed_out: bool = False
    wall_ms: int | None = None
    problems: list[tuple[str, Exception]] = field(default_factory=list[tuple[str, Exception]])

    async def hold(self) -> None:
        """Open a session, prompt it, export it, close it."""
        limits = self.instruments.limits
        with anyio.CancelScope() as scope:
            self.phases.enter("session")
            allow(scope, limits.setup_s)
            try:
                async with self.instruments.provider.session(self._request()) as session:
                    allow(scope)
                    try:
                        await self._converse(session)
                    finally:
                        self.phases.enter("close")
                        allow(scope, limits.cleanup_s, shielded=True)
            except Exception as error:  # noqa: BLE001 - plugin call: the provider's failure is this cell's alone
                self._fail(error)
        if scope.cancelled_caught:
            self._fail(OverranError("opening" if self.wall_ms is None else "closing", "the session"))
        self.phases.leave()

    @property
    def cause(self) -> Cause | None:
        """The agent's own fault, if it was cut short by one."""
        if self.timed_out:
            return Cause.AGENT_TIMEOUT
        return None if self.answer is None else _FAULTS.get(self.answer.reason)

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
            timing=Timing(wall_ms=self.wall_ms, segments=self.phases.segments),
            tool_calls=self._tool_calls(),
            cost=cost_of(trace, self.cell.model) if trace else Cost(),
        )

    async def _converse(self, session: Session) -> None:
        clock = self.instruments.clock
        self.phases.enter("prompt")
        began = clock.monotonic()
        try:
            with anyio.move_on_after(self.stage.scenario.timeout_ms / 1000) as deadline:
                try:
                    self.answer = await session.prompt(self.stage.scenario.prompt)
                except Exception as error:  # noqa: BLE001 - plugin call
                    self.error = error
            self.timed_out = deadline.cancel_called
        except anyio.get_cancelled_exc_class():
            self.wall_ms = round((clock.monotonic() - began) * 1000)
            await self._export(session)
            self.interrupted(self.evidence())
            raise
        self.wall_ms = round((clock.monotonic() - began) * 1000)
        await self._export(session)

    async def _export(self, session: Session) -> None:
        """Ask for the trace, also while the run is being interrupted: what the agent spent is never forgotten."""
        self.phases.enter("export")
        try:
            with anyio.fail_after(self.instruments.limits.export_s, shield=True):
                self.trace = (await session.trace()).spelled_out()
        except Exception as error:  # noqa: BLE001 - plugin call: an agent that cannot tell what it did still did it
            self.problems.append(("trace", error))

    def _request(self) -> SessionRequest:
        environment = {**self.instruments.environment, **self.mode.environment, **self.stage.environment}
        return SessionRequest(cell=self.cell, mode=self.mode, environment=environment, directory=self.stage.directory)

    def _fail(self, error: Exception) -> None:
        """Take an error of opening the session as the session's, one of closing it as a note beside the result."""
        if self.wall_ms is None:
            self.error = error
        else:
            self.problems.append(("session", error))

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


_FAULTS = {"tool_limit": Cause.AGENT_BUDGET, "refusal": Cause.AGENT_REFUSAL}
