"""Placeholders in texts: `{{pr_number}}` for a variable, `{{checkpoints.pr-created.number}}` for an earlier output.

A placeholder is two braces around a name without spaces. Anything else in two braces is a mistake, but for what
GitHub's workflows write: `${{ github.ref }}`, which is plain text.
"""

import json
import re
from collections.abc import Callable, Iterator

from pydantic import JsonValue

from ghx_bench.documents.wording import Tokens

CHECKPOINTS = "checkpoints."
"""How the name of a placeholder begins that stands for the output of an earlier checkpoint."""

VARIABLE = r"[A-Za-z0-9_]{1,128}"
"""What the name of a variable looks like."""

PLACEHOLDER = rf"\{{\{{({VARIABLE}|checkpoints\.[^{{}}]{{1,300}})\}}\}}"

_PLACEHOLDER = re.compile(PLACEHOLDER)
_IN_BRACES = re.compile(r"(?<!\$)\{\{([^{}]+)\}\}")


def is_placeholder(text: str) -> bool:
    """Say whether a text is one placeholder and nothing else."""
    return _PLACEHOLDER.fullmatch(text) is not None


def names_in(text: str) -> list[str]:
    """Return the names of the placeholders in a text, in their order."""
    return _PLACEHOLDER.findall(text) if "{{" in text else []


def near_misses_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield what looks like a placeholder and is none, as `{{ name }}` does, and the name in it without spaces."""
    for written, name in in_braces(text):
        if not is_placeholder(written):
            yield written, name


def in_braces(text: str) -> Iterator[tuple[str, str]]:
    """Yield what stands in two braces, be it a placeholder or not, with them and without."""
    if "{{" in text:
        yield from ((match[0], match[1].strip()) for match in _IN_BRACES.finditer(text))


def fill(text: str, value_of: Callable[[str], JsonValue]) -> JsonValue:
    """Put values where their placeholders stand; a text that is one placeholder becomes the value, of whatever type.

    `value_of` is called with the name of each placeholder; one it raises `KeyError` for stays as it is.
    """
    if is_placeholder(text):
        try:
            return value_of(text[2:-2])
        except KeyError:
            return text
    return fill_text(text, value_of)


def fill_text(text: str, value_of: Callable[[str], JsonValue], *, write: Callable[[str], str] = str) -> str:
    """Put values where their placeholders stand, as text, also where the text is one placeholder.

    `write` is applied to what is put between other text.
    """

    def replacement(match: re.Match[str]) -> str:
        try:
            return write(as_text(value_of(match[1])))
        except KeyError:
            return match[0]

    return _PLACEHOLDER.sub(replacement, text)


def as_text(value: JsonValue) -> str:
    """Write a value into a text: strings as they are, everything else as JSON; `3.0` is `3`, as in JavaScript."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False)


def strings_in(value: JsonValue, tokens: Tokens = ()) -> Iterator[tuple[Tokens, str]]:
    """Yield every string in a value that is not a key, and where it is."""
    match value:
        case str():
            yield tokens, value
        case dict():
            for key, each in value.items():
                yield from strings_in(each, (*tokens, key))
        case list():
            for index, each in enumerate(value):
                yield from strings_in(each, (*tokens, index))
        case _:
            pass


def keys_in(value: JsonValue, tokens: Tokens = ()) -> Iterator[tuple[Tokens, str]]:
    """Yield every key in a value, and where what belongs to it is."""
    match value:
        case dict():
            for key, each in value.items():
                yield (*tokens, key), key
                yield from keys_in(each, (*tokens, key))
        case list():
            for index, each in enumerate(value):
                yield from keys_in(each, (*tokens, index))
        case _:
            pass
