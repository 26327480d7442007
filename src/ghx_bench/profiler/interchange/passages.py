"""A trace cut into the passages that become ATIF steps: a turn each, and what happened outside any turn."""

from collections.abc import Iterator
from dataclasses import dataclass

from ghx_bench.profiler.trace import SessionTrace, TraceEvent, Turn, TurnBoundaryEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Events that belong together; the first `lead` of them stand before the turn's own."""

    events: tuple[TraceEvent, ...]
    turn: Turn | None = None
    lead: int = 0


def passages_by_turn(trace: SessionTrace) -> tuple[Passage, ...] | None:
    """Cut a trace at its turns; `None` where turns and events tell different stories."""
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
    """Cut a trace at the events that say a turn began."""
    cuts = [at for at, event in enumerate(trace.events) if at and isinstance(event, TurnBoundaryEvent)]
    for begin, end in zip([0, *cuts], [*cuts, len(trace.events)], strict=True):
        if begin < end:
            yield Passage(events=trace.events[begin:end])


def _beginning(trace: SessionTrace) -> int:
    """Find where the first turn begins; before it, only what has no turn."""
    if not trace.turns:
        return len(trace.events)
    boundaries = (at for at, event in enumerate(trace.events) if isinstance(event, TurnBoundaryEvent))
    return next(boundaries, max(0, len(trace.events) - sum(len(turn.events) for turn in trace.turns)))


def _is_boundary(events: tuple[TraceEvent, ...]) -> bool:
    return bool(events) and isinstance(events[0], TurnBoundaryEvent)
