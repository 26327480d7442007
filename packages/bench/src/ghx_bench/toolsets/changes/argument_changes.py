"""What differs between the arguments of a tool in two versions, and whether they take all that they took before."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import combinations
from math import inf
from typing import Literal, cast

from pydantic import JsonValue

from ghx_base.wire import WireModel
from ghx_bench.toolsets.tool_lists import ListedTool

Aspect = Literal["type", "choices", "required", "description", "schema"]
"""What of an argument may change; `schema` is anything else that is said of it, such as a default."""


class Argument(WireModel):
    """An argument of a tool, as far as it is compared."""

    type: str
    required: bool
    choices: tuple[JsonValue, ...] | None
    description: str


class ArgumentChange(WireModel):
    """An argument that is new, gone or another."""

    name: str
    change: Literal["added", "removed", "changed"]
    before: Argument | None
    after: Argument | None
    aspects: tuple[Aspect, ...]
    """What of it has changed; empty of one that is new or gone."""
    takes_all: bool | None = True
    """Whether it takes every value that it took before; `None` where its schemas do not tell."""

    @property
    def is_breaking(self) -> bool:
        """Whether a call that was right before may be refused now."""
        if self.after is None:
            return True
        if self.before is None or (self.after.required and not self.before.required):
            return self.after.required
        return self.takes_all is False


def compare_arguments(old: ListedTool, new: ListedTool) -> Iterator[ArgumentChange]:
    """Yield the arguments that are not the same in both versions of a tool."""
    for name in dict.fromkeys((*old.arguments, *new.arguments)):
        before, after = (_argument(each, name) if name in each.arguments else None for each in (old, new))
        if before is None or after is None:
            yield ArgumentChange(
                name=name, change="added" if before is None else "removed", before=before, after=after, aspects=()
            )
        elif aspects := tuple(_aspects(before, after, old.arguments[name], new.arguments[name])):
            fits = takes_all(old.arguments[name], new.arguments[name], old.input_schema, new.input_schema)
            yield ArgumentChange(
                name=name, change="changed", before=before, after=after, aspects=aspects, takes_all=fits
            )


def _aspects(before: Argument, after: Argument, old: JsonValue, new: JsonValue) -> Iterator[Aspect]:
    if before.type != after.type:
        yield "type"
    if before.choices != after.choices:
        yield "choices"
    if before.required != after.required:
        yield "required"
    if before.description != after.description:
        yield "description"
    ignored = _TOLD if before.type == after.type else _TOLD | _TYPES
    if _rest(old, ignored) != _rest(new, ignored):
        yield "schema"


def _argument(tool: ListedTool, name: str) -> Argument:
    schema, required = tool.arguments[name], tool.input_schema.get("required")
    part = schema if isinstance(schema, dict) else {}
    choices = part.get("enum")
    return Argument(
        type=_type_of(schema),
        required=isinstance(required, list) and name in required,
        choices=tuple(choices) if isinstance(choices, list) else None,
        description=str(part.get("description") or ""),
    )


def _type_of(schema: JsonValue) -> str:
    """Return the type of an argument in words; of one with parts that is not simple, the parts as JSON."""
    if not isinstance(schema, dict):
        return "any"
    kind, items = schema.get("type"), schema.get("items")
    if isinstance(kind, list):
        return " or ".join(map(str, kind))
    if kind == "array":
        return f"array of {_type_of(items)}" if items is not None else "array"
    if isinstance(kind, str):
        return kind
    for key in ("anyOf", "oneOf"):
        if isinstance(parts := schema.get(key), list):
            return " or ".join(dict.fromkeys(map(_type_of, parts)))
    return str(schema["$ref"]) if "$ref" in schema else "any"


_TOLD = frozenset({"type", "enum", "description"})
_TYPES = frozenset({"items", "anyOf", "oneOf", "$ref"})
"""Keywords that a type consists of: a changed type is not reported again as a changed schema."""


def _rest(schema: JsonValue, ignored: Set[str]) -> str:
    """Return the schema of an argument as JSON, without the keywords to ignore."""
    if not isinstance(schema, dict):
        return json.dumps(schema)
    return json.dumps({key: value for key, value in schema.items() if key not in ignored}, sort_keys=True)


Verdict = bool | None
"""Whether all values are taken; `None` where that cannot be told."""

_SAYS_NOTHING = frozenset(
    {
        "title", "description", "default", "examples", "example", "$comment", "deprecated", "readOnly", "writeOnly",
        "$schema", "$id", "$anchor", "$defs", "definitions", "discriminator",
    }
)  # fmt: skip
"""Keywords that take no value away."""

_LIMITS = {"minimum": -inf, "maximum": inf, "minLength": 0, "maxLength": inf, "minItems": 0, "maxItems": inf}
"""Keywords that are limits, with those that take no value away."""
_COMPARED = frozenset({*_LIMITS, "items", "properties", "required", "additionalProperties"})
_OF_NUMBERS = frozenset({"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"})
_OF_TYPE: Mapping[str, frozenset[str]] = {
    "integer": _OF_NUMBERS,
    "number": _OF_NUMBERS,
    "string": frozenset({"minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType"}),
    "array": frozenset({"items", "minItems", "maxItems", "uniqueItems", "prefixItems", "contains", "additionalItems"}),
    "object": frozenset({"properties", "required", "additionalProperties", "minProperties", "maxProperties"}),
}
_FAMILIES = ("null", "boolean", "number", "string", "array", "object")
_DEEPEST = 24
_MOST_STEPS = 2_000
"""Parts of schemas that are looked at: references can make a small one endless."""


@dataclass(frozen=True, slots=True)
class _Value:
    """One value that a schema takes."""

    family: str
    value: JsonValue


@dataclass(frozen=True, slots=True)
class _Typed:
    """All values of one type that fit some keywords."""

    family: str
    keywords: Mapping[str, JsonValue]
    is_whole: bool = False


_Part = _Value | _Typed


def takes_all(
    old: JsonValue, new: JsonValue, old_root: Mapping[str, JsonValue], new_root: Mapping[str, JsonValue]
) -> Verdict:
    """Return whether `new` takes every value that `old` takes; `None` where that is not plain.

    Every type of a schema is assumed to have values. A name of an object that only `new` lists does not count, unless
    `old` says what names beside its own may hold. The roots are the documents in which references are looked up.
    """
    return _Comparison(old_root, new_root).covers(old, new)


@dataclass(slots=True)
class _Comparison:
    old_root: Mapping[str, JsonValue]
    new_root: Mapping[str, JsonValue]
    verdicts: dict[str, Verdict] = field(default_factory=dict[str, Verdict])
    """Of schemas with references, which may be recursive; `None` while they are compared."""
    depth: int = 0
    steps_left: int = _MOST_STEPS

    def covers(self, old: JsonValue, new: JsonValue) -> Verdict:
        """Return whether one schema takes all that another one takes."""
        key = json.dumps([old, new])
        if '"$ref"' in key and key in self.verdicts:
            return self.verdicts[key]
        self.verdicts[key] = None
        self.depth += 1
        if self._are_equal(old, new):
            self.verdicts[key] = True
        elif self.depth <= _DEEPEST:
            before, after = self._take_apart(old, self.old_root), self._take_apart(new, self.new_root)
            if before is not None and after is not None:
                self.verdicts[key] = _all(self._is_covered(each, after) for each in before)
        self.depth -= 1
        return self.verdicts[key]

    def _are_equal(self, old: JsonValue, new: JsonValue) -> bool:
        """Return whether two schemas are equal, except in keywords that restrict no value."""
        bare, other = (
            {key: value for key, value in each.items() if key not in _SAYS_NOTHING} if isinstance(each, dict) else each
            for each in (old, new)
        )
        if bare != other or isinstance(bare, bool) != isinstance(other, bool):
            return False
        homes = ("$defs", "definitions", "properties")
        are_alike = all(self.old_root.get(each) == self.new_root.get(each) for each in homes)
        return are_alike or '"$ref"' not in json.dumps(bare)

    def _take_apart(self, schema: JsonValue, root: Mapping[str, JsonValue], depth: int = 0) -> list[_Part] | None:
        """Return the types and values of which a schema takes any; `None` where that is not plain."""
        self.steps_left -= 1
        if self.steps_left < 0 or depth > _DEEPEST:
            return None
        if schema is False:
            return []
        whole = schema if isinstance(schema, dict) else {}
        keywords = {key: value for key, value in whole.items() if key not in _SAYS_NOTHING}
        if len(keywords) == 1:
            ((key, value),) = keywords.items()
            if key == "$ref":
                target = _look_up(value, root)
                return None if target is None else self._take_apart(target, root, depth + 1)
            if isinstance(value, list) and (key in ("anyOf", "oneOf") or (key == "allOf" and len(value) == 1)):
                return _join([self._take_apart(each, root, depth + 1) for each in value], is_exclusive=key == "oneOf")
        return _parse_parts(keywords)

    def _is_covered(self, part: _Part, by: Sequence[_Part]) -> Verdict:
        """Return whether all values of a part are taken by any of others."""
        rivals = [each for each in by if each.family == part.family]
        if isinstance(part, _Value):
            verdicts = [_takes_value(part, each) for each in rivals]
            return True if True in verdicts else None if None in verdicts else False
        typed = [each for each in rivals if isinstance(each, _Typed)]
        verdicts = [self._includes(part, each) for each in typed]
        if True in verdicts:
            return True
        if len(rivals) == len(typed) == 1:
            return verdicts[0]
        # Several together may take what none of them does alone; but single values never take a type without limits.
        is_plain = not part.keywords if rivals else part.keywords.keys() <= _COMPARED
        return False if is_plain and not typed else None

    def _includes(self, part: _Typed, other: _Typed) -> Verdict:
        """Return whether a type takes all that another of its family takes."""
        old, new = part.keywords, other.keywords
        verdicts: list[Verdict] = [part.is_whole or not other.is_whole]
        for key, none in _LIMITS.items():
            before, after = (_number(each, key, none) for each in (old, new))
            verdicts.append(after <= before if key.startswith("min") else before <= after)
        if "items" in new and old.get("maxItems") != 0:
            verdicts.append(self.covers(old.get("items", True), new["items"]))
        if part.family == "object":
            verdicts += self._compare_names(old, new)
        verdicts += [None for key in new.keys() - _COMPARED if old.get(key) != new[key]]
        verdict = _all(verdicts)
        # What is refused need not have been taken before, where more is said than is compared.
        return verdict if old.keys() <= _COMPARED else verdict or None

    def _compare_names(self, old: Mapping[str, JsonValue], new: Mapping[str, JsonValue]) -> Iterator[Verdict]:
        yield _required(new) <= _required(old)
        own, others = _listed(old), _listed(new)
        beside, other_beside = (each.get("additionalProperties", True) for each in (old, new))
        # A name that is new here could be sent before as well, but nobody knew that: it is an addition.
        names = {**own, **others} if "additionalProperties" in old else own
        pairs = [(own.get(each, beside), others.get(each, other_beside)) for each in names]
        yield from (self.covers(before, after) for before, after in (*pairs, (beside, other_beside)))


def _all(verdicts: Iterable[Verdict]) -> Verdict:
    results = [*verdicts]
    return False if False in results else None if None in results else True


def _parse_parts(keywords: Mapping[str, JsonValue]) -> list[_Part] | None:
    """Return the parts of a schema that says its types and values itself."""
    kinds = keywords.get("type")
    keywords = {key: value for key, value in keywords.items() if key != "type"}
    names = [*_FAMILIES] if kinds is None else list(map(str, kinds if isinstance(kinds, list) else [kinds]))
    if keywords.keys() in ({"const"}, {"enum"}):
        (value,) = keywords.values()
        types = [part for each in names for part in _parts_of(each, {})]
        values = value if "enum" in keywords and isinstance(value, list) else [value]
        parts = [_Value(_family_of(each), each) for each in values]
        return [each for each in parts if any(_takes_value(each, one) for one in types)]
    if keywords.keys() - frozenset[str]().union(*_OF_TYPE.values()):
        return None
    return [part for each in names for part in _parts_of(each, keywords)]


def _join(branches: Sequence[Sequence[_Part] | None], *, is_exclusive: bool) -> list[_Part] | None:
    """Return the parts of all branches of a schema; what fits two branches of `oneOf` is not taken."""
    known = [each for each in branches if each is not None]
    families = [{part.family for part in each} for each in known]
    overlap = is_exclusive and any(one & other for one, other in combinations(families, 2))
    return None if overlap or len(known) < len(branches) else [part for each in known for part in each]


def _parts_of(name: str, keywords: Mapping[str, JsonValue]) -> Iterator[_Part]:
    """Yield a type with the keywords that mean something for it."""
    match name:
        case "null":
            yield _Value(name, None)
        case "boolean":
            yield from (_Value(name, True), _Value(name, False))
        case _:
            own = {key: value for key, value in keywords.items() if key in _OF_TYPE.get(name, ())}
            yield _Typed("number" if name == "integer" else name, own, is_whole=name == "integer")


def _look_up(reference: JsonValue, root: Mapping[str, JsonValue]) -> JsonValue:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    target: JsonValue = cast("JsonValue", root)
    for step in reference.removeprefix("#/").split("/"):
        target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
    return target


def _family_of(value: JsonValue) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"


def _takes_value(one: _Value, part: _Part) -> Verdict:
    """Return whether a part takes one value."""
    if one.family != part.family:
        return False
    if isinstance(part, _Value):
        return one.value == part.value
    if part.is_whole and isinstance(one.value, float) and not one.value.is_integer():
        return False
    return None if part.keywords else True


def _number(keywords: Mapping[str, JsonValue], key: str, otherwise: float) -> float:
    value = keywords.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else otherwise


def _listed(keywords: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    properties = keywords.get("properties")
    return properties if isinstance(properties, dict) else {}


def _required(keywords: Mapping[str, JsonValue]) -> Set[str]:
    names = keywords.get("required")
    return {each for each in names if isinstance(each, str)} if isinstance(names, list) else set()
