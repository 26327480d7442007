"""Whether the world moved while the run was going on: a metric over the order of starts."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import expm1

import numpy as np

from ghx_profiler.records.row import ProfileRow
from ghx_profiler.stats.methods.arrays import FloatArray, IntArray
from ghx_profiler.stats.methods.probability import t_quantile, t_two_sided_p
from ghx_profiler.stats.observations import SUCCESS, Observations, observe
from ghx_profiler.stats.result_records import Drift, Scale

_METHOD = "least squares on start order within scenario, model and mode, t"


def drift_over_run(rows: Iterable[ProfileRow] | Observations, metric: str, *, confidence: float = 0.95) -> Drift:
    """Return whether a metric rose or fell from the first start to the last, all else being equal.

    A slow drift of a model service hits all modes alike in an interleaved run; it still widens every interval, and
    in a sequential run it is mistaken for a difference between modes.
    """
    observations = observe(rows)
    values = observations.column(metric, "per-protocol")
    known = ~np.isnan(values)
    y, scale = _on_scale(values[known], metric)
    factors = (observations.scenario, observations.agent, observations.model, observations.arm)
    codes = np.ravel_multi_index([each.codes for each in factors], [max(1, len(each.known)) for each in factors])
    groups, order = codes[known], observations.order[known]
    # Each group spends a degree of freedom on its mean, the slope one more.
    fit = _fit(_within(order, groups), _within(y, groups), df=y.size - np.unique(groups).size - 1)
    if fit is None:
        return _unknown(metric, scale, y.size, confidence, "no scenario was repeated often enough in one mode")
    if fit.error <= _ROUNDING * float(np.max(np.abs(y), initial=0.0)):
        return _unknown(metric, scale, y.size, confidence, "repetitions do not vary: zero variance")
    reach = t_quantile((1 + confidence) / 2, fit.df) * fit.error
    length = float(np.ptp(order))
    change, low, high = (_change((fit.slope + side) * length, scale, metric) for side in (0.0, -reach, reach))
    return Drift(
        metric=metric,
        change=change,
        low=low,
        high=high,
        confidence=confidence,
        p=t_two_sided_p(fit.slope / fit.error, fit.df),
        scale=scale,
        n=y.size,
        method=_METHOD,
        reason=None,
    )


@dataclass(frozen=True, slots=True)
class _Fit:
    slope: float
    error: float
    df: int


def _fit(x: FloatArray, y: FloatArray, df: int) -> _Fit | None:
    """Fit a line through the origin; `None` if no residual is left to estimate its error."""
    spread = float(x @ x)
    if df < 1 or spread == 0:
        return None
    slope = float(x @ y) / spread
    return _Fit(slope, float(np.sqrt(np.sum((y - slope * x) ** 2) / df / spread)), df)


_ROUNDING = 1e-12


def _on_scale(values: FloatArray, metric: str) -> tuple[FloatArray, Scale]:
    if metric != SUCCESS and values.size and values.min() > 0:
        return np.log(values), "log"
    return values, "raw"


def _within(values: FloatArray, groups: IntArray) -> FloatArray:
    """Return the values with the mean of their group taken off."""
    _, codes = np.unique(groups, return_inverse=True)
    if not values.size:
        return values
    means = np.bincount(codes, weights=values) / np.bincount(codes)
    return values - means[codes]


def _change(change: float, scale: Scale, metric: str) -> float:
    if metric == SUCCESS:
        return min(max(change, -1.0), 1.0)
    return 100 * expm1(min(change, _LARGEST_LOG)) if scale == "log" else change


_LARGEST_LOG = 700.0


def _unknown(metric: str, scale: Scale, n: int, confidence: float, reason: str) -> Drift:
    return Drift(
        metric=metric,
        change=None,
        low=None,
        high=None,
        confidence=confidence,
        p=None,
        scale=scale,
        n=n,
        method=_METHOD,
        reason=reason,
    )
