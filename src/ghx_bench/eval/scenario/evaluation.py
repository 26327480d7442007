"""Whether a condition holds for a capability's output, and how it reads in a report."""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import ClassVar, assert_never, cast

from pydantic import JsonValue

from ghx_bench._base.errors import InputError
from ghx_bench.eval.scenario.conditions import (
    AllOf,
    AnyOf,
    CheckpointCondition,
    ContainsItem,
    CountEq,
    CountGte,
    Custom,
    Empty,
    FieldContains,
    FieldEquals,
    FieldGte,
    Matches,
    NonEmpty,
    Not,
    matches,
)
from ghx_bench.eval.scenario.paths import MISSING, Found, items_of, look_up
from ghx_bench.eval.scenario.templates import as_text
from ghx_bench.profiler.causes import describe_error
from ghx_bench.profiler.errors import UnknownNameError


def is_same(left: Found, right: Found) -> bool:
    """Say whether two values are equal as JSON, all the way down."""
    match left, right:
        case dict(), dict():
            return left.keys() == right.keys() and all(is_same(left[key], right[key]) for key in left)
        case list(), list():
            return len(left) == len(right) and all(map(is_same, left, right))
        case bool(), _:
            return left is right
        case _, bool():
            return False
        case _:
            return left == right


def is_like(value: Found, wanted: JsonValue) -> bool:
    """Say whether a value is what was wanted; an object may have more keys than those wanted of it."""
    if isinstance(wanted, dict) and isinstance(value, dict):
        return all(is_like(value.get(key, MISSING), each) for key, each in wanted.items())
    return is_same(value, wanted)


CustomScorer = Callable[[JsonValue, Mapping[str, JsonValue]], bool]
"""Says whether a `custom` condition is true, given the capability's output and the condition's `params`."""

NO_SCORERS: Mapping[str, CustomScorer] = MappingProxyType({})


class BadConditionError(InputError):
    """A condition cannot be evaluated: a variable was never bound, or a custom scorer misbehaves."""

    code: ClassVar[str] = "BAD_CONDITION"


def evaluate_condition(
    condition: CheckpointCondition, data: JsonValue, *, scorers: Mapping[str, CustomScorer] = NO_SCORERS
) -> bool:
    """Say whether `condition` is true of a capability's output; `scorers` are those that `custom` may name."""
    match condition:
        case AllOf(conditions=conditions):
            verdict = all(evaluate_condition(each, data, scorers=scorers) for each in conditions)
        case AnyOf(conditions=conditions):
            verdict = any(evaluate_condition(each, data, scorers=scorers) for each in conditions)
        case Not(condition=inner):
            verdict = not evaluate_condition(inner, data, scorers=scorers)
        case ContainsItem():
            verdict = _contains(condition, data, scorers)
        case Custom():
            verdict = _ask(condition, data, scorers)
        case NonEmpty() | Empty() | CountGte() | CountEq():
            verdict = _evaluate_count(condition, data)
        case FieldEquals() | FieldContains() | FieldGte() | Matches():
            verdict = _evaluate_field(condition, look_up(data, condition.path))
        case _:
            assert_never(condition)
    return verdict


def _evaluate_count(condition: NonEmpty | Empty | CountGte | CountEq, data: JsonValue) -> bool:
    items = items_of(data)
    match condition:
        case NonEmpty():
            return data is not None if items is None else len(items) > 0
        case Empty():
            return data is None if items is None else len(items) == 0
        case CountGte(value=value):
            least = _bound(value)
            return items is not None and len(items) >= least
        case CountEq(value=value):
            wanted = _bound(value)
            return items is not None and len(items) == wanted
        case _:
            assert_never(condition)


def _evaluate_field(condition: FieldEquals | FieldContains | FieldGte | Matches, field: Found) -> bool:
    match condition:
        case FieldEquals(value=value):
            return field is not MISSING and is_same(field, value)
        case FieldContains(value=value):
            return isinstance(field, str) and value in field
        case FieldGte(value=value):
            least = _bound(value)
            return isinstance(field, int | float) and not isinstance(field, bool) and field >= least
        case Matches(pattern=pattern):
            return isinstance(field, str) and matches(pattern, field)
        case _:
            assert_never(condition)


def _contains(condition: ContainsItem, data: JsonValue, scorers: Mapping[str, CustomScorer]) -> bool:
    items = items_of(data if condition.path is None else look_up(data, condition.path)) or []
    if condition.where is None:
        return any(is_like(item, condition.value) for item in items)
    return any(evaluate_condition(condition.where, item, scorers=scorers) for item in items)


def _ask(condition: Custom, data: JsonValue, scorers: Mapping[str, CustomScorer]) -> bool:
    scorer = scorers.get(condition.scorer)
    if scorer is None:
        raise UnknownNameError("custom scorer", condition.scorer, known=scorers)
    try:
        verdict = cast("object", scorer(data, condition.params))
    except Exception as error:  # plugin call: a project's own code may raise anything
        raise BadConditionError(f"custom scorer {condition.scorer!r} failed: {describe_error(error)}") from error
    if not isinstance(verdict, bool):
        said = f"custom scorer {condition.scorer!r} returned {verdict!r}"
        raise BadConditionError(f"{said}; it must return True or False")
    return verdict


def _bound(value: float | str) -> float:
    if isinstance(value, str):
        raise BadConditionError(f"the condition still has {value}; bind its variables before evaluating it")
    return value


def describe_condition(condition: CheckpointCondition) -> str:
    """Say what a condition expects, as the rows' `expected` does: `items.length == 3`."""
    match condition:
        case NonEmpty() | Empty() | CountGte() | CountEq():
            words = _describe_count(condition)
        case FieldEquals() | FieldContains() | FieldGte() | Matches():
            words = _describe_field(condition)
        case ContainsItem():
            words = _describe_membership(condition)
        case AllOf(conditions=conditions):
            words = " and ".join(map(_in_brackets, conditions))
        case AnyOf(conditions=conditions):
            words = " or ".join(map(_in_brackets, conditions))
        case Not(condition=inner):
            words = f"not ({describe_condition(inner)})"
        case Custom(scorer=scorer, params=params):
            words = f"custom scorer: {scorer}" + (f" with {as_text(params)}" if params else "")
        case _:
            assert_never(condition)
    return words


def _describe_count(condition: NonEmpty | Empty | CountGte | CountEq) -> str:
    match condition:
        case NonEmpty():
            return "non-empty result"
        case Empty():
            return "empty result"
        case CountGte(value=value):
            return f"count >= {as_text(value)}"
        case CountEq(value=value):
            return f"count == {as_text(value)}"
        case _:
            assert_never(condition)


def _describe_field(condition: FieldEquals | FieldContains | FieldGte | Matches) -> str:
    match condition:
        case FieldEquals(path=path, value=value):
            return f"{path} == {_quoted(value)}"
        case FieldContains(path=path, value=value):
            return f"{path} contains {_quoted(value)}"
        case FieldGte(path=path, value=value):
            return f"{path} >= {as_text(value)}"
        case Matches(path=path, pattern=pattern):
            return f"{path} matches /{pattern}/"
        case _:
            assert_never(condition)


def _describe_membership(condition: ContainsItem) -> str:
    place = condition.path or "result"
    if condition.where is None:
        return f"{place} contains item {_quoted(condition.value)}"
    return f"{place} contains item with {_in_brackets(condition.where)}"


def _in_brackets(condition: CheckpointCondition) -> str:
    said = describe_condition(condition)
    return f"({said})" if isinstance(condition, AllOf | AnyOf) else said


def _quoted(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else as_text(value)
