"""Adjustment of p-values for many comparisons."""

from collections.abc import Sequence

import numpy as np

from ghx_profiler.stats.errors import BadSampleError
from ghx_profiler.stats.methods.arrays import FloatArray, as_floats


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjust so that the chance of even one false finding in the family stays below alpha (Holm, step-down)."""
    p, order = _order(p_values)
    steps = np.arange(p.size, 0, -1)
    # Never below the adjusted value of a smaller p: otherwise the less certain finding could be the one shown.
    return _restore_order(np.maximum.accumulate(p * steps), order)


def benjamini_hochberg(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjust so that the share of false findings among the findings stays below alpha (step-up)."""
    p, order = _order(p_values)
    steps = p.size / np.arange(1, p.size + 1)
    from_the_largest = np.minimum.accumulate((p * steps)[::-1])
    return _restore_order(from_the_largest[::-1], order)


def matching_alpha(alpha: float, p: float, p_adjusted: float) -> float:
    """Return the level at which the plain test decides as the adjusted one does at `alpha`.

    The interval at this level excludes 0 exactly if the adjusted p-value is at most alpha; it is never narrower than
    the plain interval.
    """
    level = alpha * (p / p_adjusted)
    # Where adjusted p and alpha are equal up to rounding, the decision is the adjusted one's.
    return max(level, p) if p_adjusted <= alpha else min(level, float(np.nextafter(p, 0)))


def _order(p_values: Sequence[float]) -> tuple[FloatArray, np.ndarray[tuple[int], np.dtype[np.intp]]]:
    p = as_floats(p_values)
    if p.size and not (p.min() > 0 and p.max() <= 1):
        raise BadSampleError("a p-value is above 0 and at most 1")
    order = np.argsort(p, kind="stable")
    return p[order], order


def _restore_order(adjusted: FloatArray, order: np.ndarray[tuple[int], np.dtype[np.intp]]) -> tuple[float, ...]:
    back = np.empty(adjusted.size)
    back[order] = np.minimum(adjusted, 1.0)
    return tuple(back.tolist())
