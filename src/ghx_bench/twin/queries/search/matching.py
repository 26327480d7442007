"""How a query's values are matched: words in texts, and comparisons (`>=10`, `1..5`, `*..2026-01-01`, `@today-7d`)."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from ghx_bench.twin.queries.search.grammar import query_refusal

_TODAY = re.compile(r"@today(?:([+-])(\d{1,4})([dwmy]))?", re.IGNORECASE)
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_UNIT_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
_OPERATORS = (">=", "<=", ">", "<")
_WORD = re.compile(r"\w+")


def words_of(text: str | None) -> list[str]:
    """Return the words of a text in lower case."""
    return _WORD.findall(text.casefold()) if text else []


def contains(haystack: Sequence[str], needle: Sequence[str]) -> bool:
    """Tell whether words follow each other somewhere among others; no words are everywhere."""
    if not needle:
        return True
    first, length = needle[0], len(needle)
    return any(word == first and haystack[at : at + length] == needle for at, word in enumerate(haystack))


def number_question(text: str) -> Callable[[int], bool]:
    """Return whether a number fits a comparison such as `>=10` or `1..5`."""
    low, high = _bounds(text, _number)
    return lambda value: (low is None or value >= low[0]) and (high is None or value <= high[1])


def time_question(text: str, now: str) -> Callable[[str | None], bool]:
    """Return whether a time in GitHub's spelling fits a comparison of dates; no time fits none."""
    low, high = _bounds(text, lambda part: _moments(part, now))

    def fits(value: str | None) -> bool:
        if value is None:
            return False
        moment = _read(value)
        return (low is None or moment >= low[0]) and (high is None or moment <= high[1])

    return fits


def _bounds(text: str, read: Callable[[str], tuple[int, int]]) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """Read a comparison as its lowest and highest value; each is the first and last of what was written."""
    for operator in _OPERATORS:
        if text.startswith(operator):
            first, last = read(text.removeprefix(operator).strip())
            match operator:
                case ">=":
                    return (first, first), None
                case "<=":
                    return None, (last, last)
                case ">":
                    return (last + 1, last + 1), None
                case _:
                    return None, (first - 1, first - 1)
    low, dots, high = text.partition("..")
    if not dots:
        return read(text), read(text)
    return (None if low in {"", "*"} else read(low)), (None if high in {"", "*"} else read(high))


def _number(text: str) -> tuple[int, int]:
    if not re.fullmatch(r"-?[0-9]{1,15}", text):
        raise query_refusal(f'"{text}" is not a number.')
    return int(text), int(text)


def _moments(text: str, now: str) -> tuple[int, int]:
    """Return the first and the last second that a date names."""
    try:
        if today := _TODAY.fullmatch(text):
            start = datetime.fromtimestamp(_read(now), UTC).replace(hour=0, minute=0, second=0)
            shift = int(today[2] or 0) * _UNIT_DAYS[(today[3] or "d").lower()]
            start += timedelta(days=-shift if today[1] == "-" else shift)
            return _span(start, start + timedelta(days=1))
        if date := _DATE.fullmatch(text):
            return _dated(*date.groups())
        moment = datetime.fromisoformat(text)
        second = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        message = f'"{text}" is not a recognized date/time format. Please provide an ISO 8601 date/time value.'
        raise query_refusal(message) from None
    return second, second


def _dated(year: str, month: str | None, day: str | None) -> tuple[int, int]:
    start = datetime(int(year), int(month or 1), int(day or 1), tzinfo=UTC)
    if day:
        return _span(start, start + timedelta(days=1))
    if month:
        return _span(start, (start + timedelta(days=31)).replace(day=1))
    return _span(start, start.replace(year=start.year + 1))


def _span(start: datetime, end: datetime) -> tuple[int, int]:
    return int(start.timestamp()), int(end.timestamp()) - 1


def _read(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())
