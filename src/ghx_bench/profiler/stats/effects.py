"""Standardised effect sizes; `None` where there is no spread to measure an effect with."""

import numpy as np

from ghx_bench.profiler.stats.arrays import FloatArray, Values, as_floats
from ghx_bench.profiler.stats.descriptive import is_negligible


def cohens_d(a: Values, b: Values) -> float | None:
    """Return the difference of means over the pooled standard deviation; positive when `a` is higher, as in textbooks.

    Reductions have the opposite sign: `cohens_d(b, a)` is positive when `a` is lower.
    """
    first, second = as_floats(a), as_floats(b)
    df = first.size + second.size - 2
    if not (first.size and second.size and df > 0):
        return None
    pooled = float(np.sqrt((_squares(first) + _squares(second)) / df))
    if is_negligible(pooled, np.concatenate([first, second])):
        return None
    return float(np.mean(first) - np.mean(second)) / pooled


def hedges_g(a: Values, b: Values) -> float | None:
    """Return Cohen's d corrected for the optimism of small samples."""
    return corrected_for_small_samples(cohens_d(a, b), len(a) + len(b) - 2)


def corrected_for_small_samples(effect: float | None, df: float) -> float | None:
    """Take the bias out of a standardised effect; `None` with one degree of freedom, where nothing would be left."""
    return None if effect is None or df < _FEWEST_DF else effect * (1 - 3 / (4 * df - 1))


_FEWEST_DF = 2


def cliffs_delta(a: Values, b: Values) -> float | None:
    """Return how much more often a value of `a` is above one of `b` than below it, from -1 to 1."""
    first, second = as_floats(a), np.sort(as_floats(b))
    if not (first.size and second.size):
        return None
    below = np.searchsorted(second, first, side="left")
    not_above = np.searchsorted(second, first, side="right")
    wins, losses = int(below.sum()), int((second.size - not_above).sum())
    return (wins - losses) / (first.size * second.size)


def _squares(sample: FloatArray) -> float:
    return float(np.sum((sample - np.mean(sample)) ** 2))
