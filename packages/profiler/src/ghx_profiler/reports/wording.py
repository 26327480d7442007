"""Numbers as people read them: with their unit, and the word unknown where nothing is known."""

from collections.abc import Mapping, Sequence

from ghx_base.problems import plural
from ghx_profiler.records.metric_table import UNKNOWN
from ghx_profiler.records.tool_use import ToolUse
from ghx_profiler.stats.methods.scales import format_reduction
from ghx_profiler.stats.plan import Target
from ghx_profiler.stats.result_records import FAMILY_NAMES, Estimate, ModeComparison, SuccessRate, Unit


def amount(value: float | None, unit: str) -> str:
    """Return a value with its unit."""
    if value is None:
        return UNKNOWN
    match unit:
        case "ms":
            return _duration(value)
        case "USD":
            text = f"${abs(value):,.4f}"
            return f"-{text}" if value < 0 and text != "$0.0000" else text
        case _:
            return f"{_plain(value)} {unit}".rstrip()


def _duration(milliseconds: float) -> str:
    """Return a time in a readable unit."""
    if abs(milliseconds) < _SECOND:
        return f"{milliseconds:z,.0f} ms"
    seconds = milliseconds / _SECOND
    return f"{_plain(seconds)} s" if abs(seconds) < _LONG else f"{_plain(seconds / 60)} min"


_SECOND = 1000
_LONG = 600
"""From this many seconds on, times are in minutes."""


def ratio(value: float) -> str:
    """Return how many times as much."""
    return f"{TIMES}{value:,.0f}" if value >= _LARGEST_PRECISE else f"{TIMES}{value:.2f}"


TIMES = "\N{MULTIPLICATION SIGN}"
_LARGEST_PRECISE = 10


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


def describe_purity(use: ToolUse) -> str:
    """Return the purity of a session, with what went past the mode's tools."""
    if use.purity is None:
        return "no requests but neutral ones" if use.neutral else "no requests"
    past = ", ".join(f"{tool} ({count:,})" for tool, count in use.foreign.items())
    used = "" if use.own else "; the mode's tools made none"
    return percent(use.purity) + (f", past the mode's tools: {past}{used}" if past else "")


def confidence_of(value: float) -> str:
    """Return a confidence in per cent, with as many digits as it needs."""
    return f"{100 * value:.3g} %"


def bounds(low: float | None, high: float | None, unit: str) -> str:
    """Return an interval; a missing bound is an open end."""
    if low is None and high is None:
        return "no interval"
    return f"{'?' if low is None else amount(low, unit)} to {'?' if high is None else amount(high, unit)}"


def rate(success: SuccessRate) -> str:
    """Return how many of how many, and the interval of the rate."""
    if success.rate is None:
        return f"{success.k}/{success.n}"
    return f"{success.k}/{success.n} ({percent(success.low)} to {percent(success.high)})"


def estimate(value: Estimate, unit: str) -> str:
    """Return an estimate with its interval, its n, or the reason why something is missing."""
    if value.estimate is None:
        return f"{UNKNOWN}: {value.reason or 'no rows'}"
    interval = value.reason if value.low is None and value.high is None else bounds(value.low, value.high, unit)
    return f"{amount(value.estimate, unit)} ({interval}; n {value.n})"


def change(reduction: float | None, unit: Unit) -> str:
    """Return a reduction as a change: `-12.3 %` is less; as a multiple if per cent are not meaningful."""
    if reduction is None:
        return UNKNOWN
    words = format_reduction(abs(reduction) if reduction > 0 or unit != "percent" else reduction, unit, points="points")
    return words if words.endswith("times as much") else signed(-reduction, words.removeprefix("-"))


def signed(value: float, words: str) -> str:
    """Return an amount in words with the sign of its value; without one where it is nothing."""
    if not any(digit in words for digit in "123456789"):
        return words
    return f"{'+' if value > 0 else '-'}{words}"


def p_value(p: float | None) -> str:
    """Return a p-value; none is ever 0."""
    if p is None:
        return "not estimable"
    return f"{p:.2g}" if p >= _SMALLEST else f"< {_SMALLEST}"


_SMALLEST = 0.0001


def counts(causes: Mapping[str, int]) -> str:
    """Return counts by cause in one phrase."""
    return ", ".join(f"{count} {cause.replace('_', ' ')}" for cause, count in sorted(causes.items()))


def other_target(target: Target) -> Target:
    """Return the target that the plan did not choose."""
    return "population" if target == "suite" else "suite"


def describe_family(comparisons: Sequence[ModeComparison]) -> str:
    """Return which tests were adjusted together: one that left makes the rest easier to show."""
    first = comparisons[0]
    size, planned = first.family_size, first.family_planned
    silent = size - sum(each.p is not None for each in comparisons)
    name = FAMILY_NAMES[first.adjustment]
    members = f" ({silent} without a p-value, counted as p = 1)" if silent else ""
    if size == planned:
        return f"{name} over {plural(planned, 'test')}{members}."
    return f"{name} over {size} of {plural(planned, 'test')}{members}; {planned - size} could not be estimated."


MOST_NAMES = 4
"""The longest list of names."""


def join_names(names: Sequence[str]) -> str:
    """Return a list of names in prose; of many, some and the number of the rest."""
    if len(names) > MOST_NAMES:
        return f"{', '.join(names[: MOST_NAMES - 1])} and {len(names) - MOST_NAMES + 1} others"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""


def format_short(value: float) -> str:
    """Return a percentage with a sensible number of digits."""
    return f"{value:,.0f}" if abs(value) >= _SPOKEN_WHOLE else f"{value:.1f}".removesuffix(".0")


_SPOKEN_WHOLE = 9.95


def format_change(value: float) -> str:
    """Return it with its sign, also where it is more."""
    magnitude = format_short(abs(value))
    return "0" if magnitude == "0" else f"{'+' if value > 0 else '-'}{magnitude}"
