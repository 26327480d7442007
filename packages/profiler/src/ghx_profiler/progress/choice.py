"""Which display suits a stream."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol, TextIO

from ghx_base.clock import Clock, SystemClock
from ghx_profiler.events import Event
from ghx_profiler.progress.lines import LineLog


class Display(AbstractContextManager["Display"], Protocol):
    """An observer that holds something while the run goes on, such as a part of the screen; use it with `with`."""

    def __call__(self, event: Event) -> None:
        """Show the event."""
        ...


def choose_observer(
    stream: TextIO, *, environment: Mapping[str, str], plain: bool = False, clock: Clock | None = None
) -> Display:
    """Return a live display for a terminal, and plain lines for anything else, or with `plain`.

    A terminal that calls itself dumb, or has an encoding without the characters of the display, gets lines.
    """
    if plain or not _can_be_redrawn(stream, environment):
        return LineLog(stream)
    # Imported here: runs without a terminal never load Rich.
    from ghx_profiler.progress.live import LiveDisplay  # noqa: PLC0415 - see above

    return LiveDisplay(stream, environment=environment, clock=clock or SystemClock())


def _can_be_redrawn(stream: TextIO, environment: Mapping[str, str]) -> bool:
    is_unicode = (stream.encoding or "").lower().startswith("utf")
    return is_unicode and stream.isatty() and environment.get("TERM", "").lower() not in _CANNOT_MOVE_THE_CURSOR


_CANNOT_MOVE_THE_CURSOR = frozenset({"", "dumb", "unknown"})
