"""The events of PyYAML's parser, and what plain words mean by the core schema of YAML 1.2."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, cast

import yaml

CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
NUMBER_BEGINS = frozenset("+-.0123456789")
OTHER_BASE = re.compile(r"0(?:o[0-7]+|x[0-9a-fA-F]+)")
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

_QUOTES = ("'", '"')
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the parser in C is ten times as fast


class _Mark(Protocol):
    index: int


class Event(Protocol):
    """What the events of PyYAML have in common, as far as it is used here."""

    start_mark: _Mark
    anchor: str | None
    tag: str | None
    value: str
    implicit: tuple[bool, bool]


class Quoted(NamedTuple):
    """A text in quotes: where it begins, and where it ends."""

    start: int
    end: int


def quoted_texts(text: str) -> Iterator[Quoted]:
    """Yield the texts in quotes, as far as the text can be taken apart."""
    loader = _LOADER(text)
    try:
        for token in iter(loader.get_token, None):
            if isinstance(token, yaml.ScalarToken) and token.style in _QUOTES:
                yield Quoted(token.start_mark.index, token.end_mark.index)
    except yaml.YAMLError:
        pass  # what is wrong is known by now
    finally:
        loader.dispose()


def events_of(text: str) -> Iterator[Event]:
    """Yield the events of a text; raise what PyYAML raises."""
    loader = _LOADER(text)
    try:
        yield from cast("Iterator[Event]", iter(loader.get_event, None))
    finally:
        loader.dispose()
