"""Intervals by resampling, vectorised: percentile and BCa, for one sample and for the reduction between two."""

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from ghx_profiler.stats.errors import BadSampleError
from ghx_profiler.stats.methods.arrays import FloatArray, Values, as_floats, finite_or_none, generator
from ghx_profiler.stats.methods.descriptive import is_negligible
from ghx_profiler.stats.methods.probability import normal_cdf, normal_quantile
from ghx_profiler.stats.result_records import Estimate

Method = Literal["bca", "percentile"]
Statistic = Callable[[FloatArray], FloatArray]
"""Reduces the last axis: one number for each row of a matrix of resamples."""

StatisticName = Literal["mean", "median"]

_CHUNK = 4_000_000
"""Numbers held at a time: 32 MB."""


def mean_of_rows(samples: FloatArray) -> FloatArray:
    """Return the mean along the last axis."""
    return np.asarray(samples.mean(axis=-1))


def median_of_rows(samples: FloatArray) -> FloatArray:
    """Return the median along the last axis; sorting short rows beats numpy's general median by half."""
    ordered = np.sort(samples, axis=-1)
    n = ordered.shape[-1]
    return np.asarray((ordered[..., (n - 1) // 2] + ordered[..., n // 2]) / 2)


_STATISTICS: dict[str, Statistic] = {"mean": mean_of_rows, "median": median_of_rows}


def bootstrap_ci(
    values: Values,
    *,
    statistic: StatisticName | Statistic = "median",
    method: Method = "bca",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Estimate:
    """Return a statistic with its bootstrap interval.

    Values are taken as independent: use it within one scenario, or on one number per scenario. BCa needs a statistic
    that changes when one value is left out; where it does not (medians with ties), the percentile interval is given
    and named.
    """
    # Sorted: the order of the values must not change what a seed draws.
    sample, name, reduce = np.sort(as_floats(values)), _name_of(statistic), _statistic(statistic)
    _check_options(method, confidence, resamples)
    estimate = float(reduce(sample)) if sample.size else None
    reason = _why_no_interval(sample)
    if estimate is None or reason is not None:
        return _without_interval(estimate, sample.size, confidence, f"bootstrap of the {name}", reason)
    drawn = resample(sample, reduce, resamples, generator(seed, "bootstrap", name))
    jackknifed = _jackknife(sample, reduce) if method == "bca" else None
    low, high, used = _interval(drawn, estimate, jackknifed, confidence)
    return Estimate(
        estimate=estimate,
        low=low,
        high=high,
        confidence=confidence,
        n=sample.size,
        method=f"{used} bootstrap of the {name}, {resamples} resamples",
        reason=None,
    )


def bootstrap_reduction_ci(
    a: Values,
    b: Values,
    *,
    statistic: StatisticName | Statistic = "median",
    method: Method = "percentile",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Estimate:
    """Return by how many per cent A is below B, with its interval; positive when A is lower.

    The samples are resample independently of each other: right for repetitions of one scenario. Pooling several
    scenarios here would hide the pairing; `compare_modes` is for that.
    """
    first, second, reduce = np.sort(as_floats(a)), np.sort(as_floats(b)), _statistic(statistic)
    _check_options(method, confidence, resamples)
    name, size = f"reduction of the {_name_of(statistic)}, per cent", first.size + second.size
    if not (first.size and second.size):
        return _without_interval(None, size, confidence, f"bootstrap of the {name}", "one side has no values")
    estimate = finite_or_none(float(_reduction_pct(reduce(first), reduce(second))))
    reason = _why_no_reduction(first, second, estimate)
    if estimate is None or reason is not None:
        return _without_interval(estimate, size, confidence, f"bootstrap of the {name}", reason)
    drawn = _reduction_pct(
        resample(first, reduce, resamples, generator(seed, "reduction", "a")),
        resample(second, reduce, resamples, generator(seed, "reduction", "b")),
    )
    jackknifed = _jackknife_reduction(first, second, reduce) if method == "bca" else None
    low, high, used = _interval(drawn, estimate, jackknifed, confidence)
    label = f"{used} bootstrap of the {name}, {resamples} resamples a side"
    return Estimate(estimate=estimate, low=low, high=high, confidence=confidence, n=size, method=label, reason=None)


_FEWEST = 2


def resample(sample: FloatArray, reduce: Statistic, resamples: int, rng: np.random.Generator) -> FloatArray:
    """Return the statistic of `resamples` resamples, holding a few million numbers at a time."""
    width = max(1, _CHUNK // sample.size)
    index_type = np.uint16 if sample.size <= np.iinfo(np.uint16).max else np.int64
    chunks = [min(width, resamples - start) for start in range(0, resamples, width)]
    return np.concatenate(
        [reduce(sample[rng.integers(0, sample.size, size=(rows, sample.size), dtype=index_type)]) for rows in chunks]
    )


def percentile_interval(drawn: FloatArray, confidence: float) -> tuple[float | None, float | None]:
    """Return the middle `confidence` of resample statistics; `None` for a bound at infinity."""
    # Nearest-rank: interpolation between a number and infinity would be NaN.
    low, high = np.quantile(drawn, ((1 - confidence) / 2, (1 + confidence) / 2), method="inverted_cdf")
    return finite_or_none(float(low)), finite_or_none(float(high))


def _interval(
    drawn: FloatArray, estimate: float, jackknifed: FloatArray | None, confidence: float
) -> tuple[float | None, float | None, str]:
    shares = None if jackknifed is None else _bca_shares(drawn, estimate, jackknifed, confidence)
    if shares is None:
        low, high = percentile_interval(drawn, confidence)
        return low, high, "percentile"
    low, high = np.quantile(drawn, np.array(shares))
    return finite_or_none(float(low)), finite_or_none(float(high)), "BCa"


def _bca_shares(
    drawn: FloatArray, estimate: float, jackknifed: FloatArray, confidence: float
) -> tuple[float, float] | None:
    """Return the shares BCa cuts at, or `None` where it is not defined."""
    # Ties count half: a discrete statistic must not look biased.
    below = (np.count_nonzero(drawn < estimate) + np.count_nonzero(drawn == estimate) / 2) / drawn.size
    deviations = np.mean(jackknifed) - jackknifed
    if not (0 < below < 1 and np.all(np.isfinite(drawn)) and np.all(np.isfinite(jackknifed))):
        return None
    if is_negligible(float(np.ptp(jackknifed)), jackknifed):
        return None
    bias = normal_quantile(below)
    acceleration = float(np.sum(deviations**3) / (6 * np.sum(deviations**2) ** 1.5))
    shares: list[float] = []
    for tail in ((1 - confidence) / 2, (1 + confidence) / 2):
        z = bias + normal_quantile(tail)
        if acceleration * z >= 1:
            return None
        shares.append(normal_cdf(bias + z / (1 - acceleration * z)))
    return shares[0], shares[1]


def _jackknife(sample: FloatArray, reduce: Statistic) -> FloatArray:
    """Return the statistic with each value left out; all at once while that fits, else a row at a time."""
    n = sample.size
    if n * n <= _CHUNK:
        rest = np.broadcast_to(sample, (n, n))[~np.eye(n, dtype=bool)].reshape(n, n - 1)
        return reduce(rest)
    return np.array([float(reduce(np.delete(sample, leave))) for leave in range(n)])


def _jackknife_reduction(first: FloatArray, second: FloatArray, reduce: Statistic) -> FloatArray:
    return np.concatenate(
        [
            _reduction_pct(_jackknife(first, reduce), reduce(second)),
            _reduction_pct(reduce(first), _jackknife(second, reduce)),
        ]
    )


def _reduction_pct(a: FloatArray, b: FloatArray) -> FloatArray:
    a, b = np.broadcast_arrays(np.asarray(a), np.asarray(b))
    reduction = np.full(a.shape, -np.inf)
    np.divide(100 * (b - a), b, out=reduction, where=b > 0)
    return reduction


def _why_no_interval(sample: FloatArray) -> str | None:
    if sample.size < _FEWEST:
        return "one value" if sample.size else "no values"
    return "all values are the same: zero variance" if _is_flat(sample) else None


def _why_no_reduction(first: FloatArray, second: FloatArray, estimate: float | None) -> str | None:
    if estimate is None:
        return "B is not above 0: no percentage of it exists"
    if min(first.size, second.size) < _FEWEST:
        return "one side has a single value"
    return "neither side varies: zero variance" if _is_flat(first) and _is_flat(second) else None


def _is_flat(sample: FloatArray) -> bool:
    return is_negligible(float(np.ptp(sample)), sample)


def _without_interval(estimate: float | None, n: int, confidence: float, method: str, reason: str | None) -> Estimate:
    return Estimate(estimate=estimate, low=None, high=None, confidence=confidence, n=n, method=method, reason=reason)


def _statistic(statistic: StatisticName | Statistic) -> Statistic:
    if callable(statistic):
        return statistic
    if statistic not in _STATISTICS:
        raise BadSampleError(f"no statistic {statistic!r}; known: {', '.join(_STATISTICS)}, or any function")
    return _STATISTICS[statistic]


def _name_of(statistic: StatisticName | Statistic) -> str:
    return getattr(statistic, "__name__", "statistic") if callable(statistic) else statistic


def _check_options(method: Method, confidence: float, resamples: int) -> None:
    if method not in get_args(Method):
        raise BadSampleError(f"no bootstrap method {method!r}; known: {', '.join(get_args(Method))}")
    if not 0 < confidence < 1:
        raise BadSampleError(f"confidence is between 0 and 1, got {confidence}")
    if resamples < 1:
        raise BadSampleError(f"at least one resample is needed, got {resamples}")
