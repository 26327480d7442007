"""How a query's values are matched: words in texts, and comparisons (`>=10`, `1..5`, `*..2026-01-01`, `@today-7d`)."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from ghx_twin.queries.search.grammar import query_refusal

_TODAY = re.compile(r"@today(?:([+-])(\d{1,4})([dwmy]))?", re.IGNORECASE)
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_UNIT_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
_OPERATORS = (">=", "<=", ">", "<")
_WORD = re.compile(r"\w+")


def split_words(text: str | None) -> list[str]:
    """Return the words of a text in lower case."""
    return _WORD.findall(text.casefold()) if text else []


def contains_words(haystack: Sequence[str], needle: Sequence[str]) -> bool:
    """Return whether words occur one after the other among others; no words always do."""
    if not needle:
        return True
    first, length = needle[0], len(needle)
    return any(word == first and haystack[at : at + length] == needle for at, word in enumerate(haystack))


def compile_number(text: str) -> Callable[[int], bool]:
    """Return the predicate of a comparison of numbers such as `>=10` or `1..5`."""

    def read(part: str) -> tuple[int, int]:
        if not re.fullmatch(r"-?[0-9]{1,15}", part):
            raise query_refusal(f'"{part}" is not a number.')
        return int(part), int(part)

    low, high = _bounds(text, read)
    return lambda value: (low is None or value >= low[0]) and (high is None or value <= high[1])


def compile_time(text: str, now: str) -> Callable[[str | None], bool]:
    """Return the predicate of a comparison of dates, for times in GitHub's spelling; None never fits."""
    low, high = _bounds(text, lambda part: _date_span(part, now))

    def fits(value: str | None) -> bool:
        if value is None:
            return False
        moment = _epoch_seconds(value)
        return (low is None or moment >= low[0]) and (high is None or moment <= high[1])

    return fits


def _bounds(text: str, read: Callable[[str], tuple[int, int]]) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """Return the lowest and highest value of a comparison; each as the first and last second or number it means."""
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


def _date_span(text: str, now: str) -> tuple[int, int]:
    """Return the first and the last second that a date names."""
    try:
        if today := _TODAY.fullmatch(text):
            start = datetime.fromtimestamp(_epoch_seconds(now), UTC).replace(hour=0, minute=0, second=0)
            shift = int(today[2] or 0) * _UNIT_DAYS[(today[3] or "d").lower()]
            start += timedelta(days=-shift if today[1] == "-" else shift)
            return _span(start, start + timedelta(days=1))
        if date := _DATE.fullmatch(text):
            return _calendar_span(*date.groups())
        moment = datetime.fromisoformat(text)
        second = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        message = f'"{text}" is not a recognized date/time format. Please provide an ISO 8601 date/time value.'
        raise query_refusal(message) from None
    return second, second


def _calendar_span(year: str, month: str | None, day: str | None) -> tuple[int, int]:
    start = datetime(int(year), int(month or 1), int(day or 1), tzinfo=UTC)
    if day:
        return _span(start, start + timedelta(days=1))
    if month:
        return _span(start, (start + timedelta(days=31)).replace(day=1))
    return _span(start, start.replace(year=start.year + 1))


def _span(start: datetime, end: datetime) -> tuple[int, int]:
    return int(start.timestamp()), int(end.timestamp()) - 1


def _epoch_seconds(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())
