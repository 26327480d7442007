"""What crosses a process boundary: frozen records with camelCase names that write back what they read."""

import json
import math
from functools import cache
from operator import is_
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, Strict
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticSerializationError


def _refuse_booleans(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("expected a number, got a boolean")  # noqa: TRY004 - pydantic wants ValueError
    return value


StrictInt = Annotated[int, Strict()]
Count = Annotated[StrictInt, Field(ge=0)]
"""How many; strict: neither `"3"` nor `true` nor `3.0`."""

Number = Annotated[int | float, Field(union_mode="smart"), BeforeValidator(_refuse_booleans)]
"""A JSON number; an integer stays an integer, so that files round-trip to the letter."""

JsonObject = dict[str, JsonValue]

OMITTABLE = "omittable"
"""Marks a key that is absent, rather than `null`, while there is nothing to say: `Annotated[str | None, OMITTABLE]`."""


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
        """Dump by alias and without unset keys unless told otherwise."""
        options.setdefault("exclude_unset", True)
        return super().model_dump(**options)

    def model_dump_json(self, **options: Any) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Dump to JSON by alias and without unset keys unless told otherwise."""
        options.setdefault("exclude_unset", True)
        return super().model_dump_json(**options)

    def to_bytes(self) -> bytes:
        """Return the JSON that is written to files, in UTF-8.

        Programs also say what is no text, such as half of a surrogate pair; it is replaced as decoders do, since a
        record must not be lost for it.
        """
        try:
            return self.model_dump_json().encode()
        except (PydanticSerializationError, UnicodeEncodeError):
            return json.dumps(_as_text(self.model_dump(mode="python")), ensure_ascii=False).encode()

    def to_wire(self) -> JsonObject:
        """Return the JSON value that is written to files."""
        return self.model_dump(mode="json")

    def spelled_out(self) -> Self:
        """Return the same record, all the way down, with every key written: `null` where nothing is known.

        For records made here rather than read from a file. Keys marked `OMITTABLE` stay away while unset.
        """
        said = cast("dict[str, object]", self.__dict__)
        spelled = {name: _spell_out(value) for name, value in said.items() if type(value) not in _PLAIN}
        changed = {name: value for name, value in spelled.items() if value is not said[name]}
        written = self.model_fields_set | _always_written(type(self))
        if not changed and len(written) == len(self.model_fields_set):
            return self
        copy = self.model_copy(update=changed)
        object.__setattr__(copy, "__pydantic_fields_set__", written)  # it is frozen
        return copy


@cache
def _always_written(kind: type[WireModel]) -> frozenset[str]:
    return frozenset(name for name, field in kind.model_fields.items() if OMITTABLE not in field.metadata)


_PLAIN = frozenset({str, int, float, bool, type(None)})


def _spell_out(value: object) -> object:
    """Spell out a record, or those in a tuple or a dict; what needs no spelling out is returned as it is."""
    match value:
        case WireModel():
            return value.spelled_out()
        case tuple():
            items = cast("tuple[object, ...]", value)
            spelled = tuple(map(_spell_out, items))
            return items if all(map(is_, items, spelled)) else spelled
        case dict():
            named = cast("dict[str, object]", value)
            # All values of a field are of one kind; a dict of plain JSON, however large, holds no records.
            return {key: _spell_out(each) for key, each in named.items()} if _holds_records(named) else named
        case _:
            return value


def _holds_records(named: dict[str, object]) -> bool:
    return isinstance(next(iter(named.values()), None), WireModel)


def _as_text(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            items = cast("dict[str, object]", value).items()
            return {cast("str", _as_text(key)): _as_text(each) for key, each in items}
        case list() | tuple():
            return [_as_text(each) for each in cast("list[object]", value)]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


class ForeignModel(WireModel):
    """A record that other programs, or later versions of this one, also write: unknown keys are kept."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow")


class TaggedModel(ForeignModel):
    """One kind of several that are told apart by their `type`, which is always written."""

    type: str

    def model_post_init(self, _context: object, /) -> None:
        """Count the tag as given."""
        self.__pydantic_fields_set__.add("type")
