"""A trace filled in from model calls: what the agent tells of itself, beside what its model was sent and said.

One rule for all agents. The model calls are right about what the model saw: the turns, the tokens, and the name, the
input and the result of each tool call. The agent is right about what only it sees: how long a call took, whether it
succeeded, what was said and thought between calls. A tool call of the one and a tool call of the other are the same if
they have the same id; of those left over, in their order, if they have the same tool; of those still left over, if
there are as many on both sides, in their order. What only one side knows of stays.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ghx_bench.profiler.model_call_summary import main_calls
from ghx_bench.profiler.model_calls import ModelCall, RequestedToolCall, SeenToolResult, usage_of
from ghx_bench.profiler.trace import (
    ReportedFigures,
    SessionTrace,
    ToolCallEvent,
    TraceEvent,
    Turn,
    TurnBoundaryEvent,
)

_METERED = ("tokens", "toolCalls", "agentTurns")
"""The keys of a row whose numbers come from model calls, where there are any."""


def fill_from_model_calls(trace: SessionTrace) -> SessionTrace:
    """Return a trace with turns, tokens and tool calls as its model calls have them, and the agent's figures beside."""
    told, calls = trace.summary, main_calls(trace.model_calls)
    reported = ReportedFigures(
        tokens=told.total_tokens,
        turns=told.total_turns,
        tool_calls=told.total_tool_calls,
        cost_usd=told.total_cost_usd,
    )
    turns = _turns_of(trace.events, calls) if calls else trace.turns
    events = tuple(event for turn in turns for event in _with_boundary(turn)) if calls else trace.events
    metered = {
        "total_tokens": usage_of(trace.model_calls),
        "total_turns": len(calls),
        "total_tool_calls": sum(isinstance(event, ToolCallEvent) for event in events),
    }
    changes = {
        "events": events,
        "turns": turns,
        "summary": told.model_copy(update=metered),
        "sources": {**dict.fromkeys(_METERED, "meter"), **trace.sources},
        "reported": reported,
    }
    return trace.model_copy(update=changes).with_all_keys()


def _with_boundary(turn: Turn) -> tuple[TraceEvent, ...]:
    return TurnBoundaryEvent(turn_number=turn.number, timestamp=turn.start_timestamp), *turn.events


@dataclass(frozen=True, slots=True, kw_only=True)
class _WireCall:
    """A tool call as the model saw it: in which turn it asked for it, and what it was told in the end."""

    turn: int
    request: RequestedToolCall
    result: SeenToolResult | None

    def as_event(self, recorded: ToolCallEvent | None = None) -> ToolCallEvent:
        """Return the call as an event, with what the agent recorded of it."""
        result, request = self.result, self.request
        event = recorded or ToolCallEvent(name=request.name, duration_ms=None, success=None)
        told: dict[str, object] = {"name": request.name, "input": request.arguments}
        if request.id is not None:
            told["call_id"] = request.id
        if result is not None:
            told["output"] = result.text
            if event.success is None and result.failed is not None:
                told["success"] = not result.failed
        if event.unfinished or recorded is None:
            told["unfinished"] = result is None
        return event.model_copy(update=told)


def _turns_of(events: Sequence[TraceEvent], calls: Sequence[ModelCall]) -> tuple[Turn, ...]:
    """Return one turn for each call of the conversation, with what happened in it."""
    contents: list[list[TraceEvent]] = [[] for _ in calls]
    pending: list[TraceEvent] = []
    current = 0
    for event, turn in _place_events(events, list(_wire_calls(calls))):
        pending.append(event)
        if turn is not None:
            # What was said after the calls of one turn and before those of another belongs to the later one.
            current = max(current, turn)
            contents[current] += pending
            pending = []
    contents[-1] += pending
    ends = [*(call.started_at for call in calls[1:]), None]
    return tuple(
        _turn_of(number, call, end, tuple(content))
        for number, (call, end, content) in enumerate(zip(calls, ends, contents, strict=True))
    )


def _turn_of(number: int, call: ModelCall, end: str | None, events: tuple[TraceEvent, ...]) -> Turn:
    """Return a turn, which lasts until the next begins, or until the last answer is there."""
    took_ms = call.duration_ms
    if end is not None:
        took_ms = round((datetime.fromisoformat(end) - datetime.fromisoformat(call.started_at)).total_seconds() * 1000)
    return Turn(number=number, events=events, start_timestamp=call.started_at, end_timestamp=end, duration_ms=took_ms)


def _place_events(events: Sequence[TraceEvent], wire: Sequence[_WireCall]) -> Iterator[tuple[TraceEvent, int | None]]:
    """Yield what happened in order, each with its turn where that is known; calls that only the wire has among them."""
    happened = [event for event in events if not isinstance(event, TurnBoundaryEvent)]
    pairs = _pair_up(happened, wire)
    missing = deque(index for index in range(len(wire)) if index not in pairs.values())

    def take_missing(before: int) -> Iterator[tuple[TraceEvent, int | None]]:
        while missing and missing[0] < before:
            call = wire[missing.popleft()]
            yield call.as_event(), call.turn

    # After the last call that both know of comes the answer, which is later than every call.
    tail = max(pairs, default=-1) + 1
    for place, event in enumerate(happened[:tail]):
        if place in pairs and isinstance(event, ToolCallEvent):
            call = wire[pairs[place]]
            yield from take_missing(pairs[place])
            yield call.as_event(event), call.turn
        else:
            yield event, None
    yield from take_missing(len(wire))
    yield from ((event, None) for event in happened[tail:])


def _pair_up(happened: Sequence[TraceEvent], wire: Sequence[_WireCall]) -> Mapping[int, int]:
    """Return which recorded call is which call on the wire, by their places; the rule is that of this module."""
    recorded = {place: event for place, event in enumerate(happened) if isinstance(event, ToolCallEvent)}
    pairs: dict[int, int] = {}
    left = list(range(len(wire)))

    def pair(place: int, index: int | None) -> None:
        if index is not None:
            pairs[place] = index
            left.remove(index)

    for place, event in recorded.items():
        if event.call_id is not None:
            pair(place, next((index for index in left if wire[index].request.id == event.call_id), None))
    for place, event in recorded.items():
        if place not in pairs:
            pair(place, next((index for index in left if _is_same_tool(event.name, wire[index].request.name)), None))
    unpaired = [place for place in recorded if place not in pairs]
    if len(unpaired) == len(left):
        pairs |= dict(zip(unpaired, left, strict=True))
    return pairs


def _is_same_tool(one: str, other: str) -> bool:
    """Return whether two names mean one tool: agents put the server, or the word `mcp`, before its name."""
    short, long = sorted((re.sub(r"[^a-z0-9]+", "_", name.lower()) for name in (one, other)), key=len)
    return short == long or long.endswith(f"_{short}")


def _wire_calls(calls: Sequence[ModelCall]) -> Iterator[_WireCall]:
    """Yield the tool calls that the model asked for, each with the result that a later request showed it."""
    results = [result for call in calls for result in call.tool_results]
    for turn, call in enumerate(calls):
        for request in call.tool_calls:
            found = next((each for each in results if _answers(each, request)), None)
            if found is not None:
                results.remove(found)
            yield _WireCall(turn=turn, request=request, result=found)


def _answers(result: SeenToolResult, request: RequestedToolCall) -> bool:
    if result.id is not None and request.id is not None:
        return result.id == request.id
    # Without ids, results stand in the order of the calls, each under the name of its tool or under none.
    return result.name is None or result.name == request.name
