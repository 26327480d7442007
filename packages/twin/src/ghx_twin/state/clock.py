"""The time of a world: by default its own, so that the same changes always get the same times, or the real one."""

import sqlite3
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal, get_args

ClockPolicy = Literal["ticking", "wall"]
WallClock = Callable[[], float]  # seconds since 1970


class WorldClock:
    """The clock of a world, which is stored with the records and never goes backwards.

    A `ticking` clock moves one second with each change. A `wall` clock shows the real time, or that of the last change
    where a seed has put that into the future.
    """

    def __init__(self, connection: sqlite3.Connection, wall: WallClock = time.time) -> None:
        self._connection = connection
        self.wall = wall

    @property
    def policy(self) -> ClockPolicy:
        """Return what moves the clock."""
        return self._read()[1]

    def set_policy(self, policy: ClockPolicy) -> None:
        """Set what moves the clock from now on."""
        if policy not in get_args(ClockPolicy):
            raise ValueError(f"a clock is {' or '.join(get_args(ClockPolicy))}, not {policy!r}")
        self._connection.execute("UPDATE world SET clock = ?", (policy,))

    def now(self) -> int:
        """Return the present moment."""
        last, policy = self._read()
        return last if policy == "ticking" else max(last, int(self.wall()))

    def next(self) -> int:
        """Return the moment of a change that begins now."""
        last, policy = self._read()
        return last + 1 if policy == "ticking" else max(last, int(self.wall()))

    def advance(self, moment: int) -> None:
        """Store that a change happened at a moment."""
        self._connection.execute("UPDATE world SET now = max(now, ?)", (moment,))

    def _read(self) -> tuple[int, ClockPolicy]:
        return self._connection.execute("SELECT now, clock FROM world").fetchone()


def format_time(moment: int) -> str:
    """Return a moment in GitHub's spelling."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def parse_time(text: str) -> int:
    """Return the moment of a time; one without a zone is UTC, as everywhere in a world."""
    parsed = datetime.fromisoformat(text)
    return int((parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp())
