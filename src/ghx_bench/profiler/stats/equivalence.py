"""Equivalence to within a margin that was fixed before the run: two one-sided tests."""

from ghx_bench.profiler.stats.errors import BadSampleError
from ghx_bench.profiler.stats.targets import Curve


def equivalence_p(curve: Curve, margin: float) -> float:
    """Return the p-value of "the difference is at least the margin", the larger of the two one-sided ones.

    Each side is half of the two-sided test at the margin, so it is at most alpha exactly if the interval with
    confidence 1 - 2 alpha lies inside the margins.
    """
    if margin <= 0:
        raise BadSampleError(f"an equivalence margin is above 0, got {margin}")
    upper, lower = curve.p(margin) / 2, curve.p(-margin) / 2
    return max(upper if curve.estimate < margin else 1 - upper, lower if curve.estimate > -margin else 1 - lower)
