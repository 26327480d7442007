"""Placeholders in texts: `{{pr_number}}`, `{{checkpoints.pr-created.items.0.number}}`; one language for every file.

Scenarios, checkpoints, fixtures, solutions and chains read placeholders with this grammar:

    placeholder = "{{" [space] name [space] "}}"        not after "$": `${{ github.ref }}` is for workflows, not for us
    name        = variable { "." step }
    variable    = a letter, digit or underscore, at most 128 of them
    step        = a key, the index of a list's item (from 0), or `length`, the length of a list

Where a text is one placeholder and nothing else, the value itself takes its place, with its type, unless only text can
stand there. Between other text a value is written as JSON writes it, but strings as they are, and whole numbers without
a point: `3.0` is `3`. What is filled in is never read again. Which names there are is the caller's knowledge: a name
for which it raises `KeyError` stays as it is written.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, cast

from ghx_base.problems import Tokens, did_you_mean, listed, nearest, shortened, tokens_of

if TYPE_CHECKING:  # only names a type, for which nothing that starts quickly should load pydantic
    from pydantic import JsonValue

VARIABLE = r"[A-Za-z0-9_]{1,128}"
"""What the name of a variable looks like."""

# Everything but braces may follow a dot: branches have slashes in their names, and checkpoints even spaces.
PLACEHOLDER = rf"\{{\{{\s*({VARIABLE}(?:\.[^{{}}]{{1,300}}?)?)\s*\}}\}}"
"""What a placeholder looks like, for JSON Schema, whose regular expressions need not know look-behind."""

LENGTH = "length"

ValueOf: TypeAlias = "Callable[[str], JsonValue]"
"""Returns the value for the name of a placeholder; raises `KeyError` for those that are to stay."""

_PLACEHOLDER = re.compile(rf"(?<!\$){PLACEHOLDER}")
_IN_BRACES = re.compile(r"(?<!\$)\{\{([^{}]+)\}\}")
_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")


def placeholder(name: str) -> str:
    """Return the placeholder with this name."""
    return f"{{{{{name}}}}}"


def only_name_in(text: str) -> str | None:
    """Return the name of the placeholder that is the whole text; `None` where there is other text, or none."""
    whole = _PLACEHOLDER.fullmatch(text)
    return whole[1] if whole else None


def names_in(text: str) -> list[str]:
    """Return the names of the placeholders in a text, in their order."""
    return _PLACEHOLDER.findall(text) if "{{" in text else []


def in_braces(text: str) -> Iterator[tuple[str, str]]:
    """Yield what stands in two braces, be it a placeholder or not: as it is written, and without braces and space."""
    if "{{" in text:
        yield from ((match[0], match[1].strip()) for match in _IN_BRACES.finditer(text))


def fill(value: object, value_of: ValueOf) -> "JsonValue":
    """Return a value with its placeholders replaced, all the way down; a text that is one placeholder takes its type.

    Keys are left alone.
    """
    match value:
        case str():
            name = only_name_in(value)
            if name is None:
                return fill_text(value, value_of)
            try:
                return value_of(name)
            except KeyError:
                return value
        case dict():
            return {key: fill(each, value_of) for key, each in cast("dict[str, object]", value).items()}
        case list() | tuple():
            return [fill(each, value_of) for each in cast("Sequence[object]", value)]
        case _:
            return cast("JsonValue", value)


def fill_text(text: str, value_of: ValueOf, *, write: Callable[[str], str] = str) -> str:
    """Return a text with its placeholders replaced by text, also where it is one placeholder and nothing else.

    `write` is applied to what is put in.
    """

    def replacement(match: re.Match[str]) -> str:
        try:
            return write(as_text(value_of(match[1])))
        except KeyError:
            return match[0]

    return _PLACEHOLDER.sub(replacement, text) if "{{" in text else text


def replace_placeholders(text: str, replacement: Callable[[str], str]) -> str:
    """Replace each placeholder by the result for its name, in order."""
    return _PLACEHOLDER.sub(lambda match: replacement(match[1]), text)


def as_text(value: "JsonValue") -> str:
    """Write a value into a text: strings as they are, everything else as JSON; `3.0` is `3`, as in JavaScript."""
    return value if isinstance(value, str) else json.dumps(_without_points(value), ensure_ascii=False)


def _without_points(value: "JsonValue") -> "JsonValue":
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {key: _without_points(each) for key, each in value.items()}
        case list():
            return [_without_points(each) for each in value]
        case _:
            return value


def strings_in(value: object, tokens: Tokens = ()) -> Iterator[tuple[Tokens, str]]:
    """Yield every string in a value that is not a key, and where it is."""
    match value:
        case str():
            yield tokens, value
        case dict():
            for key, each in cast("dict[str, object]", value).items():
                if isinstance(each, str):  # as most are: a generator for each would cost more than the rest
                    yield (*tokens, key), each
                else:
                    yield from strings_in(each, (*tokens, key))
        case list() | tuple():
            for index, each in enumerate(cast("Sequence[object]", value)):
                yield from strings_in(each, (*tokens, index))
        case _:
            pass


def keys_in(value: object, tokens: Tokens = ()) -> Iterator[tuple[Tokens, str]]:
    """Yield every key in a value, and where what belongs to it is."""
    match value:
        case dict():
            for key, each in cast("dict[str, object]", value).items():
                yield (*tokens, key), key
                if not isinstance(each, str):
                    yield from keys_in(each, (*tokens, key))
        case list() | tuple():
            for index, each in enumerate(cast("Sequence[object]", value)):
                yield from keys_in(each, (*tokens, index))
        case _:
            pass


class Absence(Enum):
    """What a path leads to when it leads nowhere; not the same as `null`."""

    MISSING = "missing"


MISSING: Final = Absence.MISSING

Found: TypeAlias = "JsonValue | Literal[Absence.MISSING]"


def steps_of(path: str) -> tuple[str, ...]:
    """Split a path at its dots; one that begins with `/` is a JSON pointer, for keys that contain dots."""
    return tokens_of(path) if path.startswith("/") else tuple(path.split("."))


def follow(data: "JsonValue", steps: Sequence[str]) -> Found:
    """Return what steps lead to: keys of objects, indices of lists, or a list's `length`."""
    value: Found = data
    for step in steps:
        match value:
            case dict():
                value = value.get(step, MISSING)
            case list() if step == LENGTH:
                value = len(value)
            case list():
                # Digits alone could still be too many for `int`, which refuses more than 4,300 of them.
                index = int(step) if _INDEX.fullmatch(step) else len(value)
                value = value[index] if index < len(value) else MISSING
            case _:
                return MISSING
    return value


class DeadEnd(NamedTuple):
    """Where a path stops leading anywhere: the steps that were taken, where they led, and the step that fails there."""

    resolved_steps: tuple[str, ...]
    inside: Any
    step: str

    def __str__(self) -> str:
        place = ".".join(self.resolved_steps)
        match self.inside:
            case dict():
                known = list(cast("dict[str, object]", self.inside))
                hint = did_you_mean(self.step, known, otherwise=f"it has {listed(known) or 'nothing'}")
                return f"{place} has no {shortened(self.step)}; {hint}"
            case list():
                return f"{place} is a list of {len(cast('list[object]', self.inside))} and has no {self.step!r}"
            case _:
                return f"{place} is {shortened(self.inside)} and has no {self.step!r}"


def dead_end(data: "JsonValue", steps: Sequence[str], *, start: Sequence[str] = ()) -> DeadEnd:
    """Return where steps that lead nowhere do so; `start` is what the data itself is called, in steps."""
    resolved_count = next(end for end in range(len(steps)) if follow(data, steps[: end + 1]) is MISSING)
    return DeadEnd((*start, *steps[:resolved_count]), follow(data, steps[:resolved_count]), steps[resolved_count])


class UnknownName(NamedTuple):
    """Why a placeholder cannot be filled, and what to write instead."""

    reason: str
    suggestion: str

    def __str__(self) -> str:
        return f"{self.reason}; {self.suggestion}"


def unknown_name(
    name: str, known: Iterable[str], *, source: str | None = None, remedy: str | None = None
) -> UnknownName:
    """Return that nothing is bound to a name, and what to do about it.

    `source` is the origin of the value of this name; without one the known name that was probably
    meant is named, else the `remedy`.
    """
    names = sorted(known)
    suggested = None if source else nearest(name, names)
    advice = source or (f"did you mean {placeholder(suggested)}?" if suggested else remedy)
    separator = "" if advice is None else " " if suggested else "; "
    suggestion = f"{advice or ''}{separator}known: {listed(names) or 'none'}"
    return UnknownName(f"nothing is bound to {placeholder(name)}", suggestion)
