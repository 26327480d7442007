"""Writing a session as an ATIF trajectory: one step for each turn, with everything that ATIF has no field for kept."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import JsonValue

from ghx_base.wire import JsonObject, WireModel
from ghx_profiler.interchange.atif_spend import final_metrics
from ghx_profiler.interchange.trajectory import JSON_CONTENT, OURS, SCHEMA_VERSION, SEPARATOR, without_none
from ghx_profiler.plan.cell import NO_MODEL
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.records.trace import (
    ErrorEvent,
    ReasoningEvent,
    SessionTrace,
    TextOutputEvent,
    ToolCallEvent,
    TraceEvent,
    Turn,
    TurnBoundaryEvent,
)

LAYOUT_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Events that belong together; the first `lead` of them stand before the turn's own."""

    events: tuple[TraceEvent, ...]
    turn: Turn | None = None
    lead: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentInfo:
    """The agent of the session; ATIF requires a version, even if it is unknown."""

    name: str
    version: str = "unknown"
    model: str | None = None

    @property
    def has_model(self) -> bool:
        """Whether a model is behind the agent."""
        return self.model != NO_MODEL


def to_atif(
    trace: SessionTrace, row: ProfileRow | None = None, *, agent: AgentInfo, prompt: str | None = None
) -> JsonObject:
    """Return a session as an ATIF document; `from_atif` reads the same trace from it.

    With a `row` the document also has the cell, the verdict and a computed cost. It begins with the instructions and
    the prompt that the session was given; a `prompt` is for sessions that do not know theirs.
    """
    by_turn = passages_by_turn(trace) if trace.turns else None
    passages = tuple(passages_by_boundary(trace)) if by_turn is None else by_turn
    messages = (("system", trace.instructions), ("user", prompt if trace.prompt is None else trace.prompt))
    known_words = [(source, words) for source, words in messages if words is not None]
    request_steps: list[JsonObject] = [
        {"step_id": number, "source": source, "message": words}
        for number, (source, words) in enumerate(known_words, start=1)
    ]
    first = len(request_steps) + 1
    steps = request_steps + [_step(number, each, agent) for number, each in enumerate(passages, start=first)]
    if not steps:
        steps = [_step(1, Passage(events=()), agent)]  # a document needs at least one step
    own_fields = _own_fields(trace, row, turns_differ=bool(trace.turns) and by_turn is None)
    summary = trace.summary
    spent = final_metrics(
        summary.total_tokens,
        reported_usd=summary.total_cost_usd,
        cost=None if row is None else row.upgraded().cost,
        steps=len(steps),
    )
    return without_none(
        schema_version=SCHEMA_VERSION,
        session_id=trace.session_id,
        trajectory_id=None if row is None else f"{row.run_id}/{row.cell.path}",
        agent=without_none(name=agent.name, version=agent.version, model_name=agent.model if agent.has_model else None),
        steps=[*steps],
        final_metrics=spent,
        extra={OURS: own_fields},
    )


def rest(record: WireModel, *native: str) -> JsonObject:
    """Return the fields of a record that have no place of their own in the format."""
    return {name: value for name, value in record.to_wire().items() if name not in native}


def _own_fields(trace: SessionTrace, row: ProfileRow | None, *, turns_differ: bool) -> JsonObject:
    summary = rest(trace.summary, "totalTokens", "totalCostUsd")
    tokens = rest(
        trace.summary.total_tokens, "input", "output", "reasoning", "cacheRead", "cacheWrite", "total", "active"
    )
    return without_none(
        version=LAYOUT_VERSION,
        summary=summary or None,
        tokens=tokens or None,
        trace=rest(trace, "sessionId", "events", "turns", "summary") or None,
        turns=[turn.to_wire() for turn in trace.turns] if turns_differ else None,
        row=None if row is None else _verdict(row),
    )


def _verdict(row: ProfileRow) -> JsonObject:
    checkpoints: list[JsonValue] = [
        without_none(id=each.id, description=each.description, passed=each.passed) for each in row.checkpoint_details
    ]
    return without_none(
        run_id=row.run_id,
        scenario_id=row.scenario_id,
        mode=row.mode,
        model=row.model,
        iteration=row.iteration,
        success=row.success,
        completion_reason=row.completion_reason,
        error=row.error,
        cause=row.cause,
        checkpoints=checkpoints,
    )


@dataclass(slots=True)
class _Contents:
    """What one step holds, by the fields of ATIF, and in which order it happened."""

    step: int
    thoughts: list[str] = field(default_factory=list[str])
    texts: list[str] = field(default_factory=list[str])
    calls: list[JsonValue] = field(default_factory=list[JsonValue])
    results: list[JsonValue] = field(default_factory=list[JsonValue])
    order: list[JsonValue] = field(default_factory=list[JsonValue])

    def add(self, event: TraceEvent) -> None:
        """Put an event where ATIF has a place for it, and the rest of it into the order."""
        match event:
            case ReasoningEvent(content=content):
                self.thoughts.append(content)
                self._note(event, rest(event, "type", "content"), length=len(content))
            case TextOutputEvent(content=content):
                self.texts.append(content)
                self._note(event, rest(event, "type", "content"), length=len(content))
            case ToolCallEvent():
                call_id = f"call_{self.step}_{len(self.calls) + 1}"
                self.calls.append(_call(call_id, event))
                self.results.extend(_result(call_id, event))
                self._note(event, rest(event, "type", *_CALL))
            case ErrorEvent(message=message):
                self.results.append({"content": message, "extra": {"is_error": True}})
                self._note(event, rest(event, "type", "message"))
            case TurnBoundaryEvent():
                self._note(event, rest(event, "type"))

    def _note(self, event: TraceEvent, left: JsonObject, *, length: int | None = None) -> None:
        self.order.append(without_none(type=event.type, length=length, rest=left or None))


_CALL = ("name", "input", "output", "durationMs", "success", "error")


def _step(number: int, passage: Passage, agent: AgentInfo) -> JsonObject:
    contents = _Contents(number)
    for event in passage.events:
        contents.add(event)
    turn = passage.turn
    is_trouble_only = bool(passage.events) and all(isinstance(event, ErrorEvent) for event in passage.events)
    is_agents = turn is not None or not is_trouble_only
    own_fields = without_none(
        events=contents.order,
        lead=passage.lead or None,
        turn=None if turn is None else rest(turn, "events"),
    )
    return without_none(
        step_id=number,
        timestamp=_moment(passage),
        source="agent" if is_agents else "system",
        message=SEPARATOR.join(contents.texts),
        reasoning_content=SEPARATOR.join(contents.thoughts) if contents.thoughts else None,
        tool_calls=contents.calls or None,
        observation={"results": contents.results} if contents.results else None,
        llm_call_count=_model_calls(passage, agent, thinks=bool(contents.thoughts)) if is_agents else None,
        extra={OURS: own_fields},
    )


def _model_calls(passage: Passage, agent: AgentInfo, *, thinks: bool) -> int | None:
    """Return how often a model was called: once a turn, never by an agent that has none; else `None`."""
    if not agent.has_model:
        return None if thinks else 0
    return None if passage.turn is None else 1


def _moment(passage: Passage) -> str | None:
    """Return when a step began, if that is a time and not just a text."""
    boundaries = (event.timestamp for event in passage.events if isinstance(event, TurnBoundaryEvent))
    start = next(boundaries, None) if passage.turn is None else passage.turn.start_timestamp
    if start is None:
        return None
    try:
        datetime.fromisoformat(start.replace("Z", "+00:00"))  # noqa: FURB162 - as strict as the readers of ATIF are
    except ValueError:
        return None
    return start


def _call(call_id: str, event: ToolCallEvent) -> JsonObject:
    value = event.input
    shape = None if isinstance(value, dict) else ("unknown" if value is None else "value")
    arguments: Mapping[str, JsonValue] = value if isinstance(value, dict) else without_none(input=value)
    extra = without_none(duration_ms=event.duration_ms, input_is=shape)
    return without_none(tool_call_id=call_id, function_name=event.name, arguments=dict(arguments), extra=extra or None)


def _result(call_id: str, event: ToolCallEvent) -> list[JsonObject]:
    """Return the result of a call; empty if unknown."""
    output = event.output
    is_text = output is None or isinstance(output, str)
    content = output if is_text else json.dumps(output, ensure_ascii=False)
    extra = without_none(
        is_error=None if event.success is None else not event.success,
        error=event.error,
        content_type=None if is_text else JSON_CONTENT,
    )
    if content is None and not extra:
        return []
    return [without_none(source_call_id=call_id, content=content, extra=extra or None)]


def passages_by_turn(trace: SessionTrace) -> tuple[Passage, ...] | None:
    """Cut a trace at its turns; `None` if turns and events disagree."""
    first = _beginning(trace)
    passages = [Passage(events=trace.events[:first])] if first else []
    at = first
    for turn in trace.turns:
        own = turn.events
        lead = int(_is_boundary(trace.events[at : at + 1]) and not _is_boundary(own[:1]))
        end = at + lead + len(own)
        if trace.events[at + lead : end] != own:
            return None
        passages.append(Passage(events=trace.events[at:end], turn=turn, lead=lead))
        at = end
    return tuple(passages) if at == len(trace.events) else None


def passages_by_boundary(trace: SessionTrace) -> Iterator[Passage]:
    """Cut a trace at the events that mark the start of a turn."""
    cuts = [at for at, event in enumerate(trace.events) if at and isinstance(event, TurnBoundaryEvent)]
    for begin, end in zip([0, *cuts], [*cuts, len(trace.events)], strict=True):
        if begin < end:
            yield Passage(events=trace.events[begin:end])


def _beginning(trace: SessionTrace) -> int:
    """Return where the first turn begins; before it, only what has no turn."""
    if not trace.turns:
        return len(trace.events)
    boundaries = (at for at, event in enumerate(trace.events) if isinstance(event, TurnBoundaryEvent))
    return next(boundaries, max(0, len(trace.events) - sum(len(turn.events) for turn in trace.turns)))


def _is_boundary(events: tuple[TraceEvent, ...]) -> bool:
    return bool(events) and isinstance(events[0], TurnBoundaryEvent)
