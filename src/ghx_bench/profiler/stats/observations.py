"""Rows as columns: read once, compared many times."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite

import numpy as np

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

    def replaced(self, name: str, rows: BoolArray) -> "Names":
        """Give these rows another name, which sorts behind all others."""
        return Names(known=(*self.known, name), codes=np.where(rows, len(self.known), self.codes))


@dataclass(frozen=True, kw_only=True)
class Observations:
    """What the statistics see of rows. A number that is not known is NaN in here, and never leaves as one."""

    scenario: Names
    model: Names
    mode: Names
    success: FloatArray
    """1 or 0 for rows that were measured; NaN where nobody found out."""
    was_measured: BoolArray
    """Marks the rows that nobody but their agent is to answer for."""
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

    def left_out(self, metric: str, analysis_set: AnalysisSet, rows: BoolArray) -> Counter[str]:
        """Count, by cause, the rows among these that a set of rows has no value of."""
        missing = rows & np.isnan(self.column(metric, analysis_set))
        reasons = self._reasons_beside_failures if analysis_set == "both-succeeded" else self._reasons
        counted = Counter[str]()
        for reason, rows_of_it in zip(reasons.known, np.bincount(reasons.codes[missing]).tolist(), strict=False):
            counted[reason] += rows_of_it
        return +counted

    @cached_property
    def _reasons(self) -> Names:
        """Why each row has no value of a metric, should it have none."""
        failure = Names.of(self.failures)
        # An agent's own failure explains a missing number only where nothing else is known of the row either.
        knows_something = np.zeros(len(self), dtype=np.bool_)
        for column in self.metrics.values():
            knows_something |= ~np.isnan(column)
        is_explained = ~self.was_measured | (~failure.are("") & ~knows_something)
        return failure.replaced("not recorded", ~is_explained)

    @cached_property
    def _reasons_beside_failures(self) -> Names:
        """The same where only successes are looked at: failing is reason enough."""
        failure = Names.of(self.failures)
        unnamed = self.was_measured & failure.are("")
        reasons = failure.replaced("did not succeed", unnamed & (self.success == 0))
        reasons = reasons.replaced("success not recorded", unnamed & np.isnan(self.success))
        usual = self._reasons
        known = (*reasons.known, *usual.known)
        codes = np.where(self.success == 1, usual.codes + len(reasons.known), reasons.codes)
        return Names(known=known, codes=codes)

    def why_no_values(self, mode: str, metric: str, analysis_set: AnalysisSet, *, called: str) -> str | None:
        """Say why a mode, under the name it is called by, has no value in a set of rows; `None` if it has some."""
        rows = self.mode.are(mode)
        if np.any(rows & ~np.isnan(self.column(metric, analysis_set))):
            return None
        if not np.any(rows & self.was_measured):
            return f"no row of {called} could be measured"
        if analysis_set == "both-succeeded" and not np.any(rows & (self.success == 1)):
            return f"no row of {called} succeeded"
        return f"{metric} is not known in any row of {called}"

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
        was_measured=np.array([row.was_measured for row in rows], dtype=np.bool_),
        timed_out=np.array([row.completion_reason == "timeout" for row in rows], dtype=np.bool_),
        failures=tuple(_failure(row) for row in rows),
        order=_start_order(rows),
        spend_usd=spend,
        metrics=with_absent_categories(metrics),
    )


_CATEGORY = "tool_calls_category_"


def with_absent_categories(metrics: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Count a category of tool calls as 0 in rows whose calls are known and have none of it.

    They are known where there were none at all, or where some category is told; a bare total tells no category.
    """
    named = [name for name in metrics if name.startswith(_CATEGORY)]
    total = metrics.get("tool_calls_total")
    if total is None or not named:
        return dict(metrics)
    has_category = np.any([~np.isnan(metrics[name]) for name in named], axis=0)
    are_known = (total == 0) | (has_category & ~np.isnan(total))
    filled = {name: np.where(are_known & np.isnan(metrics[name]), 0.0, metrics[name]) for name in named}
    return {**metrics, **filled}


def headline_set(metric: str) -> AnalysisSet:
    """Return the rows that the verdict on a metric rests on.

    All rows for success: who could not be measured did not succeed. Measured rows for amounts: what a row spent
    before the bench, the environment or the model service spoiled it says nothing about its mode.
    """
    return "intention-to-treat" if metric == SUCCESS else "per-protocol"


def why_unpaired(observations: Observations, a: str, b: str, metric: str, analysis_set: AnalysisSet) -> str:
    """Say why no scenario has values of both modes."""
    of_a, of_b = (observations.why_no_values(mode, metric, analysis_set, called="either mode") for mode in (a, b))
    if of_a is not None and of_a == of_b:
        return of_a
    reasons = (observations.why_no_values(mode, metric, analysis_set, called=mode) for mode in (a, b))
    if told := " and ".join(filter(None, reasons)):
        return told
    models_a, models_b = (set(observations.model.codes[observations.mode.are(mode)].tolist()) for mode in (a, b))
    if not models_a & models_b:
        return f"{a} and {b} have no model in common"
    return f"no scenario has a known {metric} of one model in both modes"


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
        for mode, other in ((a, b), (b, a))
        for causes in [observations.left_out(metric, analysis_set, observations.mode.are(mode))]
        for cause, count in sorted((causes + _unpaired(sides[mode], sides[other])).items())
    )
    return PairedSample(blocks=tuple(blocks), scale=scale), left_out


def rows_compared(observations: Observations, metric: str, sample: PairedSample) -> BoolArray:
    """Mark the rows whose value is in the headline's sample: known, of a scenario and model that both modes have."""
    scenarios, models = observations.scenario, observations.model
    numbers = {name: number for number, name in enumerate(scenarios.known)}
    paired = [numbers[each.scenario] * len(models.known) + models.known.index(each.model) for each in sample.blocks]
    is_paired = np.isin(scenarios.codes * len(models.known) + models.codes, paired)
    return is_paired & ~np.isnan(observations.column(metric, headline_set(metric)))


def unmeasured_rows(observations: Observations, sample: PairedSample, *modes: str) -> int:
    """Count the rows of these modes that are compared as failures because nobody found out about them."""
    counted = np.isnan(observations.success) & rows_compared(observations, SUCCESS, sample)
    return sum(int(np.count_nonzero(counted & observations.mode.are(mode))) for mode in modes)


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


def _unpaired(groups: _Groups, others: _Groups) -> Counter[str]:
    """Count the rows without a partner in the other mode, by what it lacks: the scenario, or only the model."""
    scenarios, unpaired = {scenario for scenario, _ in others}, Counter[str]()
    for (scenario, model), group in groups.items():
        if (scenario, model) not in others:
            what = "model" if scenario in scenarios else "scenario"
            unpaired[f"{what} without rows of the other mode"] += group.size
    return unpaired


def _scale_of(metric: str, samples: Sequence[FloatArray]) -> Scale:
    positive = all(float(sample[0]) > 0 for sample in samples)  # sorted: the first is the smallest
    return "log" if positive and metric != SUCCESS else "raw"


def _on_scale(values: FloatArray, scale: Scale) -> FloatArray:
    return np.log(values) if scale == "log" else values


def _success(row: ProfileRow) -> float:
    if not row.was_measured:
        return np.nan
    if row.success is None:
        return 0.0 if _is_the_agents_fault(row) else np.nan
    return float(row.success)


def _is_the_agents_fault(row: ProfileRow) -> bool:
    cause = row.known_cause
    return cause is not None and cause.is_the_agents_own


def _failure(row: ProfileRow) -> str:
    if (cause := row.known_cause) is not None:
        return cause.value
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
