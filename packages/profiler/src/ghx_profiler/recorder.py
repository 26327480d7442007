"""Writing down a session as it happens, for adapters of agents."""

import math
import secrets
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import BaseModel, JsonValue

from ghx_base.clock import Clock, SystemClock, timestamp
from ghx_profiler.records.causes import describe_error
from ghx_profiler.records.metrics import CustomMetric, TokenUsage
from ghx_profiler.records.model_calls import ModelCall, add_usage
from ghx_profiler.records.trace import (
    ErrorEvent,
    NamedCause,
    ReasoningEvent,
    SessionTrace,
    TextOutputEvent,
    ToolCallEvent,
    TraceEvent,
    TraceSummary,
    Turn,
    TurnBoundaryEvent,
)


@dataclass(slots=True, kw_only=True)
class PendingCall:
    """A tool call in progress; its caller sets the result."""

    output: object = None
    success: bool | None = True
    error: str | None = None


_RECORDED = ("tokens", "toolCalls", "agentTurns")
"""The keys of a row whose numbers a recorder gives."""

_Chunk = type[ReasoningEvent] | type[TextOutputEvent]


class TraceRecorder:
    """Collects what an agent does, in order, and gives the trace of it at any moment.

    A turn begins with `begin_turn`, once for each call of the model, and ends with `end_turn` or where the next one
    begins; what the agent does outside any turn begins one. `trace` may be called while a turn or a tool call is still
    going on, as it is after a cancellation: both then end at that moment in the trace, and go on in the recorder.
    Inputs and outputs are copied, and what JSON cannot hold is written as text.

    `session_id` may be set later, if only the agent's first answer has it; until then it is generated. What
    the session knows in addition to events is put into `facts`, `metrics`, `model_calls`, `cause` and `sources`, as on
    a
    `SessionTrace`. `source` is where the numbers come from if that is not an agent: a `script`.
    """

    def __init__(self, *, session_id: str | None = None, clock: Clock | None = None, source: str | None = None) -> None:
        self.session_id = f"ses_{secrets.token_hex(8)}" if session_id is None else session_id
        self.facts: dict[str, JsonValue] = {}
        self.metrics: list[CustomMetric] = []
        self.model_calls: list[ModelCall] = []
        self.cause: NamedCause | None = None
        self.sources: dict[str, str] = {} if source is None else dict.fromkeys(_RECORDED, source)
        self._clock = clock or SystemClock()
        self._early: list[ErrorEvent] = []
        self._open_calls: dict[str, _TimedCall] = {}
        self._turns: list[_Turn] = []
        self._usage: TokenUsage | None = None
        self._costs: list[float | None] = []

    def begin_turn(self) -> None:
        """Begin the next turn, and end the one that is going on."""
        now = self._now()
        if self._turns:
            self._turns[-1].end(now)
        self._turns.append(_Turn(number=len(self._turns), began=now))

    def end_turn(self) -> None:
        """End the turn that is going on, if there is one."""
        if self._turns:
            self._turns[-1].end(self._now())

    def reasoning(self, text: str, *, tokens: int | None = None, duration_ms: float | None = None) -> None:
        """Note that the agent thought aloud."""
        self._add(ReasoningEvent(content=_clean(text), token_count=tokens, duration_ms=duration_ms))

    def text(self, content: str, *, tokens: int | None = None) -> None:
        """Record a message of the agent to the user."""
        self._add(TextOutputEvent(content=_clean(content), token_count=tokens))

    def reasoning_chunk(self, text: str) -> None:
        """Note a piece of what the agent thinks; pieces that nothing else comes between are one event."""
        self._add_chunk(ReasoningEvent, text)

    def text_chunk(self, content: str) -> None:
        """Record a piece of a message to the user; consecutive pieces are one event."""
        self._add_chunk(TextOutputEvent, content)

    def tool_call(
        self,
        name: str,
        input: object = None,  # noqa: A002 - the wire's own word
        output: object = None,
        *,
        success: bool | None = None,
        duration_ms: float | None = None,
        error: str | None = None,
    ) -> None:
        """Record a finished tool call; `success` is `None` if the agent does not report it."""
        self._add(_call_event(name, input, output=output, success=success, duration_ms=duration_ms, error=error))

    @contextmanager
    def timed_tool_call(self, name: str, input: object = None) -> Generator[PendingCall]:  # noqa: A002 - the same
        """Note the tool call that is made inside the block, and time it.

        Set `output` on what the block gets, and `success` or `error` where the tool reports a failure by itself. An
        exception is a failure, and propagates; the success of a cancelled call is unknown.
        """
        timed = _TimedCall(name=name, input=_as_json(input), began=self._clock.monotonic())
        self._add(timed)
        call = timed.call
        try:
            yield call
        except Exception as error:
            call.success, call.error = False, call.error or describe_error(error)
            raise
        except BaseException:
            call.success, timed.is_unfinished = None, True
            raise
        finally:
            call.output, timed.ended = _as_json(call.output), self._clock.monotonic()

    def begin_tool_call(self, call_id: str, name: str, input: object = None) -> None:  # noqa: A002 - the same
        """Note that a tool call begins, which `end_tool_call` ends; until then, its time goes on in every trace.

        A second begin of a call in progress updates it: agents report the input late.
        """
        call = self._open_calls.get(call_id)
        if call is None:
            call = _TimedCall(name=name, began=self._clock.monotonic(), call_id=call_id)
            self._open_calls[call_id] = call
            self._add(call)
        call.name = name
        if input is not None:
            call.input = _as_json(input)

    def end_tool_call(
        self,
        call_id: str,
        output: object = None,
        *,
        success: bool | None = None,
        error: str | None = None,
        duration_ms: float | None = None,
    ) -> None:
        """Note how a tool call ended; one that never began, or has ended before, is passed over.

        Its position is that of its beginning. `success` is `None` if the agent does not report it; with an `error` it
        has failed. An agent that reports a call only at its end passes its time as `duration_ms`.
        """
        call = self._open_calls.pop(call_id, None)
        if call is not None:
            call.call = PendingCall(output=_as_json(output), success=success, error=error)
            call.ended = self._clock.monotonic()
            if duration_ms is not None:
                call.began = call.ended - duration_ms / 1000

    def error(self, message: str, *, recoverable: bool | None = None) -> None:
        """Note something that went wrong outside any tool call; before the first turn it begins none."""
        event = ErrorEvent(message=_clean(message), recoverable=recoverable)
        if self._turns:
            self._add(event)
        else:
            self._early.append(event)

    def add_usage(self, usage: TokenUsage) -> None:
        """Add the tokens of one model call; a part that one call does not report is unknown for the session."""
        self._usage = usage if self._usage is None else add_usage([self._usage, usage])

    def cost(self, usd: float | None) -> None:
        """Add the cost of one step as the agent reports it; with a `None` the cost of the session is unknown.

        If an agent reports a running total, pass only the last one.
        """
        self._costs.append(usd)

    def trace(self) -> SessionTrace:
        """Return all that was noted so far, as a trace of its own."""
        now = self._now()
        turns = tuple(turn.as_of(now) for turn in self._turns)
        events: list[TraceEvent] = list(self._early)
        for turn in turns:
            events.append(TurnBoundaryEvent(turn_number=turn.number, timestamp=turn.start_timestamp))
            events.extend(turn.events)
        extra: dict[str, Any] = {
            "facts": {_clean(name): _as_json(fact) for name, fact in self.facts.items()},
            "metrics": tuple(self.metrics),
            "model_calls": tuple(self.model_calls),
            "cause": self.cause,
            "sources": dict(self.sources),
        }
        trace = SessionTrace(
            session_id=self.session_id,
            events=tuple(events),
            turns=turns,
            summary=self._summary(events, now),
            **{name: value for name, value in extra.items() if value},
        )
        return trace.with_all_keys()

    def _summary(self, events: list[TraceEvent], now: "_Moment") -> TraceSummary:
        fields: dict[str, Any] = {}
        costs = [usd for usd in self._costs if usd is not None]
        if costs and len(costs) == len(self._costs):
            fields["total_cost_usd"] = math.fsum(costs)
        if self._turns:
            fields["total_duration"] = (self._turns[-1].ended or now).ms_since(self._turns[0].began)
        return TraceSummary(
            total_turns=len(self._turns),
            total_tool_calls=sum(isinstance(event, ToolCallEvent) for event in events),
            total_tokens=self._usage or TokenUsage(),
            **fields,
        )

    def _add_chunk(self, kind: _Chunk, content: str) -> None:
        turn = self._turns[-1] if self._turns and self._turns[-1].ended is None else None
        last = turn.entries[-1] if turn and turn.entries else None
        if isinstance(last, _Chunks) and last.kind is kind:
            last.parts.append(content)
        else:
            self._add(_Chunks(kind=kind, parts=[content]))

    def _add(self, entry: "_Entry") -> None:
        if not self._turns or self._turns[-1].ended is not None:
            # Something happens, so a turn is in progress, though its beginning was not reported.
            self.begin_turn()
        self._turns[-1].entries.append(entry)

    def _now(self) -> "_Moment":
        return _Moment(stamp=timestamp(self._clock.now()), seconds=self._clock.monotonic())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moment:
    stamp: str
    seconds: float

    def ms_since(self, other: "_Moment") -> int:
        return round((self.seconds - other.seconds) * 1000)


@dataclass(slots=True, kw_only=True)
class _TimedCall:
    name: str
    input: JsonValue = None
    began: float
    call: PendingCall = field(default_factory=PendingCall)
    ended: float | None = None
    is_unfinished: bool = False
    call_id: str | None = None

    def as_of(self, now: _Moment) -> ToolCallEvent:
        ended, call = self.ended, self.call
        event = _call_event(
            self.name,
            self.input,
            output=call.output,
            success=None if ended is None else False if call.error is not None else call.success,
            duration_ms=round(((now.seconds if ended is None else ended) - self.began) * 1000),
            error=call.error,
        )
        fields = {"call_id": self.call_id, "unfinished": True if ended is None or self.is_unfinished else None}
        return event.model_copy(update={name: value for name, value in fields.items() if value is not None})


@dataclass(slots=True, kw_only=True)
class _Chunks:
    """Pieces of a text that are one event."""

    kind: _Chunk
    parts: list[str]

    def as_of(self, _now: _Moment) -> ReasoningEvent | TextOutputEvent:
        # Joined before it is cleaned: a piece may end in the middle of a character that is two code units in JSON.
        whole = "".join(self.parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return self.kind(content=whole)


_Entry = TraceEvent | _TimedCall | _Chunks


@dataclass(slots=True, kw_only=True)
class _Turn:
    number: int
    began: _Moment
    ended: _Moment | None = None
    entries: list[_Entry] = field(default_factory=list[_Entry])

    def end(self, now: _Moment) -> None:
        self.ended = self.ended or now

    def as_of(self, now: _Moment) -> Turn:
        ended = self.ended or now
        return Turn(
            number=self.number,
            events=tuple(
                entry.as_of(now) if isinstance(entry, _TimedCall | _Chunks) else entry for entry in self.entries
            ),
            start_timestamp=self.began.stamp,
            end_timestamp=ended.stamp,
            duration_ms=ended.ms_since(self.began),
        )


def _call_event(
    name: str,
    arguments: object,
    *,
    output: object,
    success: bool | None,
    duration_ms: float | None,
    error: str | None,
) -> ToolCallEvent:
    error_fields: dict[str, Any] = {} if error is None else {"error": _clean(error)}
    return ToolCallEvent(
        name=_clean(name),
        input=_as_json(arguments),
        output=_as_json(output),
        duration_ms=duration_ms,
        success=success,
        **error_fields,
    )


def _as_json(value: object) -> JsonValue:
    """Copy a value into what JSON can hold; text where it cannot."""
    match value:
        case None | bool() | int():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case BaseModel():
            return _as_json(value.model_dump(mode="json"))
        case Mapping():
            return {_clean(str(key)): _as_json(item) for key, item in cast("Mapping[object, object]", value).items()}
        case list() | tuple() | set() | frozenset():
            return [_as_json(item) for item in cast("list[object]", value)]
        case _:
            return _clean(value.decode(errors="replace") if isinstance(value, bytes) else str(value))


def _clean(text: str) -> str:
    """Replace lone surrogates, which agents' output decoded with `surrogateescape` has and no file can hold."""
    return text.encode(errors="replace").decode()
