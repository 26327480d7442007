"""Values of variables against their types, with what is wrong in GitHub's words."""

import json
from collections.abc import Iterator
from typing import Any, cast

from graphql import (
    GraphQLEnumType,
    GraphQLError,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLScalarType,
)

Path = list[str | int]
NULL = "Expected value to not be null"


def find_problems(value: Any, kind: object) -> Iterator[tuple[Path, str]]:
    """Yield what is wrong with a value and where inside of it."""
    return _find(value, kind, [])


def _find(value: Any, kind: object, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(kind, GraphQLNonNull):
        kind = cast("object", kind.of_type)
        if value is None:
            yield path, NULL
    if value is None:
        return
    match kind:
        case GraphQLList():
            # A single value stands for a list of it.
            items = enumerate(cast("list[Any]", value)) if isinstance(value, list) else [(None, value)]
            for index, item in items:
                yield from _find(item, cast("object", kind.of_type), path if index is None else [*path, index])
        case GraphQLInputObjectType():
            yield from _find_in_object(value, kind, path)
        case GraphQLEnumType():
            if not isinstance(value, str) or value not in kind.values:
                yield path, f"Expected {_written(value)} to be one of: {', '.join(kind.values)}"
        case GraphQLScalarType():
            yield from _find_in_scalar(value, kind, path)
        case _:
            return


def _find_in_scalar(value: Any, kind: GraphQLScalarType, path: Path) -> Iterator[tuple[Path, str]]:
    try:
        kind.coerce_input_value(value)
    except (GraphQLError, ValueError, TypeError):
        yield path, f"Could not coerce value {_written(value)} to {kind.name}"


def _find_in_object(value: Any, kind: GraphQLInputObjectType, path: Path) -> Iterator[tuple[Path, str]]:
    if not isinstance(value, dict):
        yield path, f"Expected {_written(value)} to be a key-value object."
        return
    given = cast("dict[str, Any]", value)
    for name in given:
        if name not in kind.fields:
            yield [*path, name], f"Field is not defined on {kind.name}"
    for name, field in kind.fields.items():
        yield from _find(given.get(name), field.type, [*path, name])


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
