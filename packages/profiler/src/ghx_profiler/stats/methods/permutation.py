"""The stratified permutation test and its inversion: p-value and interval from the same shuffles.

Under "no difference", the mode labels of one scenario's repetitions are arbitrary: every way to hand them out is as
likely as the one observed. The test counts how many ways give a difference at least as large. Shifting B by a
hypothetical difference first, and asking which shifts are not rejected, gives the interval. For one way of handing out
labels, the shifts it does not reject lie between two numbers, so p-value and interval of all shifts come from two
sorted lists, without a search, and cannot disagree.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np

from ghx_profiler.stats.methods.arrays import FloatArray
from ghx_profiler.stats.pairs import PairedBlock, PairedSample

_LARGEST_POOL = 1_000
_SMALLEST_POOL = 99
_POOL_WORK = 2_000_000
_LARGEST_PIECE = 1_000
_CHUNK = 1_000_000
_MANY = 20
"""With more rows than this on either side, a block has more shuffles than can be enumerated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shuffles:
    """What many ways to hand out the labels give; the first is the observed one."""

    differences: FloatArray
    """How much lower A would be."""
    overlaps: FloatArray
    """How much the labels resemble the observed ones: 1 if they are the same, -1 if all are swapped."""
    is_exact: bool
    """Whether these are all ways there are."""
    smallest_p: float
    """The lowest p-value that any data of this shape could have."""


def shuffle_labels(sample: PairedSample, *, resamples: int, rng: np.random.Generator) -> Shuffles:
    """Hand out the labels in all ways where they are few, and in `resamples` random ways otherwise."""
    pieces = [
        piece
        for block, weight in zip(sample.blocks, sample.weights.tolist(), strict=True)
        for piece in _pieces(block, weight, rng)
    ]
    rows = sample.a.values.size + sample.b.values.size
    size = resamples if len(pieces) == 1 else int(np.clip(_POOL_WORK // rows, _SMALLEST_POOL, _LARGEST_POOL - 1))
    ways = _ways(sample, at_most=4 * (resamples + 1))
    is_exact = ways <= resamples + 1
    pools = [_pool(piece, size, rng, complete_up_to=ways if is_exact else _LARGEST_POOL) for piece in pieces]
    # A single pool is itself a sample of shuffles.
    enumerable = is_exact or len(pools) == 1
    differences, overlaps = _all_sums(pools) if enumerable else _sampled_sums(pools, resamples, rng)
    return Shuffles(
        differences=differences,
        overlaps=overlaps,
        is_exact=is_exact,
        smallest_p=smallest_p_of(sample, differences.size),
    )


def smallest_p_of(sample: PairedSample, shuffles: int) -> float:
    """Return the lowest p-value that any data of this shape could have with this many shuffles."""
    # With sides of equal size, swapping all labels is as extreme as the most extreme shuffle: p counts both.
    mirrors = 2 if all(block.a.size == block.b.size for block in sample.blocks) else 1
    return max(mirrors / _ways(sample, at_most=4 * shuffles), 1 / shuffles)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Rows of one block among which labels are shuffled, and what a row of either side weighs in the estimate."""

    a: FloatArray
    b: FloatArray
    weight_a: float
    weight_b: float


def _pieces(block: PairedBlock, weight: float, rng: np.random.Generator) -> Iterator[_Piece]:
    """Yield the block, dealt out at random into several where it is large.

    Shuffling within the parts of a random deal is as valid as within the whole, and needs far fewer random numbers.
    """
    # Only deviations from the mean of the block matter, and small numbers keep their digits when they are summed.
    mean = (block.a.sum() + block.b.sum()) / (block.a.size + block.b.size)
    a, b = block.a - mean, block.b - mean
    count = min(a.size, b.size, -(-(a.size + b.size) // _LARGEST_PIECE))
    if count > 1:
        a, b = a[rng.permutation(a.size)], b[rng.permutation(b.size)]
    # `array_split` makes the first parts longer: reversed, longer parts of A meet shorter ones of B.
    for part_a, part_b in zip(np.array_split(a, count), np.array_split(b, count)[::-1], strict=True):
        yield _Piece(part_a, part_b, weight / a.size, weight / b.size)


@dataclass(frozen=True, slots=True)
class _Pool:
    """Ways to hand out the labels of one piece: the difference each gives, and how much it resembles the truth."""

    differences: FloatArray
    overlaps: FloatArray
    """1 over all pieces if labels are as observed, -1 if all are swapped."""


def _pool(piece: _Piece, size: int, rng: np.random.Generator, *, complete_up_to: int) -> _Pool:
    """Return all ways to hand out the labels of a piece, or the observed one and `size` random ones.

    Drawing from random ones keeps the test exact: given the pool, the observed labels are as likely as any other
    member of it.
    """
    size_a, size_b = piece.a.size, piece.b.size
    values = np.concatenate([piece.a, piece.b])
    if min(size_a, size_b) <= _MANY and comb(size_a + size_b, size_a) <= complete_up_to:
        batches = [_all_choices(size_a + size_b, size_a)]
    else:
        batches = _random_choices(size_a + size_b, size_a, size, rng)
    summed = [(values[chosen].sum(axis=1), (chosen < size_a).sum(axis=1)) for chosen in batches]
    sums, kept_counts = (np.concatenate(each) for each in zip(*summed, strict=True))
    differences = (values.sum() - sums) * piece.weight_b - sums * piece.weight_a
    moved = size_a - kept_counts
    overlaps = (size_b - moved) * piece.weight_b - moved * piece.weight_a
    return _Pool(differences, overlaps)


_Choices = np.ndarray[tuple[int, int], np.dtype[np.int64]]
"""One line for each way to hand out labels: the positions that become A."""


@lru_cache(maxsize=256)
def _all_choices(size: int, chosen: int) -> _Choices:
    """Return every way to choose, the observed one first."""
    return np.array(list(combinations(range(size), chosen)), dtype=np.int64)


def _random_choices(size: int, chosen: int, count: int, rng: np.random.Generator) -> Iterator[_Choices]:
    """Yield the observed choice, then `count` random ones, a few million numbers at a time."""
    yield np.arange(chosen, dtype=np.int64)[None, :]
    width = max(1, _CHUNK // size)
    for start in range(0, count, width):
        keys = rng.random((min(width, count - start), size))
        yield np.argpartition(keys, chosen - 1, axis=1)[:, :chosen]


def _all_sums(pools: Sequence[_Pool]) -> tuple[FloatArray, FloatArray]:
    differences, overlaps = np.zeros(1), np.zeros(1)
    for pool in pools:
        differences = np.add.outer(differences, pool.differences).ravel()
        overlaps = np.add.outer(overlaps, pool.overlaps).ravel()
    return differences, overlaps


def _sampled_sums(pools: Sequence[_Pool], resamples: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return the observed labels and random combinations of the blocks' shuffles."""
    differences, overlaps = np.zeros(resamples + 1), np.zeros(resamples + 1)
    for pool in pools:
        indices = rng.integers(0, pool.differences.size, size=resamples + 1, dtype=np.uint16)
        # The observed labels come first in every pool: the first shuffle is the data, so that no p-value is 0.
        indices[0] = 0
        differences += pool.differences[indices]
        overlaps += pool.overlaps[indices]
    return differences, overlaps


def _ways(sample: PairedSample, *, at_most: int) -> int:
    """Return how many ways there are to hand out the labels, counting no further than needed."""
    ways = 1
    for block in sample.blocks:
        smaller = min(block.a.size, block.b.size)
        ways *= at_most if smaller > _MANY else comb(block.a.size + block.b.size, smaller)
        if ways >= at_most:
            return at_most
    return ways


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

    def mirror(self) -> "PermutationCurve":
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


def _ends(estimate: float, shuffles: Shuffles, *, tie: float) -> tuple[FloatArray, FloatArray]:
    """Return, sorted, the hypotheses between which each shuffle is at least as extreme as the data.

    With B shifted by d, the data differ by `estimate - d` and a shuffle by `shuffled - d * overlap`. The latter is the
    larger one, in absolute value, between the two d at which they are equal up to sign.
    """
    shuffled, overlap = shuffles.differences, shuffles.overlaps
    same, mirrored = 1 - overlap > _TIE, 1 + overlap > _TIE
    # The observed labels, and all labels swapped, are as extreme as the data whatever the hypothesis.
    as_extreme_everywhere = ~(same & mirrored)
    first = np.divide(estimate - shuffled, 1 - overlap, out=np.full(shuffled.shape, estimate), where=same)
    second = np.divide(estimate + shuffled, 1 + overlap, out=np.full(shuffled.shape, estimate), where=mirrored)
    # Widened by the tie: a shuffle that falls short of the data by rounding counts as at least as extreme.
    lows = np.minimum(np.minimum(first, second) - tie, estimate)
    highs = np.maximum(np.maximum(first, second) + tie, estimate)
    lows[as_extreme_everywhere], highs[as_extreme_everywhere] = -np.inf, np.inf
    return np.sort(lows), np.sort(highs)
