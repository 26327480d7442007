"""The stratified permutation test and its inversion: p-value and interval from the same shuffles.

Under "no difference", the mode labels of one scenario's repetitions are arbitrary: every way to hand them out is as
likely as the one observed. The test counts how many ways give a difference at least as large. Shifting B by a
hypothetical difference first, and asking which shifts are not rejected, gives the interval. For one way of handing out
labels, the shifts it does not reject lie between two numbers, so p-value and interval of all shifts come from two
sorted lists, without a search, and cannot disagree.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ghx_bench.profiler.stats.arrays import FloatArray, Values, as_floats, finite_or_none
from ghx_bench.profiler.stats.errors import BadSampleError
from ghx_bench.profiler.stats.pairs import Block, PairedSample
from ghx_bench.profiler.stats.randomness import generator
from ghx_bench.profiler.stats.records import TestResult
from ghx_bench.profiler.stats.shuffles import Shuffles, shuffle_labels

_TIE = 1e-9
"""Differences closer than this share of the largest deviation are equal: they differ by rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PermutationCurve:
    """The p-value of every hypothetical difference, from one set of shuffles."""

    estimate: float
    lows: FloatArray
    highs: FloatArray
    """Each shuffle is at least as extreme as the data for hypotheses from its low to its high; sorted."""
    is_exact: bool
    is_degenerate: bool
    """Whether only the estimate itself is not rejected: a constant difference, without any noise."""
    smallest_p: float

    @property
    def shuffles(self) -> int:
        """How many ways to hand out labels were looked at, the observed one among them."""
        return self.lows.size

    @property
    def method(self) -> str:
        """Name the test for a report."""
        kind = "exact" if self.is_exact else "sampled"
        return f"permutation within scenario, {kind}, {self.shuffles} shuffles; interval by inversion"

    def mirrored(self) -> "PermutationCurve":
        """Return the same test seen from the other side."""
        return replace(self, estimate=-self.estimate, lows=-self.highs[::-1], highs=-self.lows[::-1])

    def p(self, difference: float = 0.0) -> float:
        """Return the two-sided p-value of the hypothesis that this is the true difference."""
        # Every shuffle reaches the estimate itself, so of its two ends only the nearer to the hypothesis matters.
        if difference <= self.estimate:
            count = np.searchsorted(self.lows, difference, side="right")
        else:
            count = self.shuffles - np.searchsorted(self.highs, difference, side="left")
        return int(count) / self.shuffles

    def interval(self, alpha: float) -> tuple[float, float]:
        """Return the smallest and largest difference that are not rejected at `alpha`; infinite where none is."""
        needed = int(alpha * self.shuffles)
        # The same division as in `p`, or rounding could make the two disagree.
        while needed / self.shuffles <= alpha:
            needed += 1
        return float(self.lows[needed - 1]), float(self.highs[-needed])


def permutation_curve(sample: PairedSample, *, resamples: int, rng: np.random.Generator) -> PermutationCurve:
    """Shuffle mode labels within every block: all ways where they are few, `resamples` random ones otherwise."""
    shuffles = shuffle_labels(sample, resamples=resamples, rng=rng)
    tie = _TIE * sample.largest_deviation
    lows, highs = _ends(sample.estimate, shuffles, tie=tie)
    return PermutationCurve(
        estimate=sample.estimate,
        lows=lows,
        highs=highs,
        is_exact=shuffles.is_exact,
        is_degenerate=not np.any(np.isfinite(lows) & (lows < sample.estimate - 2 * tie)),
        smallest_p=shuffles.smallest_p,
    )


def permutation_test(
    a: Values,
    b: Values,
    *,
    strata: tuple[Sequence[Hashable], Sequence[Hashable]] | None = None,
    confidence: float = 0.95,
    resamples: int = 9_999,
    seed: int = 0,
) -> TestResult:
    """Test whether A and B differ in mean, shuffling within strata; the reduction is positive when A is lower.

    `strata` names the scenario of each value of A and of B; a stratum without both sides says nothing and is left
    out. Without strata all values count as repetitions of one scenario.
    """
    sample = _stratified(as_floats(a), as_floats(b), strata)
    n = sample.a.values.size + sample.b.values.size
    if n == 0 or not sample.varies:
        return _untested(sample, n, confidence)
    curve = permutation_curve(sample, resamples=resamples, rng=generator(seed, "permutation"))
    low, high = curve.interval(1 - confidence)
    reason = "a constant difference without noise: an interval would have no width" if curve.is_degenerate else None
    return TestResult(
        reduction=curve.estimate,
        low=None if reason else finite_or_none(low),
        high=None if reason else finite_or_none(high),
        confidence=confidence,
        p=curve.p(),
        smallest_p=curve.smallest_p,
        n=n,
        method=curve.method,
        reason=reason,
    )


def _untested(sample: PairedSample, n: int, confidence: float) -> TestResult:
    return TestResult(
        reduction=sample.estimate if n else None,
        low=None,
        high=None,
        confidence=confidence,
        p=None,
        smallest_p=1.0,
        n=n,
        method="permutation within strata",
        reason="all values are the same: zero variance" if n else "no stratum has values on both sides",
    )


def _stratified(
    a: FloatArray, b: FloatArray, strata: tuple[Sequence[Hashable], Sequence[Hashable]] | None
) -> PairedSample:
    names_a, names_b = strata or ([0] * a.size, [0] * b.size)
    if (len(names_a), len(names_b)) != (a.size, b.size):
        raise BadSampleError("strata name the scenario of each value of A and of B; their lengths differ")
    groups_a, groups_b = _grouped(a, names_a), _grouped(b, names_b)
    pairs = [(groups_a[name], groups_b[name]) for name in groups_a if name in groups_b]
    # Ordered by content, so that the order of the values cannot matter.
    pairs.sort(key=lambda pair: (pair[0].tolist(), pair[1].tolist()))
    blocks = (Block(scenario=str(number), model="", a=a, b=b) for number, (a, b) in enumerate(pairs))
    return PairedSample(blocks=tuple(blocks), scale="raw")


def _grouped(values: FloatArray, names: Sequence[Hashable]) -> dict[Hashable, FloatArray]:
    groups: dict[Hashable, list[float]] = {}
    for value, name in zip(values.tolist(), names, strict=True):
        groups.setdefault(name, []).append(value)
    return {name: np.sort(np.array(group)) for name, group in groups.items()}


def _ends(estimate: float, shuffles: Shuffles, *, tie: float) -> tuple[FloatArray, FloatArray]:
    """Return, sorted, the hypotheses between which each shuffle is at least as extreme as the data.

    With B shifted by d, the data differ by `estimate - d` and a shuffle by `shuffled - d * overlap`. The latter is the
    larger one, in absolute value, between the two d at which they are equal up to sign.
    """
    shuffled, overlap = shuffles.differences, shuffles.overlaps
    same, mirrored = 1 - overlap > _TIE, 1 + overlap > _TIE
    as_extreme_everywhere = ~(same & mirrored)
    first = np.divide(estimate - shuffled, 1 - overlap, out=np.full(shuffled.shape, estimate), where=same)
    second = np.divide(estimate + shuffled, 1 + overlap, out=np.full(shuffled.shape, estimate), where=mirrored)
    lows = np.minimum(np.minimum(first, second) - tie, estimate)
    highs = np.maximum(np.maximum(first, second) + tie, estimate)
    lows[as_extreme_everywhere], highs[as_extreme_everywhere] = -np.inf, np.inf
    return np.sort(lows), np.sort(highs)
