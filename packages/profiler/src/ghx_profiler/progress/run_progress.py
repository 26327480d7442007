"""How far a run is: counted from its events, never changed in place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import assert_never

from ghx_profiler.events import (
    CanaryFinished,
    CanaryStarted,
    CellFinished,
    CellRetried,
    CellStarted,
    Event,
    RunFinished,
    RunStarted,
)
from ghx_profiler.plan.cell import Arm, Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class CellCounts:
    """Finished cells by what was found out: done right, done wrong, not found out."""

    ok: int = 0
    wrong: int = 0
    failed: int = 0

    @property
    def scored(self) -> int:
        """How many were found right or wrong."""
        return self.ok + self.wrong

    @property
    def total(self) -> int:
        """How many there are."""
        return self.ok + self.wrong + self.failed

    def __add__(self, other: "CellCounts") -> "CellCounts":
        """Return these and others."""
        return CellCounts(ok=self.ok + other.ok, wrong=self.wrong + other.wrong, failed=self.failed + other.failed)

    def count(self, success: bool | None) -> "CellCounts":
        """Return these and one more."""
        match success:
            case True:
                return replace(self, ok=self.ok + 1)
            case False:
                return replace(self, wrong=self.wrong + 1)
            case None:
                return replace(self, failed=self.failed + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """How far a run is after some of its events.

    Durations, the rate, the forecast and `counts` are of this process alone; cells that an earlier part of the run
    measured are in `earlier`, and in `by_arm`, which has the figures of the final table. A thread that shows it needs
    no lock: the next event makes another one.
    """

    run_id: str = ""
    agents: tuple[str, ...] = ()
    total: int = 0
    max_concurrency: int = 1
    started_at: datetime | None = None
    first_cell_at: datetime | None = None
    ended_at: datetime | None = None
    ends_at: datetime | None = None
    """The estimated end of the run."""
    status: str = ""
    warming_up: Cell | None = None
    running: Mapping[Cell, datetime] = field(default_factory=dict[Cell, datetime])
    counts: CellCounts = CellCounts()
    earlier: CellCounts = CellCounts()
    arm_names: Mapping[Arm, str] = field(default_factory=dict[Arm, str])
    by_arm: Mapping[str, CellCounts] = field(default_factory=dict[str, CellCounts])
    """By the name that is shown: of the mode and, where there are several, of its agent and its model."""
    retries: int = 0
    spent_s: float = 0.0
    """How long the finished cells took, all together."""

    @property
    def done(self) -> int:
        """How many cells have a row."""
        return self.earlier.total + self.counts.total

    def elapsed_s(self, now: datetime) -> float:
        """Return how long this process has been at it."""
        if self.started_at is None:
            return 0.0
        return max(((self.ended_at or now) - self.started_at).total_seconds(), 0.0)

    def rate_per_s(self, now: datetime) -> float | None:
        """Return how many cells were finished per second, once there are any."""
        if self.first_cell_at is None or not self.counts.total:
            return None
        # Not since the start of the run: the warm-up does not count.
        working_s = ((self.ended_at or now) - self.first_cell_at).total_seconds()
        return self.counts.total / working_s if working_s > 0 else None

    def rest_s(self, now: datetime) -> float | None:
        """Return how long the rest will take, `None` while that is unknown or nothing is left."""
        if self.ends_at is None or self.ended_at is not None or self.done >= self.total:
            return None
        return max((self.ends_at - now).total_seconds(), 0.0)

    def after(self, event: Event) -> "RunProgress":
        """Return how far the run is after this event."""
        match event:
            case RunStarted():
                return self._start(event)
            case CanaryStarted() | CanaryFinished():
                return replace(self, warming_up=event.cell if isinstance(event, CanaryStarted) else None)
            case CellStarted(cell=cell, at=at):
                running = {**self.running, cell: at}
                return replace(self, warming_up=None, running=running, first_cell_at=self.first_cell_at or at)
            case CellRetried():
                return replace(self, retries=self.retries + 1)
            case CellFinished():
                return _with_forecast(self._count(event), event.at)
            case RunFinished(at=at, status=status):
                return replace(self, ended_at=at, status=status, warming_up=None, running={})
            case _:
                assert_never(event)

    def _start(self, event: RunStarted) -> "RunProgress":
        by_arm: dict[str, CellCounts] = {}
        for arm in event.arms:
            before = CellCounts(ok=arm.ok, wrong=arm.wrong, failed=arm.failed)
            by_arm[arm.name] = by_arm.get(arm.name, CellCounts()) + before
        return replace(
            self,
            run_id=event.run_id,
            agents=event.matrix.agents,
            total=len(event.matrix),
            earlier=sum(by_arm.values(), start=CellCounts()),
            arm_names={Arm(agent=arm.agent, model=arm.model, mode=arm.mode): arm.name for arm in event.arms},
            max_concurrency=event.max_concurrency,
            started_at=event.at,
            by_arm=by_arm,
        )

    def _count(self, event: CellFinished) -> "RunProgress":
        cell, success = event.cell, event.row.success
        running = {**self.running}
        began = running.pop(cell, event.at)
        arm = self.arm_names.get(cell.arm, cell.mode)
        of_arm = self.by_arm.get(arm, CellCounts()).count(success)
        return replace(
            self,
            running=running,
            counts=self.counts.count(success),
            by_arm={**self.by_arm, arm: of_arm},
            spent_s=self.spent_s + max((event.at - began).total_seconds(), 0.0),
        )


def _with_forecast(progress: RunProgress, now: datetime) -> RunProgress:
    rest_s = forecast_rest_s(
        finished=progress.counts.total,
        spent_s=progress.spent_s,
        running_s=[max((now - began).total_seconds(), 0.0) for began in progress.running.values()],
        waiting=progress.total - progress.done - len(progress.running),
        max_concurrency=progress.max_concurrency,
    )
    if rest_s is None:
        return progress
    before_s = None if progress.ends_at is None else (progress.ends_at - now).total_seconds()
    return replace(progress, ends_at=now + timedelta(seconds=temper(rest_s, before_s)))


_ENOUGH = 2
"""Finished cells that an average needs."""

_TRUST = 0.5
"""How much of a change of mind is shown at once."""


def forecast_rest_s(
    *, finished: int, spent_s: float, running_s: Sequence[float], waiting: int, max_concurrency: int
) -> float | None:
    """Return how long the cells that run and wait will take; `None` while too few are finished.

    `spent_s` is what the finished cells took together, `running_s` how long each of the others has been running. With
    many at a time the quick ones finish first, so one that already runs longer than their mean counts into it as it is.
    """
    if finished < _ENOUGH:
        return None
    slow = [so_far for so_far in running_s if so_far * finished > spent_s]
    mean_s = (spent_s + sum(slow)) / (finished + len(slow))
    left_s = waiting * mean_s + sum(max(mean_s - so_far, 0.0) for so_far in running_s)
    at_a_time = min(max_concurrency, waiting + len(running_s))
    return left_s / at_a_time if at_a_time else 0.0


def temper(rest_s: float, before_s: float | None) -> float:
    """Go half the way from the forecast that is on the screen to the new one, so that it does not jump."""
    return rest_s if before_s is None else before_s + _TRUST * (rest_s - before_s)
