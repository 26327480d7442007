"""What is wrong with something a user wrote: where, why, and what to write instead."""

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from difflib import get_close_matches

Tokens = tuple[str | int, ...]
"""Where something is in a document: keys and indices."""

_LONGEST_VALUE = 60
_LONGEST_POINTER = 300
_MOST_NAMES = 16
_SHORTEST_BEGINNING = 3
_UNPRINTABLE = re.compile(
    # Controls, separators of lines and surrogates; then marks of direction, which turn round what follows.
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing to correct in a file; shown as one line that editors can jump to.

    `line` and `column` count from 1, in characters. `pointer` is a JSON pointer (RFC 6901); empty for the document as a
    whole. `value` is the offending value, shortened.
    """

    file: str
    reason: str
    suggestion: str | None = None
    line: int | None = None
    column: int | None = None
    pointer: str = ""
    value: str | None = None

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        text = self.reason if self.suggestion is None else f"{self.reason}; {self.suggestion}"
        return one_line(": ".join(part for part in (place, self.pointer, text) if part))

    def to_dict(self) -> dict[str, str | int]:
        """Return what is known, for machines."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def one_line(text: str) -> str:
    """Return the text with all escaped that breaks a line, moves a cursor, turns text round or cannot be written."""
    return _UNPRINTABLE.sub(lambda match: repr(match[0])[1:-1], text)


def pointer_of(tokens: Iterable[str | int]) -> str:
    """Return keys and indices as a JSON pointer."""
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in tokens)


def shortened_pointer(pointer: str) -> str:
    """Return a pointer without the middle if it is very long."""
    half = _LONGEST_POINTER // 2
    return pointer if len(pointer) <= _LONGEST_POINTER else f"{pointer[:half]}…{pointer[-half:]}"


def tokens_of(pointer: str) -> tuple[str, ...]:
    """Return the keys and indices of a JSON pointer."""
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:])


def shortened(value: object) -> str:
    """Return a value on one short line: strings in quotes, everything else as JSON."""
    if isinstance(value, str):
        whole = repr(value if len(value) <= _LONGEST_VALUE else value[: _LONGEST_VALUE - 1] + "…")
    else:
        whole = json.dumps(value, ensure_ascii=False, default=str)
    return whole if len(whole) <= _LONGEST_VALUE + 2 else whole[: _LONGEST_VALUE + 1] + "…"


def describe_value(value: object) -> str:
    """Return what kind of JSON value this is, and which, if it is short."""
    match value:
        case None | True | False:
            return shortened(value)
        case str():
            return f"the string {shortened(value)}"
        case int() | float():
            return f"the number {shortened(value)}"
        case dict():
            return "an object"
        case _:
            return "a list"


def listed(names: Iterable[str]) -> str:
    """Return names in one line, the first dozen if there are many."""
    every = [shortened(name) for name in names]
    more = len(every) - _MOST_NAMES
    return ", ".join(every) if more <= 0 else f"{', '.join(every[:_MOST_NAMES])} and {more} more"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant: hardly another spelling, or the only one with this beginning."""
    spellings = {plain(each): each for each in known}
    normalized = plain(name)
    close = get_close_matches(normalized, spellings, n=1, cutoff=0.7)
    if not close and len(normalized) >= _SHORTEST_BEGINNING:
        longer = [each for each in spellings if each.startswith(normalized)]
        close = longer if len(longer) == 1 else []
    return spellings[close[0]] if close else None


def did_you_mean(name: str, known: Iterable[str], *, otherwise: str | None = None) -> str:
    """Return which known name was probably meant; where none was, `otherwise` or the known names."""
    names = list(known)
    suggestion = nearest(name, names)
    if suggestion:
        return f"did you mean {suggestion!r}?"
    return f"known: {listed(names) or 'none'}" if otherwise is None else otherwise


def plain(name: str) -> str:
    """Return a name without what people get wrong first: case, hyphens and underscores."""
    return re.sub(r"[-_\s]", "", name).casefold()


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: `1 cell`, `1,200 tokens`, `2 repositories`."""
    ending = "es" if noun.endswith("s") else "s"
    return f"{count:,} {noun if count == 1 else re.sub(r'(?<![aeiou])y$', 'ie', noun) + ending}"
