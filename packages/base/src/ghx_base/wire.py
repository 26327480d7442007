"""What crosses a process boundary: frozen records with camelCase names that write back what they read."""

import json
import math
from functools import cache
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, Strict
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticSerializationError, from_json


def _refuse_booleans(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("expected a number, got a boolean")  # noqa: TRY004 - pydantic wants ValueError
    return value


StrictInt = Annotated[int, Strict()]
Count = Annotated[StrictInt, Field(ge=0)]
"""How many; strict: neither `"3"` nor `true` nor `3.0`."""

Number = Annotated[StrictInt | Annotated[float, Strict()], BeforeValidator(_refuse_booleans)]
"""A JSON number; an integer stays an integer, so that files round-trip to the letter."""

JsonObject = dict[str, JsonValue]

OMITTABLE = "omittable"
"""Marks a key that is absent, rather than `null`, without a value: `Annotated[str | None, OMITTABLE]`."""


class WireModel(BaseModel):
    """A frozen record; snake_case in Python, camelCase on the wire, both accepted when reading.

    A record writes exactly the keys it was given, so a file read and written again is JSON-equal. A key that was
    never given is not written; a value that is not known is given as `None` and written as `null`.
    Unknown keys are refused here; `ForeignModel` keeps them.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        frozen=True,
        extra="forbid",
        ser_json_inf_nan="null",
    )

    def model_dump(self, **options: Any) -> dict[str, Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Dump by alias and without unset keys by default."""
        options.setdefault("exclude_unset", True)
        return super().model_dump(**options)

    def model_dump_json(self, **options: Any) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Dump to JSON by alias and without unset keys by default."""
        options.setdefault("exclude_unset", True)
        return super().model_dump_json(**options)

    def to_bytes(self) -> bytes:
        """Return the JSON that is written to files, in UTF-8.

        Programs also print invalid text, such as half of a surrogate pair, or nest deeper than readers follow; the
        first is replaced as decoders do, the second written as text, since a record must not be lost for it.
        """
        try:
            content = self.model_dump_json().encode()
        except (PydanticSerializationError, UnicodeEncodeError):
            return json.dumps(_as_text(self.model_dump(mode="python")), ensure_ascii=False).encode()
        if content.count(b"[") + content.count(b"{") < _DEEP or _can_be_read(content):
            return content
        return json.dumps(_as_text(self.model_dump(mode="python")), ensure_ascii=False).encode()

    def to_wire(self) -> JsonObject:
        """Return the JSON value that is written to files."""
        return self.model_dump(mode="json")

    def with_all_keys(self) -> Self:
        """Mark every key of this record, all the way down, to be written: as `null` where nothing is known.

        For records made here rather than read from a file. Keys marked `OMITTABLE` stay away while unset. Only what is
        written changes, not the content, so a frozen record is marked in place: that is done for every row.
        """
        self.__pydantic_fields_set__.update(_always_written(type(self)))
        for value in self.__dict__.values():
            if type(value) not in _PLAIN:
                _write_all_keys(value)
        return self


@cache
def _always_written(kind: type[WireModel]) -> frozenset[str]:
    return frozenset(name for name, field in kind.model_fields.items() if OMITTABLE not in field.metadata)


_PLAIN = frozenset({str, int, float, bool, type(None)})


def _write_all_keys(value: object) -> None:
    """Spell out a record, or those in a tuple or in a dict; other values hold none."""
    match value:
        case WireModel():
            value.with_all_keys()
        case tuple():
            for each in cast("tuple[object, ...]", value):
                if isinstance(each, WireModel):
                    each.with_all_keys()
        case dict():
            for each in cast("dict[str, object]", value).values():
                if not isinstance(each, WireModel):
                    break  # all values of a field are of one kind; a dict of plain JSON may be large
                each.with_all_keys()
        case _:
            pass


_DEEP = 100


def _can_be_read(content: bytes) -> bool:
    try:
        from_json(content)
    except ValueError:
        return False
    return True


def _as_text(value: object, depth: int = 0) -> object:
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict() | list() | tuple() if depth == _DEEP:
            return "(nested too deeply to be kept)"
        case dict():
            items = cast("dict[str, object]", value).items()
            return {cast("str", _as_text(key)): _as_text(each, depth + 1) for key, each in items}
        case list() | tuple():
            return [_as_text(each, depth + 1) for each in cast("list[object]", value)]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


class ForeignModel(WireModel):
    """A record that other programs, or later versions of this one, also write: unknown keys are kept."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow")


class TaggedModel(ForeignModel):
    """One kind of several, distinguished by `type`, which is always written."""

    type: str

    def model_post_init(self, _context: object, /) -> None:
        """Count the tag as given."""
        self.__pydantic_fields_set__.add("type")
