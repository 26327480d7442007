"""Reductions in words that can be read at any size: per cent up to a factor of twenty, multiples beyond."""

from collections.abc import Callable

from ghx_bench.profiler.stats.records import Unit

_LARGEST_FACTOR = 20
_ALL = 100
_SCALES = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_LARGEST_SPELLED = 1e15


def reduction_words(value: float, unit: Unit, *, points: str = "percentage points") -> str:
    """Return a reduction, or a bound of one: `12.3 %`, or `98 million times as much` where per cent say nothing."""
    if unit == "percentage points":
        return f"{value:z.1f} {points}"
    factor = _factor(value)
    if factor is not None:
        return f"{_count(factor)} times as much"
    return "> 99.9 %" if value < _ALL and f"{value:.1f}" == "100.0" else f"{value:z.1f} %"


def interval_words(low: float, high: float, unit: Unit) -> str:
    """Return two bounds with one unit behind them where they have the same."""
    factors = [_factor(bound) if unit == "percent" else None for bound in (low, high)]
    match factors:
        case [float() as most, float() as least]:
            return f"{_count(most)} to {_count(least)} times as much"
        case [float(), None]:
            return f"{reduction_words(low, unit)} to {reduction_words(high, unit)}"
        case _:
            return f"{low:z.1f} to {reduction_words(high, unit)}"


def span_words(low: float, high: float, unit: Unit, *, falls: bool) -> str:
    """Return the bounds of a reduction as changes: `406.8 to 551.6 % higher`, `5.2 % higher to 33.0 % lower`.

    The direction is told once where both bounds have it, and the bound nearer to no change comes first. Otherwise
    the one that agrees with the sentence comes last: the lower one where the estimate `falls`.
    """
    if unit == "percent" and (most := _factor(low)) is not None:
        least = _factor(high)
        return f"{change_words(high, unit) if least is None else _count(least)} to {_count(most)} times as much"
    return _span(low, high, falls=falls, say=lambda value: reduction_words(value, unit))


def natural_span_words(metric: str, low: float, high: float, *, falls: bool) -> str:
    """Return the bounds of a reduction as changes in the metric's own unit."""
    return _span(low, high, falls=falls, say=lambda value: natural_words(metric, value))


def change_words(value: float, unit: Unit) -> str:
    """Return a change with its direction: `12.3 % lower`, `98 million times as much`."""
    if unit == "percent" and _factor(value) is not None:
        return reduction_words(value, unit)
    amount = reduction_words(abs(value), unit)
    return direction_words(value, amount)


def direction_words(value: float, amount: str) -> str:
    """Return an amount with the direction of the reduction; neither way where it rounds to nothing."""
    if not _is_told(amount):
        return f"{amount} different"
    return f"{amount} {'lower' if value > 0 else 'higher'}"


def natural_words(metric: str, value: float) -> str:
    """Return a value in the metric's own unit."""
    unit = " ms" if metric.endswith("_ms") else " USD" if metric.endswith("_usd") else ""
    return f"{value:z.4g}{unit}"


def _span(low: float, high: float, *, falls: bool, say: Callable[[float], str]) -> str:
    """Put two bounds of a reduction into words, with one unit and one direction where they share it."""
    lower, upper = (bound if _is_told(say(abs(bound))) else 0.0 for bound in (low, high))
    if lower < 0 < upper:
        ends = (lower, upper) if falls else (upper, lower)
        return " to ".join(direction_words(bound, say(abs(bound))) for bound in ends)
    near, far = sorted((abs(lower), abs(upper)))
    number, _, unit = say(near).partition(" ")
    shares_unit = bool(unit) and say(far).endswith(f" {unit}")
    return f"{number if shares_unit else say(near)} to {direction_words(lower + upper, say(far))}"


def _is_told(amount: str) -> bool:
    """Say whether an amount did not round to nothing."""
    return any(digit in amount for digit in "123456789")


def _factor(reduction_pct: float) -> float | None:
    """Return how many times as much A is, where that says more than per cent."""
    factor = 1 - reduction_pct / _ALL
    return factor if factor >= _LARGEST_FACTOR else None


def _count(factor: float) -> str:
    if factor >= _LARGEST_SPELLED:
        return f"{factor:.2g}"
    for size, name in _SCALES:
        if factor >= size:
            return f"{factor / size:,.3g} {name}"
    return f"{factor:,.0f}"
