"""The normal and Student distributions, typed; the only place that knows scipy."""

from functools import cache, lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np

from ghx_profiler.stats.methods.arrays import FloatArray

SMALLEST_P = 1e-300
"""Where a p-value stops: below this, arithmetic would round it to 0, which no test can show."""

_NODES = 400
_BISECTIONS = 60


@cache
def _special() -> Any:
    # Loaded on first use: medians do not need it, and a run that prints its table would wait for it.
    from scipy import special  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs] - scipy ships no types

    return special


def normal_quantile(share: float) -> float:
    """Return the point with `share` of a standard normal below it."""
    # Without scipy, which takes longer to load than the rest of a small report takes: Wilson's interval needs no more.
    return NormalDist().inv_cdf(share)


def fair_coin_tails(tosses: int) -> FloatArray:
    """Return the chance of at most 0, 1, 2, ... heads, up to half of the tosses."""
    return np.asarray(_special().bdtr(np.arange(tosses // 2 + 1, dtype=np.float64), tosses, 0.5))


def t_quantile(share: float, df: float) -> float:
    """Return the point with `share` of Student's t below it."""
    return float(_special().stdtrit(df, share))


def t_two_sided_p(t: float, df: float) -> float:
    """Return the chance of a t at least this far from 0, either way; never 0."""
    return min(1.0, max(2.0 * float(_special().stdtr(df, -abs(t))), SMALLEST_P))


def t_power(shift: float, df: float, alpha: float) -> float:
    """Return the chance that a two-sided t-test finds an effect of `shift` standard errors.

    The noncentral t as an average of normals over the spread of the estimated standard error: scipy's own
    `nctdtr` turns to NaN for the large shifts that few degrees of freedom need.
    """
    spreads, weights = _error_spreads(df)
    critical = t_quantile(1 - alpha / 2, df)
    chances = _special().ndtr(shift - critical * spreads) + _special().ndtr(-shift - critical * spreads)
    return float(weights @ chances)


@lru_cache(maxsize=256)
def _error_spreads(df: float) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights of estimated over true standard error with `df` degrees of freedom."""
    nodes, weights = _legendre()
    upper_tails = (1 - nodes) / 2
    return np.sqrt(_special().chdtri(df, upper_tails) / df), weights / 2


@lru_cache(maxsize=1)
def _legendre() -> tuple[FloatArray, FloatArray]:
    return np.polynomial.legendre.leggauss(_NODES)


@lru_cache(maxsize=4096)
def detectable_shift(df: float, alpha: float, power: float) -> float:
    """Return the effect, in standard errors, that a two-sided t-test finds with chance `power`."""
    low, high = 0.0, 1.0
    while t_power(high, df, alpha) < power:
        high *= 2
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if t_power(middle, df, alpha) < power:
            low = middle
        else:
            high = middle
    return high
