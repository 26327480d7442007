"""Conditions: exactly when each is true, and how it reads."""

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from older_tools import scenario_files
from pydantic import Field, TypeAdapter, ValidationError

from ghx_bench import Checkpoint, CheckpointCondition, describe_condition, evaluate_condition
from ghx_bench.checking.checkpoint_rules import path_warnings
from ghx_bench.project.custom_scorers import custom_conditions_in
from ghx_bench.scenario.condition_base import Condition, CountValue, Role, Scorers
from ghx_bench.scenario.conditions import (
    AllOf,
    BadConditionError,
    ContainsItem,
    CountGte,
    FieldEquals,
    NonEmpty,
    items_of,
    look_up,
)
from ghx_bench.scenario.placeholders import fill_checkpoint, names_used_by
from ghx_profiler.errors import UnknownNameError

CONDITION: TypeAdapter[Any] = TypeAdapter(CheckpointCondition)


def holds(condition: dict[str, Any], data: Any) -> bool:
    return evaluate_condition(CONDITION.validate_python(condition), data)


def described(condition: dict[str, Any]) -> str:
    return describe_condition(CONDITION.validate_python(condition))


THREE = {"items": [1, 2, 3], "pageInfo": {"hasNextPage": False}}


@pytest.mark.parametrize(
    ("data", "is_empty"),
    [
        ([], True),
        ([None], False),
        ({"items": []}, True),
        ({"items": [0]}, False),
        ({"items": {}}, False),  # no list, so an object like any other
        ({"items": None}, False),
        ({}, False),
        (None, True),
        ("", False),
        (0, False),
        (False, False),
    ],
)
def test_empty_and_non_empty_are_opposites(data: Any, is_empty: bool) -> None:
    assert holds({"type": "empty"}, data) is is_empty
    assert holds({"type": "non_empty"}, data) is not is_empty


@pytest.mark.parametrize(
    ("kind", "value", "data", "expected"),
    [
        ("count_gte", 3, [1, 2, 3], True),
        ("count_gte", 4, [1, 2, 3], False),
        ("count_gte", 3, THREE, True),
        ("count_gte", 0, [], True),
        ("count_gte", 0, {}, False),
        ("count_gte", 0, None, False),
        ("count_gte", 1, "abc", False),
        ("count_gte", 1, {"items": {"a": 1}}, False),
        ("count_eq", 3, THREE, True),
        ("count_eq", 2, THREE, False),
        ("count_eq", 0, {"items": []}, True),
        ("count_eq", 0, None, False),
        ("count_eq", 2, {"a": 1, "b": 2}, False),
    ],
)
def test_counts_are_of_a_list_or_of_items(kind: str, value: int, data: Any, expected: bool) -> None:
    assert holds({"type": kind, "value": value}, data) is expected


@pytest.mark.parametrize(
    ("path", "data", "value", "expected"),
    [
        ("state", {"state": "CLOSED"}, "CLOSED", True),
        ("state", {"state": "CLOSED"}, "closed", False),
        ("a.b.0.c", {"a": {"b": [{"c": 1}]}}, 1, True),
        ("items.length", THREE, 3, True),
        ("length", [1, 2], 2, True),
        ("length", {"length": 9}, 9, True),  # a key like any other
        ("length", {"a": 1}, 1, False),
        ("length", "abc", 3, False),
        ("0", ["a"], "a", True),
        ("0", {"0": "a"}, "a", True),
        ("00", ["a"], "a", False),
        ("-1", ["a"], "a", False),
        ("1", ["a"], "a", False),
        ("9" * 5000, ["a"], "a", False),
        ("x", ["a"], "a", False),
        ("a", None, None, False),
        ("a", {}, None, False),  # missing is not null
        ("a", {"a": None}, None, True),
        ("a.b", {"a": None}, None, False),
        ("a", {"a": 1}, True, False),
        ("a", {"a": True}, 1, False),
        ("a", {"a": True}, True, True),
        ("a", {"a": False}, 0, False),
        ("a", {"a": 0}, False, False),
        ("a", {"a": 1}, 1.0, True),
        ("a", {"a": 1.0}, 1, True),
        ("a", {"a": 1}, "1", False),
        ("a", {"a": "1"}, 1, False),
        ("a", {"a": ""}, None, False),
        ("a", {"a": 0}, None, False),
        ("a", {"a": []}, None, False),
        ("a", {"a": 2**53 + 1}, float(2**53), False),
        ("a.b", {"a.b": 1}, 1, False),
        ("/a.b/0", {"a.b": [1]}, 1, True),
        ("/a~1b", {"a/b": 1}, 1, True),
    ],
)
def test_field_equals_compares_as_json_does(path: str, data: Any, value: Any, expected: bool) -> None:
    assert holds({"type": "field_equals", "path": path, "value": value}, data) is expected


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("Fixes #7", "#7", True),
        ("Fixes #7", "fixes", False),
        ("Fixes #7", "", True),
        (["#7"], "#7", False),
        (7, "7", False),
        (None, "", False),
    ],
)
def test_field_contains_is_about_strings_and_case(field: Any, value: str, expected: bool) -> None:
    assert holds({"type": "field_contains", "path": "body", "value": value}, {"body": field}) is expected


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        (2, 2, True),
        (2.5, 2, True),
        (1, 2, False),
        (-1, -1.5, True),
        (True, 0, False),
        ("3", 2, False),
        (None, 0, False),
        ([1], 0, False),
    ],
)
def test_field_gte_is_about_numbers(field: Any, value: float, expected: bool) -> None:
    assert holds({"type": "field_gte", "path": "n", "value": value}, {"n": field}) is expected


@pytest.mark.parametrize("kind", ["field_equals", "field_contains", "field_gte", "matches"])
def test_nothing_is_true_of_a_missing_field(kind: str) -> None:
    value = {"field_equals": None, "field_contains": "", "field_gte": -1}.get(kind)
    rest = {"pattern": "."} if kind == "matches" else {"value": value}

    assert not holds({"type": kind, "path": "a.b", **rest}, {"a": {}})


@pytest.mark.parametrize(
    ("condition", "data", "expected"),
    [
        ({"path": "labels", "value": "bug"}, {"labels": ["ui", "bug"]}, True),
        ({"path": "labels", "value": "bu"}, {"labels": ["ui", "bug"]}, False),
        ({"path": "labels", "value": "bug"}, {"labels": "bug"}, False),
        ({"path": "labels", "value": "bug"}, {}, False),
        ({"value": 1}, [True, "1"], False),
        ({"value": 1}, [1.0], True),
        ({"value": None}, [None], True),
        ({"value": None}, [], False),
        ({"value": {"name": "bug"}}, {"items": [{"name": "bug", "color": "red"}]}, True),
        ({"value": {"name": "bug", "size": 1}}, {"items": [{"name": "bug"}]}, False),
        ({"value": {"size": None}}, {"items": [{"name": "bug"}]}, False),
        ({"value": {"author": {"login": "a"}}}, [{"author": {"login": "a", "id": 1}}], True),
        ({"value": {}}, [{}], True),
        ({"value": {}}, ["x"], False),
        ({"value": [1, 2]}, [[2, 1]], False),
        ({"value": [1, 2]}, [[1, 2]], True),
        (
            {"where": {"type": "field_contains", "path": "body", "value": "fix"}},
            [{"body": "no"}, {"body": "a fix"}],
            True,
        ),
        ({"where": {"type": "field_contains", "path": "body", "value": "fix"}}, [{"body": "no"}], False),
        ({"path": "items", "where": {"type": "non_empty"}}, {"items": [[], [1]]}, True),
        ({"path": "a", "value": 1}, {"a": {"items": [1]}}, True),
    ],
)
def test_contains_item_looks_at_every_place(condition: dict[str, Any], data: Any, expected: bool) -> None:
    assert holds({"type": "contains_item", **condition}, data) is expected


@pytest.mark.parametrize("asked", [{"value": None}, {"value": "bug"}, {"where": {"type": "non_empty"}}])
def test_a_membership_that_was_written_with_every_key_is_read_as_the_same(asked: dict[str, Any]) -> None:
    condition = ContainsItem.model_validate({"type": "contains_item", **asked})

    again = ContainsItem.model_validate_json(condition.model_dump_json(exclude_unset=False))

    assert again == condition


@pytest.mark.parametrize(
    ("pattern", "field", "expected"),
    [
        (r"#\d+", "Fixes #7", True),
        (r"^\d+$", "Fixes #7", False),
        (r"(?i)fixes", "FIXES", True),
        (r"^v\d+\.\d+$", "v1.2\n", False),
        (r"(?m)^b$", "a\nb", True),
        (r"\d", 7, False),
        (r"é", "café", True),
    ],
)
def test_matches_searches_a_string(pattern: str, field: Any, expected: bool) -> None:
    assert holds({"type": "matches", "path": "a", "pattern": pattern}, {"a": field}) is expected


def test_no_pattern_takes_forever() -> None:
    # Python's own engine would need 2**50000 steps; the test's timeout is the judge.
    assert not holds({"type": "matches", "path": "a", "pattern": "(a+)+$"}, {"a": "a" * 50_000 + "b"})


def test_conditions_combine() -> None:
    yes, no = {"type": "non_empty"}, {"type": "empty"}

    assert holds({"type": "all", "conditions": [yes, yes]}, 1)
    assert not holds({"type": "all", "conditions": [yes, no]}, 1)
    assert holds({"type": "any", "conditions": [no, yes]}, 1)
    assert holds({"type": "any", "conditions": [yes, yes]}, 1)
    assert not holds({"type": "any", "conditions": [no, no]}, 1)
    assert holds({"type": "not", "condition": no}, 1)
    assert not holds({"type": "not", "condition": {"type": "not", "condition": no}}, 1)


def test_a_custom_condition_is_decided_by_its_scorer() -> None:
    asked: list[Any] = []

    def has_enough(data: Any, params: Any) -> bool:
        asked.append((data, params))
        return len(data) >= params["least"]

    condition = CONDITION.validate_python({"type": "custom", "scorer": "enough", "params": {"least": 2}})

    assert evaluate_condition(condition, [1, 2], scorers={"enough": has_enough})
    assert not evaluate_condition(condition, [1], scorers={"enough": has_enough})
    assert asked == [([1, 2], {"least": 2}), ([1], {"least": 2})]


def test_an_unknown_scorer_is_an_error_that_lists_the_known_ones() -> None:
    condition = CONDITION.validate_python({"type": "custom", "scorer": "enuogh"})

    with pytest.raises(UnknownNameError, match=r"no custom scorer 'enuogh'; did you mean 'enough'\? known: enough"):
        evaluate_condition(condition, 1, scorers={"enough": lambda data, params: True})


def test_a_scorer_must_say_true_or_false() -> None:
    condition = CONDITION.validate_python({"type": "custom", "scorer": "odd"})

    with pytest.raises(BadConditionError, match="'odd' returned 1; it must return True or False"):
        evaluate_condition(condition, 1, scorers={"odd": lambda data, params: 1})  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("kind", ["count_gte", "count_eq"])
def test_a_variable_that_was_never_bound_is_an_error_and_no_failure(kind: str) -> None:
    condition = CONDITION.validate_python({"type": kind, "value": "{{n}}"})

    with pytest.raises(BadConditionError, match=r"still has \{\{n\}\}"):
        evaluate_condition(condition, [])


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ({"type": "non_empty"}, "non-empty result"),
        ({"type": "empty"}, "empty result"),
        ({"type": "count_gte", "value": 2}, "count >= 2"),
        ({"type": "count_eq", "value": 2}, "count == 2"),
        ({"type": "field_equals", "path": "items.length", "value": 3}, "items.length == 3"),
        ({"type": "field_equals", "path": "n", "value": 3.0}, "n == 3"),
        ({"type": "field_equals", "path": "state", "value": "CLOSED"}, 'state == "CLOSED"'),
        ({"type": "field_equals", "path": "a", "value": None}, "a == null"),
        ({"type": "field_equals", "path": "a", "value": True}, "a == true"),
        ({"type": "field_contains", "path": "body", "value": "café"}, 'body contains "café"'),
        ({"type": "field_gte", "path": "labels.length", "value": 2}, "labels.length >= 2"),
        ({"type": "field_gte", "path": "a", "value": 0.5}, "a >= 0.5"),
        ({"type": "contains_item", "path": "labels", "value": "bug"}, 'labels contains item "bug"'),
        ({"type": "contains_item", "value": {"name": "bug"}}, 'result contains item {"name": "bug"}'),
        (
            {"type": "contains_item", "path": "items", "where": {"type": "field_gte", "path": "n", "value": 1}},
            "items contains item with n >= 1",
        ),
        ({"type": "matches", "path": "title", "pattern": "^fix"}, "title matches /^fix/"),
        (
            {"type": "all", "conditions": [{"type": "empty"}, {"type": "non_empty"}]},
            "empty result and non-empty result",
        ),
        (
            {
                "type": "any",
                "conditions": [
                    {"type": "empty"},
                    {"type": "all", "conditions": [{"type": "empty"}, {"type": "empty"}]},
                ],
            },
            "empty result or (empty result and empty result)",
        ),
        ({"type": "not", "condition": {"type": "empty"}}, "not (empty result)"),
        ({"type": "custom", "scorer": "mine"}, "custom scorer: mine"),
        ({"type": "custom", "scorer": "mine", "params": {"a": 1}}, 'custom scorer: mine with {"a": 1}'),
        ({"type": "count_gte", "value": "{{n}}"}, "count >= {{n}}"),
    ],
)
def test_a_condition_reads_like_this(condition: dict[str, Any], words: str) -> None:
    assert described(condition) == words


def test_conditions_made_in_python_are_written_with_their_type() -> None:
    made = AllOf(conditions=(NonEmpty(), CountGte(value=1), FieldEquals(path="a", value=None)))

    assert made.to_wire() == {
        "type": "all",
        "conditions": [
            {"type": "non_empty"},
            {"type": "count_gte", "value": 1},
            {"type": "field_equals", "path": "a", "value": None},
        ],
    }
    assert CONDITION.validate_python(made.to_wire()) == made


def test_conditions_nest_as_deep_as_anybody_writes_and_no_deeper() -> None:
    def nested(depth: int) -> dict[str, Any]:
        condition: dict[str, Any] = {"type": "empty"}
        for _ in range(depth):
            condition = {"type": "not", "condition": condition}
        return condition

    assert holds(nested(90), None)
    with pytest.raises(ValidationError):
        CONDITION.validate_python(nested(5000))


# The same rules once more, as plainly as they can be put, for everything that hypothesis comes up with.

KEYS = st.sampled_from(["a", "b", "items", "length", "0", "1"])
SCALARS = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 1.0, 0.5]) | st.sampled_from(["", "1", "ab"])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
PATHS = st.lists(KEYS, min_size=1, max_size=3).map(".".join)
SIMPLE = st.one_of(
    st.just({"type": "non_empty"}),
    st.just({"type": "empty"}),
    st.builds(lambda n: {"type": "count_gte", "value": n}, st.integers(0, 3)),
    st.builds(lambda n: {"type": "count_eq", "value": n}, st.integers(0, 3)),
    st.builds(lambda p, v: {"type": "field_equals", "path": p, "value": v}, PATHS, SCALARS),
    st.builds(lambda p, v: {"type": "field_contains", "path": p, "value": v}, PATHS, st.sampled_from(["", "a", "1"])),
    st.builds(lambda p, v: {"type": "field_gte", "path": p, "value": v}, PATHS, st.integers(-2, 2)),
    st.builds(lambda p, v: {"type": "contains_item", "path": p, "value": v}, PATHS, VALUES),
    st.builds(lambda v: {"type": "contains_item", "value": v}, VALUES),
    st.builds(lambda p, r: {"type": "matches", "path": p, "pattern": r}, PATHS, st.sampled_from(["^a", "1$", "."])),
)
CONDITIONS = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.builds(lambda cs: {"type": "all", "conditions": cs}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda cs: {"type": "any", "conditions": cs}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda c: {"type": "not", "condition": c}, inner),
        st.builds(lambda c: {"type": "contains_item", "where": c}, inner),
    ),
    max_leaves=5,
)

NOTHING = object()


def oracle(condition: dict[str, Any], data: Any) -> bool:
    """Decide a condition the slow way, from its form in the file."""
    value = condition.get("value")
    at_path = found(data, condition["path"]) if "path" in condition else data
    rules: dict[str, Any] = {
        "all": lambda: all(oracle(each, data) for each in condition["conditions"]),
        "any": lambda: any(oracle(each, data) for each in condition["conditions"]),
        "not": lambda: not oracle(condition["condition"], data),
        "non_empty": lambda: (data is not None) if counted(data) is None else counted(data) != 0,
        "empty": lambda: (data is None) if counted(data) is None else counted(data) == 0,
        "count_gte": lambda: counted(data) is not None and counted(data) >= value,
        "count_eq": lambda: counted(data) == value,
        "field_equals": lambda: at_path is not NOTHING and text_of(at_path) == text_of(value),
        "field_contains": lambda: type(at_path) is str and at_path.find(value) != -1,
        "field_gte": lambda: type(at_path) in (int, float) and at_path >= value,
        "matches": lambda: type(at_path) is str and re.search(condition["pattern"], at_path) is not None,
        "contains_item": lambda: any(
            oracle(condition["where"], each) if "where" in condition else includes(each, value)
            for each in listed(at_path)
        ),
    }
    return rules[condition["type"]]()


def listed(data: Any) -> list[Any]:
    if isinstance(data, dict):
        data = data.get("items")
    return data if isinstance(data, list) else []


def counted(data: Any) -> Any:
    if isinstance(data, dict):
        data = data.get("items")
    return len(data) if isinstance(data, list) else None


def found(data: Any, path: str) -> Any:
    step, _, rest = path.partition(".")
    if isinstance(data, dict) and step in data:
        inner = data[step]
    elif isinstance(data, list) and step == "length":
        inner = len(data)
    elif isinstance(data, list) and step in map(str, range(len(data))):
        inner = data[int(step)]
    else:
        return NOTHING
    return found(inner, rest) if rest else inner


def includes(value: Any, wanted: Any) -> bool:
    if isinstance(value, dict) and isinstance(wanted, dict):
        return all(key in value and includes(value[key], wanted[key]) for key in wanted)
    return text_of(value) == text_of(wanted)


def text_of(value: Any) -> str:
    """Write a value such that two are the same if they are written the same: 1.0 is written 1."""
    return json.dumps(
        json.loads(
            json.dumps(value), parse_float=lambda text: int(float(text)) if float(text) % 1 == 0 else float(text)
        ),
        sort_keys=True,
    )


@given(CONDITIONS, VALUES)
def test_conditions_agree_with_the_naive_oracle(condition: dict[str, Any], data: Any) -> None:
    assert holds(condition, data) is oracle(condition, data)


@given(CONDITIONS)
def test_any_condition_round_trips_and_can_be_described(condition: dict[str, Any]) -> None:
    read = CONDITION.validate_python(condition)

    assert read.to_wire() == condition
    assert describe_condition(read)


@given(CONDITIONS, VALUES)
def test_evaluating_changes_nothing(condition: dict[str, Any], data: Any) -> None:
    before = json.dumps([condition, data])

    holds(condition, data)

    assert json.dumps([condition, data]) == before


def test_the_rows_of_the_older_tools_describe_conditions_the_same_way(older_tools: Path) -> None:
    scenario = json.loads(scenario_files(older_tools)["threads"].read_text())
    rows = [json.loads(line) for line in (older_tools / "rows.jsonl").read_text().splitlines()]
    expected = {
        detail["id"]: (detail["expected"], detail["actual"], detail["passed"])
        for row in rows
        for detail in row["checkpointDetails"]
        if "expected" in detail
    }

    for checkpoint in scenario["assertions"]["checkpoints"]:
        words, actual, passed = expected[checkpoint["id"]]
        assert described(checkpoint["condition"]) == words
        assert holds(checkpoint["condition"], actual) is passed


@pytest.mark.parametrize("data", [None, 1, [], {"a": "text"}, {"items": []}])
@pytest.mark.parametrize(
    "condition",
    [
        {"type": "count_gte", "value": "{{n}}"},
        {"type": "count_eq", "value": "{{n}}"},
        {"type": "field_gte", "path": "a", "value": "{{n}}"},
    ],
)
def test_a_number_that_was_never_bound_is_an_error_whatever_the_output(condition: dict[str, Any], data: Any) -> None:
    parsed: Any = TypeAdapter(CheckpointCondition).validate_python(condition)

    with pytest.raises(BadConditionError, match=r"still has \{\{n\}\}"):
        evaluate_condition(parsed, data)


# A kind of condition is one class: nothing else has to know it.


class Between(Condition):
    """The number of items at a place lies between two numbers, and something else is true."""

    type: Literal["between"] = "between"
    place: Annotated[str, Role.PATH]
    least: CountValue
    most: CountValue
    notes: tuple[str, ...] = ()
    inner: CheckpointCondition
    named: dict[str, CheckpointCondition] = Field(default={})

    def holds(self, data: Any, scorers: Scorers) -> bool:
        items = items_of(look_up(data, self.place))
        return items is not None and int(self.least) <= len(items) <= int(self.most) and self.inner.holds(data, scorers)

    def describe(self) -> str:
        return f"{self.least} <= {self.place} <= {self.most}, and {self.inner.describe_inside()}"


def between(**more: Any) -> Between:
    inner = {"type": "all", "conditions": [{"type": "custom", "scorer": "s"}, {"type": "count_eq", "value": "{{n}}"}]}
    given = {"place": "items", "least": 1, "most": "{{n}}", "notes": ["{{who}}", "x"], "inner": inner}
    return Between.model_validate({**given, **more})


def checkpoint_with(condition: Condition) -> Checkpoint:
    wire = {"id": "c", "description": "d", "task": "pr.commits.list", "input": {}, "condition": {"type": "empty"}}
    return Checkpoint.model_validate(wire).model_copy(update={"condition": condition})


def test_a_new_kind_of_condition_is_bound() -> None:
    values = {"n": 2, "who": "octo"}

    bound, misfits = fill_checkpoint(checkpoint_with(between()), lambda slot: values.__getitem__)

    assert misfits == ()
    assert isinstance(bound.condition, Between)
    assert (bound.condition.most, bound.condition.notes) == (2, ("octo", "x"))
    assert bound.condition.inner.to_wire()["conditions"][1] == {"type": "count_eq", "value": 2}


def test_a_new_kind_of_condition_refuses_values_that_it_cannot_take() -> None:
    checkpoint = checkpoint_with(between())

    bound, misfits = fill_checkpoint(checkpoint, lambda slot: {"n": -1, "who": ""}.__getitem__)

    assert bound is checkpoint
    assert [each.tokens for each in misfits] == [
        ("condition", "most"),
        ("condition", "inner", "conditions", 1, "value"),
    ]


def test_a_new_kind_of_condition_is_walked() -> None:
    checkpoint = checkpoint_with(between())

    assert [tokens for tokens, _ in custom_conditions_in(checkpoint.condition)] == [("inner", "conditions", 0)]
    assert names_used_by(checkpoint) == {"n", "who"}
    assert {each.text for each in checkpoint.condition.fixed_texts()} == {"items", "s"}


def test_conditions_are_found_wherever_a_new_kind_keeps_them() -> None:
    condition = between(named={"a": {"type": "custom", "scorer": "t"}, "b": {"type": "count_eq", "value": "{{m}}"}})

    assert [tokens for tokens, _ in custom_conditions_in(condition)] == [("inner", "conditions", 0), ("named", "a")]
    assert "m" in names_used_by(checkpoint_with(condition))


def test_the_paths_of_a_new_kind_of_condition_are_checked() -> None:
    (doubt,) = path_warnings(checkpoint_with(between(place="itms")), ("at",))

    assert doubt.tokens == ("at", "condition", "place")
    assert doubt.suggestion == "did you mean 'items'?"


def test_a_new_kind_of_condition_is_evaluated_and_described() -> None:
    condition = between(most=3, inner={"type": "any", "conditions": [{"type": "non_empty"}, {"type": "empty"}]})

    assert evaluate_condition(condition, {"items": [1, 2]})
    assert not evaluate_condition(condition, {"items": []})
    assert describe_condition(condition) == "1 <= items <= 3, and (non-empty result or empty result)"


def test_what_a_part_looks_at_is_told_with_it() -> None:
    where = {"type": "not", "condition": {"type": "field_equals", "path": "name", "value": "bug"}}
    condition = CONDITION.validate_python({"type": "contains_item", "path": "a.b", "where": where})

    assert [(part.tokens, part.way) for part in condition.walk()] == [
        ((), ()),
        (("where",), ("a", "b", None)),
        (("where", "condition"), ("a", "b", None)),
    ]


@pytest.mark.parametrize("kind", get_args(get_args(CheckpointCondition)[0]))
def test_every_kind_says_when_it_holds_and_how_it_reads(kind: type[Condition]) -> None:
    assert not getattr(kind, "__abstractmethods__", None)
    assert getattr(kind, "__final__", False), "only of a final class does a type checker tell what is missing"
