"""The stretches of one attempt: how long each took, and how long the bench's own may take."""

import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import anyio

from ghx_base.clock import Clock
from ghx_base.errors import ungrouped
from ghx_profiler.records.metrics import TimingSegment


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long the bench's own work at one cell may take, in seconds; the agent's limit is its scenario's."""

    setup_s: float = 600.0
    opening_s: float = 60.0
    """For opening a session, with the agent's program and its MCP servers."""
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


_PAUSABLE: ContextVar[anyio.CancelScope | None] = ContextVar("_PAUSABLE", default=None)


@contextmanager
def allow_pausing(scope: anyio.CancelScope) -> Generator[None]:
    """Have `pause_deadline` stop the deadline of this scope inside the block."""
    outside = _PAUSABLE.set(scope)
    try:
        yield
    finally:
        _PAUSABLE.reset(outside)


@contextmanager
def pause_deadline() -> Generator[None]:
    """Stop the clock of the opening session inside the block: it waits for other sessions of the run."""
    scope = _PAUSABLE.get()
    if scope is None:
        yield
        return
    left_s, scope.deadline = scope.deadline - anyio.current_time(), float("inf")
    try:
        yield
    finally:
        scope.deadline = anyio.current_time() + left_s


_TICK_S = 0.25
_SHORTEST_SUSPENSION_S = 1.0


@dataclass(slots=True)
class Suspensions:
    """How long this process was stopped, by SIGSTOP or a machine that slept: time in which it could not serve anybody.

    Noticed by a thread that wakes four times a second, one for all sessions of a worker. A thread and not a task: an
    agent that blocks the event loop would hold up the task, and its time is its own. Unwatched, none counts.
    """

    is_watched: bool = False
    total_s: float = 0.0
    _woken_at: float = field(default_factory=time.monotonic)
    _cpu_s: float = field(default_factory=time.process_time)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _is_over: threading.Event = field(default_factory=threading.Event)

    def update(self) -> float:
        """Count a suspension that has just ended, and return how long all of them were, in seconds."""
        if not self.is_watched:
            return self.total_s
        with self._lock:
            now, cpu_s = time.monotonic(), time.process_time()
            gap_s = now - self._woken_at
            # A thread that holds the interpreter keeps us from waking as well, but uses the processor meanwhile.
            if gap_s > _SHORTEST_SUSPENSION_S and cpu_s - self._cpu_s < gap_s / 2:
                self.total_s += gap_s
            self._woken_at, self._cpu_s = now, cpu_s
            return self.total_s

    @contextmanager
    def watch(self) -> Generator[None]:
        """Count the suspensions inside the block."""
        self._woken_at, self._cpu_s, self.is_watched = time.monotonic(), time.process_time(), True
        thread = threading.Thread(target=self._tick, name="suspensions", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.is_watched = False
            self._is_over.set()
            thread.join()

    def _tick(self) -> None:
        while not self._is_over.wait(_TICK_S):
            self.update()


@asynccontextmanager
async def limit_running_time(
    limit_s: float, suspensions: Suspensions, *, is_over: Callable[[], bool] = lambda: False
) -> AsyncGenerator[anyio.CancelScope]:
    """Yield a scope that is cancelled after `limit_s`, or soon after `is_over`.

    While this process was stopped, no time passes.
    """
    began = anyio.current_time() - suspensions.update()

    async def cancel_in_time(scope: anyio.CancelScope) -> None:
        while anyio.current_time() < (deadline := began + limit_s + suspensions.update()):
            if is_over():
                break
            await anyio.sleep_until(min(deadline, anyio.current_time() + _TICK_S))
        scope.cancel()

    # No deadline of the scope's own: after a suspension that would have passed before anybody could move it.
    with ungrouped():
        async with anyio.create_task_group() as tasks:
            with anyio.CancelScope() as scope:
                tasks.start_soon(cancel_in_time, scope)
                yield scope
            tasks.cancel_scope.cancel()
