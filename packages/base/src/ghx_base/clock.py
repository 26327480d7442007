"""Time as an argument: wall clock for timestamps, monotonic clock for durations."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Where time comes from; tests and the twin bring their own."""

    def now(self) -> datetime:
        """Return the current moment, aware of its zone."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never go backwards, for measuring durations."""
        ...


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """Return the current moment in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return the machine's monotonic seconds."""
        return time.monotonic()


def timestamp(moment: datetime) -> str:
    """Write a moment as JavaScript does: UTC, milliseconds, `Z` (`2026-03-03T16:37:17.710Z`)."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
