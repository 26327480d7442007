"""Reading a session from an ATIF trajectory: our own without loss, third-party ones as far as they have data."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import JsonValue, TypeAdapter, ValidationError

from ghx_base.wire import JsonObject
from ghx_profiler.interchange.atif_spend import reported_cost_of, usage_of
from ghx_profiler.interchange.errors import BadTrajectoryError
from ghx_profiler.interchange.trajectory import (
    JSON_CONTENT,
    SEPARATOR,
    AtifResult,
    AtifStep,
    AtifToolCall,
    AtifTrajectory,
    text_of,
)
from ghx_profiler.records.trace import SessionTrace, TraceEvent

_EVENTS: TypeAdapter[tuple[TraceEvent, ...]] = TypeAdapter(tuple[TraceEvent, ...])


def from_atif(document: Mapping[str, Any]) -> SessionTrace:
    """Return the session in an ATIF document.

    A step of the agent is a turn, unless no model was called in it: then it belongs to the turn before. Steps of user
    and system, and those copied from earlier trajectories, are not what the agent did, and are left out. What is not
    recorded stays unknown. Raises `BadTrajectoryError` for anything but an ATIF document.
    """
    try:
        trajectory = AtifTrajectory.model_validate(document)
        return _trace(trajectory)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the document"
        raise BadTrajectoryError(
            f"not an ATIF trajectory ({where}: {first['msg']}); see docs/interchange.md"
        ) from error


def _trace(trajectory: AtifTrajectory) -> SessionTrace:
    events: list[JsonObject] = []
    turns: list[JsonObject] = []
    for step in trajectory.steps:
        _take(step, events, turns)
    ours = trajectory.ours
    stored_turns = ours.get("turns")
    session_id = trajectory.trajectory_id if trajectory.session_id is None else trajectory.session_id
    fields: dict[str, Any] = {
        **_object(ours.get("trace")),
        "sessionId": session_id or "",
        "events": events,
        "turns": stored_turns if isinstance(stored_turns, list) else turns,
        "summary": _summary(trajectory, events, turns),
    }
    return SessionTrace.model_validate(fields).with_all_keys()


def _summary(trajectory: AtifTrajectory, events: list[JsonObject], turns: list[JsonObject]) -> JsonObject:
    ours = trajectory.ours
    counted: JsonObject = {
        "totalTurns": len(turns),
        "totalToolCalls": sum(event["type"] == "tool_call" for event in events),
    }
    summary = _object(ours.get("summary")) if ours else counted
    summary["totalTokens"] = {**_object(ours.get("tokens")), **usage_of(trajectory).to_wire()}
    cost = reported_cost_of(trajectory)
    return summary if cost is None else {**summary, "totalCostUsd": cost}


def _take(step: AtifStep, events: list[JsonObject], turns: list[JsonObject]) -> None:
    """Add the content of a step to the events and turns so far."""
    if (laid_out := _laid_out(step)) is not None:
        events.extend(laid_out)
        turn, lead = step.ours.get("turn"), step.ours.get("lead", 0)
        if isinstance(turn, dict) and isinstance(lead, int):
            turns.append({**turn, "events": [*laid_out[lead:]]})
    elif step.source == "agent" and not step.is_copied_context:
        step_events = [*_read_events(step)]
        events_of_turn = turns[-1]["events"] if turns and step.llm_call_count == 0 else None
        if isinstance(events_of_turn, list):
            events_of_turn.extend(step_events)
        else:
            number = len(turns)
            events.append({"type": "turn_boundary", "turnNumber": number, "timestamp": step.timestamp})
            turns.append({"number": number, "events": [*step_events], "startTimestamp": step.timestamp})
        events.extend(step_events)


def _read_events(step: AtifStep) -> Iterator[JsonObject]:
    """Yield the events of a step in the order that agents have: think, speak, act."""
    if step.reasoning_content:
        yield {"type": "reasoning", "content": step.reasoning_content}
    if message := text_of(step.message):
        yield {"type": "text_output", "content": message}
    yield from _calls(step)
    yield from _errors(step)


def _calls(step: AtifStep) -> Iterator[JsonObject]:
    calls = step.tool_calls or ()
    answers = {result.source_call_id: result for result in reversed(step.results) if result.source_call_id is not None}
    unasked = [result for result in step.results if result.source_call_id is None]
    if not answers and len(unasked) == len(calls) and not any(_is_error(result) for result in unasked):
        answers = {call.tool_call_id: result for call, result in zip(calls, unasked, strict=True)}
    for call in calls:
        yield _call(call, answers.get(call.tool_call_id))


def _call(call: AtifToolCall, result: AtifResult | None) -> JsonObject:
    shape = call.fields.get("input_is")
    arguments: JsonValue = call.arguments
    if shape in ("value", "unknown"):
        arguments = call.arguments.get("input")
    event: JsonObject = {
        "type": "tool_call",
        "name": call.function_name,
        "input": arguments,
        "durationMs": _number(call.fields.get("duration_ms")),
    }
    return event if result is None else event | _outcome(result)


def _outcome(result: AtifResult) -> JsonObject:
    is_error, error = result.fields.get("is_error"), result.fields.get("error")
    outcome: JsonObject = {"output": _output(result)}
    if isinstance(is_error, bool):
        outcome["success"] = not is_error
    return outcome | ({"error": error} if isinstance(error, str) else {})


def _output(result: AtifResult) -> JsonValue:
    content = text_of(result.content)
    if content is None or result.fields.get("content_type") != JSON_CONTENT:
        return content
    try:
        return json.loads(content)
    except ValueError:
        return content  # it was cut; the text is the rest


def _errors(step: AtifStep) -> Iterator[JsonObject]:
    for result in step.results:
        if _is_error(result):
            yield {"type": "error", "message": text_of(result.content) or ""}


def _is_error(result: AtifResult) -> bool:
    return result.source_call_id is None and result.fields.get("is_error") is True


def _laid_out(step: AtifStep) -> list[JsonObject] | None:
    """Return the events of a step in the order that was kept with it; `None` where that does not fit its contents."""
    order = step.ours.get("events")
    if not isinstance(order, list):
        return None
    entries = [_object(entry) for entry in order]
    supplies: dict[str, Iterator[JsonObject] | None] = {
        "reasoning": _cut("reasoning", step.reasoning_content or "", entries),
        "text_output": _cut("text_output", text_of(step.message) or "", entries),
        "tool_call": _calls(step),
        "error": _errors(step),
    }
    events: list[JsonObject] = []
    for entry in entries:
        kind = str(entry.get("type"))
        supply = supplies.get(kind, iter([{"type": kind}]))
        event = None if supply is None else next(supply, None)
        if event is None:
            return None
        events.append(_object(entry.get("rest")) | event)
    is_spent = all(supply is not None and next(supply, None) is None for supply in supplies.values())
    return events if is_spent and _is_valid(events) else None


def _cut(kind: str, text: str, entries: list[JsonObject]) -> Iterator[JsonObject] | None:
    """Cut a joined text into its pieces again; `None` where it was changed."""
    lengths = [entry.get("length") for entry in entries if entry.get("type") == kind]
    pieces: list[JsonObject] = []
    at = 0
    for length in lengths:
        if not isinstance(length, int) or length < 0:
            return None
        pieces.append({"type": kind, "content": text[at : at + length]})
        at += length + len(SEPARATOR)
    whole = SEPARATOR.join(str(piece["content"]) for piece in pieces)
    return iter(pieces) if whole == text else None


def _is_valid(events: list[JsonObject]) -> bool:
    try:
        _EVENTS.validate_python(events)
    except ValidationError:
        return False
    return True


def _object(value: JsonValue) -> JsonObject:
    return dict(value) if isinstance(value, dict) else {}


def _number(value: JsonValue) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
