"""Success rates, and how reliably a mode succeeds: Wilson intervals, pass@k and pass^k."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import comb

import numpy as np

from ghx_profiler.scenario import scenario_of
from ghx_profiler.stats.errors import BadSampleError, TooFewRepetitionsError
from ghx_profiler.stats.methods.arrays import FloatArray, IntArray, generator
from ghx_profiler.stats.methods.curves import reason_without_population
from ghx_profiler.stats.methods.descriptive import clustered_standard_error, percentile_interval
from ghx_profiler.stats.methods.probability import normal_quantile, t_quantile
from ghx_profiler.stats.plan import Target
from ghx_profiler.stats.result_records import Estimate, PassPoint
from ghx_profiler.stats.strata import Strata, strata_of

Counts = Mapping[str, tuple[int, int]]
"""Successes and repetitions of each scenario by id; what has the id of a variant is a stratum of its scenario."""

_FEWEST_SCENARIOS = 2
_FEWEST_RESAMPLES = 499
_WORK = 200_000


def wilson_interval(successes: int, n: int, *, confidence: float = 0.95) -> Estimate:
    """Return the share of successes with Wilson's interval, which stays honest at 0 % and 100 %."""
    _check_count(successes, n)
    if n == 0:
        return _unknown(confidence, "Wilson", "no rows")
    low, high = wilson_bounds(successes / n, n, normal_quantile((1 + confidence) / 2))
    return Estimate(
        estimate=successes / n, low=low, high=high, confidence=confidence, n=n, method="Wilson", reason=None
    )


def clustered_wilson_interval(counts: Counts, *, confidence: float = 0.95) -> Estimate:
    """Return the share of successes with Wilson's interval for scenarios as the sample.

    Repetitions that agree within a scenario are worth less than their number: n becomes the number of independent
    rows that would be as certain. If all rows agree, each scenario counts once.
    """
    method = "Wilson, effective n clustered by scenario, t"
    for successes, repetitions in counts.values():
        _check_count(successes, repetitions)
    counts = _by_scenario(counts)
    n, clusters = sum(repetitions for _, repetitions in counts.values()), len(counts)
    if n == 0:
        return _unknown(confidence, method, "no rows")
    rate = sum(successes for successes, _ in counts.values()) / n
    if clusters < _FEWEST_SCENARIOS:
        reason = "one scenario: how scenarios differ cannot be estimated"
        return Estimate(estimate=rate, low=None, high=None, confidence=confidence, n=n, method=method, reason=reason)
    size = _effective_size(counts, rate, n)
    low, high = wilson_bounds(rate, size, t_quantile((1 + confidence) / 2, clusters - 1))
    return Estimate(estimate=rate, low=low, high=high, confidence=confidence, n=n, method=method, reason=None)


def wilson_bounds(rate: float, n: float, quantile: float) -> tuple[float, float]:
    """Return the rates that would not be surprised by this one."""
    square = quantile**2
    center = (rate + square / (2 * n)) / (1 + square / n)
    reach = quantile / (1 + square / n) * np.sqrt(rate * (1 - rate) / n + square / (4 * n**2))
    # At the ends the arithmetic is exact on paper and off by a rounding error here.
    low = 0.0 if rate == 0 else max(0.0, float(center - reach))
    high = 1.0 if rate == 1 else min(1.0, float(center + reach))
    return low, high


def pass_at_k(n: int, successes: int, k: int) -> float:
    """Return the chance that at least one of `k` repetitions succeeds, without bias, from `successes` of `n`."""
    _check_k(n, successes, k)
    return 1 - comb(n - successes, k) / comb(n, k)


def pass_hat_k(n: int, successes: int, k: int) -> float:
    """Return the chance that all of `k` repetitions succeed (pass^k), without bias, from `successes` of `n`."""
    _check_k(n, successes, k)
    return comb(successes, k) / comb(n, k)


def pass_curve(
    counts: Counts,
    *,
    target: Target = "suite",
    confidence: float = 0.95,
    resamples: int = 9_999,
    seed: int = 0,
    largest_k: int = 20,
) -> tuple[PassPoint, ...]:
    """Return pass@k and pass^k, averaged over scenarios, for every k that all scenarios have repetitions for.

    Of a scenario with variants it is the average over these: k repetitions are k of the same variant.

    Intervals resample repetitions within scenarios and, if the target is the population, scenarios first. At 0 % and
    100 % resamples hardly vary, if at all; there the interval goes as far as Wilson's of the rate of success allows,
    each scenario with the same weight, however many rows its variants have.
    """
    pairs = np.array([counts[name] for name in sorted(counts)], dtype=np.int64).reshape(-1, 2)
    observed = _Counted(strata_of(sorted(counts)), pairs[:, 0], pairs[:, 1])
    if not counts or observed.repetitions.min() < 1:
        return ()
    resamples = int(np.clip(_WORK // len(counts), min(_FEWEST_RESAMPLES, resamples), resamples))
    resampled = _resample(observed, target, resamples, generator(seed, "pass", target, *sorted(counts)))
    refusal = reason_without_population(len(observed.strata.forms)) if target == "population" else None
    options = _Options(confidence=confidence, refusal=refusal, rates=_rates(counts, observed, target, confidence))
    return tuple(
        PassPoint(
            k=k,
            pass_at_k=_curve_point(_PASS_AT_K, k, observed, resampled, options),
            pass_hat_k=_curve_point(_PASS_HAT_K, k, observed, resampled, options),
        )
        for k in range(1, min(int(observed.repetitions.min()), largest_k) + 1)
    )


@dataclass(frozen=True, slots=True)
class _Measure:
    """An unbiased estimate for every count of successes up to `n`, and what it estimates, from the rate."""

    by_count: Callable[[int, int], FloatArray]
    from_rate: Callable[[float, int], float]


def _all_drawn(n: int, k: int) -> FloatArray:
    """Return the chance that k draws from n hit only marked ones, for 0, 1, ... n marked ones."""
    marked, step = np.arange(n + 1)[:, None], np.arange(k)
    return np.prod(np.maximum(marked - step, 0) / (n - step), axis=1)


_PASS_AT_K = _Measure(lambda n, k: 1 - _all_drawn(n, k)[::-1], lambda rate, k: 1 - (1 - rate) ** k)
_PASS_HAT_K = _Measure(_all_drawn, lambda rate, k: rate**k)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    confidence: float
    refusal: str | None
    rates: "_Rates"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rates:
    """The rates of success that are not ruled out, and how freely they may differ between scenarios."""

    low: float
    high: float
    target: Target
    shares: FloatArray
    """What the first m forms weigh together, those with most weight for their rows before the others."""
    rows: FloatArray
    """How many of all rows are of the first m forms, as a share."""

    def most_from_few(self, measure: _Measure, rate: float, k: int) -> float:
        """Return the largest mean over scenarios that is as likely as `rate` everywhere, if no row had this outcome.

        This happens if few scenarios cause the whole effect. Of tasks like these, some may always succeed and the
        others never. Of these scenarios, how unevenly is limited by rows that all agree: m forms can have as much as is
        as likely as the same rate everywhere. Those with few rows for their weight leave most room: nine variants of
        one scenario are no evidence about another.
        """
        if self.target == "population":
            return rate if measure is _PASS_HAT_K else measure.from_rate(rate, k)
        return max(
            share * measure.from_rate(1 - (1 - rate) ** (1 / rows), k)
            for share, rows in zip(self.shares.tolist(), self.rows.tolist(), strict=True)
        )


def _rates(counts: Counts, observed: "_Counted", target: Target, confidence: float) -> _Rates:
    weights = np.zeros(len(counts))
    np.add.at(weights, observed.strata.forms, observed.strata.weights / len(observed.strata.forms))
    rows = observed.repetitions
    if observed.successes.sum() in {0, rows.sum()}:
        interval = wilson_interval(int(observed.successes.sum()), int(rows.sum()), confidence=confidence)
        low, high = interval.low, interval.high
    else:
        # As many rows as would be as certain if each counted the same (Kish).
        size = 1 / float((weights**2 / rows).sum())
        rate = float((weights * observed.successes / rows).sum())
        low, high = wilson_bounds(rate, size, normal_quantile((1 + confidence) / 2))
    if target == "population" and len(observed.strata.forms) >= _FEWEST_SCENARIOS:
        interval = clustered_wilson_interval(counts, confidence=confidence)
        low, high = interval.low, interval.high
    order = np.argsort(-weights / rows, kind="stable")
    return _Rates(
        low=0.0 if low is None else low,
        high=1.0 if high is None else high,
        target=target,
        shares=np.cumsum(weights[order]),
        rows=np.cumsum(rows[order]) / rows.sum(),
    )


@dataclass(frozen=True, slots=True)
class _Counted:
    """Successes and repetitions of each form, and which forms are of one scenario."""

    strata: Strata
    successes: IntArray
    repetitions: IntArray


@dataclass(frozen=True, slots=True)
class _Resampled:
    """For each resample a line of scenarios, each with its forms and their successes."""

    forms: IntArray
    weights: FloatArray
    successes: IntArray


def _resample(observed: _Counted, target: Target, resamples: int, rng: np.random.Generator) -> _Resampled:
    """Draw repetitions of each form; for the population, scenarios before that, each with all its forms."""
    strata, count = observed.strata, len(observed.strata.forms)
    scenarios = np.broadcast_to(np.arange(count), (resamples, count))
    if target == "population":
        scenarios = rng.integers(0, count, size=(resamples, count))
    forms = strata.forms[scenarios]
    repetitions = observed.repetitions[forms]
    # A few repetitions that all agree do not prove a rate of 0 or 1: half a success and half a failure are added.
    rates = (observed.successes[forms] + 0.5) / (repetitions + 1)
    return _Resampled(forms, strata.weights[scenarios], rng.binomial(repetitions, rates))


def _curve_point(measure: _Measure, k: int, observed: _Counted, resampled: _Resampled, options: _Options) -> Estimate:
    table, line_of = _table(measure, k, observed.repetitions)
    estimate = float(np.mean(observed.strata.average(table[line_of, observed.successes])))
    low = high = None
    method = "unbiased, mean over scenarios"
    if options.refusal is None and observed.repetitions.size == 1:
        successes, n = int(observed.successes[0]), int(observed.repetitions[0])
        rates = wilson_bounds(successes / n, n, normal_quantile((1 + options.confidence) / 2))
        low, high = (measure.from_rate(rate, k) for rate in rates)
        method = "unbiased; Wilson's interval of the rate, to the power of k"
    elif options.refusal is None:
        values = table[line_of[resampled.forms], resampled.successes]
        resampled_means: FloatArray = (values * resampled.weights).sum(axis=-1).mean(axis=-1)
        # Where the resamples are centred is known to be biased: only their spread is used.
        centred = np.clip(resampled_means - float(np.mean(resampled_means)) + estimate, 0.0, 1.0)
        low, high = percentile_interval(centred, options.confidence)
        method = f"unbiased, mean over scenarios; bootstrap, {resampled_means.size} resamples"
        if estimate in {0.0, 1.0}:
            low, high = _at_an_end(measure, k, options.rates, (low, high))
            method += ", and Wilson's interval of the rate at 0 % and 100 %"
    return Estimate(
        estimate=estimate,
        low=None if low is None else min(low, estimate),
        high=None if high is None else max(high, estimate),
        confidence=options.confidence,
        n=int(observed.repetitions.sum()),
        method=method,
        reason=options.refusal,
    )


def _at_an_end(
    measure: _Measure, k: int, rates: _Rates, resampled: tuple[float | None, float | None]
) -> tuple[float, float]:
    """Widen an interval at 0 % or 100 % to what the rates that are not ruled out would give."""
    low, high = measure.from_rate(rates.low, k), measure.from_rate(rates.high, k)
    if rates.low == 0:
        high = rates.most_from_few(measure, rates.high, k)
    elif rates.high == 1:
        # All succeed unless one fails: of failures, pass^k is what pass@k is of successes.
        opposite = _PASS_HAT_K if measure is _PASS_AT_K else _PASS_AT_K
        low = 1 - rates.most_from_few(opposite, 1 - rates.low, k)
    drawn_low, drawn_high = resampled
    return min(low, 1.0 if drawn_low is None else drawn_low), max(high, drawn_high or 0.0)


def _table(measure: _Measure, k: int, repetitions: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the estimate for every count of successes, one line for each number of repetitions."""
    sizes = np.unique(repetitions)
    table = np.zeros((sizes.size, int(sizes[-1]) + 1))
    for line, size in enumerate(sizes.tolist()):
        table[line, : size + 1] = measure.by_count(size, k)
    return table, np.searchsorted(sizes, repetitions)


def _by_scenario(counts: Counts) -> Counts:
    """Return the counts with those of a scenario's variants in one: they are not independent evidence."""
    by_scenario: dict[str, tuple[int, int]] = {}
    for name, (successes, repetitions) in counts.items():
        before = by_scenario.get(scenario_of(name), (0, 0))
        by_scenario[scenario_of(name)] = before[0] + successes, before[1] + repetitions
    return by_scenario


def _effective_size(counts: Counts, rate: float, n: int) -> float:
    if rate in (0, 1):
        return len(counts)
    values = np.concatenate([np.repeat([1.0, 0.0], [k, size - k]) for k, size in counts.values()])
    clusters = np.repeat(np.arange(len(counts)), [size for _, size in counts.values()])
    error = clustered_standard_error(values, clusters.tolist())
    return n if not error else min(float(n), rate * (1 - rate) / error**2)


def _check_count(successes: int, n: int) -> None:
    if not 0 <= successes <= n:
        raise BadSampleError(f"successes are between 0 and n, got {successes} of {n}")


def _check_k(n: int, successes: int, k: int) -> None:
    _check_count(successes, n)
    if k < 1:
        raise BadSampleError(f"k is at least 1, got {k}")
    if n < k:
        raise TooFewRepetitionsError(f"k = {k} needs at least {k} repetitions of every scenario, got {n}")


def _unknown(confidence: float, method: str, reason: str) -> Estimate:
    return Estimate(estimate=None, low=None, high=None, confidence=confidence, n=0, method=method, reason=reason)
