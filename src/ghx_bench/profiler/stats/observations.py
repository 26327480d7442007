"""Rows as columns: read once, compared many times."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from ghx_bench.profiler.causes import Cause
from ghx_bench.profiler.errors import UnknownNameError
from ghx_bench.profiler.row import ProfileRow
from ghx_bench.profiler.stats.arrays import BoolArray, FloatArray, IntArray
from ghx_bench.profiler.stats.errors import BadPairError
from ghx_bench.profiler.stats.pairs import Block, PairedSample
from ghx_bench.profiler.stats.records import AnalysisSet, LeftOut, Scale

SUCCESS = "success"
_COST = "cost_total_usd"


@dataclass(frozen=True, kw_only=True)
class Names:
    """One name per row, as numbers that sort like the names."""

    known: tuple[str, ...]
    codes: IntArray

    @classmethod
    def of(cls, names: Sequence[str]) -> "Names":
        """Number the names."""
        known = tuple(sorted(set(names)))
        numbers = {name: number for number, name in enumerate(known)}
        return cls(known=known, codes=np.array([numbers[name] for name in names], dtype=np.int64))

    def are(self, name: str) -> BoolArray:
        """Mark the rows of this name."""
        return self.codes == (self.known.index(name) if name in self.known else -1)


@dataclass(frozen=True, kw_only=True)
class Observations:
    """What the statistics see of rows. A number that is not known is NaN in here, and never leaves as one."""

    scenario: Names
    model: Names
    mode: Names
    success: FloatArray
    """1 or 0 for rows that were measured; NaN where nobody found out."""
    timed_out: BoolArray
    failures: tuple[str, ...]
    """Why a row's numbers may be missing: its cause."""
    order: FloatArray
    spend_usd: FloatArray
    """What a row really cost: all its attempts, not only the last."""
    metrics: Mapping[str, FloatArray]

    def __len__(self) -> int:
        return self.success.size

    @property
    def was_measured(self) -> BoolArray:
        """Mark the rows whose agent was found right or wrong."""
        return ~np.isnan(self.success)

    @property
    def metric_names(self) -> tuple[str, ...]:
        """Every metric that some row knows, success first."""
        return (SUCCESS, *sorted(self.metrics))

    def column(self, metric: str, analysis_set: AnalysisSet) -> FloatArray:
        """Return a metric for one set of rows; NaN for rows that do not belong to it or do not know.

        Intention-to-treat counts a row that could not be measured as a failure, and any spend that is known;
        per-protocol leaves such rows out; both-succeeded keeps successes only.
        """
        values = self.success if metric == SUCCESS else self.metrics.get(metric, np.full(len(self), np.nan))
        match analysis_set:
            case "intention-to-treat":
                return np.nan_to_num(values, nan=0.0) if metric == SUCCESS else values
            case "per-protocol":
                return np.where(self.was_measured, values, np.nan)
            case "both-succeeded":
                return np.where(self.success == 1, values, np.nan)

    def left_out(self, values: FloatArray, rows: BoolArray) -> Counter[str]:
        """Count, by cause, the rows among these that a column does not know."""
        return Counter(self._why_left_out(int(row)) for row in np.flatnonzero(rows & np.isnan(values)))

    def _why_left_out(self, row: int) -> str:
        failure = self.failures[row]
        return failure or ("did not succeed" if self.success[row] == 0 else "not recorded")

    def require_modes(self, *modes: str) -> None:
        """Refuse modes that no row has, and a mode against itself."""
        for mode in modes:
            if mode not in self.mode.known:
                raise UnknownNameError("mode", mode, known=self.mode.known)
        if len(set(modes)) < len(modes):
            raise BadPairError(f"mode {modes[0]!r} is compared with itself; name two modes")


def observe(rows: Iterable[ProfileRow] | Observations) -> Observations:
    """Read the columns off rows; what has been read already is returned as it is."""
    if isinstance(rows, Observations):
        return rows
    rows = tuple(rows)
    metrics: dict[str, FloatArray] = {}
    spend = np.full(len(rows), np.nan)
    for number, row in enumerate(rows):
        known = row.known_metrics
        for name, value in known.items():
            if name != SUCCESS and isfinite(value):
                column = metrics.get(name)
                if column is None:
                    column = metrics[name] = np.full(len(rows), np.nan)
                column[number] = value
        spend[number] = _spend_usd(row, known.get(_COST))
    return Observations(
        scenario=Names.of([row.scenario_id for row in rows]),
        model=Names.of([row.model for row in rows]),
        mode=Names.of([row.mode for row in rows]),
        success=np.array([_success(row) for row in rows], dtype=np.float64),
        timed_out=np.array([row.completion_reason == "timeout" for row in rows], dtype=np.bool_),
        failures=tuple(_failure(row) for row in rows),
        order=_start_order(rows),
        spend_usd=spend,
        metrics=metrics,
    )


def pair_up(
    observations: Observations, a: str, b: str, metric: str, analysis_set: AnalysisSet
) -> tuple[PairedSample, tuple[LeftOut, ...]]:
    """Pair the rows of two modes within scenario and model; say which rows were left out and why."""
    values = observations.column(metric, analysis_set)
    sides = {mode: _groups(observations, values, observations.mode.are(mode)) for mode in (a, b)}
    shared = sorted(sides[a].keys() & sides[b].keys())
    scale = _scale_of(metric, [sides[mode][key] for mode in (a, b) for key in shared])
    scenarios, models = observations.scenario.known, observations.model.known
    blocks = (
        Block(
            scenario=scenarios[scenario],
            model=models[model],
            a=_on_scale(sides[a][scenario, model], scale),
            b=_on_scale(sides[b][scenario, model], scale),
        )
        for scenario, model in shared
    )
    left_out = tuple(
        LeftOut(mode=mode, cause=cause, rows=count)
        for mode in (a, b)
        for cause, count in sorted(_left_out(observations, values, mode, sides[mode], set(shared)).items())
    )
    return PairedSample(blocks=tuple(blocks), scale=scale), left_out


_Groups = dict[tuple[int, int], FloatArray]


def _groups(observations: Observations, values: FloatArray, rows: BoolArray) -> _Groups:
    """Return the known values by scenario and model, each sorted."""
    chosen = np.flatnonzero(rows & ~np.isnan(values))
    scenario, model = observations.scenario.codes[chosen], observations.model.codes[chosen]
    order = np.lexsort((values[chosen], model, scenario))
    chosen, scenario, model = chosen[order], scenario[order], model[order]
    starts = np.flatnonzero(np.diff(scenario, prepend=-1) | np.diff(model, prepend=-1))
    groups = np.split(values[chosen], starts[1:]) if chosen.size else []
    return {(int(scenario[at]), int(model[at])): group for at, group in zip(starts, groups, strict=True)}


def _left_out(
    observations: Observations, values: FloatArray, mode: str, groups: _Groups, shared: set[tuple[int, int]]
) -> Counter[str]:
    counts = observations.left_out(values, observations.mode.are(mode))
    unpaired = sum(group.size for key, group in groups.items() if key not in shared)
    if unpaired:
        counts["scenario without rows of the other mode"] = unpaired
    return counts


def _scale_of(metric: str, samples: Sequence[FloatArray]) -> Scale:
    positive = all(float(sample[0]) > 0 for sample in samples)  # sorted: the first is the smallest
    return "log" if positive and metric != SUCCESS else "raw"


def _on_scale(values: FloatArray, scale: Scale) -> FloatArray:
    return np.log(values) if scale == "log" else values


def _success(row: ProfileRow) -> float:
    if not row.was_measured or row.success is None:
        return np.nan
    return float(row.success)


def _failure(row: ProfileRow) -> str:
    if row.cause is not None:
        return Cause(row.cause).value
    return "failed, cause not recorded" if row.error is not None else ""


def _spend_usd(row: ProfileRow, last_attempt: float | None) -> float:
    costs = [attempt.cost_usd for attempt in row.attempts] if len(row.attempts) > 1 else [last_attempt]
    known = [cost for cost in costs if cost is not None and isfinite(cost)]
    return float(sum(known)) if len(known) == len(costs) else np.nan


def _start_order(rows: Sequence[ProfileRow]) -> FloatArray:
    """Return the position of each row in the run: as recorded, or by timestamp where runs are mixed or old."""
    recorded = [row.start_order for row in rows]
    if len({row.run_id for row in rows}) == 1 and None not in recorded:
        return np.array(recorded, dtype=np.float64)
    moments = {moment: rank for rank, moment in enumerate(sorted({row.started_at for row in rows}))}
    return np.array([moments[row.started_at] for row in rows], dtype=np.float64)
