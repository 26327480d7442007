"""YAML read with care: anchors, aliases, and everything that can be wrong, with the place of each thing."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import yaml
from pydantic import JsonValue

from ghx_bench._base.problems import in_words, shortened
from ghx_bench.documents.jsontext import check_number
from ghx_bench.documents.text import MAX_DEPTH, FlawedTextError, Flaws, Frame, Place, open_frame
from ghx_bench.documents.yamlevents import (
    CONSTANTS,
    FLOAT,
    NOT_FINITE,
    NUMBER_BEGINS,
    OTHER_BASE,
    Event,
    events_of,
)
from ghx_bench.documents.yamlflaws import QUOTE_TEMPLATE, explain

MAX_REPEATED = 1_000_000
"""How many characters and values the aliases of one document may repeat."""

_INTEGER = re.compile(r"[-+]?[0-9]+")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]")
_LONGEST_IN_OTHER_BASE = 1000
_TAGS = {None, "!", "tag:yaml.org,2002:str", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"}
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(slots=True)
class _Anchor:
    value: JsonValue
    place: Place
    is_open: bool


@dataclass(slots=True)
class _Open:
    """A list or object that is still open: its value, its places, and the anchor it has."""

    value: list[JsonValue] | dict[str, JsonValue]
    frame: Frame
    anchor: _Anchor | None


def read_yaml(text: str) -> tuple[JsonValue, Place]:
    """Return the value of a YAML text and where everything in it stands, or raise `FlawedTextError`."""
    return _Reader(text).read()


class _Reader:
    """Builds the value and the places of one document from the events of the parser, without recursion."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._flaws = Flaws(text)
        self._document: list[JsonValue] = []
        self._stack = [_Open(self._document, open_frame(0, is_object=False), None)]
        self._anchors: dict[str, _Anchor] = {}
        self._repeated = 0
        self._handlers: dict[type, Callable[[Event], None]] = {
            yaml.DocumentStartEvent: self._on_document,
            yaml.ScalarEvent: self._on_scalar,
            yaml.SequenceStartEvent: self._on_start,
            yaml.MappingStartEvent: self._on_start,
            yaml.SequenceEndEvent: self._on_end,
            yaml.MappingEndEvent: self._on_end,
            yaml.AliasEvent: self._on_alias,
        }

    def read(self) -> tuple[JsonValue, Place]:
        try:
            self._read_events()
        except (yaml.YAMLError, ValueError, OverflowError) as error:
            raise FlawedTextError([*self._flaws.found, explain(error, self._text)]) from None
        if not self._document:
            self._flaws.add(0, "the file is empty")
        self._flaws.raise_if_any()
        return self._document[0], self._stack[0].frame.children["0"]

    def _read_events(self) -> None:
        for event in events_of(self._text):
            handler = self._handlers.get(type(event))
            if handler is not None:
                handler(event)

    def _on_document(self, event: Event) -> None:
        if self._document:
            self._flaws.stop(event.start_mark.index, "a second document begins here", "keep one document to a file")

    def _on_scalar(self, event: Event) -> None:
        top, start = self._stack[-1], event.start_mark.index
        value = self._resolve(event)
        if top.frame.wants_key:
            key = self._key(event, value)
            top.frame.take_key(key, start, self._flaws)
            if event.anchor:
                self._anchors[event.anchor] = _Anchor(key, Place(start), is_open=False)
            return
        place = Place(start)
        if event.anchor:
            self._anchors[event.anchor] = _Anchor(value, place, is_open=False)
        self._add(value, place)

    def _on_start(self, event: Event) -> None:
        start, is_object = event.start_mark.index, isinstance(event, yaml.MappingStartEvent)
        value: list[JsonValue] | dict[str, JsonValue] = {} if is_object else []
        if self._stack[-1].frame.wants_key:
            self._refuse_key(start, value)
        if len(self._stack) > MAX_DEPTH:
            self._flaws.stop_too_deep(start)
        self._check_tag(event)
        frame = open_frame(start, is_object=is_object)
        self._add(value, frame.place)
        anchor = _Anchor(value, frame.place, is_open=True) if event.anchor else None
        if event.anchor and anchor:
            self._anchors[event.anchor] = anchor
        self._stack.append(_Open(value, frame, anchor))

    def _on_end(self, _: Event) -> None:
        closed = self._stack.pop()
        if closed.anchor:
            closed.anchor.is_open = False

    def _on_alias(self, event: Event) -> None:
        name, start = event.anchor or "", event.start_mark.index
        anchor = self._anchors.get(name)
        if anchor is None:
            self._flaws.stop(
                start, f"there is no anchor '&{name}' above", "put quotes around text that begins with '*'"
            )
        if anchor.is_open:
            self._flaws.stop(start, f"'*{name}' would contain itself", "write the part out instead")
        self._repeat(name, anchor.value, start)
        top = self._stack[-1]
        if not top.frame.wants_key:
            self._add(anchor.value, Place(start, children=anchor.place.children))
        elif isinstance(anchor.value, str):
            top.frame.take_key(anchor.value, start, self._flaws)
        else:
            self._refuse_key(start, anchor.value)

    def _add(self, value: JsonValue, place: Place) -> None:
        top = self._stack[-1]
        if isinstance(top.value, dict):
            top.value[cast("str", top.frame.key)] = value
        else:
            top.value.append(value)
        top.frame.attach(place)

    def _repeat(self, name: str, value: JsonValue, start: int) -> None:
        """Account for what an alias repeats, so that a few lines cannot grow into gigabytes."""
        size, depth = _measure(value, MAX_REPEATED - self._repeated)
        self._repeated += size
        if self._repeated > MAX_REPEATED:
            self._flaws.stop(start, f"'*{name}' makes the document grow too large", "repeat less by aliases")
        if len(self._stack) - 1 + depth > MAX_DEPTH:
            self._flaws.stop_too_deep(start)

    def _key(self, event: Event, value: JsonValue) -> str:
        start = event.start_mark.index
        if not isinstance(value, str):
            quoted = f'"{event.value}"'
            self._flaws.add(start, f"a key must be a string, not {in_words(value)}", f"write {quoted}, in quotes")
        elif value == "<<" and event.implicit[0]:
            self._flaws.add(start, "merging with '<<' is not supported", "write the keys out, or use an alias alone")
        return event.value

    def _refuse_key(self, start: int, value: JsonValue) -> None:
        is_template = self._text[max(start - 1, 0) : start + 1] == "{{"
        self._flaws.stop(
            start, f"a key must be a string, not {in_words(value)}", QUOTE_TEMPLATE if is_template else None
        )

    def _check_tag(self, event: Event) -> None:
        if event.tag not in _TAGS:
            tag = (event.tag or "").replace("tag:yaml.org,2002:", "!!")
            self._flaws.add(
                event.start_mark.index, f"the tag {shortened(tag)} is not supported", "write the plain value"
            )

    def _resolve(self, event: Event) -> JsonValue:
        text = event.value
        if not event.implicit[0] or event.tag:
            self._check_tag(event)
            return self._text_of(event)
        if text in CONSTANTS:
            return CONSTANTS[text]
        return self._number_or_text(text, event) if text[0] in NUMBER_BEGINS else text

    def _text_of(self, event: Event) -> str:
        if not event.value.isascii() and _LONE_SURROGATE.search(event.value):
            self._flaws.add(event.start_mark.index, "half a character: a surrogate escape without its other half")
        return event.value

    def _number_or_text(self, text: str, event: Event) -> JsonValue:
        start = event.start_mark.index
        if OTHER_BASE.fullmatch(text):
            if len(text) > _LONGEST_IN_OTHER_BASE:
                self._flaws.add(start, f"a number of {len(text)} digits is too long", "put it in quotes if it is text")
                return None
            return int(text, base=0)
        if NOT_FINITE.fullmatch(text):
            self._flaws.add(start, f"{text} is not a JSON value", "write null or a number, or put it in quotes")
        elif not FLOAT.fullmatch(text):
            return text
        elif _LEADING_ZERO.match(text):
            self._flaws.add(
                start, f"{shortened(text)} begins with 0", "remove the 0, or put it in quotes if it is text"
            )
        elif check_number(text, start, self._flaws):
            return int(text) if _INTEGER.fullmatch(text) else float(text)
        return None


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
