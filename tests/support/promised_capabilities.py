"""What capabilities take and give by the catalogue they come from: `tests/data/capabilities.txt`, read as JSON Schema.

A line is `id effect | inputs | outputs`. A name that may be missing ends in `?`. A type is `str`, `int`, `bool`,
`=text` for exactly that text, `[type]`, `{name:type ...}`, or several of them with `|` between.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parents[1] / "data" / "capabilities.txt"
_SIMPLE = {"str": "string", "int": "integer", "bool": "boolean", "null": "null"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What one capability takes and gives."""

    mutates: bool
    inputs: frozenset[str]
    required: frozenset[str]
    output_schema: dict[str, Any]


@cache
def promised() -> dict[str, Promise]:
    """Return the promise of each capability in the table, by its id."""
    return dict(map(_promise, TABLE.read_text(encoding="utf-8").splitlines()))


def _promise(line: str) -> tuple[str, Promise]:
    (id_, effect), inputs, outputs = (part.split() for part in line.split(" | ", 2))
    required = frozenset(name for name in inputs if not name.endswith("?"))
    names = frozenset(name.removesuffix("?") for name in inputs)
    schema = _object(iter([*_tokens(" ".join(outputs)), "}"]))
    return id_, Promise(mutates=effect == "changes", inputs=names, required=required, output_schema=schema)


def _tokens(text: str) -> list[str]:
    return re.findall(r"=?\w+\??|[\[\]{}:|]", text)


def _object(tokens: Iterator[str]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    token = next(tokens)
    while token != "}":
        name, colon = token.removesuffix("?"), next(tokens)
        assert colon == ":", f"{name} has no type"
        if name == token:
            required.append(name)
        properties[name], token = _type(tokens)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _type(tokens: Iterator[str]) -> tuple[dict[str, Any], str]:
    """Return the type that begins here, and the token after it."""
    kinds: list[dict[str, Any]] = []
    after = "|"
    while after == "|":
        match next(tokens):
            case "{":
                kinds.append(_object(tokens))
                after = next(tokens)
            case "[":
                items, _ = _type(tokens)
                kinds.append({"type": "array", "items": items})
                after = next(tokens)
            case text if text.startswith("="):
                kinds.append({"const": text[1:]})
                after = next(tokens)
            case word:
                kinds.append({"type": _SIMPLE[word]})
                after = next(tokens)
    return (kinds[0] if len(kinds) == 1 else {"anyOf": kinds}), after
