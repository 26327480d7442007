"""One difference in the cells of a table: per cent where there are any, else the metric's own unit."""

from ghx_bench.profiler.reports.wording import amount, bounds, confidence_of, reduction
from ghx_bench.profiler.stats.records import PairedAnalysis, TargetResult, Unit
from ghx_bench.profiler.stats.scales import interval_words, reduction_words

_NOT_ESTIMABLE = "not estimable"


def reduction_of(metric: str, result: TargetResult, unit: Unit) -> str:
    """Return the reduction."""
    if result.reduction_pct is None and result.raw is not None:
        return amount(metric, result.raw.reduction)
    return reduction(result.reduction_pct, unit)


def interval_of(metric: str, result: TargetResult, unit: Unit) -> str:
    """Return the interval of the reduction; open ends are marked, and none at all is said."""
    if result.verdict == _NOT_ESTIMABLE:
        return _NOT_ESTIMABLE
    confidence = confidence_of(result.confidence)
    if result.reduction_pct is None and result.raw is not None:
        low, high = result.raw.low, result.raw.high
        return f"{bounds(metric, low, high) if (low, high) != (None, None) else 'without bounds'} ({confidence})"
    if result.low is None and result.high is None:
        return f"without bounds ({confidence})"
    if result.low is None or result.high is None:
        return f"{_side(result.low, unit)} to {_side(result.high, unit)} ({confidence})"
    return f"{_without_unit(interval_words(result.low, result.high, unit))} ({confidence})"


def _side(bound: float | None, unit: Unit) -> str:
    return "?" if bound is None else _without_unit(reduction_words(bound, unit))


def _without_unit(words: str) -> str:
    """Leave out the unit that the column beside it has; a multiple has to be told as one."""
    return words.removesuffix(" %").removesuffix(" percentage points")


def smallest_effect_of(metric: str, result: TargetResult, unit: Unit) -> str:
    """Return the smallest effect that the sample could have shown, or why there is none."""
    if result.mde is not None:
        return reduction(result.mde, unit)
    if result.raw is not None and result.raw.mde is not None:
        smallest = amount(metric, result.raw.mde)
        return smallest if result.reason is None else f"an increase of {smallest}; nothing can be lower than 0"
    return _NOT_ESTIMABLE if result.verdict == _NOT_ESTIMABLE else result.reason or "cannot be told"


def hedges_g_of(analysis: PairedAnalysis) -> str:
    """Return the standardised effect, or why there is none."""
    g, variance = analysis.effect_sizes.hedges_g, analysis.variance
    if g is not None:
        return f"{g:z.2f}"
    has_repetitions = variance.within_a is not None or variance.within_b is not None
    return "no repetition varies" if has_repetitions else "no repetitions"
