"""Whether a JSON Schema takes every value that another one takes: told where it is sure, and else not told."""

import json
import math
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal, cast

from pydantic import JsonValue

Verdict = bool | None
"""Whether all values are taken; `None` where that cannot be told."""

Family = Literal["integer", "number", "string", "array", "object"]
_FAMILIES: tuple[Family, ...] = ("number", "string", "array", "object")

_SAYS_NOTHING = frozenset(
    {
        "title", "description", "default", "examples", "example", "$comment", "deprecated", "readOnly", "writeOnly",
        "$schema", "$id", "$anchor", "$defs", "definitions", "discriminator",
    }
)  # fmt: skip
"""Keywords that take no value away."""

_BOUNDS = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")
_OF_FAMILY: Mapping[Family, frozenset[str]] = {
    "integer": frozenset({*_BOUNDS, "multipleOf"}),
    "number": frozenset({*_BOUNDS, "multipleOf"}),
    "string": frozenset({"minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType"}),
    "array": frozenset({"items", "minItems", "maxItems", "uniqueItems", "prefixItems", "contains", "additionalItems"}),
    "object": frozenset({"properties", "required", "additionalProperties", "minProperties", "maxProperties"}),
}
_UNDERSTOOD = frozenset(
    {*_BOUNDS, "minLength", "maxLength", "items", "minItems", "maxItems", "uniqueItems",
     "properties", "required", "additionalProperties"}
)  # fmt: skip
"""What a value that fits can be made for; with any other keyword, there may be none."""

_MOST_STEPS = 2_000
"""Parts of a schema that are looked at; recursive ones have no end."""
_DEEPEST = 24


@dataclass(frozen=True, slots=True)
class _Constant:
    value: JsonValue


@dataclass(frozen=True, slots=True)
class _Typed:
    """All values of one type that fit some keywords."""

    family: Family
    keywords: Mapping[str, JsonValue]


_Alternative = _Constant | _Typed


@dataclass(slots=True)
class _Side:
    """One of the two schemas: what references in it lead to, and how much of it may still be looked at."""

    root: Mapping[str, JsonValue]
    steps_left: int = _MOST_STEPS
    depth: int = 0

    @contextmanager
    def enter(self) -> Generator[bool]:
        """Yield whether another part may be looked at."""
        self.steps_left -= 1
        self.depth += 1
        try:
            yield self.steps_left > 0 and self.depth <= _DEEPEST
        finally:
            self.depth -= 1


@dataclass(slots=True)
class _Alternatives:
    """What a schema takes: any of these."""

    found: list[_Alternative] = field(default_factory=list[_Alternative])
    may_be_fewer: bool = False
    """Whether the schema may take less than these: it has keywords that are not understood here."""
    is_complete: bool = True
    """Whether the schema takes nothing beside these."""


def takes_all(
    old: JsonValue, new: JsonValue, old_root: Mapping[str, JsonValue], new_root: Mapping[str, JsonValue]
) -> Verdict:
    """Return whether `new` takes every value that `old` takes; `None` where that cannot be told.

    A name of an object that only `new` lists does not count, unless `old` says what names beside its own may hold.
    The roots are the documents in which references are looked up.
    """
    return _covers(old, _Side(old_root), new, _Side(new_root))


def _covers(old: JsonValue, old_side: _Side, new: JsonValue, new_side: _Side) -> Verdict:
    if _are_the_same(old, old_side, new, new_side):
        return True
    with old_side.enter() as may_go_on, new_side.enter() as other_may:
        before, after = _take_apart(old, old_side), _take_apart(new, new_side)
        if not (may_go_on and other_may and before.is_complete):
            return None
        verdicts = [_covered(each, old_side, after.found, new_side) for each in before.found]
    if before.may_be_fewer or not after.is_complete:
        # What is refused may not have been taken before either, or is taken by what is not understood.
        verdicts = [each or None for each in verdicts]
    if after.may_be_fewer:
        verdicts = [None if each else each for each in verdicts]
    return _all(verdicts)


def _are_the_same(old: JsonValue, old_side: _Side, new: JsonValue, new_side: _Side) -> bool:
    """Return whether two schemas are equal but for what takes no value away, whatever else is in them."""
    bare, other = (
        {key: value for key, value in each.items() if key not in _SAYS_NOTHING} if isinstance(each, dict) else each
        for each in (old, new)
    )
    if bare != other or isinstance(bare, bool) != isinstance(other, bool):
        return False
    homes = ("$defs", "definitions", "properties")
    are_alike = all(old_side.root.get(each) == new_side.root.get(each) for each in homes)
    return are_alike or '"$ref"' not in json.dumps(bare)


def _all(verdicts: Iterable[Verdict]) -> Verdict:
    seen = [*verdicts]
    return False if False in seen else None if None in seen else True


def _take_apart(schema: JsonValue, side: _Side) -> _Alternatives:
    """Return what a schema takes, type by type and value by value."""
    with side.enter() as may_go_on:
        return _take_layer_apart(schema, side) if may_go_on else _Alternatives(is_complete=False)


def _take_layer_apart(schema: JsonValue, side: _Side) -> _Alternatives:  # noqa: PLR0911 - a kind of schema each
    if schema is False:
        return _Alternatives()
    if not isinstance(schema, dict):
        return _Alternatives([*_of_types(None, {})], is_complete=schema is True or schema is None)
    told = {key: value for key, value in schema.items() if key not in _SAYS_NOTHING}
    if "$ref" in told:
        found = _look_up(told.pop("$ref"), side.root)
        if found is None or told:
            return _Alternatives(is_complete=False)
        return _take_apart(found, side)
    if isinstance(parts := told.get("allOf"), list) and len(parts) == 1 and len(told) == 1:
        return _take_apart(parts[0], side)
    for key in ("anyOf", "oneOf"):
        if isinstance(branches := told.get(key), list):
            rest = {name: value for name, value in told.items() if name != key}
            return _take_branches_apart(branches, rest, side, is_exclusive=key == "oneOf")
    key = "const" if "const" in told else "enum"
    values = [told["const"]] if "const" in told else told.get("enum")
    if isinstance(values, list):
        typed = _take_apart({"type": told["type"]} if "type" in told else {}, side).found
        fitting = [each for each in values if any(_takes_value(each, part) is not False for part in typed)]
        has_more = bool(told.keys() - {key, "type"})
        return _Alternatives([_Constant(each) for each in fitting], may_be_fewer=has_more)
    kinds = told.pop("type", None)
    names = kinds if isinstance(kinds, list) else None if kinds is None else [kinds]
    known = frozenset[str]().union(*_OF_FAMILY.values())
    return _Alternatives([*_of_types(names, told)], may_be_fewer=bool(told.keys() - known))


def _take_branches_apart(
    branches: Sequence[JsonValue], rest: Mapping[str, JsonValue], side: _Side, *, is_exclusive: bool
) -> _Alternatives:
    whole = _Alternatives()
    families: list[set[object]] = []
    for branch in branches:
        # What stands beside the branches holds for each of them.
        if rest and (not isinstance(branch, dict) or branch.keys() & rest.keys() or "$ref" in branch):
            return _Alternatives(is_complete=False)
        part = _take_apart({**rest, **branch} if isinstance(branch, dict) else branch, side)
        whole.found += part.found
        whole.may_be_fewer |= part.may_be_fewer
        whole.is_complete &= part.is_complete
        families.append({_family_of(each) for each in part.found})
    if is_exclusive and any(one & other for one, other in combinations(families, 2)):
        # What fits two branches is not taken.
        whole.may_be_fewer = True
    return whole


def _family_of(part: _Alternative) -> object:
    """Return what parts of two branches have in common if a value may fit both."""
    if isinstance(part, _Typed):
        return "number" if part.family == "integer" else part.family
    match part.value:
        case None | bool():
            return repr(part.value)
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"


def _of_types(names: Sequence[JsonValue] | None, keywords: Mapping[str, JsonValue]) -> Iterator[_Alternative]:
    wanted = ("null", "boolean", *_FAMILIES) if names is None else tuple(dict.fromkeys(map(str, names)))
    if "number" in wanted:
        wanted = tuple(each for each in wanted if each != "integer")
    for name in wanted:
        match name:
            case "null":
                yield _Constant(None)
            case "boolean":
                yield from (_Constant(True), _Constant(False))
            case "integer" | "number" | "string" | "array" | "object":
                yield _Typed(name, {key: value for key, value in keywords.items() if key in _OF_FAMILY[name]})
            case _:
                pass


def _look_up(reference: JsonValue, root: Mapping[str, JsonValue]) -> JsonValue:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    found: JsonValue = cast("JsonValue", root)
    for step in reference.removeprefix("#/").split("/"):
        found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
    return found


def _covered(part: _Alternative, side: _Side, by: Sequence[_Alternative], by_side: _Side) -> Verdict:
    """Return whether all values of one alternative are taken by any of others."""
    if isinstance(part, _Constant):
        verdicts = [_takes_value(part.value, each) for each in by]
        return True if True in verdicts else None if None in verdicts else False
    rivals = [each for each in by if _family_of(each) == _family_of(part)]
    verdicts = [_includes(part, side, each, by_side) for each in rivals]
    if True in verdicts:
        return True
    if not _has_values(part, side):
        return None
    if len(rivals) <= 1 and any(isinstance(each, _Typed) for each in rivals):
        return verdicts[0]
    # Several together may take what none of them does alone; but single values never take an endless type.
    are_values = all(isinstance(each, _Constant) for each in rivals)
    return False if not rivals or (are_values and _is_endless(part)) else None


def _is_endless(part: _Typed) -> bool:
    match part.family:
        case "integer":
            low, high = _bounds(part)
            return math.isinf(low[0]) or math.isinf(high[0])
        case "number":
            low, high = _bounds(part)
            return low[0] < high[0]
        case "string":
            return "maxLength" not in part.keywords
        case "array":
            return "maxItems" not in part.keywords
        case "object":
            return part.keywords.get("additionalProperties", True) is True


def _takes_value(value: JsonValue, part: _Alternative) -> Verdict:  # noqa: PLR0911 - a kind of value each
    """Return whether one value is taken."""
    if isinstance(part, _Constant):
        is_truth = isinstance(value, bool) or isinstance(part.value, bool)
        return value is part.value if is_truth else value == part.value
    if _family_of(_Constant(value)) != _family_of(part):
        return False
    if isinstance(value, float) and part.family == "integer" and not value.is_integer():
        return False
    if not part.keywords:
        return True
    match value:
        case int() | float():
            low, high = _bounds(part)
            return None if "multipleOf" in part.keywords else low <= (value, 0) <= high
        case str() if part.keywords.keys() <= {"minLength", "maxLength"}:
            return _number(part, "minLength", 0) <= len(value) <= _number(part, "maxLength", math.inf)
        case _:
            return None


def _includes(part: _Typed, side: _Side, other: _Alternative, other_side: _Side) -> Verdict:
    """Return whether one alternative takes all that another of the same type takes."""
    if isinstance(other, _Constant):
        return False
    verdicts: list[Verdict] = []
    if part.family == "number" and other.family == "integer":
        low, high = _bounds(part)
        verdicts.append(False if low[0] < high[0] else None)
    match part.family:
        case "integer" | "number":
            (low, high), (other_low, other_high) = _bounds(part), _bounds(other)
            verdicts.append(other_low <= low and high <= other_high)
        case "string":
            verdicts.append(_within(part, other, "minLength", "maxLength"))
        case "array":
            verdicts += [_within(part, other, "minItems", "maxItems"), *_items(part, side, other, other_side)]
        case "object":
            verdicts += _properties(part, side, other, other_side)
    for key in other.keywords.keys() - _UNDERSTOOD:
        verdicts.append(True if part.keywords.get(key) == other.keywords[key] else None)
    return _all(verdicts)


def _bounds(part: _Typed) -> tuple[tuple[float, int], tuple[float, int]]:
    """Return the least and the greatest number, each with where it ends: beside it (1, -1) or at it (0)."""
    low: tuple[float, int] = (-math.inf, 0)
    high: tuple[float, int] = (math.inf, 0)
    for key, value in part.keywords.items():
        # In older drafts the exclusive ones are true or false, and mean the bound beside them.
        if key not in _BOUNDS or isinstance(value, bool) or not isinstance(value, int | float):
            continue
        is_exclusive = key.startswith("exclusive") or part.keywords.get(f"exclusive{key[0].upper()}{key[1:]}") is True
        if key.lower().endswith("minimum"):
            low = max(low, (value, int(is_exclusive)))
        else:
            high = min(high, (value, -int(is_exclusive)))
    if part.family == "integer" and math.isfinite(low[0]):
        low = (math.floor(low[0]) + 1 if low[1] else math.ceil(low[0]), 0)
    if part.family == "integer" and math.isfinite(high[0]):
        high = (math.ceil(high[0]) - 1 if high[1] else math.floor(high[0]), 0)
    return low, high


def _number(part: _Typed, key: str, otherwise: float) -> float:
    value = part.keywords.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else otherwise


def _within(part: _Typed, other: _Typed, least: str, most: str) -> bool:
    return _number(other, least, 0) <= _number(part, least, 0) and _number(part, most, math.inf) <= _number(
        other, most, math.inf
    )


def _items(part: _Typed, side: _Side, other: _Typed, other_side: _Side) -> Iterator[Verdict]:
    most = _number(part, "maxItems", math.inf)
    if other.keywords.get("uniqueItems") is True and part.keywords.get("uniqueItems") is not True:
        yield most < 2 or None  # noqa: PLR2004 - two that are the same
    if "items" in other.keywords and most > 0:
        yield _covers(part.keywords.get("items", True), side, other.keywords["items"], other_side)


def _properties(part: _Typed, side: _Side, other: _Typed, other_side: _Side) -> Iterator[Verdict]:
    yield _required(other) <= _required(part)
    own, others = _listed(part), _listed(other)
    beside, other_beside = (each.keywords.get("additionalProperties", True) for each in (part, other))
    # A name that is new here could be sent before as well, but nobody knew that: it is an addition.
    new = set[str]() if "additionalProperties" in part.keywords else others.keys() - own.keys()
    names = [each for each in dict.fromkeys((*own, *others)) if each not in new]
    pairs = [(own.get(each, beside), others.get(each, other_beside)) for each in names]
    for before, after in (*pairs, (beside, other_beside)):
        if before is not False:
            yield _covers(before, side, after, other_side)


def _listed(part: _Typed) -> Mapping[str, JsonValue]:
    found = part.keywords.get("properties")
    return found if isinstance(found, dict) else {}


def _required(part: _Typed) -> frozenset[str]:
    names = part.keywords.get("required")
    return frozenset(each for each in names if isinstance(each, str)) if isinstance(names, list) else frozenset()


def _has_values(part: _Typed, side: _Side) -> bool:
    """Return whether there surely is a value of this kind, and one at every bound that it has."""
    if part.keywords.keys() - _UNDERSTOOD:
        return False
    match part.family:
        case "integer" | "number":
            low, high = _bounds(part)
            return low <= high
        case "string":
            return _number(part, "minLength", 0) <= _number(part, "maxLength", math.inf)
        case "array":
            if part.keywords.get("uniqueItems") is True:
                return False
            is_possible = _number(part, "minItems", 0) <= _number(part, "maxItems", math.inf)
            return is_possible and _is_possible(part.keywords.get("items", True), side)
        case "object":
            schemas = _listed(part)
            beside = part.keywords.get("additionalProperties", True)
            has_required = all(_is_possible(schemas.get(name, beside), side) for name in _required(part))
            return has_required and all(_is_possible(each, side) for each in schemas.values())


def _is_possible(schema: JsonValue, side: _Side) -> bool:
    """Return whether there surely is a value that a schema takes."""
    with side.enter() as may_go_on:
        found = _take_apart(schema, side)
        return (may_go_on and not found.may_be_fewer) and any(
            isinstance(each, _Constant) or _has_values(each, side) for each in found.found
        )
