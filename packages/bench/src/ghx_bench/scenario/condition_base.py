"""What all kinds of conditions share: their base class, the roles of their fields, and the values that they take.

Everything but whether a condition holds and how it reads follows from its fields: conditions in them are its parts, and
placeholders are replaced in every other text, unless the field is marked with another `Role`.
"""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, auto
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, cast

from pydantic import BeforeValidator, Field, JsonValue, WithJsonSchema

from ghx_base.documents import RefusedError
from ghx_base.documents.model_errors import of_wrong_kind
from ghx_base.problems import Tokens
from ghx_base.texts.templates import PLACEHOLDER, ValueOf, fill, fill_text, keys_in, only_name_in, strings_in
from ghx_base.wire import TaggedModel
from ghx_profiler.scenario import Text

MOST_ITEMS = 1_000

T = TypeVar("T")


def _refuse_too_many(value: object) -> object:
    """Refuse what is too long."""
    # Before its items are validated: each of a million might be wrong, and would get a line of its own.
    if isinstance(value, list | tuple | dict):
        size = len(cast("list[object]", value))
        if size > MOST_ITEMS:
            raise RefusedError(f"must have at most {MOST_ITEMS} items, not {size}")
    return cast("object", value)


LIMIT_ITEMS = BeforeValidator(_refuse_too_many)

Bounded = Annotated[T, LIMIT_ITEMS, Field(json_schema_extra={"maxItems": MOST_ITEMS})]
"""A list of at most `MOST_ITEMS` items, which is more than people write."""


_PLACEHOLDER_SCHEMA = {"type": "string", "pattern": f"^{PLACEHOLDER}$", "examples": ["{{expected_count}}"]}


def _wrong_kind(expected: str, value: object) -> RefusedError:
    complaint = of_wrong_kind(("value",), expected, value)
    return RefusedError(complaint.reason, suggestion=complaint.suggestion)


def _is_placeholder(value: object) -> bool:
    return isinstance(value, str) and only_name_in(value) is not None


# Conditions are validated twice: as they are written, with placeholders, and again with the values in their places.


def _expect_count(value: object) -> object:
    if _is_placeholder(value):
        return value
    if isinstance(value, bool) or not isinstance(value, int):  # to Python, `True` is an integer
        raise _wrong_kind("an integer", value)
    if value < 0:
        raise RefusedError(f"must be at least 0, not {value}")
    return value


def _expect_number(value: object) -> object:
    if not _is_placeholder(value) and (isinstance(value, bool) or not isinstance(value, int | float)):
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


class Role(Enum):
    """How a field of a condition takes part in binding and checking; fields without one are of the first kind."""

    VALUE = auto()
    """Placeholders are replaced; a text that is one placeholder takes the type of its value."""
    TEXT = auto()
    """Placeholders are replaced, and text stays text."""
    PATTERN = auto()
    """Placeholders are replaced by what means itself in a regular expression."""
    NAME = auto()
    """Nothing is replaced: it names something that exists before anything is bound."""
    PATH = auto()
    """Nothing is replaced: a path into the output, which is checked against what the capability returns."""


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
    Role.PATH,
    Field(
        description="The dotted path to the field; an integer indexes a list, `length` is the length of a list.",
        examples=["items.0.comments.length"],
    ),
]

CustomScorer = Callable[[JsonValue, Mapping[str, JsonValue]], bool]
"""Returns whether a `custom` condition is true, given the capability's output and the condition's `params`."""

Scorers = Mapping[str, CustomScorer]

NO_SCORERS: Scorers = MappingProxyType({})

Way = tuple[str | None, ...]
"""The steps from an output to a part of it; `None` stands for any item of a list, or of an object's `items`."""


class Slot(NamedTuple):
    """A text in which placeholders are replaced, where it is, and how."""

    tokens: Tokens
    text: str
    role: Literal[Role.VALUE, Role.TEXT, Role.PATTERN] = Role.VALUE

    @property
    def takes_anything(self) -> bool:
        """Whether the slot becomes the value itself, of whatever type, rather than text with the value in it."""
        return self.role is Role.VALUE and only_name_in(self.text) is not None

    def fill(self, value_of: ValueOf) -> JsonValue:
        """Return what takes the place of the text."""
        match self.role:
            case Role.VALUE:
                return fill(self.text, value_of)
            case Role.TEXT:
                return fill_text(self.text, value_of)
            case Role.PATTERN:
                # A value is data: the dot in `octo.cat` must match a dot, and no value may break the pattern.
                return fill_text(self.text, value_of, write=re.escape)


class FixedText(NamedTuple):
    """A text in which nothing is replaced, although an author may think otherwise."""

    tokens: Tokens
    text: str
    is_key: bool


class Part(NamedTuple):
    """A condition inside another, or itself: where it is written, and the way to what it looks at in the output."""

    tokens: Tokens
    way: Way
    condition: "Condition"


class Condition(TaggedModel, extra="forbid"):
    """A rule for the output of a capability; keys that it does not know are refused.

    Kinds are marked `final`, so that type checkers refuse one that does not say whether it holds, and how it reads.
    """

    type: Any  # each kind says which

    @abstractmethod
    def holds(self, data: JsonValue, scorers: Scorers) -> bool:
        """Return whether this is true of a capability's output; `scorers` are those that `custom` may name."""

    @abstractmethod
    def describe(self) -> str:
        """Return what is expected, as the rows' `expected` has it: `items.length == 3`."""

    def describe_inside(self) -> str:
        """Return what is expected, for a place between other words."""
        return self.describe()

    def way_to_parts(self) -> Way:
        """Return how what the parts look at is reached from what this looks at; by default it is the same."""
        return ()

    def parts(self) -> Iterator[tuple[Tokens, "Condition"]]:
        """Yield the conditions right inside this one, and where they are."""
        for name, key, _ in _fields_of(type(self)):
            value: object = getattr(self, name)
            if not isinstance(value, str | int):  # most are, and hold none
                yield from _conditions_in(value, (key,))

    def walk(self, tokens: Tokens = (), way: Way = ()) -> Iterator[Part]:
        """Yield this condition and all inside it."""
        yield Part(tokens, way, self)
        for at, part in self.parts():
            yield from part.walk((*tokens, *at), (*way, *self.way_to_parts()))

    def slots(self, tokens: Tokens = ()) -> Iterator[Slot]:
        """Yield the texts, here and in all parts, in which placeholders are replaced."""
        for part in self.walk(tokens):
            for name, key, role in _fields_of(type(part.condition)):
                if role is not Role.NAME and role is not Role.PATH:
                    for at, text in strings_in(getattr(part.condition, name), (*part.tokens, key)):
                        yield Slot(at, text, role)

    def fixed_texts(self, tokens: Tokens = ()) -> Iterator[FixedText]:
        """Yield the texts, here and in all parts, in which nothing is replaced: keys, names and paths."""
        for part in self.walk(tokens):
            for name, key, role in _fields_of(type(part.condition)):
                value, at = getattr(part.condition, name), (*part.tokens, key)
                if role is Role.NAME or role is Role.PATH:
                    yield from (FixedText(place, text, is_key=False) for place, text in strings_in(value, at))
                else:
                    yield from (FixedText(place, text, is_key=True) for place, text in keys_in(value, at))

    def paths(self) -> Iterator[tuple[str, str]]:
        """Yield the paths of this condition, without those of its parts, each with its key."""
        for name, key, role in _fields_of(type(self)):
            if role is Role.PATH and (path := getattr(self, name)) is not None:
                yield key, path


def _conditions_in(value: object, tokens: Tokens) -> Iterator[tuple[Tokens, Condition]]:
    """Yield the conditions that the value of a field is or holds; not those inside them."""
    match value:
        case Condition():
            yield tokens, value
        case dict():
            for key, each in cast("dict[str, object]", value).items():
                yield from _conditions_in(each, (*tokens, key))
        case list() | tuple():
            for index, each in enumerate(cast("Sequence[object]", value)):
                yield from _conditions_in(each, (*tokens, index))
        case _:
            pass


@cache  # asked for every condition of every scenario, and the same for all of a kind
def _fields_of(kind: type[Condition]) -> tuple[tuple[str, str, Role], ...]:
    """Return the fields of a kind of condition beside its type: the name of each, its key in files, and its role."""
    return tuple(
        (name, field.alias or name, next((each for each in field.metadata if isinstance(each, Role)), Role.VALUE))
        for name, field in kind.model_fields.items()
        if name != "type"
    )


def put(value: JsonValue, tokens: Tokens, new: JsonValue) -> None:
    """Set what is at a place inside a value."""
    *way, last = tokens
    inside = cast("Any", value)
    for token in way:
        inside = inside[token]
    inside[last] = new
