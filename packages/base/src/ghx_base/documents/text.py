"""Where things stand in the text of a document, and what is wrong with the text itself."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, NoReturn

from ghx_base.problems import shortened

MAX_DEPTH = 100
"""How deep lists and objects may nest; far more than people write, far less than breaks a recursive program."""

MAX_FLAWS = 100
"""The number of flaws after which reading stops."""

_LINE_BREAK = re.compile(r"\r\n|\r|\n")


class Position(NamedTuple):
    """A line and a column, both from 1, in characters."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """One thing wrong with a text at an offset."""

    offset: int
    reason: str
    suggestion: str | None = None


class FlawedTextError(Exception):
    """A text is not a document; becomes a `DocumentError` once its file is known."""

    def __init__(self, flaws: Sequence[Flaw]) -> None:
        super().__init__(flaws)
        self.flaws = flaws


@dataclass(slots=True)
class Place:
    """Where a value begins, where its key begins if it has one, and the same for everything in it.

    An alias of YAML begins where the alias stands; what is in it stands where the anchor is.
    """

    start: int
    key_start: int | None = None
    children: Mapping[str, "Place"] | None = None

    def find(self, tokens: Iterable[str]) -> "Place | None":
        """Return the place of what the tokens of a JSON pointer lead to."""
        place: Place | None = self
        for token in tokens:
            if place is None or place.children is None:
                return None
            place = place.children.get(token)
        return place


@dataclass(frozen=True)
class Lines:
    """Turns offsets into lines and columns."""

    text: str

    @cached_property
    def _starts(self) -> Sequence[int]:
        return [0, *(match.end() for match in _LINE_BREAK.finditer(self.text))]

    def position(self, offset: int) -> Position:
        """Return the position of an offset; past the end counts as the end."""
        offset = min(offset, len(self.text))
        line = bisect_right(self._starts, offset)
        return Position(line, offset - self._starts[line - 1] + 1)


@dataclass(slots=True)
class Flaws:
    """Collects what is wrong, so that one look at a file shows all of it."""

    text: str
    flaws: list[Flaw] = field(default_factory=list[Flaw])
    _lines: Lines | None = None

    def add(self, offset: int, reason: str, suggestion: str | None = None) -> None:
        """Note one flaw; stop if it is the last that anybody would want to read."""
        self.flaws.append(Flaw(offset=offset, reason=reason, suggestion=suggestion))
        if len(self.flaws) >= MAX_FLAWS:
            raise FlawedTextError(self.flaws)

    def stop(self, offset: int, reason: str, suggestion: str | None = None) -> NoReturn:
        """Note a flaw after which nothing can be made of the rest."""
        self.flaws.append(Flaw(offset=offset, reason=reason, suggestion=suggestion))
        raise FlawedTextError(self.flaws)

    def add_duplicate(self, key: str, *, first: int, offset: int) -> None:
        """Note a key that was given before, and where."""
        self._lines = self._lines or Lines(self.text)
        line = self._lines.position(first).line
        self.add(offset, f"key {shortened(key)} is given twice, first on line {line}", "keep one of them")

    def stop_too_deep(self, offset: int) -> NoReturn:
        """Note that lists and objects nest too deep from here on."""
        self.stop(offset, f"lists and objects are nested more than {MAX_DEPTH} deep", "flatten the document")

    def raise_if_any(self) -> None:
        """Refuse the text if anything is wrong with it."""
        if self.flaws:
            raise FlawedTextError(self.flaws)


@dataclass(slots=True)
class Frame:
    """A list or object that is still open while a text is read."""

    place: Place
    children: dict[str, Place]
    is_object: bool
    key: str | None = None
    key_start: int | None = None

    @property
    def wants_key(self) -> bool:
        """Whether a key comes next, rather than a value."""
        return self.is_object and self.key is None

    def take_key(self, key: str, start: int, flaws: Flaws) -> None:
        """Remember the key of the next value, and note it if it was there before."""
        if (before := self.children.get(key)) is not None and before.key_start is not None:
            flaws.add_duplicate(key, first=before.key_start, offset=start)
        self.key, self.key_start = key, start

    def attach(self, place: Place) -> None:
        """Add the next value."""
        if self.key is None:
            self.children[str(len(self.children))] = place
        else:
            place.key_start = self.key_start
            self.children.setdefault(self.key, place)
            self.key = None


def open_frame(start: int, *, is_object: bool) -> Frame:
    """Begin a list or an object."""
    children: dict[str, Place] = {}
    return Frame(Place(start, None, children), children, is_object)
