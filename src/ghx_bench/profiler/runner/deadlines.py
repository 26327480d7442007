"""The stretches of one attempt: how long each took, and how long the bench's own may take."""

from dataclasses import dataclass

import anyio

from ghx_bench._base.clock import Clock
from ghx_bench.profiler.metrics import TimingSegment


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long the bench's own work at one cell may take, in seconds; the agent's limit is its scenario's."""

    setup_s: float = 600.0
    export_s: float = 60.0
    scoring_s: float = 600.0
    cleanup_s: float = 120.0


class Phases:
    """Walks through the phases of an attempt and remembers how long each took."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began = clock.monotonic()
        self._label = ""
        self._since_ms = 0
        self._segments: list[TimingSegment] = []

    @property
    def segments(self) -> tuple[TimingSegment, ...]:
        """The phases that are over."""
        return tuple(self._segments)

    def enter(self, label: str) -> None:
        """Leave the current phase for the next."""
        self.leave()
        self._label = label

    def leave(self) -> None:
        """Close the current phase."""
        now_ms = round((self._clock.monotonic() - self._began) * 1000)
        if self._label:
            segment = TimingSegment.model_construct(label=self._label, start_ms=self._since_ms, end_ms=now_ms)
            self._segments.append(segment)
        self._label, self._since_ms = "", now_ms


def set_deadline(scope: anyio.CancelScope, limit_s: float | None = None, *, shielded: bool = False) -> None:
    """Give the next step inside `scope` this long, or without `limit_s` any time; shielded, interruptions wait for it.

    Moves the deadline of a scope that stays open: scopes must be left in the order they were entered, and a stage or
    a session may hold scopes of its own from when it is entered to when it is left.
    """
    scope.shield = shielded
    scope.deadline = float("inf") if limit_s is None else anyio.current_time() + limit_s
