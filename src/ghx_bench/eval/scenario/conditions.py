"""What a checkpoint may ask of the output of its capability, as it stands in scenario files."""

from functools import lru_cache
from typing import Annotated, Any, Literal, Self, TypeVar, cast

from pydantic import BeforeValidator, Field, JsonValue, WithJsonSchema, field_validator, model_validator
from pydantic_core import SchemaError, SchemaValidator, core_schema

from ghx_bench._base.wire import OMITTABLE, JsonObject, TaggedModel
from ghx_bench.documents import RefusedError
from ghx_bench.documents.wording import of_wrong_kind
from ghx_bench.eval.scenario.templates import PLACEHOLDER, fill_text, is_placeholder
from ghx_bench.profiler.scenario import Text

MOST_ITEMS = 1_000

T = TypeVar("T")


def _refuse_more(value: object) -> object:
    """Refuse what is too long before looking at its items, of which each might be wrong."""
    if isinstance(value, list | tuple | dict):
        size = len(cast("list[object]", value))
        if size > MOST_ITEMS:
            raise RefusedError(f"must have at most {MOST_ITEMS} items, not {size}")
    return cast("object", value)


REFUSE_MORE = BeforeValidator(_refuse_more)

Some = Annotated[T, REFUSE_MORE, Field(json_schema_extra={"maxItems": MOST_ITEMS})]
"""A list that people could have written."""


class PatternError(ValueError):
    """A pattern is no regular expression that can be used; the message says why."""


def matches(pattern: str, text: str) -> bool:
    """Say whether the pattern is found anywhere in the text."""
    return compiled(pattern).isinstance_python(text)


@lru_cache(maxsize=256)
def compiled(pattern: str) -> SchemaValidator:
    """Compile a pattern, or raise `PatternError`."""
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex", strict=True))
    except SchemaError as error:
        raise PatternError(str(error).rpartition("rror: ")[2].rstrip(".")) from None


_PLACEHOLDER_SCHEMA = {"type": "string", "pattern": f"^{PLACEHOLDER}$", "examples": ["{{expected_count}}"]}


def _wrong_kind(expected: str, value: object) -> RefusedError:
    told = of_wrong_kind(("value",), expected, value)
    return RefusedError(told.reason, suggestion=told.suggestion)


def _is_open(value: object) -> bool:
    return isinstance(value, str) and is_placeholder(value)


def _expect_count(value: object) -> object:
    if _is_open(value):
        return value
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong_kind("an integer", value)
    if value < 0:
        raise RefusedError(f"must be at least 0, not {value}")
    return value


def _expect_number(value: object) -> object:
    if not _is_open(value) and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise _wrong_kind("a number", value)
    return value


def _expect_primitive(value: object) -> object:
    if isinstance(value, dict | list | tuple):
        kind = "an object" if isinstance(value, dict) else "a list"
        raise RefusedError(
            f"expected a string, a number, true, false or null, got {kind}",
            suggestion="compare its parts, each with a path of its own, or look into a list with 'contains_item'",
        )
    return value


CountValue = Annotated[
    int | str,
    BeforeValidator(_expect_count),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, _PLACEHOLDER_SCHEMA]}),
]
"""How many, or the `{{variable}}` that says it."""

NumberValue = Annotated[
    int | float | str,
    BeforeValidator(_expect_number),
    WithJsonSchema({"anyOf": [{"type": "number"}, _PLACEHOLDER_SCHEMA]}),
]
"""A number, or the `{{variable}}` that stands for one."""

Primitive = Annotated[str | bool | int | float | None, BeforeValidator(_expect_primitive)]
"""A value that is neither a list nor an object."""

FieldPath = Annotated[
    Text,
    Field(
        description="The dotted path to the field; an integer indexes a list, `length` is the length of a list.",
        examples=["items.0.comments.length"],
    ),
]


class _Condition(TaggedModel, extra="forbid"):
    """What a condition is gets written also where Python code left it to the class; other keys are refused."""

    type: Any  # each kind says which


class NonEmpty(_Condition):
    """The list, or the object's `items`, has an item; anything else is not null."""

    type: Literal["non_empty"] = "non_empty"


class Empty(_Condition):
    """The list, or the object's `items`, has no item; anything else is null."""

    type: Literal["empty"] = "empty"


class CountGte(_Condition):
    """The list, or the object's `items`, has at least `value` items."""

    type: Literal["count_gte"] = "count_gte"
    value: CountValue = Field(description="How many items there must be at least.", examples=[2])


class CountEq(_Condition):
    """The list, or the object's `items`, has exactly `value` items."""

    type: Literal["count_eq"] = "count_eq"
    value: CountValue = Field(description="How many items there must be.", examples=[3])


class FieldEquals(_Condition):
    """The field is there and equals `value`: as JSON does, so `true` is not `1` and `"1"` is not `1`."""

    type: Literal["field_equals"] = "field_equals"
    path: FieldPath
    value: Primitive = Field(description="What the field must equal.", examples=["CLOSED"])


class FieldContains(_Condition):
    """The field is a string that contains `value`; upper and lower case differ."""

    type: Literal["field_contains"] = "field_contains"
    path: FieldPath
    value: Annotated[str, Field(strict=True)] = Field(
        description="The text that the field must contain.", examples=["Fixes #{{issue_number}}"]
    )


class FieldGte(_Condition):
    """The field is a number of at least `value`."""

    type: Literal["field_gte"] = "field_gte"
    path: FieldPath
    value: NumberValue = Field(description="The least number that will do.", examples=[1])


class ContainsItem(_Condition):
    """The list has an item, at whatever place, that is like `value`, or of which the condition `where` is true.

    The list is the one at `path`; without a path it is the output itself, or its `items`.
    """

    type: Literal["contains_item"] = "contains_item"
    path: Annotated[
        Text | None,
        OMITTABLE,
        Field(description="The dotted path to the list; without one, the output itself.", examples=["labels"]),
    ] = None
    value: Annotated[
        JsonValue,
        OMITTABLE,
        Field(description="The item; of an object, the keys it must have at least.", examples=["bug"]),
    ] = None
    where: Annotated[
        "CheckpointCondition | None", OMITTABLE, Field(description="A condition that the item must satisfy.")
    ] = None

    @model_validator(mode="after")
    def _asks_one_thing(self) -> Self:
        """Refuse two questions and none; `null` beside a condition is how an unset item is written with every key."""
        if self.where is not None and self.value is not None:
            raise RefusedError("'value' and 'where' are both given", at=("where",), suggestion="keep one of them")
        if self.where is None and "value" not in self.model_fields_set:
            if "where" in self.model_fields_set:
                raise RefusedError("expected a condition, got null", at=("where",))
            raise RefusedError("missing key 'value' or 'where'", suggestion="say which item the list must contain")
        return self


class Matches(_Condition):
    """The field is a string in which the regular expression `pattern` is found."""

    type: Literal["matches"] = "matches"
    path: FieldPath
    pattern: Text = Field(
        description="A regular expression, found anywhere unless anchored with ^ and $; no look-around.",
        examples=[r"^v\d+\.\d+\.\d+$"],
    )

    @field_validator("pattern")
    @classmethod
    def _can_be_compiled(cls, pattern: str) -> str:
        try:
            compiled(fill_text(pattern, lambda _: "x"))
        except PatternError as error:
            raise RefusedError(f"this is no regular expression that can be used: {error}") from None
        return pattern


class AllOf(_Condition):
    """Every one of `conditions` is true."""

    type: Literal["all"] = "all"
    conditions: Some[Annotated[tuple["CheckpointCondition", ...], Field(min_length=1)]] = Field(
        description="The conditions that must all be true."
    )


class AnyOf(_Condition):
    """At least one of `conditions` is true."""

    type: Literal["any"] = "any"
    conditions: Some[Annotated[tuple["CheckpointCondition", ...], Field(min_length=1)]] = Field(
        description="The conditions of which one must be true."
    )


class Not(_Condition):
    """`condition` is false."""

    type: Literal["not"] = "not"
    condition: "CheckpointCondition" = Field(description="The condition that must be false.")


class Custom(_Condition):
    """The scorer registered under this name says so; a scenario file never carries code."""

    type: Literal["custom"] = "custom"
    scorer: Text = Field(description="The name of a registered scorer.", examples=["mentions-every-file"])
    params: JsonObject = Field(default={}, description="What the scorer is told besides the output.")


CheckpointCondition = Annotated[
    NonEmpty
    | Empty
    | CountGte
    | CountEq
    | FieldEquals
    | FieldContains
    | FieldGte
    | ContainsItem
    | Matches
    | AllOf
    | AnyOf
    | Not
    | Custom,
    Field(discriminator="type"),
]
"""A rule that the output of a checkpoint's capability must satisfy, told apart by `type`."""

for _each in (ContainsItem, AllOf, AnyOf, Not):
    _each.model_rebuild()
