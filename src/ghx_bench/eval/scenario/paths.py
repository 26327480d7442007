"""Paths into the output of a capability: `items.0.comments.length`."""

import re
from collections.abc import Sequence
from enum import Enum
from typing import Final, Literal

from pydantic import JsonValue

from ghx_bench._base.problems import tokens_of


class Absence(Enum):
    """What a path leads to when it leads nowhere; not the same as `null`."""

    MISSING = "missing"


MISSING: Final = Absence.MISSING

Found = JsonValue | Literal[Absence.MISSING]

LENGTH = "length"
ITEMS = "items"

_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")


def steps_of(path: str) -> tuple[str, ...]:
    """Take a path apart at its dots; one that begins with `/` is a JSON pointer, for keys that contain dots."""
    return tokens_of(path) if path.startswith("/") else tuple(path.split("."))


def look_up(data: JsonValue, path: str) -> Found:
    """Return what a path leads to: a key of an object, an item of a list by its index, or a list's `length`."""
    return follow(data, steps_of(path))


def follow(data: JsonValue, steps: Sequence[str]) -> Found:
    """Return what the steps of a path lead to."""
    found: Found = data
    for step in steps:
        match found:
            case dict():
                found = found.get(step, MISSING)
            case list():
                found = _item(found, step)
            case _:
                return MISSING
    return found


def _item(items: list[JsonValue], step: str) -> Found:
    if step == LENGTH:
        return len(items)
    index = int(step) if _INDEX.fullmatch(step) else len(items)
    return items[index] if index < len(items) else MISSING


def items_of(data: Found) -> list[JsonValue] | None:
    """Return a list itself, or the list that an object has as its `items`; `None` where there is neither."""
    inner = data.get(ITEMS) if isinstance(data, dict) else data
    return inner if isinstance(inner, list) else None
