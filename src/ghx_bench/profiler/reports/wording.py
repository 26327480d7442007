"""Numbers as people read them: with their unit, and the word unknown where nothing is known."""

from collections.abc import Mapping

from ghx_bench.profiler.stats.records import Estimate, SuccessRate, Unit
from ghx_bench.profiler.stats.scales import reduction_words

UNKNOWN = "unknown"

_NAMES = {
    "success": "success",
    "tokens_active": "active tokens",
    "tokens_total": "total tokens",
    "latency_wall_ms": "wall time",
    "cost_total_usd": "cost",
    "tool_calls_total": "tool calls",
    "agent_turns": "turns",
}


def metric_name(metric: str) -> str:
    """Return the name of a metric for people."""
    return _NAMES.get(metric, metric)


def amount(metric: str, value: float | None) -> str:
    """Return a value of a metric with its unit."""
    if value is None:
        return UNKNOWN
    if metric.endswith("_ms"):
        return f"{value:z,.0f} ms"
    if metric.endswith("_usd"):
        text = f"${abs(value):,.4f}"
        return f"-{text}" if value < 0 and text != "$0.0000" else text
    return _plain(value)


def _plain(value: float) -> str:
    if abs(value) >= _LARGE:
        return f"{value:,.0f}"
    if abs(value) < _TINY:
        return "0"
    return f"{value:.3g}" if value != int(value) else f"{value:,.0f}"


_LARGE = 1000
_TINY = 1e-12
"""Below this a number is what rounding left of 0."""


def percent(share: float | None) -> str:
    """Return a share of 1 in per cent; 0 and 100 only where it is exactly that."""
    if share is None:
        return UNKNOWN
    if share > 0 and f"{100 * share:.0f}" == "0":
        return "< 1 %"
    return "> 99 %" if share < 1 and f"{100 * share:.0f}" == "100" else f"{100 * share:z.0f} %"


def confidence_of(value: float) -> str:
    """Return a confidence in per cent, with as many digits as it needs."""
    return f"{100 * value:.3g} %"


def bounds(metric: str, low: float | None, high: float | None) -> str:
    """Return an interval; a missing bound is an open end."""
    if low is None and high is None:
        return "no interval"
    return f"{'?' if low is None else amount(metric, low)} to {'?' if high is None else amount(metric, high)}"


def rate(success: SuccessRate) -> str:
    """Return how many of how many, and the interval of the rate."""
    if success.rate is None:
        return f"{success.k}/{success.n}"
    return f"{success.k}/{success.n} ({percent(success.low)} to {percent(success.high)})"


def estimate(metric: str, value: Estimate) -> str:
    """Return an estimate with its interval, its n, or the reason why something is missing."""
    if value.estimate is None:
        return f"{UNKNOWN}: {value.reason or 'no rows'}"
    interval = value.reason if value.low is None and value.high is None else bounds(metric, value.low, value.high)
    return f"{amount(metric, value.estimate)} ({interval}; n {value.n})"


def reduction(value: float | None, unit: Unit) -> str:
    """Return a reduction in per cent or percentage points; as a multiple where per cent say nothing."""
    return UNKNOWN if value is None else reduction_words(value, unit, points="pp")


def p_value(p: float | None) -> str:
    """Return a p-value; none is ever 0."""
    if p is None:
        return "not estimable"
    return f"{p:.2g}" if p >= _SMALLEST else f"< {_SMALLEST}"


_SMALLEST = 0.0001


def counts(causes: Mapping[str, int]) -> str:
    """Return counts by cause in one phrase."""
    return ", ".join(f"{count} {cause.replace('_', ' ')}" for cause, count in sorted(causes.items()))
