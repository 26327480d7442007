"""What a checkpoint may ask of the output of its capability: as it stands in files, whether it holds, how it reads.

A kind of condition is one class here, and one line in `CheckpointCondition`.
"""

import json
from typing import Annotated, ClassVar, Literal, Self, cast, final

from pydantic import Field, JsonValue, field_validator, model_validator

from ghx_base.documents import RefusedError
from ghx_base.errors import InputError
from ghx_base.texts.patterns import PatternError, compile_pattern, matches
from ghx_base.texts.templates import MISSING, Found, as_text, fill_text, follow, steps_of
from ghx_base.wire import OMITTABLE, JsonObject
from ghx_bench.scenario.condition_base import (
    NO_SCORERS,
    Bounded,
    Condition,
    CountValue,
    FieldPath,
    NumberValue,
    Primitive,
    Role,
    Scorers,
    Way,
)
from ghx_profiler.errors import UnknownNameError
from ghx_profiler.records.causes import describe_error
from ghx_profiler.scenario import Text


class BadConditionError(InputError):
    """A condition cannot be evaluated: a variable was never bound, or a custom scorer misbehaves."""

    code: ClassVar[str] = "BAD_CONDITION"


@final
class NonEmpty(Condition):
    """The list, or the object's `items`, has an item; anything else is not null."""

    type: Literal["non_empty"] = "non_empty"

    def holds(self, data: JsonValue, scorers: Scorers) -> bool:
        items = items_of(data)
        return data is not None if items is None else len(items) > 0

    def describe(self) -> str:
        return "non-empty result"


@final
class Empty(Condition):
    """The list, or the object's `items`, has no item; anything else is null."""

    type: Literal["empty"] = "empty"

    def holds(self, data: JsonValue, scorers: Scorers) -> bool:
        items = items_of(data)
        return data is None if items is None else len(items) == 0

    def describe(self) -> str:
        return "empty result"


@final
class CountGte(Condition):
    """The list, or the object's `items`, has at least `value` items."""

    type: Literal["count_gte"] = "count_gte"
    value: CountValue = Field(description="How many items there must be at least.", examples=[2])

    def holds(self, data: JsonValue, scorers: Scorers) -> bool:
        least, items = _require_bound(self.value), items_of(data)
        return items is not None and len(items) >= least

    def describe(self) -> str:
        return f"count >= {as_text(self.value)}"


@final
class CountEq(Condition):
    """The list, or the object's `items`, has exactly `value` items."""

    type: Literal["count_eq"] = "count_eq"
    value: CountValue = Field(description="How many items there must be.", examples=[3])

    def holds(self, data: JsonValue, scorers: Scorers) -> bool:
        expected, items = _require_bound(self.value), items_of(data)
        return items is not None and len(items) == expected

    def describe(self) -> str:
        return f"count == {as_text(self.value)}"


@final
class FieldEquals(Condition):
    """The field is there and equals `value`: as JSON does, so `true` is not `1` and `"1"` is not `1`."""

    type: Literal["field_equals"] = "field_equals"
    path: FieldPath
    value: Primitive = Field(description="What the field must equal.", examples=["CLOSED"])

    def holds(self, data: JsonValue, scorers: Scorers) -> bool:
        field = look_up(data, self.path)
        return field is not MISSING and is_same(field, self.value)

    def describe(self) -> str:
        return f"{self.path} == {_quote(self.value)}"


@final
class FieldContains(Condition):
    """The field is a string that contains `value`; upper and lower case differ."""

    type: Literal["field_contains"] = "field_contains"
    path: FieldPath
    value: Annotated[str, Role.TEXT, Field(strict=True)] = Field(
        description="The text that the field must contain.", examples=["Fixes #{{issue_number}}"]
    )

    def holds(self, data: JsonValue, scorers: Scorers) -> bool:
        field = look_up(data, self.path)
        return isinstance(field, str) and self.value in field

    def describe(self) -> str:
        return f"{self.path} contains {_quote(self.value)}"


@final
class FieldGte(Condition):
    """The field is a number of at least `value`."""

    type: Literal["field_gte"] = "field_gte"
    path: FieldPath
    value: NumberValue = Field(description="The least number that will do.", examples=[1])

    def holds(self, data: JsonValue, scorers: Scorers) -> bool:
        least, field = _require_bound(self.value), look_up(data, self.path)
        return isinstance(field, int | float) and not isinstance(field, bool) and field >= least

    def describe(self) -> str:
        return f"{self.path} >= {as_text(self.value)}"


@final
class ContainsItem(Condition):
    """The list has an item, at whatever place, that is like `value`, or of which the condition `where` is true.

    The list is the one at `path`; without a path it is the output itself, or its `items`.
    """

    type: Literal["contains_item"] = "contains_item"
    path: Annotated[
        Text | None,
        Role.PATH,
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
        """Refuse two questions and none; `null` next to a condition is how an unset item is written with every key."""
        if self.where is not None and self.value is not None:
            raise RefusedError("'value' and 'where' are both given", at=("where",), suggestion="keep one of them")
        if self.where is None and "value" not in self.model_fields_set:
            if "where" in self.model_fields_set:
                raise RefusedError("expected a condition, got null", at=("where",))
            raise RefusedError("missing key 'value' or 'where'", suggestion="say which item the list must contain")
        return self

    def holds(self, data: JsonValue, scorers: Scorers) -> bool:
        items = items_of(data if self.path is None else look_up(data, self.path)) or []
        if self.where is None:
            return any(is_like(item, self.value) for item in items)
        return any(self.where.holds(item, scorers) for item in items)

    def describe(self) -> str:
        what = _quote(self.value) if self.where is None else f"with {self.where.describe_inside()}"
        return f"{self.path or 'result'} contains item {what}"

    def way_to_parts(self) -> Way:
        return (*(() if self.path is None else steps_of(self.path)), None)


@final
class Matches(Condition):
    """The field is a string in which the regular expression `pattern` is found."""

    type: Literal["matches"] = "matches"
    path: FieldPath
    pattern: Annotated[Text, Role.PATTERN] = Field(
        description="A regular expression, found anywhere unless anchored with ^ and $; no look-around.",
        examples=[r"^v\d+\.\d+\.\d+$"],
    )

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            compile_pattern(fill_text(pattern, lambda _: "x"))
        except PatternError as error:
            raise RefusedError(f"this is no regular expression that can be used: {error}") from None
        return pattern

    def holds(self, data: JsonValue, scorers: Scorers) -> bool:
        field = look_up(data, self.path)
        return isinstance(field, str) and matches(self.pattern, field)

    def describe(self) -> str:
        return f"{self.path} matches /{self.pattern}/"


@final
class AllOf(Condition):
    """Every one of `conditions` is true."""

    type: Literal["all"] = "all"
    conditions: Bounded[Annotated[tuple["CheckpointCondition", ...], Field(min_length=1)]] = Field(
        description="The conditions that must all be true."
    )

    def holds(self, data: JsonValue, scorers: Scorers) -> bool:
        return all(each.holds(data, scorers) for each in self.conditions)

    def describe(self) -> str:
        return " and ".join(each.describe_inside() for each in self.conditions)

    def describe_inside(self) -> str:
        return f"({self.describe()})"


@final
class AnyOf(Condition):
    """At least one of `conditions` is true."""

    type: Literal["any"] = "any"
    conditions: Bounded[Annotated[tuple["CheckpointCondition", ...], Field(min_length=1)]] = Field(
        description="The conditions of which one must be true."
    )

    def holds(self, data: JsonValue, scorers: Scorers) -> bool:
        return any(each.holds(data, scorers) for each in self.conditions)

    def describe(self) -> str:
        return " or ".join(each.describe_inside() for each in self.conditions)

    def describe_inside(self) -> str:
        return f"({self.describe()})"


@final
class Not(Condition):
    """`condition` is false."""

    type: Literal["not"] = "not"
    condition: "CheckpointCondition" = Field(description="The condition that must be false.")

    def holds(self, data: JsonValue, scorers: Scorers) -> bool:
        return not self.condition.holds(data, scorers)

    def describe(self) -> str:
        return f"not ({self.condition.describe()})"


@final
class Custom(Condition):
    """The scorer registered under this name says so; a scenario file never carries code."""

    type: Literal["custom"] = "custom"
    scorer: Annotated[Text, Role.NAME] = Field(
        description="The name of a registered scorer.", examples=["mentions-every-file"]
    )
    params: JsonObject = Field(default={}, description="What the scorer is given besides the output.")

    def holds(self, data: JsonValue, scorers: Scorers) -> bool:
        scorer = scorers.get(self.scorer)
        if scorer is None:
            raise UnknownNameError("custom scorer", self.scorer, known=scorers)
        try:
            verdict = cast("object", scorer(data, self.params))
        except Exception as error:  # plugin call: a project's own code may raise anything
            raise BadConditionError(f"custom scorer {self.scorer!r} failed: {describe_error(error)}") from error
        if not isinstance(verdict, bool):
            reason = f"custom scorer {self.scorer!r} returned {verdict!r}"
            raise BadConditionError(f"{reason}; it must return True or False")
        return verdict

    def describe(self) -> str:
        return f"custom scorer: {self.scorer}" + (f" with {as_text(self.params)}" if self.params else "")


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
"""A rule that the output of a checkpoint's capability must satisfy, distinguished by `type`."""

for _each in (ContainsItem, AllOf, AnyOf, Not):
    _each.model_rebuild()


def evaluate_condition(condition: Condition, data: JsonValue, *, scorers: Scorers = NO_SCORERS) -> bool:
    """Return whether `condition` is true of a capability's output; `scorers` are those that `custom` may name."""
    return condition.holds(data, scorers)


def describe_condition(condition: Condition) -> str:
    """Return what a condition expects, as the rows' `expected` has it: `items.length == 3`."""
    return condition.describe()


def look_up(data: JsonValue, path: str) -> Found:
    """Return what a path leads to: a key of an object, an item of a list by its index, or a list's `length`."""
    return follow(data, steps_of(path))


ITEMS = "items"


def items_of(data: Found) -> list[JsonValue] | None:
    """Return a list itself, or the list that an object has as its `items`; `None` where there is neither."""
    inner = data.get(ITEMS) if isinstance(data, dict) else data
    return inner if isinstance(inner, list) else None


def is_same(left: Found, right: Found) -> bool:
    """Return whether two values are equal as JSON, all the way down."""
    match left, right:
        case dict(), dict():
            return left.keys() == right.keys() and all(is_same(left[key], right[key]) for key in left)
        case list(), list():
            return len(left) == len(right) and all(map(is_same, left, right))
        case bool(), _:
            return left is right  # to Python, `True == 1`
        case _, bool():
            return False
        case _:
            return left == right


def is_like(value: Found, expected: JsonValue) -> bool:
    """Return whether a value is what was wanted; an object may have more keys than those wanted of it."""
    if isinstance(expected, dict) and isinstance(value, dict):
        return all(is_like(value.get(key, MISSING), each) for key, each in expected.items())
    return is_same(value, expected)


def _require_bound(value: float | str) -> float:
    if isinstance(value, str):
        raise BadConditionError(f"the condition still has {value}; bind its variables before evaluating it")
    return value


def _quote(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else as_text(value)
