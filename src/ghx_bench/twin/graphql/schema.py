"""GitHub's scalars: what they accept from a client."""

import base64
import binascii
import re
from collections.abc import Callable
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any

from graphql import GraphQLError, GraphQLScalarType, GraphQLSchema, build_schema

from ghx_bench.twin.graphql.binding import bind
from ghx_bench.twin.graphql.changes.binding import bind_changes
from ghx_bench.twin.graphql.registry import CONNECTIONS, EDGES, EMPTY_TYPES, VIEWS

_SHA = re.compile(r"[0-9a-f]{40}")


def bind_scalars(schema: GraphQLSchema) -> None:
    """Set the checks of the schema's own scalars; in answers they are always text."""
    for name, check in _CHECKS.items():
        scalar = schema.type_map[name]
        assert isinstance(scalar, GraphQLScalarType)  # noqa: S101 - the schema is ours
        scalar.coerce_input_value = check  # pyright: ignore[reportAttributeAccessIssue] - the way to bind a built schema
        scalar.parse_value = check  # pyright: ignore[reportAttributeAccessIssue] - the same


def _text(name: str, is_valid: Callable[[str], bool]) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if not isinstance(value, str) or not is_valid(value):
            raise GraphQLError(f"Could not coerce value {value!r} to {name}")
        return value

    return check


def _moment(name: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        try:
            found = datetime.fromisoformat(value)
        except (TypeError, ValueError):
            raise GraphQLError(f"Could not coerce value {value!r} to {name}") from None
        return _to_utc(found)

    return check


def _to_utc(moment: datetime) -> str:
    """Return a moment as the records spell theirs, so that the two compare as text."""
    offset = moment.utcoffset()
    found = (moment if offset is None else moment - offset).replace(tzinfo=None)
    return found.isoformat(timespec="seconds") + "Z"


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text.encode("ascii"), validate=True)
    except (UnicodeError, binascii.Error):
        return False
    return True


_CHECKS: dict[str, Callable[[Any], str]] = {
    "Base64String": _text("Base64String", _is_base64),
    "DateTime": _moment("DateTime"),
    "GitObjectID": _text("GitObjectID", lambda text: _SHA.fullmatch(text) is not None),
    "GitTimestamp": _moment("GitTimestamp"),
    "URI": _text("URI", lambda text: text.isprintable()),
}


def sdl() -> str:
    """Return the text of the schema, all domains in one."""
    folder = files("ghx_bench.twin.graphql").joinpath("schema")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".graphql"))
    return "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names)


@cache
def schema() -> GraphQLSchema:
    """Return the schema, built once in a process."""
    # Validated in the tests, not at every start.
    built = build_schema(sdl(), assume_valid=True, assume_valid_sdl=True, no_location=True)
    bind_scalars(built)
    bind(built, VIEWS, connections=CONNECTIONS, edges=EDGES, empty=EMPTY_TYPES)
    bind_changes(built)
    return built
