"""One sample in a few numbers, means whose errors know about scenarios, and standardised effects."""

from collections.abc import Hashable, Sequence

import numpy as np

from ghx_profiler.stats.errors import BadSampleError
from ghx_profiler.stats.methods.arrays import FloatArray, IntArray, Values, as_floats, finite_or_none
from ghx_profiler.stats.methods.probability import fair_coin_tails, t_quantile
from ghx_profiler.stats.result_records import Descriptive, Estimate


def compute_descriptive(values: Values) -> Descriptive:
    """Describe a sample; what its size does not allow is `None`. Percentiles interpolate linearly."""
    sample = np.sort(as_floats(values))
    if not sample.size:
        return Descriptive(n=0, **dict.fromkeys(_STATISTICS))
    mean = float(np.mean(sample))
    sd = float(np.std(sample, ddof=1)) if sample.size > 1 else None
    p25, p50, p75, p90, p95 = (float(each) for each in np.quantile(sample, (0.25, 0.5, 0.75, 0.9, 0.95)))
    return Descriptive(
        n=sample.size,
        mean=mean,
        sd=sd,
        cv=sd / mean if sd is not None and mean > 0 else None,
        min=float(sample[0]),
        p25=p25,
        p50=p50,
        p75=p75,
        p90=p90,
        p95=p95,
        max=float(sample[-1]),
        iqr=p75 - p25,
    )


_STATISTICS = tuple(name for name in Descriptive.model_fields if name != "n")


def clustered_standard_error(values: Values, clusters: Sequence[Hashable]) -> float | None:
    """Return the standard error of the mean when values of one cluster are not independent.

    The clusters are the scenarios: eight repetitions of one task are less evidence than eight tasks. `None` below two
    clusters, where nothing is known about how clusters differ.
    """
    sample = as_floats(values)
    codes = _codes(clusters, sample.size)
    count = int(codes.max()) + 1 if codes.size else 0
    if count < _FEWEST_CLUSTERS:
        return None
    sums = np.bincount(codes, weights=sample - np.mean(sample))
    return float(np.sqrt(count / (count - 1) * np.sum(sums**2)) / sample.size)


_FEWEST_CLUSTERS = 2


def clustered_mean(values: Values, clusters: Sequence[Hashable], *, confidence: float = 0.95) -> Estimate:
    """Return the mean with the interval that clustered errors give: t with one df less than there are clusters."""
    sample = as_floats(values)
    count = len(set(clusters))
    mean = float(np.mean(sample)) if sample.size else None
    error = clustered_standard_error(sample, clusters)
    method = "mean, standard error clustered by scenario, t"
    reason = _reason_without_interval(sample, count, error)
    if mean is None or error is None or reason is not None:
        return Estimate(
            estimate=mean, low=None, high=None, confidence=confidence, n=sample.size, method=method, reason=reason
        )
    reach = t_quantile((1 + confidence) / 2, count - 1) * error
    return Estimate(
        estimate=mean,
        low=mean - reach,
        high=mean + reach,
        confidence=confidence,
        n=sample.size,
        method=method,
        reason=None,
    )


def median_interval(values: Values, *, confidence: float = 0.95) -> Estimate:
    """Return the median with its exact interval between two of the values; `confidence` is what it really has.

    No assumption about the distribution, and on the safe side when scenarios differ. Below six values even the
    whole range has less than 95 % confidence: it is given with the confidence it has.
    """
    sample = np.sort(as_floats(values))
    method = "median, order statistics"
    if sample.size < _FEWEST_VALUES or is_negligible(float(np.ptp(sample)), sample):
        reason = "all values are the same: zero variance" if sample.size >= _FEWEST_VALUES else "fewer than 2 values"
        median = float(np.median(sample)) if sample.size else None
        return Estimate(
            estimate=median, low=None, high=None, confidence=confidence, n=sample.size, method=method, reason=reason
        )
    tails = fair_coin_tails(sample.size)
    # Cutting r values off either end misses the median if at most r values lie on one side of it.
    cut = max(0, int(np.count_nonzero(2 * tails <= 1 - confidence)) - 1)
    return Estimate(
        estimate=float(np.median(sample)),
        low=float(sample[cut]),
        high=float(sample[sample.size - 1 - cut]),
        confidence=float(1 - 2 * tails[cut]),
        n=sample.size,
        method=method,
        reason=None,
    )


_FEWEST_VALUES = 2


def _reason_without_interval(sample: FloatArray, clusters: int, error: float | None) -> str | None:
    if clusters == 0:
        return "no values"
    if error is None:
        return "one scenario: how scenarios differ cannot be estimated"
    return "the scenarios do not differ: zero variance" if is_negligible(error, sample) else None


def _codes(clusters: Sequence[Hashable], size: int) -> IntArray:
    if len(clusters) != size:
        raise BadSampleError(f"{size} values, but {len(clusters)} clusters; give one for each value")
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(each, len(numbers)) for each in clusters], dtype=np.int64)


def is_negligible(spread: float, values: FloatArray) -> bool:
    """Return whether a spread of these values is a matter of rounding."""
    return spread <= _ROUNDING * float(np.max(np.abs(values), initial=0.0))


_ROUNDING = 1e-12


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


def percentile_interval(drawn: FloatArray, confidence: float) -> tuple[float | None, float | None]:
    """Return the middle `confidence` of resampled statistics; `None` for a bound at infinity."""
    # Nearest-rank: interpolation between a number and infinity would be NaN.
    low, high = np.quantile(drawn, ((1 - confidence) / 2, (1 + confidence) / 2), method="inverted_cdf")
    return finite_or_none(float(low)), finite_or_none(float(high))
