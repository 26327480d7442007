"""From the scale of an analysis to the per cent and percentage points that people read."""

from dataclasses import dataclass
from math import exp, expm1, isfinite, log1p

from ghx_bench.profiler.stats.pairs import PairedSample
from ghx_bench.profiler.stats.records import Estimate, Scale, Unit

_AMOUNTS = ("tokens_", "latency_", "tool_calls_", "cost_", "agent_turns")


def is_amount(metric: str) -> bool:
    """Say whether a metric is one of the bench's own amounts: never below 0, and the less the better."""
    return metric.startswith(_AMOUNTS)


def is_neutral(metric: str) -> bool:
    """Say whether neither less nor more of a metric is better by itself: which tools were called, of all there are."""
    return metric.startswith("tool_calls_category_")


def within_bounds(metric: str, estimate: Estimate) -> Estimate:
    """Cut an interval off where a metric cannot be: amounts below 0, a rate of errors above 1."""
    low, high = estimate.low, estimate.high
    if low is not None and is_amount(metric) and (estimate.estimate or 0.0) >= 0:
        low = max(low, 0.0)
    if high is not None and metric.endswith("_error_rate") and is_amount(metric):
        high = min(high, 1.0)
    return estimate.model_copy(update={"low": low, "high": high})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a reduction on the scale of the analysis reads.

    Logs read as per cent of B's geometric mean. Raw values read as per cent of B's mean, which is taken as known; rates
    of success read as percentage points.
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
        """Return a reduction, or a bound of one, as people read it; `None` where there is no bound or no base."""
        if not (isfinite(reduction) and self.has_percent):
            return None
        if self.scale == "log":
            return -100 * expm1(-min(max(reduction, -_LARGEST_LOG), _LARGEST_LOG))
        if self.is_rate:
            return 100 * min(max(reduction, -1.0), 1.0)
        percent = 100 * reduction / self.center_b
        return min(percent, 100.0) if self.is_amount else percent

    def can_be(self, reduction: float) -> bool:
        """Say whether there can be a reduction as large as this one."""
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


def reading_of(sample: PairedSample, *, is_rate: bool, is_amount: bool = False) -> Reading:
    """Return how reductions of this sample read."""
    center_a, center_b = sample.centers
    return Reading(scale=sample.scale, is_rate=is_rate, center_a=center_a, center_b=center_b, is_amount=is_amount)
