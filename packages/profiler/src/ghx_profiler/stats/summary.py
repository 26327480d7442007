"""What each mode did by itself: medians at a glance, success, pass curves, cost per success."""

from collections.abc import Iterable, Sequence

import numpy as np

from ghx_profiler.plan.cell import Arm
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.scenario import scenario_of
from ghx_profiler.stats.methods.arrays import BoolArray, FloatArray, IntArray, generator
from ghx_profiler.stats.methods.curves import reason_without_population
from ghx_profiler.stats.methods.descriptive import (
    clustered_mean,
    compute_descriptive,
    median_interval,
    percentile_interval,
)
from ghx_profiler.stats.methods.scales import within_bounds
from ghx_profiler.stats.observations import SUCCESS, ArmOrMode, Observations, as_arm, headline_set, observe
from ghx_profiler.stats.plan import AnalysisPlan
from ghx_profiler.stats.result_records import (
    AnalysisSet,
    Estimate,
    MetricSummary,
    ModeSummary,
    SuccessRate,
    SuccessSummary,
)
from ghx_profiler.stats.strata import Strata, strata_of
from ghx_profiler.stats.success import Counts, clustered_wilson_interval, pass_curve, wilson_interval


def summarize_modes(
    rows: Iterable[ProfileRow] | Observations,
    plan: AnalysisPlan,
    *,
    metrics: Sequence[str] | None = None,
    seed: int = 0,
) -> dict[str, ModeSummary]:
    """Summarise every mode, each metric over all measured rows with a known value."""
    observations = observe(rows)
    names = [name for name in observations.metric_names if name != SUCCESS] if metrics is None else metrics
    return {str(arm): _summarize(observations, arm, plan, names, seed) for arm in observations.arm.known}


def summarize_metric(
    rows: Iterable[ProfileRow] | Observations, mode: ArmOrMode, metric: str, *, confidence: float = 0.95
) -> MetricSummary:
    """Summarise one metric of one mode: measured rows with a known value pooled, the others counted by cause."""
    observations = observe(rows)
    arm = as_arm(mode)
    observations.require_arms(arm)
    of_mode = observations.arm.are(arm)
    column = observations.column(metric, headline_set(metric))
    chosen = np.flatnonzero(of_mode & ~np.isnan(column))
    # Sorted, so that the order of the rows cannot show in the last digit.
    chosen = chosen[np.lexsort((column[chosen], observations.scenario.codes[chosen]))]
    values, scenarios = column[chosen], observations.tasks.codes[chosen].tolist()
    causes = observations.left_out(metric, headline_set(metric), of_mode)
    return MetricSummary(
        **dict(compute_descriptive(values)),
        left_out=causes.total(),
        left_out_causes=dict(sorted(causes.items())),
        scenarios=len(set(scenarios)),
        mean_interval=within_bounds(metric, clustered_mean(values, scenarios, confidence=confidence)),
        median_interval=median_interval(values, confidence=confidence),
    )


def summarize_success(
    rows: Iterable[ProfileRow] | Observations, mode: ArmOrMode, *, confidence: float = 0.95
) -> SuccessSummary:
    """Summarise success of one mode, intention-to-treat and per-protocol."""
    observations = observe(rows)
    arm = as_arm(mode)
    observations.require_arms(arm)
    treated = _rate(observations, arm, "intention-to-treat", confidence)
    return SuccessSummary(
        **dict(treated),
        per_protocol=_rate(observations, arm, "per-protocol", confidence),
        clustered=clustered_wilson_interval(
            success_counts(observations, arm, "intention-to-treat"), confidence=confidence
        ),
    )


def success_counts(observations: Observations, arm: Arm, analysis_set: AnalysisSet) -> Counts:
    """Return successes and repetitions by scenario, of each variant by itself."""
    column = observations.column(SUCCESS, analysis_set)
    chosen = observations.arm.are(arm) & ~np.isnan(column)
    codes, names = observations.scenario.codes[chosen], observations.scenario.known
    repetitions = np.bincount(codes, minlength=len(names)).tolist()
    successes = np.bincount(codes, weights=column[chosen], minlength=len(names)).astype(int).tolist()
    return {name: (won, tried) for name, won, tried in zip(names, successes, repetitions, strict=True) if tried}


def _rate(observations: Observations, arm: Arm, analysis_set: AnalysisSet, confidence: float) -> SuccessRate:
    counts = success_counts(observations, arm, analysis_set)
    k, n = (sum(each) for each in zip(*counts.values(), strict=True)) if counts else (0, 0)
    wilson = wilson_interval(k, n, confidence=confidence)
    causes = observations.left_out(SUCCESS, analysis_set, observations.arm.are(arm))
    return SuccessRate(
        k=k,
        n=n,
        rate=wilson.estimate,
        low=wilson.low,
        high=wilson.high,
        confidence=confidence,
        method=wilson.method,
        left_out=causes.total(),
        left_out_causes=dict(sorted(causes.items())),
    )


def _summarize(
    observations: Observations, arm: Arm, plan: AnalysisPlan, metrics: Sequence[str], seed: int
) -> ModeSummary:
    confidence = 1 - plan.alpha
    counts = success_counts(observations, arm, "intention-to-treat")
    return ModeSummary(
        mode=str(arm),
        rows=int(np.count_nonzero(observations.arm.are(arm))),
        scenarios=len({scenario_of(each) for each in counts}),
        success=summarize_success(observations, arm, confidence=confidence),
        pass_curve=pass_curve(counts, target=plan.target, confidence=confidence, seed=seed),
        cost_per_success=cost_per_success(observations, arm, plan, seed=seed),
        metrics={metric: summarize_metric(observations, arm, metric, confidence=confidence) for metric in metrics},
    )


_MOST_DRAWN = 20_000_000
_DRAWN_AT_A_TIME = 2_000_000


def cost_per_success(
    rows: Iterable[ProfileRow] | Observations, mode: ArmOrMode, plan: AnalysisPlan, *, seed: int = 0
) -> Estimate:
    """Return the US dollars per success of a mode, retried attempts included, with a bootstrap interval.

    A row that could not be measured is not a success. Rows whose spend is not known are left out, with their success.
    Repetitions are resampled within scenarios, and variants of one; for the population, scenarios first, each with all
    its variants.
    """
    observations = observe(rows)
    arm = as_arm(mode)
    observations.require_arms(arm)
    chosen = observations.arm.are(arm) & ~np.isnan(observations.spend_usd)
    spend, success = observations.spend_usd[chosen], observations.success[chosen] == 1
    # The work is bounded: many rows get fewer resamples, but not too few for an interval.
    resamples = int(np.clip(_MOST_DRAWN // max(1, spend.size), 999, plan.resamples))
    method = f"all spend over all successes; hierarchical bootstrap, {resamples} resamples"
    reason = _reason_without_interval(spend, success, observations.tasks.codes[chosen], plan)
    low = high = None
    if reason is None:
        rng = generator(seed, "cost per success", str(arm))
        forms = observations.scenario.codes[chosen]
        names = [observations.scenario.known[int(code)] for code in np.unique(forms)]
        groups = _group_spend(spend, success, forms)
        ratios = _resampled_ratios(groups, strata_of(names), plan, resamples, rng)
        low, high = percentile_interval(ratios, 1 - plan.alpha)
    return Estimate(
        estimate=float(spend.sum() / success.sum()) if success.any() else None,
        low=low,
        high=high,
        confidence=1 - plan.alpha,
        n=spend.size,
        method=method,
        reason=reason,
    )


def _reason_without_interval(
    spend: FloatArray, success: BoolArray, scenarios: IntArray, plan: AnalysisPlan
) -> str | None:
    if not spend.size:
        return "no row knows what it cost"
    if not success.any():
        return f"no success for {spend.sum():.4g} USD"
    if np.ptp(spend) == 0 and success.all():
        return "every row costs the same and succeeds: zero variance"
    return reason_without_population(np.unique(scenarios).size) if plan.target == "population" else None


def _group_spend(spend: FloatArray, success: BoolArray, scenarios: IntArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return spend and success as one padded line per form of a scenario, and how long each line is."""
    order = np.lexsort((success, spend, scenarios))
    _, starts, sizes = np.unique(scenarios[order], return_index=True, return_counts=True)
    lines = np.repeat(np.arange(sizes.size), sizes)
    columns = np.arange(order.size) - np.repeat(starts, sizes)
    padded = np.zeros((2, sizes.size, int(sizes.max())))
    padded[0, lines, columns] = spend[order]
    padded[1, lines, columns] = success[order]
    return padded[0], padded[1], sizes


def _resampled_ratios(
    groups: tuple[FloatArray, FloatArray, IntArray],
    strata: Strata,
    plan: AnalysisPlan,
    resamples: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Return cost per success of every resample; infinite where nothing succeeded."""
    spend, success, sizes = groups
    totals = np.zeros((2, resamples))
    columns = np.arange(spend.shape[1], dtype=np.int64)
    width = max(1, _DRAWN_AT_A_TIME // spend.shape[1])
    scenarios = len(strata.forms)
    for place in range(scenarios):
        for start in range(0, resamples, width):
            rows = slice(start, min(start + width, resamples))
            count = rows.stop - start
            scenario_draws = (
                rng.integers(0, scenarios, size=count) if plan.target == "population" else np.full(count, place)
            )
            for form, is_there in zip(
                strata.forms[scenario_draws].T, strata.weights[scenario_draws].T > 0, strict=True
            ):
                size = (sizes[form] * is_there)[:, None]
                picked = (rng.random((count, columns.size)) * size).astype(np.int64)
                counted = np.less(columns, size)
                totals[0, rows] += (spend[form[:, None], picked] * counted).sum(axis=1)
                totals[1, rows] += (success[form[:, None], picked] * counted).sum(axis=1)
    return np.divide(totals[0], totals[1], out=np.full(resamples, np.inf), where=totals[1] > 0)
