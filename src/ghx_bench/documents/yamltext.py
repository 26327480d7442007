"""YAML as a document: the values of JSON and nothing else, by the core schema of YAML 1.2.

`true` and `false` are the only booleans, so `on`, `no` and `yes` are strings, and so are dates. Aliases may repeat a
part, but not until the document outgrows its file.
"""

import re
from collections.abc import Iterator

import yaml
from pydantic import JsonValue

from ghx_bench.documents.text import MAX_DEPTH, Place
from ghx_bench.documents.yamlevents import CONSTANTS, FLOAT, NOT_FINITE, NUMBER_BEGINS, OTHER_BASE, events_of
from ghx_bench.documents.yamlreader import read_yaml

_SIMPLE_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_ESCAPED_SURROGATE = re.compile(r"\\(?:u|U0000)[dD][89a-fA-F]")


class _UnusualError(Exception):
    """Something that must be read with care."""


def load_yaml(text: str) -> JsonValue:
    """Return the value of a YAML text, or raise `FlawedTextError` with everything wrong with it.

    Most files hold nothing but plain keys and values and are read in half the time; the others are read with care.
    """
    try:
        return _read_plain(text)
    except (_UnusualError, yaml.YAMLError, ValueError, OverflowError):
        return read_yaml(text)[0]


def yaml_places(text: str) -> Place:
    """Return where everything stands in a YAML text that `load_yaml` accepted."""
    return read_yaml(text)[1]


def _read_plain(text: str) -> JsonValue:
    if _ESCAPED_SURROGATE.search(text):
        raise _UnusualError
    document: list[JsonValue] = []
    top: list[JsonValue] | dict[str, JsonValue] = document
    above: list[list[JsonValue] | dict[str, JsonValue]] = []
    key: str | None = None
    for is_end, node in _plain_nodes(text):
        if is_end:
            top = above.pop()
            continue
        if isinstance(top, list):
            top.append(node)
        elif key is None:
            key = _plain_key(node, top)
            continue
        else:
            top[key], key = node, None
        if isinstance(node, list | dict):
            above.append(top)
            top = node
            if len(above) > MAX_DEPTH:
                raise _UnusualError
    if len(document) != 1:
        raise _UnusualError
    return document[0]


def _plain_nodes(text: str) -> Iterator[tuple[bool, JsonValue]]:
    for event in events_of(text):
        kind: type = type(event)
        if kind is yaml.ScalarEvent:
            if event.tag or event.anchor:
                raise _UnusualError
            yield False, _plain_value(event.value) if event.implicit[0] else event.value
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            yield True, None
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            if event.tag or event.anchor:
                raise _UnusualError
            yield False, {} if kind is yaml.MappingStartEvent else []
        elif kind is yaml.AliasEvent:
            raise _UnusualError


def _plain_key(node: JsonValue, container: dict[str, JsonValue]) -> str:
    if not isinstance(node, str) or node == "<<" or node in container:
        raise _UnusualError
    return node


def _plain_value(word: str) -> JsonValue:
    if word in CONSTANTS:
        return CONSTANTS[word]
    if word[0] not in NUMBER_BEGINS:
        return word
    if _SIMPLE_INTEGER.fullmatch(word):
        return int(word)
    if FLOAT.fullmatch(word) or OTHER_BASE.fullmatch(word) or NOT_FINITE.fullmatch(word):
        raise _UnusualError
    return word
