"""Short ways to write findings, with every key on the wire."""

from collections import Counter
from collections.abc import Iterable, Mapping

from ghx_profiler.records.analysis import (
    AnalysisResult,
    Finding,
    ListFinding,
    NumberFinding,
    RatioFinding,
    StringFinding,
    TableFinding,
)

UNKNOWN = "unknown"
"""In a table, what is not known."""


def number(value: float | None, unit: str) -> NumberFinding:
    """Return a quantity."""
    return NumberFinding(value=value, unit=unit)


def ratio(part: float | None, whole: float | None, label: str) -> RatioFinding:
    """Return a share; `None` if the whole is zero or unknown."""
    return RatioFinding(value=None if part is None or not whole else part / whole, label=label)


def word(value: str | None) -> StringFinding:
    """Return a word."""
    return StringFinding(value=value)


def listed(values: Iterable[str]) -> ListFinding:
    """Return several words or sentences."""
    return ListFinding(values=tuple(values))


def table(headers: tuple[str, ...], rows: Iterable[Iterable[object]]) -> TableFinding:
    """Return rows under headers."""
    return TableFinding(headers=headers, rows=tuple(tuple(map(str, row)) for row in rows))


def counted(headers: tuple[str, ...], values: Iterable[str]) -> TableFinding:
    """Return how often each value occurs, the first that occurs first."""
    return table(headers, Counter(values).items())


def result(analyzer: str, findings: Mapping[str, Finding], summary: str) -> AnalysisResult:
    """Return what an analyzer found."""
    return AnalysisResult(analyzer=analyzer, findings=dict(findings), summary=summary).with_all_keys()


def or_unknown(value: float | None) -> str:
    """Return a quantity for a summary."""
    return UNKNOWN if value is None else f"{value:g}"
