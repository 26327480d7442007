"""A trace completed from model calls: the agent's own report, and the requests and answers of its model.

One rule for all agents. The model calls are right about what the model saw: the turns, the tokens, and the name, the
input and the result of each tool call. The agent is right about what only it sees: how long a call took, whether it
succeeded, what was said and thought between calls.

A tool call of the one and a tool call of the other are the same, each in its order and of those left over, if they have

1. the same id;
2. the same tool and the same input: agents leave parts of an input out, and put a shell around a command;
3. the same input, where the tools go by names that the other side does not know;
4. the same tool;
5. nothing in common, because the agent has names and ids of its own and reports no input: then a tool of the one is
that
   tool of the other which has as many calls, or else the next call in the same place, between calls that were found.
   An agent that uses the ids of the model distinguishes its calls by them; only steps 1 to 4 apply.

What only one side knows of stays. None of this depends on which agent it is.
"""

import re
import shlex
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from pydantic import JsonValue

from ghx_profiler.records.model_call_summary import main_calls
from ghx_profiler.records.model_calls import ModelCall, RequestedToolCall, SeenToolResult, usage_of
from ghx_profiler.records.trace import (
    ReportedFigures,
    SessionTrace,
    ToolCallEvent,
    TraceEvent,
    TraceSummary,
    Turn,
    TurnBoundaryEvent,
)

_METERED = ("tokens", "toolCalls", "agentTurns")
"""The keys of a row whose numbers come from model calls, where there are any."""


def fill_from_model_calls(trace: SessionTrace) -> SessionTrace:
    """Return a trace with turns, tokens and tool calls from its model calls, and with the agent's own figures."""
    summary, calls = trace.summary, main_calls(trace.model_calls)
    reported = ReportedFigures(
        tokens=summary.total_tokens,
        turns=summary.total_turns,
        tool_calls=summary.total_tool_calls,
        cost_usd=summary.total_cost_usd,
    )
    turns = _turns_of(trace.events, calls) if calls else trace.turns
    events = tuple(event for turn in turns for event in _with_boundary(turn)) if calls else trace.events
    metered = TraceSummary(
        total_tokens=usage_of(trace.model_calls),
        total_turns=len(calls),
        total_tool_calls=sum(isinstance(event, ToolCallEvent) for event in events),
        total_duration=summary.total_duration,
        # No cost: that of the agent is a guess, and stands among its own figures.
    )
    changes = {
        "events": events,
        "turns": turns,
        "summary": metered,
        "sources": {**dict.fromkeys(_METERED, "meter"), **trace.sources},
        "reported": reported,
    }
    return trace.model_copy(update=changes).with_all_keys()


def _with_boundary(turn: Turn) -> tuple[TraceEvent, ...]:
    return TurnBoundaryEvent(turn_number=turn.number, timestamp=turn.start_timestamp), *turn.events


@dataclass(frozen=True, slots=True, kw_only=True)
class _WireCall:
    """A tool call as the model saw it: the turn of the request, and the result."""

    turn: int
    request: RequestedToolCall
    result: SeenToolResult | None

    def as_event(self, recorded: ToolCallEvent | None = None) -> ToolCallEvent:
        """Return the call as an event, with what the agent recorded of it."""
        result, request = self.result, self.request
        event = recorded or ToolCallEvent(name=request.name, duration_ms=None, success=None)
        fields: dict[str, object] = {"name": request.name, "input": request.arguments}
        if request.id is not None:
            fields["call_id"] = request.id
        if result is not None:
            fields["output"] = result.text
            if event.success is None and result.failed is not None:
                fields["success"] = not result.failed
        if event.unfinished or recorded is None:
            fields["unfinished"] = result is None
        return event.model_copy(update=fields)


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
    pairs = _Pairing(happened, wire).find()
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


@dataclass(frozen=True, slots=True)
class _Side:
    """A tool call as one of the two reports it."""

    id: str | None
    name: str
    values: frozenset[str]
    """The words and numbers of its input."""


class _Pairing:
    """Finds which recorded call is which call on the wire, by their places; the rule is that of this module."""

    def __init__(self, happened: Sequence[TraceEvent], wire: Sequence[_WireCall]) -> None:
        recorded = ((place, each) for place, each in enumerate(happened) if isinstance(each, ToolCallEvent))
        self._recorded = {place: _Side(each.call_id, each.name, _values_in(each.input)) for place, each in recorded}
        requests = (each.request for each in wire)
        self._wire = {
            index: _Side(each.id, each.name, _values_in(each.arguments)) for index, each in enumerate(requests)
        }
        self._pairs: dict[int, int] = {}

    def find(self) -> Mapping[int, int]:
        """Return the place on the wire of each recorded call that is there."""
        self._pair(lambda one, other: one.id is not None and one.id == other.id)
        has_ids_of_the_model = bool(self._pairs)
        self._pair(lambda one, other: _is_same_tool(one.name, other.name) and _is_same_input(one, other))
        recorded_names, wire_names = ({each.name for each in side.values()} for side in (self._recorded, self._wire))
        own = {name for name in recorded_names if not any(_is_same_tool(name, each) for each in wire_names)}
        foreign = {name for name in wire_names if not any(_is_same_tool(name, each) for each in recorded_names)}
        self._pair(lambda one, other: one.name in own and other.name in foreign and _is_same_input(one, other))
        self._pair(lambda one, other: _is_same_tool(one.name, other.name))
        if not has_ids_of_the_model:
            self._pair_tools()
            self._pair_places()
        return self._pairs

    def _pair(self, is_same: Callable[[_Side, _Side], bool]) -> None:
        left = self._left_on_wire()
        for place in self._left_recorded():
            index = next((each for each in left if is_same(self._recorded[place], self._wire[each])), None)
            if index is not None:
                self._pairs[place] = index
                left.remove(index)

    def _pair_tools(self) -> None:
        """Pair the calls of tools that have another name on each side, and as many calls."""
        recorded = _places_by_tool(self._recorded, self._left_recorded())
        on_wire = _places_by_tool(self._wire, self._left_on_wire())
        for places in recorded:
            alike = next((each for each in on_wire if len(each) == len(places)), None)
            if alike is not None:
                on_wire.remove(alike)
                self._pairs |= dict(zip(places, alike, strict=True))

    def _pair_places(self) -> None:
        """Pair calls that stand between the same two pairs."""
        left = self._left_on_wire()
        for place in self._left_recorded():
            after = max((index for each, index in self._pairs.items() if each < place), default=-1)
            before = min((index for each, index in self._pairs.items() if each > place), default=len(self._wire))
            index = next((each for each in left if after < each < before), None)
            if index is not None:
                self._pairs[place] = index
                left.remove(index)

    def _left_recorded(self) -> list[int]:
        return [place for place in self._recorded if place not in self._pairs]

    def _left_on_wire(self) -> list[int]:
        taken = set(self._pairs.values())
        return [index for index in self._wire if index not in taken]


def _places_by_tool(side: Mapping[int, _Side], places: Sequence[int]) -> list[list[int]]:
    """Return the places of each tool's calls, the tool with most calls first."""
    by_name: dict[str, list[int]] = {}
    for place in places:
        by_name.setdefault(side[place].name, []).append(place)
    return sorted(by_name.values(), key=len, reverse=True)


def _is_same_input(one: _Side, other: _Side) -> bool:
    """Return whether one input holds the other, whatever its keys; an empty one shows nothing."""
    few, many = sorted((one.values, other.values), key=len)
    return bool(few) and few <= many


_SHELL_WORDS = 3


def _values_in(value: JsonValue) -> frozenset[str]:
    """Return the words and numbers of an input; of a command in a shell of the agent's own, the command."""
    match value:
        case dict():
            return frozenset[str]().union(*map(_values_in, value.values()))
        case list():
            return frozenset[str]().union(*map(_values_in, value))
        case str():
            try:
                words = shlex.split(value) if " -c " in value or " -lc " in value else []
            except ValueError:  # a quotation without an end
                words = []
            is_wrapped = len(words) == _SHELL_WORDS and words[1] in ("-c", "-lc")
            text = " ".join((words[2] if is_wrapped else value).split())
            return frozenset({text} if text else ())
        case None:
            return frozenset()
        case _:
            return frozenset({str(value)})


@lru_cache(maxsize=4096)  # computed for pairs of calls, of which a session may have a thousand
def _is_same_tool(one: str, other: str) -> bool:
    """Return whether two names mean one tool: agents put the server, or the word `mcp`, before its name."""
    short, long = sorted((re.sub(r"[^a-z0-9]+", "_", name.lower()) for name in (one, other)), key=len)
    return short == long or long.endswith(f"_{short}")


def _wire_calls(calls: Sequence[ModelCall]) -> Iterator[_WireCall]:
    """Yield the tool calls that the model requested, each with its result from a later request."""
    results = [each for call in calls for each in call.tool_results]
    for turn, call in enumerate(calls):
        for request in call.tool_calls:
            result = next((each for each in results if _answers(each, request)), None)
            if result is not None:
                results.remove(result)
            yield _WireCall(turn=turn, request=request, result=result)


def _answers(result: SeenToolResult, request: RequestedToolCall) -> bool:
    if result.id is not None and request.id is not None:
        return result.id == request.id
    # Without ids, results stand in the order of the calls, each under the name of its tool or under none.
    return result.name is None or result.name == request.name
