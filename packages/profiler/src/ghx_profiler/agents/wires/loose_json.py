"""JSON of other programs, read without trust: what is not of the expected kind counts as absent."""

from typing import cast

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from ghx_base.wire import JsonObject


def parse_object(text: bytes | bytearray | str) -> JsonObject:
    """Return the JSON object that a text is; an empty one for any other text."""
    try:
        return as_object(from_json(text))
    except ValueError:
        return {}


def parse_objects(text: bytes | bytearray) -> list[JsonObject]:
    """Return the JSON object that a text is, or those in the list that it is.

    Gemini answers with a list to a client that streams and does not ask for server-sent events, errors included.
    """
    if not text.lstrip().startswith(b"["):
        return [parse_object(text)]
    return as_objects(parse_object(b'{"list":%s}' % text).get("list"))


def as_object(value: object) -> JsonObject:
    """Return a value that is an object; an empty one for any other value."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[JsonValue]:
    """Return a value that is a list; an empty one for any other value."""
    return cast("list[JsonValue]", value) if isinstance(value, list) else []


def as_objects(value: object) -> list[JsonObject]:
    """Return the objects in a list."""
    return [as_object(each) for each in as_list(value) if isinstance(each, dict)]


def as_text(value: object) -> str | None:
    """Return a value that is a text and is not empty."""
    return value if isinstance(value, str) and value else None


def as_count(value: object) -> int | None:
    """Return a value that counts something."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def as_integer(value: object) -> int | None:
    """Return a value that is a whole number, also one below zero."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def as_number(value: object) -> int | float | None:
    """Return a value that is a number."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def size_of(value: object) -> int:
    """Return how many bytes a value has as JSON."""
    return len(to_json(value))


def flatten(content: object) -> str:
    """Return the text in a message's content, which is a text or a list of parts, some of which may be images."""
    if isinstance(content, str):
        return content
    texts = (as_text(part.get("text")) or flatten(part.get("content")) for part in as_objects(content))
    return "\n".join(text for text in texts if text)


def parse_arguments(text: str) -> JsonValue:
    """Return the arguments of a tool call, which models write as JSON, and otherwise as they are."""
    try:
        return cast("JsonValue", from_json(text))
    except ValueError:
        return text
