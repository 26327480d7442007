"""A session as analyzers read it: its rounds, and the effect and outcome of each tool call."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ghx_profiler.evidence import Evidence
from ghx_profiler.failures import CallOutcome, outcome_of_call
from ghx_profiler.records.trace import (
    ErrorEvent,
    SessionTrace,
    TextOutputEvent,
    ToolCallEvent,
    TraceEvent,
    TurnBoundaryEvent,
)
from ghx_profiler.runner.toolcalls import request_of
from ghx_profiler.shell import CommandResolver, label_of, names_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call, understood."""

    event: ToolCallEvent
    names: tuple[str, ...]
    outcome: CallOutcome
    request: str
    is_repeat: bool
    """Whether its answer was known: the same request gave the same answer before, and did not fail."""

    @property
    def label(self) -> str:
        """One name for all that it does."""
        return label_of(self.names)

    @property
    def request_hash(self) -> str:
        """A short name for the request, the same for calls that ask the same."""
        return hashlib.sha256(self.request.encode(errors="replace")).hexdigest()[:12]

    @property
    def made_progress(self) -> bool:
        """Whether it brought something new, as far as known."""
        return not self.outcome.failed and not self.is_repeat


SessionEvent = Call | TraceEvent
"""What happens in a session, tool calls understood."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """The agent's actions without an answer in between: a turn or, if turns are unknown, a single call."""

    events: tuple[SessionEvent, ...]
    is_turn: bool

    @property
    def calls(self) -> tuple[Call, ...]:
        """The tool calls of the round."""
        return tuple(each for each in self.events if isinstance(each, Call))

    @property
    def was_productive(self) -> bool:
        """Whether a call made progress or, in a round without calls, the agent wrote to the user."""
        if self.calls:
            return any(call.made_progress for call in self.calls)
        return any(isinstance(each, TextOutputEvent) for each in self.events)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """A whole session, in rounds."""

    trace: SessionTrace
    rounds: tuple[Round, ...]

    @property
    def turns(self) -> tuple[Round, ...] | None:
        """The turns; `None` if the trace does not separate them."""
        turns = tuple(each for each in self.rounds if each.is_turn)
        nothing_happened = not self.rounds and self.trace.summary.total_turns == 0
        return turns if turns or nothing_happened else None

    @property
    def has_content(self) -> bool:
        """Whether there is anything to go by: an event, a turn, or at least how many there were."""
        summary = self.trace.summary
        return bool(self.rounds) or summary.total_turns is not None or summary.total_tool_calls is not None

    @property
    def events(self) -> Iterator[SessionEvent]:
        """Everything that happened, in order."""
        return chain.from_iterable(each.events for each in self.rounds)

    @property
    def calls(self) -> tuple[Call, ...]:
        """The tool calls, in order."""
        return tuple(each for each in self.events if isinstance(each, Call))

    @property
    def total_calls(self) -> int | None:
        """The number of tool calls; an agent may report the number without the calls, or nothing."""
        return max(len(self.calls), self.trace.summary.total_tool_calls or 0) if self.has_content else None

    @property
    def has_outcomes(self) -> bool:
        """Whether it is known of at least one call, or of the lack of any, how it went."""
        return self.total_calls == 0 or any(call.outcome.failed is not None for call in self.calls)


def read_session(evidence: Evidence[Any], resolve: CommandResolver) -> SessionView:
    """Return the trace of a session in rounds; `resolve` names the commands that shell calls run."""
    if evidence.trace is None:
        raise ValueError(f"{evidence.cell}: there is no trace to analyze")
    reader = _CallReader(resolve, set())
    rounds = tuple(
        Round(events=tuple(map(reader.read, events)), is_turn=is_turn)
        for events, is_turn in _group_events(evidence.trace)
    )
    return SessionView(trace=evidence.trace, rounds=rounds)


@dataclass(frozen=True, slots=True)
class _CallReader:
    """Reads calls one after the other, and knows which answers it has seen."""

    resolve: CommandResolver
    seen: set[tuple[str, str]]

    def read(self, event: TraceEvent) -> SessionEvent:
        if not isinstance(event, ToolCallEvent):
            return event
        outcome, request = outcome_of_call(event), request_of(event)
        answer = (request, json.dumps(event.output, sort_keys=True))
        is_repeat = answer in self.seen and not outcome.failed
        if not outcome.failed:
            self.seen.add(answer)
        names = names_of(event, self.resolve)
        return Call(event=event, names=names, outcome=outcome, request=request, is_repeat=is_repeat)


def _group_events(trace: SessionTrace) -> Iterator[tuple[Sequence[TraceEvent], bool]]:
    """Yield the events of a trace by round, and whether each is a turn."""
    starts = [at for at, event in enumerate(trace.events) if isinstance(event, TurnBoundaryEvent)]
    if starts:
        if before := trace.events[: starts[0]]:
            yield before, False
        for start, end in zip(starts, [*starts[1:], len(trace.events)], strict=True):
            yield trace.events[start + 1 : end], True
    elif trace.turns:
        yield from ((turn.events, True) for turn in trace.turns)
    else:
        yield from ((events, False) for events in _by_call(trace.events))


def _by_call(events: Sequence[TraceEvent]) -> Iterator[Sequence[TraceEvent]]:
    """Yield events up to and with each tool call."""
    start = 0
    for at, event in enumerate(events):
        if isinstance(event, ToolCallEvent):
            yield events[start : at + 1]
            start = at + 1
    if start < len(events):
        yield events[start:]


def errors_in(view: SessionView) -> list[tuple[int, Call | ErrorEvent]]:
    """Return the failed calls and the errors outside of calls, each with the number of its round."""
    return [
        (number, each)
        for number, around in enumerate(view.rounds)
        for each in around.events
        if isinstance(each, ErrorEvent) or (isinstance(each, Call) and each.outcome.failed)
    ]
