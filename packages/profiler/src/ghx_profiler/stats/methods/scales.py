"""From the scale of an analysis to the per cent, percentage points and multiples that people read."""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, expm1, isfinite, log1p

from ghx_profiler.records.metric_table import METRICS
from ghx_profiler.stats.result_records import Estimate, Scale, Unit


def is_amount(metric: str) -> bool:
    """Return whether a metric is one of the bench's own amounts, which are never below 0."""
    entry = METRICS.find(metric)
    return entry is not None and entry.is_amount


def is_binary(metric: str) -> bool:
    """Return whether a metric is 0 or 1 in every row, so that it is compared as success is."""
    entry = METRICS.find(metric)
    return entry is not None and entry.is_binary


def within_bounds(metric: str, estimate: Estimate) -> Estimate:
    """Cut an interval off where a metric cannot be: amounts below 0, a rate of errors above 1."""
    low, high, entry = estimate.low, estimate.high, METRICS.find(metric)
    if low is not None and is_amount(metric) and (estimate.estimate or 0.0) >= 0:
        low = max(low, 0.0)
    if high is not None and entry is not None and entry.most is not None:
        high = min(high, entry.most)
    return estimate.model_copy(update={"low": low, "high": high})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReductionScale:
    """How a reduction on the scale of the analysis reads.

    Logs read as per cent of B's geometric mean. Raw values read as per cent of B's mean, which is taken as known; rates
    of 0/1 metrics, such as success, read as percentage points.
    """

    scale: Scale
    is_rate: bool
    center_a: float
    center_b: float
    is_amount: bool = False
    """Whether nothing can be below 0: then no reduction is above 100 per cent."""

    @property
    def unit(self) -> Unit:
        """The unit of reductions and their bounds."""
        return "percentage points" if self.is_rate else "percent"

    @property
    def has_percent(self) -> bool:
        """Whether there is something to take a percentage of."""
        return self.scale == "log" or self.is_rate or self.center_b > 0

    def percent(self, reduction: float) -> float | None:
        """Return a reduction, or a bound of one, as people read it; `None` without a bound or base."""
        if not (isfinite(reduction) and self.has_percent):
            return None
        if self.scale == "log":
            return -100 * expm1(-min(max(reduction, -_LARGEST_LOG), _LARGEST_LOG))
        if self.is_rate:
            return 100 * min(max(reduction, -1.0), 1.0)
        percent = 100 * reduction / self.center_b
        return min(percent, 100.0) if self.is_amount else percent

    def can_be(self, reduction: float) -> bool:
        """Return whether there can be a reduction as large as this one."""
        if self.is_rate:
            return reduction <= 1
        return self.scale == "log" or not self.is_amount or reduction <= self.center_b

    def natural(self, center: float) -> float:
        """Return a mean on the scale of the analysis in the metric's own unit."""
        return exp(min(center, _LARGEST_LOG)) if self.scale == "log" else center

    def margin(self, margin_pct: float) -> float | None:
        """Return the planned margin on the scale of the analysis; the same seen from A or from B.

        10 per cent means: neither mode needs more than 1.1 times the other. `None` where a mean is not above 0.
        """
        if self.scale == "log":
            return log1p(margin_pct / 100)
        base = 1.0 if self.is_rate else min(self.center_a, self.center_b)
        return margin_pct / 100 * base if base > 0 else None

    @property
    def base(self) -> float:
        """What per cent are taken of on the scale of the analysis."""
        return 1.0 if self.scale == "log" or self.is_rate else self.center_b


_LARGEST_LOG = 700.0
"""Beyond this a ratio does not fit a float."""


_LARGEST_FACTOR = 20
_ALL = 100
_SCALES = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_LARGEST_SPELLED = 1e15


def format_reduction(value: float, unit: Unit, *, points: str = "percentage points") -> str:
    """Return a reduction, or a bound of one: `12.3 %`, or `98 million times as much` if per cent are not meaningful."""
    if unit == "percentage points":
        return f"{value:z.1f} {points}"
    factor = _factor(value)
    if factor is not None:
        return f"{_count(factor)} times as much"
    return "> 99.9 %" if value < _ALL and f"{value:.1f}" == "100.0" else f"{value:z.1f} %"


def format_span(low: float, high: float, unit: Unit, *, falls: bool) -> str:
    """Return the bounds of a reduction as changes: `406.8 to 551.6 % higher`, `5.2 % higher to 33.0 % lower`.

    The direction is named once if both bounds have it, and the bound nearer to no change comes first. Otherwise
    the one that agrees with the sentence comes last: the lower one where the estimate `falls`.
    """
    if unit == "percent" and (most := _factor(low)) is not None:
        least = _factor(high)
        return f"{format_change(high, unit) if least is None else _count(least)} to {_count(most)} times as much"
    return _span(low, high, falls=falls, say=lambda value: format_reduction(value, unit))


def format_natural_span(metric: str, low: float, high: float, *, falls: bool) -> str:
    """Return the bounds of a reduction as changes in the metric's own unit."""
    return _span(low, high, falls=falls, say=lambda value: format_natural(metric, value))


def format_change(value: float, unit: Unit) -> str:
    """Return a change with its direction: `12.3 % lower`, `98 million times as much`."""
    if unit == "percent" and _factor(value) is not None:
        return format_reduction(value, unit)
    amount = format_reduction(abs(value), unit)
    return format_direction(value, amount)


def format_direction(value: float, amount: str) -> str:
    """Return an amount with the direction of the reduction; neither way where it rounds to nothing."""
    if not _is_reportable(amount):
        return f"{amount} different"
    return f"{amount} {'lower' if value > 0 else 'higher'}"


def format_natural(metric: str, value: float) -> str:
    """Return a value in the metric's own unit."""
    return f"{value:z.4g} {METRICS.unit(metric)}".rstrip()


def _span(low: float, high: float, *, falls: bool, say: Callable[[float], str]) -> str:
    """Put two bounds of a reduction into words, with one unit and one direction where they share it."""
    lower, upper = (bound if _is_reportable(say(abs(bound))) else 0.0 for bound in (low, high))
    if lower < 0 < upper:
        ends = (lower, upper) if falls else (upper, lower)
        return " to ".join(format_direction(bound, say(abs(bound))) for bound in ends)
    near, far = sorted((abs(lower), abs(upper)))
    number, _, unit = say(near).partition(" ")
    shares_unit = bool(unit) and say(far).endswith(f" {unit}")
    return f"{number if shares_unit else say(near)} to {format_direction(lower + upper, say(far))}"


def _is_reportable(amount: str) -> bool:
    """Return whether an amount did not round to nothing."""
    return any(digit in amount for digit in "123456789")


def _factor(reduction_pct: float) -> float | None:
    """Return the ratio of A to B if it is clearer than per cent."""
    factor = 1 - reduction_pct / _ALL
    return factor if factor >= _LARGEST_FACTOR else None


def _count(factor: float) -> str:
    if factor >= _LARGEST_SPELLED:
        return f"{factor:.2g}"
    for size, name in _SCALES:
        if factor >= size:
            return f"{factor / size:,.3g} {name}"
    return f"{factor:,.0f}"
