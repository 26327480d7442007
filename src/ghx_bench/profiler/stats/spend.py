"""What a success costs: all money spent over all successes, failures paid for too."""

from collections.abc import Iterable

import numpy as np

from ghx_bench.profiler.row import ProfileRow
from ghx_bench.profiler.stats.arrays import BoolArray, FloatArray, IntArray
from ghx_bench.profiler.stats.bootstrap import percentile_interval
from ghx_bench.profiler.stats.observations import Observations, observe
from ghx_bench.profiler.stats.plan import AnalysisPlan
from ghx_bench.profiler.stats.randomness import generator
from ghx_bench.profiler.stats.records import Estimate
from ghx_bench.profiler.stats.targets import why_no_population

_WORK = 20_000_000
_CHUNK = 2_000_000


def cost_per_success(
    rows: Iterable[ProfileRow] | Observations, mode: str, plan: AnalysisPlan, *, seed: int = 0
) -> Estimate:
    """Return the US dollars per success of a mode, retried attempts included, with a bootstrap interval.

    A row that could not be measured is no success. Rows whose spend is not known are left out, with their success.
    Repetitions are resampled within scenarios; for the population, scenarios first.
    """
    observations = observe(rows)
    observations.require_modes(mode)
    chosen = observations.mode.are(mode) & ~np.isnan(observations.spend_usd)
    spend, success = observations.spend_usd[chosen], observations.success[chosen] == 1
    resamples = int(np.clip(_WORK // max(1, spend.size), 999, plan.resamples))
    method = f"all spend over all successes; hierarchical bootstrap, {resamples} resamples"
    reason = _why_no_interval(spend, success, observations.scenario.codes[chosen], plan)
    low = high = None
    if reason is None:
        rng = generator(seed, "cost per success", mode)
        groups = _groups(spend, success, observations.scenario.codes[chosen])
        low, high = percentile_interval(_resampled_ratios(groups, plan, resamples, rng), 1 - plan.alpha)
    return Estimate(
        estimate=float(spend.sum() / success.sum()) if success.any() else None,
        low=low,
        high=high,
        confidence=1 - plan.alpha,
        n=spend.size,
        method=method,
        reason=reason,
    )


def _why_no_interval(spend: FloatArray, success: BoolArray, scenarios: IntArray, plan: AnalysisPlan) -> str | None:
    if not spend.size:
        return "no row knows what it cost"
    if not success.any():
        return f"no success for {spend.sum():.4g} USD"
    if np.ptp(spend) == 0 and success.all():
        return "every row costs the same and succeeds: zero variance"
    return why_no_population(np.unique(scenarios).size) if plan.target == "population" else None


def _groups(spend: FloatArray, success: BoolArray, scenarios: IntArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return spend and success as one padded line per scenario, and how long each line is."""
    order = np.lexsort((success, spend, scenarios))
    _, starts, sizes = np.unique(scenarios[order], return_index=True, return_counts=True)
    lines = np.repeat(np.arange(sizes.size), sizes)
    columns = np.arange(order.size) - np.repeat(starts, sizes)
    padded = np.zeros((2, sizes.size, int(sizes.max())))
    padded[0, lines, columns] = spend[order]
    padded[1, lines, columns] = success[order]
    return padded[0], padded[1], sizes


def _resampled_ratios(
    groups: tuple[FloatArray, FloatArray, IntArray], plan: AnalysisPlan, resamples: int, rng: np.random.Generator
) -> FloatArray:
    """Return cost per success of every resample; infinite where nothing succeeded."""
    spend, success, sizes = groups
    totals = np.zeros((2, resamples))
    columns = np.arange(spend.shape[1], dtype=np.int64)
    width = max(1, _CHUNK // spend.shape[1])
    for place in range(sizes.size):
        for start in range(0, resamples, width):
            rows = slice(start, min(start + width, resamples))
            count = rows.stop - start
            drawn = rng.integers(0, sizes.size, size=count) if plan.target == "population" else np.full(count, place)
            size = sizes[drawn][:, None]
            picked = (rng.random((count, columns.size)) * size).astype(np.int64)
            counted = np.less(columns, size)
            totals[0, rows] += (spend[drawn[:, None], picked] * counted).sum(axis=1)
            totals[1, rows] += (success[drawn[:, None], picked] * counted).sum(axis=1)
    return np.divide(totals[0], totals[1], out=np.full(resamples, np.inf), where=totals[1] > 0)
