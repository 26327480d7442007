"""YAML as a document: the values of JSON and nothing else, by the core schema of YAML 1.2.

`true` and `false` are the only booleans, so `on`, `no` and `yes` are strings, and so are dates. Aliases may repeat a
part, but not until the document outgrows its file.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, cast

import yaml
from pydantic import JsonValue

from ghx_base.documents.jsontext import check_number
from ghx_base.documents.text import MAX_DEPTH, FlawedTextError, Flaws, Frame, Place, open_frame
from ghx_base.documents.yamlflaws import LOADER, QUOTE_TEMPLATE, explain
from ghx_base.problems import describe_value, shortened

MAX_REPEATED = 1_000_000
"""How many characters and values the aliases of one document may repeat."""

_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_BEGINS = frozenset("+-.0123456789")
_OTHER_BASE = re.compile(r"0(?:o[0-7]+|x[0-9a-fA-F]+)")
_LONGEST_IN_OTHER_BASE = 1000
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_TAGS = {None, "!", "tag:yaml.org,2002:str", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"}
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


def load_yaml(text: str) -> JsonValue:
    """Return the value of a YAML text, or raise `FlawedTextError` with everything wrong with it."""
    return _Reader(text).read()[0]


def yaml_places(text: str) -> Place:
    """Return where everything stands in a YAML text that `load_yaml` accepted."""
    return _Reader(text).read()[1]


class _Mark(Protocol):
    index: int


class _Event(Protocol):
    """What the events of PyYAML have in common, as far as it is used here."""

    start_mark: _Mark
    anchor: str | None
    tag: str | None
    value: str
    implicit: tuple[bool, bool]


@dataclass(slots=True)
class _Anchor:
    value: JsonValue
    place: Place
    is_open: bool = False


@dataclass(slots=True)
class _Open:
    """A list or object that is still open: its value, its places, and the anchor it has."""

    value: list[JsonValue] | dict[str, JsonValue]
    frame: Frame
    anchor: _Anchor | None


class _Reader:
    """Builds the value and the places of one document from the events of PyYAML's parser.

    Events rather than nodes: composing nodes recurses in C, so that a file of 200,000 brackets ends the process, and a
    node does not know where its alias stands.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._flaws = Flaws(text)
        self._document: list[JsonValue] = []
        self._top = _Open(self._document, open_frame(0, is_object=False), None)
        self._above: list[_Open] = []
        self._anchors: dict[str, _Anchor] = {}
        self._repeated = 0

    def read(self) -> tuple[JsonValue, Place]:
        """Return the value and its places; raise `FlawedTextError` with everything that is wrong."""
        try:
            self._read_events()
        except (yaml.YAMLError, ValueError, OverflowError) as error:
            raise FlawedTextError([*self._flaws.flaws, explain(error, self._text)]) from None
        if not self._document:
            self._flaws.add(0, "the file is empty")
        self._flaws.raise_if_any()
        return self._document[0], self._top.frame.children["0"]

    def _read_events(self) -> None:
        for event in _events_of(self._text):
            kind: type = type(event)
            if kind is yaml.ScalarEvent:  # first, since most events are scalars
                self._add_scalar(event)
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                self._open(event, is_object=kind is yaml.MappingStartEvent)
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                if self._top.anchor:
                    self._top.anchor.is_open = False
                self._top = self._above.pop()
            elif kind is yaml.AliasEvent:
                self._add_alias(event)
            elif kind is yaml.DocumentStartEvent and self._document:
                self._flaws.stop(event.start_mark.index, "a second document begins here", "keep one document to a file")

    def _add_scalar(self, event: _Event) -> None:
        text, start = event.value, event.start_mark.index
        value: JsonValue = text
        if not event.implicit[0] or event.tag:
            self._check_tag(event)
            if not text.isascii() and _LONE_SURROGATE.search(text):
                self._flaws.add(start, "half a character: a surrogate escape without its other half")
        elif text in _CONSTANTS:
            value = _CONSTANTS[text]
        elif text[0] in _NUMBER_BEGINS:
            value = self._number_or_text(text, start)
        top = self._top
        frame = top.frame
        place = None
        if not frame.is_object:
            place = Place(start)
            cast("list[JsonValue]", top.value).append(value)
            frame.children[str(len(frame.children))] = place
        elif frame.key is None:
            if value is not text or text == "<<":
                self._refuse_scalar_key(event, value)
            frame.take_key(text, start, self._flaws)
            value = text
        else:
            place = Place(start, frame.key_start)
            cast("dict[str, JsonValue]", top.value)[frame.key] = value
            frame.children.setdefault(frame.key, place)
            frame.key = None
        if event.anchor:
            self._anchors[event.anchor] = _Anchor(value, place or Place(start))

    def _number_or_text(self, text: str, start: int) -> JsonValue:
        if _OTHER_BASE.fullmatch(text):
            if len(text) > _LONGEST_IN_OTHER_BASE:
                self._flaws.add(start, f"a number of {len(text)} digits is too long", "put it in quotes if it is text")
                return None
            return int(text, base=0)
        if _NOT_FINITE.fullmatch(text):
            self._flaws.add(start, f"{text} is not a JSON value", "write null or a number, or put it in quotes")
        elif not _FLOAT.fullmatch(text):
            return text
        elif _LEADING_ZERO.match(text):
            self._flaws.add(
                start, f"{shortened(text)} begins with 0", "remove the 0, or put it in quotes if it is text"
            )
        elif check_number(text, start, self._flaws):
            return int(text) if _INTEGER.fullmatch(text) else float(text)
        return None

    def _open(self, event: _Event, *, is_object: bool) -> None:
        start = event.start_mark.index
        value: list[JsonValue] | dict[str, JsonValue] = {} if is_object else []
        if self._top.frame.wants_key:
            self._refuse_key(start, value)
        if len(self._above) >= MAX_DEPTH:
            self._flaws.stop_too_deep(start)
        if event.tag:
            self._check_tag(event)
        frame = open_frame(start, is_object=is_object)
        self._add(value, frame.place)
        anchor = None
        if event.anchor:
            anchor = self._anchors[event.anchor] = _Anchor(value, frame.place, is_open=True)
        self._above.append(self._top)
        self._top = _Open(value, frame, anchor)

    def _add_alias(self, event: _Event) -> None:
        name, start = event.anchor or "", event.start_mark.index
        anchor = self._anchors.get(name)
        if anchor is None:
            self._flaws.stop(
                start, f"there is no anchor '&{name}' above", "put quotes around text that begins with '*'"
            )
        if anchor.is_open:
            self._flaws.stop(start, f"'*{name}' would contain itself", "write the part out instead")
        self._count_repeated(name, anchor.value, start)
        if not self._top.frame.wants_key:
            self._add(anchor.value, Place(start, children=anchor.place.children))
        elif isinstance(anchor.value, str):
            self._top.frame.take_key(anchor.value, start, self._flaws)
        else:
            self._refuse_key(start, anchor.value)

    def _count_repeated(self, name: str, value: JsonValue, start: int) -> None:
        """Refuse aliases of aliases by which a few lines grow into gigabytes."""
        size, depth = _measure(value, MAX_REPEATED - self._repeated)
        self._repeated += size
        if self._repeated > MAX_REPEATED:
            self._flaws.stop(start, f"'*{name}' makes the document grow too large", "repeat less by aliases")
        if len(self._above) + depth > MAX_DEPTH:
            self._flaws.stop_too_deep(start)

    def _add(self, value: JsonValue, place: Place) -> None:
        container, frame = self._top.value, self._top.frame
        if isinstance(container, dict):
            container[cast("str", frame.key)] = value
        else:
            container.append(value)
        frame.attach(place)

    def _refuse_scalar_key(self, event: _Event, value: JsonValue) -> None:
        start = event.start_mark.index
        if not isinstance(value, str):
            quoted = f'"{event.value}"'
            self._flaws.add(start, f"a key must be a string, not {describe_value(value)}", f"write {quoted}, in quotes")
        elif value == "<<" and event.implicit[0]:
            self._flaws.add(start, "merging with '<<' is not supported", "write the keys out, or use an alias alone")

    def _refuse_key(self, start: int, value: JsonValue) -> NoReturn:
        is_template = self._text[max(start - 1, 0) : start + 1] == "{{"
        self._flaws.stop(
            start, f"a key must be a string, not {describe_value(value)}", QUOTE_TEMPLATE if is_template else None
        )

    def _check_tag(self, event: _Event) -> None:
        if event.tag not in _TAGS:
            tag = (event.tag or "").replace("tag:yaml.org,2002:", "!!")
            self._flaws.add(
                event.start_mark.index, f"the tag {shortened(tag)} is not supported", "write the plain value"
            )


def _events_of(text: str) -> Iterator[_Event]:
    """Yield the events of a text; raise what PyYAML raises."""
    loader: Any = LOADER(text)
    try:
        yield from cast("Iterator[_Event]", iter(loader.get_event, None))
    finally:
        loader.dispose()


def _measure(value: JsonValue, limit: int) -> tuple[int, int]:
    """Return the size of a value, counted up to the limit, and how deep it nests."""
    size, deepest = 0, 0
    pending: list[tuple[JsonValue, int]] = [(value, 1)]
    while pending and size <= limit:
        item, depth = pending.pop()
        size += 1
        if isinstance(item, str):
            size += len(item)
        elif isinstance(item, dict):
            size += sum(map(len, item))
            pending.extend((each, depth + 1) for each in item.values())
        elif isinstance(item, list):
            pending.extend((each, depth + 1) for each in item)
        if isinstance(item, dict | list):
            deepest = max(deepest, depth)
    return size, deepest
