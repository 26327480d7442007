"""One metric by scenario and mode, in a few numbers each: what tables and distributions show."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ghx_bench.profiler.stats.observations import Observations
from ghx_bench.profiler.stats.records import AnalysisSet


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


Grid = Mapping[tuple[str, str], Spread]
"""By scenario and mode."""

POOLED = ""
"""Stands for all scenarios together."""


def spread_grid(
    observations: Observations, metric: str, *, analysis_set: AnalysisSet = "intention-to-treat"
) -> dict[tuple[str, str], Spread]:
    """Describe a metric for every scenario and mode with a known value, and for every mode with all pooled."""
    values = observations.column(metric, analysis_set)
    chosen = np.flatnonzero(~np.isnan(values))
    mode, scenario = observations.mode.codes[chosen], observations.scenario.codes[chosen]
    grid: dict[tuple[str, str], Spread] = {}
    for scenarios, names in ((np.zeros_like(scenario), (POOLED,)), (scenario, observations.scenario.known)):
        order = np.lexsort((values[chosen], mode, scenarios))
        groups = scenarios[order] * len(observations.mode.known) + mode[order]
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        for at, sample in zip(starts, np.split(values[chosen][order], starts[1:]), strict=False):
            where, who = divmod(int(groups[at]), len(observations.mode.known))
            grid[names[where], observations.mode.known[who]] = _spread(sample)
    return grid


def _spread(ordered: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Spread:
    low, p25, p50, p75, high = np.quantile(ordered, (0.05, 0.25, 0.5, 0.75, 0.95)).tolist()
    return Spread(n=ordered.size, low=low, p25=p25, p50=p50, p75=p75, high=high, mean=float(ordered.mean()))
