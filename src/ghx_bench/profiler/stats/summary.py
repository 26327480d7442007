"""What each mode did by itself: medians at a glance, success, pass curves, cost per success."""

from collections.abc import Iterable, Sequence

import numpy as np

from ghx_bench.profiler.row import ProfileRow
from ghx_bench.profiler.stats.descriptive import clustered_mean, compute_descriptive, median_interval
from ghx_bench.profiler.stats.observations import SUCCESS, Observations, headline_set, observe
from ghx_bench.profiler.stats.plan import AnalysisPlan
from ghx_bench.profiler.stats.records import AnalysisSet, MetricSummary, ModeSummary, SuccessRate, SuccessSummary
from ghx_bench.profiler.stats.scales import within_bounds
from ghx_bench.profiler.stats.spend import cost_per_success
from ghx_bench.profiler.stats.success import Counts, clustered_wilson_interval, pass_curve, wilson_interval


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
    return {mode: _summarize(observations, mode, plan, names, seed) for mode in observations.mode.known}


def summarize_metric(
    rows: Iterable[ProfileRow] | Observations, mode: str, metric: str, *, confidence: float = 0.95
) -> MetricSummary:
    """Summarise one metric of one mode: measured rows with a known value pooled, the others counted by cause."""
    observations = observe(rows)
    observations.require_modes(mode)
    of_mode = observations.mode.are(mode)
    column = observations.column(metric, headline_set(metric))
    chosen = np.flatnonzero(of_mode & ~np.isnan(column))
    # Sorted, so that the order of the rows cannot show in the last digit.
    chosen = chosen[np.lexsort((column[chosen], observations.scenario.codes[chosen]))]
    values, scenarios = column[chosen], observations.scenario.codes[chosen].tolist()
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
    rows: Iterable[ProfileRow] | Observations, mode: str, *, confidence: float = 0.95
) -> SuccessSummary:
    """Summarise success of one mode, intention-to-treat and per-protocol."""
    observations = observe(rows)
    observations.require_modes(mode)
    treated = _rate(observations, mode, "intention-to-treat", confidence)
    return SuccessSummary(
        **dict(treated),
        per_protocol=_rate(observations, mode, "per-protocol", confidence),
        clustered=clustered_wilson_interval(
            success_counts(observations, mode, "intention-to-treat"), confidence=confidence
        ),
    )


def success_counts(observations: Observations, mode: str, analysis_set: AnalysisSet) -> Counts:
    """Return successes and repetitions by scenario."""
    column = observations.column(SUCCESS, analysis_set)
    chosen = observations.mode.are(mode) & ~np.isnan(column)
    codes, names = observations.scenario.codes[chosen], observations.scenario.known
    repetitions = np.bincount(codes, minlength=len(names)).tolist()
    successes = np.bincount(codes, weights=column[chosen], minlength=len(names)).astype(int).tolist()
    return {name: (won, tried) for name, won, tried in zip(names, successes, repetitions, strict=True) if tried}


def _rate(observations: Observations, mode: str, analysis_set: AnalysisSet, confidence: float) -> SuccessRate:
    counts = success_counts(observations, mode, analysis_set)
    k, n = (sum(each) for each in zip(*counts.values(), strict=True)) if counts else (0, 0)
    wilson = wilson_interval(k, n, confidence=confidence)
    causes = observations.left_out(SUCCESS, analysis_set, observations.mode.are(mode))
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
    observations: Observations, mode: str, plan: AnalysisPlan, metrics: Sequence[str], seed: int
) -> ModeSummary:
    confidence = 1 - plan.alpha
    counts = success_counts(observations, mode, "intention-to-treat")
    return ModeSummary(
        mode=mode,
        rows=int(np.count_nonzero(observations.mode.are(mode))),
        scenarios=len(counts),
        success=summarize_success(observations, mode, confidence=confidence),
        pass_curve=pass_curve(counts, target=plan.target, confidence=confidence, seed=seed),
        cost_per_success=cost_per_success(observations, mode, plan, seed=seed),
        metrics={metric: summarize_metric(observations, mode, metric, confidence=confidence) for metric in metrics},
    )
