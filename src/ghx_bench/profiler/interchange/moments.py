"""When the spans of a session began and ended, in nanoseconds; a trace tells that of turns, but not of tool calls."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ghx_bench._base.wire import Number
from ghx_bench.profiler.row import ProfileRow
from ghx_bench.profiler.trace import ToolCallEvent, Turn

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """From when to when; `is_estimated` where the trace does not tell both."""

    start: int
    end: int
    is_estimated: bool = False


def nanoseconds(stamp: str | None) -> int | None:
    """Read an ISO time; `None` where there is none, or only a text."""
    if stamp is None:
        return None
    try:
        moment = datetime.fromisoformat(stamp)
        since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    except (ValueError, OverflowError):
        return None
    microseconds = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    return microseconds * 1_000 if microseconds >= 0 else None


def window_of_row(row: ProfileRow) -> Window:
    """Return when a cell was run; zero is OTLP's word for a time that is not known."""
    start, end = nanoseconds(row.started_at), nanoseconds(row.completed_at)
    begin = start or 0
    return Window(start=begin, end=max(begin, end or 0), is_estimated=start is None or end is None)


def windows_of_turns(turns: Sequence[Turn], whole: Window) -> Iterator[Window]:
    """Yield when each turn happened; what one does not tell follows from its neighbours and its duration."""
    before = whole.start
    for number, turn in enumerate(turns):
        start, end = nanoseconds(turn.start_timestamp), nanoseconds(turn.end_timestamp)
        is_estimated = start is None or end is None
        start = before if start is None else start
        if end is None:
            end = _end(turn, start, following=turns[number + 1 :], whole=whole)
        before = max(start, end)
        yield Window(start=start, end=before, is_estimated=is_estimated)


def _end(turn: Turn, start: int, *, following: Sequence[Turn], whole: Window) -> int:
    if turn.duration_ms is not None:
        return start + _duration(turn.duration_ms)
    told = nanoseconds(following[0].start_timestamp) if following else None
    return whole.end if told is None else told


def windows_of_calls(calls: Sequence[ToolCallEvent], turn: Window) -> tuple[Window, ...]:
    """Place tool calls one after another so that the last ends with its turn: models speak first, then tools run."""
    end = turn.end
    windows: list[Window] = []
    for call in reversed(calls):
        start = max(turn.start, end - _duration(call.duration_ms or 0))
        windows.append(Window(start=start, end=end, is_estimated=True))
        end = start
    return tuple(reversed(windows))


def _duration(milliseconds: Number) -> int:
    # Neither a negative duration nor one beyond any session means anything; files may also say NaN.
    if not math.isfinite(milliseconds):
        return 0
    return round(min(max(milliseconds, 0), 1e12) * 1_000_000)
