"""Many rows as columns, read in one pass and without keeping a row: what statistics, tables and data files need."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ghx_profiler.plan.cell import Arm
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.stats.methods.arrays import FloatArray
from ghx_profiler.stats.observations import Observations, factor, observe, start_order, with_absent_categories
from ghx_profiler.stats.result_records import AnalysisSet

_CHUNK = 2_000
"""Rows in memory at a time: 100,000 rows with their checkpoints would take gigabytes, their columns take tens of
megabytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The fields of a row other than its numbers; shared texts are stored once."""

    source: str
    run_id: str
    iteration: int
    started_at: str
    completed_at: str
    agent: str
    completion_reason: str
    was_measured: bool
    checkpoints_passed: int | None
    checkpoints_total: int | None
    error_code: str | None
    start_order: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Every row: its names and numbers as columns, and its identity."""

    observations: Observations
    identities: tuple[Identity, ...]


class ColumnBuilder:
    """Turns rows into columns, a few thousand at a time."""

    def __init__(self) -> None:
        self._chunk: list[ProfileRow] = []
        self._arms: list[Arm] = []
        self._parts: list[Observations] = []
        self._identities: list[Identity] = []
        self._texts: dict[str, str] = {}

    def add(self, source: str, row: ProfileRow, arm: Arm) -> None:
        """Take one row, with the label of its source and the arm that it belongs to."""
        self._identities.append(self._identity(source, row))
        self._chunk.append(row)
        self._arms.append(arm)
        if len(self._chunk) == _CHUNK:
            self._close_chunk()

    @staticmethod
    def join(builders: Sequence["ColumnBuilder"], rename: Callable[[Arm], Arm]) -> Columns:
        """Return the columns of all rows that builders took, one builder after the other, with their arms renamed."""
        closed = [builder.close() for builder in builders]
        parts = [part for each, _ in closed for part in each]
        identities = [identity for _, each in closed for identity in each]
        renamed = {arm: rename(arm) for part in parts for arm in part.arm.known}
        order = start_order([((each.source, each.run_id), each.start_order, each.started_at) for each in identities])
        names = sorted({name for part in parts for name in part.metrics})
        observations = replace(
            parts[0],
            scenario=factor([level for part in parts for level in part.scenario.each()]),
            agent=factor([level for part in parts for level in part.agent.each()]),
            model=factor([level for part in parts for level in part.model.each()]),
            arm=factor([renamed[level] for part in parts for level in part.arm.each()]),
            success=np.concatenate([part.success for part in parts]),
            was_measured=np.concatenate([part.was_measured for part in parts]),
            timed_out=np.concatenate([part.timed_out for part in parts]),
            failures=tuple(failure for part in parts for failure in part.failures),
            order=order,
            spend_usd=np.concatenate([part.spend_usd for part in parts]),
            metrics=with_absent_categories({name: _join_metric(parts, name) for name in names}),
        )
        return Columns(observations=observations, identities=tuple(identities))

    def close(self) -> tuple[Sequence[Observations], Sequence[Identity]]:
        """Return the columns and identities of all rows."""
        self._close_chunk()
        return self._parts, self._identities

    def _close_chunk(self) -> None:
        # The last chunk may be empty: without any rows there is still one part to take the shape from.
        if self._chunk or not self._parts:
            self._parts.append(observe(self._chunk, arms=self._arms))
            self._chunk, self._arms = [], []

    def _identity(self, source: str, row: ProfileRow) -> Identity:
        share = self._texts.setdefault
        return Identity(
            source=share(source, source),
            run_id=share(row.run_id, row.run_id),
            iteration=row.iteration,
            started_at=row.started_at,
            completed_at=row.completed_at,
            agent=share(row.agent_name, row.agent_name),
            completion_reason=share(row.completion_reason, row.completion_reason),
            was_measured=row.was_measured,
            checkpoints_passed=row.checkpoints_passed,
            checkpoints_total=row.checkpoints_total,
            error_code=None if row.error_code is None else share(row.error_code, row.error_code),
            start_order=row.start_order,
        )


def _join_metric(parts: Iterable[Observations], name: str) -> FloatArray:
    """Return one metric over all parts; unknown in parts that have no such metric."""
    return np.concatenate([part.metrics.get(name, np.full(len(part), np.nan)) for part in parts])


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """One sample: how many, where its middle is, how far it reaches."""

    n: int
    low: float
    p25: float
    p50: float
    p75: float
    high: float
    mean: float


Grid = Mapping[tuple[str, Arm], Spread]
"""One metric by scenario and arm."""

POOLED = ""
"""Stands for all scenarios together."""


def spread_grid(
    observations: Observations, metric: str, *, analysis_set: AnalysisSet = "intention-to-treat"
) -> dict[tuple[str, Arm], Spread]:
    """Describe a metric for every scenario and arm with a known value, and for every arm with all pooled."""
    values = observations.column(metric, analysis_set)
    chosen = np.flatnonzero(~np.isnan(values))
    arm, scenario = observations.arm.codes[chosen], observations.scenario.codes[chosen]
    grid: dict[tuple[str, Arm], Spread] = {}
    for scenarios, names in ((np.zeros_like(scenario), (POOLED,)), (scenario, observations.scenario.known)):
        order = np.lexsort((values[chosen], arm, scenarios))
        groups = scenarios[order] * len(observations.arm.known) + arm[order]
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        for at, sample in zip(starts, np.split(values[chosen][order], starts[1:]), strict=False):
            where, which = divmod(int(groups[at]), len(observations.arm.known))
            low, p25, p50, p75, high = np.quantile(sample, (0.05, 0.25, 0.5, 0.75, 0.95)).tolist()
            grid[names[where], observations.arm.known[which]] = Spread(
                n=sample.size, low=low, p25=p25, p50=p50, p75=p75, high=high, mean=float(sample.mean())
            )
    return grid
