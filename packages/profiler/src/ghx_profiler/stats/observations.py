"""Rows as columns: read once, compared many times."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Generic, TypeVar, cast

import numpy as np

from ghx_profiler.errors import UnknownNameError
from ghx_profiler.plan.cell import Arm
from ghx_profiler.records.metric_table import ATTACK_SUCCESS, METRICS
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.scenario import scenario_of
from ghx_profiler.stats.errors import BadPairError
from ghx_profiler.stats.methods.arrays import BoolArray, FloatArray, IntArray
from ghx_profiler.stats.methods.scales import is_binary
from ghx_profiler.stats.pairs import PairedBlock, PairedSample
from ghx_profiler.stats.result_records import AnalysisSet, LeftOut, Scale

SUCCESS = "success"
_COST = "cost_total_usd"

T = TypeVar("T", bound=Hashable)

ArmOrMode = Arm | str
"""One side of a comparison; the name of a mode stands for its rows of all agents and models."""


@dataclass(frozen=True, kw_only=True)
class Factor(Generic[T]):
    """One property of every row, such as its scenario, as numbers that sort like the names of its levels."""

    known: tuple[T, ...]
    codes: IntArray

    def are(self, level: T) -> BoolArray:
        """Mark the rows of this level."""
        return self.codes == (self.known.index(level) if level in self.known else -1)

    def each(self) -> list[T]:
        """Return the level of every row."""
        return [self.known[code] for code in cast("list[int]", self.codes.tolist())]

    def replace_level(self, level: T, rows: BoolArray) -> "Factor[T]":
        """Give these rows another level, which sorts behind all others."""
        return Factor(known=(*self.known, level), codes=np.where(rows, len(self.known), self.codes))


def factor(levels: Sequence[T]) -> Factor[T]:
    """Number the levels of one property, given for each row."""
    known = tuple(sorted(set(levels), key=str))
    numbers = {level: number for number, level in enumerate(known)}
    return Factor(known=known, codes=np.array([numbers[level] for level in levels], dtype=np.int64))


def as_arm(name: ArmOrMode) -> Arm:
    """Return the arm that is meant."""
    return name if isinstance(name, Arm) else Arm(mode=name)


@dataclass(frozen=True, kw_only=True)
class Observations:
    """What the statistics see of rows. A number that is not known is NaN in here, and never leaves as one."""

    scenario: Factor[str]
    """The form of a row's scenario: rows are paired within it. The scenarios are in `tasks`."""
    agent: Factor[str]
    model: Factor[str]
    arm: Factor[Arm]
    success: FloatArray
    """1 or 0 for rows that were measured; NaN where it was not found out."""
    was_measured: BoolArray
    """Marks the rows that neither model service, environment, scorer nor bench spoiled."""
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

    @cached_property
    def tasks(self) -> Factor[str]:
        """The scenario of every row, whatever its variant: what is a sample of other tasks."""
        bases = [scenario_of(each) for each in self.scenario.known]
        if bases == list(self.scenario.known):
            return self.scenario
        known = tuple(sorted(set(bases)))
        numbers = np.array([known.index(each) for each in bases], dtype=np.int64)
        return Factor(known=known, codes=numbers[self.scenario.codes])

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
    def _reasons(self) -> Factor[str]:
        """Why each row has no value of a metric, should it have none."""
        failure = factor(self.failures)
        # An agent's own failure explains a missing number only where nothing else is known of the row either.
        knows_something = np.zeros(len(self), dtype=np.bool_)
        for column in self.metrics.values():
            knows_something |= ~np.isnan(column)
        is_explained = ~self.was_measured | (~failure.are("") & ~knows_something)
        return failure.replace_level("not recorded", ~is_explained)

    @cached_property
    def _reasons_beside_failures(self) -> Factor[str]:
        """The same where only successes are looked at: failing is reason enough."""
        failure = factor(self.failures)
        unnamed = self.was_measured & failure.are("")
        reasons = failure.replace_level("did not succeed", unnamed & (self.success == 0))
        reasons = reasons.replace_level("success not recorded", unnamed & np.isnan(self.success))
        usual = self._reasons
        known = (*reasons.known, *usual.known)
        codes = np.where(self.success == 1, usual.codes + len(reasons.known), reasons.codes)
        return Factor(known=known, codes=codes)

    def reason_without_values(self, arm: Arm, metric: str, analysis_set: AnalysisSet, *, called: str) -> str | None:
        """Return why an arm, under the name it is called by, has no value in a set of rows; `None` if it has some."""
        rows = self.arm.are(arm)
        if np.any(rows & ~np.isnan(self.column(metric, analysis_set))):
            return None
        if not np.any(rows & self.was_measured):
            return f"no row of {called} could be measured"
        if analysis_set == "both-succeeded" and not np.any(rows & (self.success == 1)):
            return f"no row of {called} succeeded"
        return f"{METRICS.label(metric)} is not known in any row of {called}"

    def require_arms(self, *arms: Arm) -> None:
        """Refuse arms that no row has, and an arm against itself."""
        for arm in arms:
            if arm not in self.arm.known:
                raise UnknownNameError("mode", str(arm), known=map(str, self.arm.known))
        if len(set(arms)) < len(arms):
            raise BadPairError(f"mode {str(arms[0])!r} is compared with itself; name two modes")


def observe(rows: Iterable[ProfileRow] | Observations, *, arms: Sequence[Arm] | None = None) -> Observations:
    """Read the columns off rows; what has been read already is returned as it is.

    `arms` names the arm of each row, unless rows of one mode are one arm.
    """
    if isinstance(rows, Observations):
        return rows
    rows = tuple(row.upgraded() for row in rows)
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
        scenario=factor([row.scenario_id for row in rows]),
        agent=factor([row.cell.agent for row in rows]),
        model=factor([row.model for row in rows]),
        arm=factor([Arm(mode=row.mode) for row in rows] if arms is None else arms),
        success=np.array([_success(row) for row in rows], dtype=np.float64),
        was_measured=np.array([row.was_measured for row in rows], dtype=np.bool_),
        timed_out=np.array([row.completion_reason == "timeout" for row in rows], dtype=np.bool_),
        failures=tuple(_failure(row) for row in rows),
        order=start_order([(row.run_id, row.start_order, row.started_at) for row in rows]),
        spend_usd=spend,
        metrics=with_absent_categories(metrics),
    )


_CATEGORY = "tool_calls_category_"


def with_absent_categories(metrics: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Count a category of tool calls as 0 in rows whose calls are known and have none of it.

    They are known if there were no calls, or if any category is recorded; a bare total has no categories.
    """
    categories = [name for name in metrics if name.startswith(_CATEGORY)]
    total = metrics.get("tool_calls_total")
    if total is None or not categories:
        return dict(metrics)
    has_category = np.any([~np.isnan(metrics[name]) for name in categories], axis=0)
    are_known = (total == 0) | (has_category & ~np.isnan(total))
    filled = {name: np.where(are_known & np.isnan(metrics[name]), 0.0, metrics[name]) for name in categories}
    return {**metrics, **filled}


def headline_set(metric: str) -> AnalysisSet:
    """Return the rows that the verdict on a metric rests on.

    All rows for success: a row that could not be measured did not succeed. Measured rows for amounts: what a row spent
    before the bench, the environment or the model service failed is not a property of its mode. All rows that know
    it for attack success: an attack that succeeded counts, however its session ended.
    """
    return "intention-to-treat" if metric in (SUCCESS, ATTACK_SUCCESS) else "per-protocol"


def reason_unpaired(observations: Observations, a: Arm, b: Arm, metric: str, analysis_set: AnalysisSet) -> str:
    """Return why no scenario has values of both arms."""
    of_a, of_b = (observations.reason_without_values(arm, metric, analysis_set, called="either") for arm in (a, b))
    if of_a is not None and of_a == of_b:
        return of_a
    reasons = (observations.reason_without_values(arm, metric, analysis_set, called=str(arm)) for arm in (a, b))
    if reason := " and ".join(filter(None, reasons)):
        return reason
    models_a, models_b = (set(observations.model.codes[observations.arm.are(arm)].tolist()) for arm in (a, b))
    if not models_a & models_b:
        return f"{a} and {b} have no model in common"
    return f"no scenario has a known {METRICS.label(metric)} of one model in both"


def pair_up(
    observations: Observations, a: Arm, b: Arm, metric: str, analysis_set: AnalysisSet, *, stratum: str = "agent"
) -> tuple[PairedSample, tuple[LeftOut, ...]]:
    """Pair the rows of two arms within form, agent and model; return which rows were left out and why.

    `stratum` is the word for what stands in the place of agents.
    """
    values, (agents, models) = observations.column(metric, analysis_set), pairing_factors(observations, a, b)
    factors = observations.scenario, agents, models
    sides = {arm: _groups(factors, values, observations.arm.are(arm)) for arm in (a, b)}
    shared = sorted(sides[a].keys() & sides[b].keys())
    # Logs want values above 0; groups are sorted, so the first value is the smallest.
    is_positive = all(float(sides[arm][key][0]) > 0 for arm in (a, b) for key in shared)
    scale: Scale = "log" if is_positive and not is_binary(metric) else "raw"
    blocks = (
        PairedBlock(
            scenario=scenario_of(observations.scenario.known[scenario]),
            form=observations.scenario.known[scenario],
            agent=agents.known[agent],
            model=models.known[model],
            a=_on_scale(sides[a][scenario, agent, model], scale),
            b=_on_scale(sides[b][scenario, agent, model], scale),
        )
        for scenario, agent, model in shared
    )
    left_out = tuple(
        LeftOut(mode=str(arm), cause=cause, rows=count)
        for arm, other in ((a, b), (b, a))
        for causes in [observations.left_out(metric, analysis_set, observations.arm.are(arm))]
        for cause, count in sorted((causes + _count_unpaired(sides[arm], sides[other], stratum)).items())
    )
    return PairedSample(blocks=tuple(blocks), scale=scale), left_out


def pairing_factors(observations: Observations, a: Arm, b: Arm) -> tuple[Factor[str], Factor[str]]:
    """Return the agents and the models within which rows of two arms are paired.

    They are separate, so that an arm with more rows of a frugal agent does not look frugal itself. Where two arms
    have no agent in common, or are arms of different models, that is what is compared, and pairing within it would
    leave nothing.
    """
    agents, models = observations.agent, observations.model
    whatever = Factor(known=("",), codes=np.zeros(len(observations), dtype=np.int64))
    of_a, of_b = (set(agents.codes[observations.arm.are(arm)].tolist()) for arm in (a, b))
    are_models_compared = a.model is not None and b.model is not None and a.model != b.model
    return agents if of_a & of_b else whatever, whatever if are_models_compared else models


def mark_compared_rows(observations: Observations, a: Arm, b: Arm, metric: str, sample: PairedSample) -> BoolArray:
    """Mark the rows whose value is in the headline's sample: known, of a block that both arms have."""
    scenarios, (agents, models) = observations.scenario, pairing_factors(observations, a, b)
    numbers = [{name: number for number, name in enumerate(each.known)} for each in (scenarios, agents, models)]
    shape = tuple(map(len, numbers))
    paired = {
        tuple(known[name] for known, name in zip(numbers, (each.form, each.agent, each.model), strict=True))
        for each in sample.blocks
    }
    if not paired:
        return np.zeros(len(observations), dtype=np.bool_)
    # One number per block: comparing numbers is quick where comparing names of 100,000 rows is not.
    cells = np.ravel_multi_index(np.array(sorted(paired)).T, shape)
    codes = np.ravel_multi_index((scenarios.codes, agents.codes, models.codes), shape)
    return np.isin(codes, cells) & ~np.isnan(observations.column(metric, headline_set(metric)))


def unmeasured_rows(observations: Observations, a: Arm, b: Arm, sample: PairedSample) -> dict[Arm, int]:
    """Count, for each of two arms, the rows that are compared as failures because their success is unknown."""
    counted = np.isnan(observations.success) & mark_compared_rows(observations, a, b, SUCCESS, sample)
    return {arm: int(np.count_nonzero(counted & observations.arm.are(arm))) for arm in (a, b)}


_Groups = dict[tuple[int, int, int], FloatArray]


def _groups(factors: Sequence[Factor[str]], values: FloatArray, rows: BoolArray) -> _Groups:
    """Return the known values by scenario, agent and model, each sorted."""
    chosen = np.flatnonzero(rows & ~np.isnan(values))
    keys = [each.codes[chosen] for each in factors]
    order = np.lexsort((values[chosen], *reversed(keys)))
    chosen, keys = chosen[order], [each[order] for each in keys]
    starts = np.flatnonzero(np.any([np.diff(each, prepend=-1) for each in keys], axis=0))
    groups = np.split(values[chosen], starts[1:]) if chosen.size else []
    scenario, agent, model = keys
    return {
        (int(scenario[at]), int(agent[at]), int(model[at])): group for at, group in zip(starts, groups, strict=True)
    }


def _count_unpaired(groups: _Groups, others: _Groups, stratum: str) -> Counter[str]:
    """Count the rows without a partner in the other arm, by what it lacks: the scenario, the model or the stratum."""
    scenarios = {scenario for scenario, _, _ in others}
    models = {(scenario, model) for scenario, _, model in others}
    unpaired = Counter[str]()
    for (scenario, agent, model), group in groups.items():
        if (scenario, agent, model) not in others:
            what = stratum if (scenario, model) in models else "model" if scenario in scenarios else "scenario"
            unpaired[f"{what} without rows of the other {'mode' if stratum == 'agent' else 'run'}"] += group.size
    return unpaired


def _on_scale(values: FloatArray, scale: Scale) -> FloatArray:
    return np.log(values) if scale == "log" else values


def _success(row: ProfileRow) -> float:
    if not row.was_measured:
        return np.nan
    if row.success is None:
        # A timeout or a refusal is the agent's own: it did not succeed, though no scorer decided that.
        return 0.0 if row.cause is not None and row.cause.is_the_agents_own else np.nan
    return float(row.success)


def _failure(row: ProfileRow) -> str:
    if row.cause is not None:
        return row.cause.value
    return "failed, cause not recorded" if row.error is not None else ""


def _spend_usd(row: ProfileRow, last_attempt: float | None) -> float:
    # A sum with an unknown part is unknown: the known part alone would make retries look free.
    costs = [attempt.cost_usd for attempt in row.attempts] if len(row.attempts) > 1 else [last_attempt]
    known = [cost for cost in costs if cost is not None and isfinite(cost)]
    return float(sum(known)) if len(known) == len(costs) else np.nan


def start_order(starts: Sequence[tuple[Hashable, int | None, str]]) -> FloatArray:
    """Return the position of each row in its run, from its run, its recorded position and its timestamp.

    As recorded, or by timestamp where runs are mixed or old: positions of two runs do not continue each other.
    """
    recorded = [position for _, position, _ in starts]
    if len({run for run, _, _ in starts}) == 1 and None not in recorded:
        return np.array(recorded, dtype=np.float64)
    moments = {moment: rank for rank, moment in enumerate(sorted({moment for _, _, moment in starts}))}
    return np.array([moments[moment] for _, _, moment in starts], dtype=np.float64)
