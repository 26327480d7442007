"""Whether a schema takes all that another one takes: right where it is told, and told where it matters."""

from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from ghx_bench.toolsets.changes.argument_changes import takes_all

TEXT, WHOLE, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}


def an_object(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*required]}


WIDER: list[tuple[Any, Any]] = [
    (WHOLE, NUMBER),
    (WHOLE, {"type": ["integer", "null"]}),
    (WHOLE, {"anyOf": [WHOLE, TEXT]}),
    (WHOLE, {"anyOf": [{"type": "null"}, NUMBER], "default": None}),
    ({"enum": ["a"]}, {"enum": ["a", "b"]}),
    ({"enum": ["a"]}, TEXT),
    ({"type": "string", "enum": ["a"]}, {"anyOf": [{"const": "a"}, {"const": "b"}]}),
    ({**WHOLE, "maximum": 50}, {**WHOLE, "maximum": 100}),
    ({"type": "array", "items": WHOLE}, {"type": "array", "items": NUMBER}),
    ({"type": "array", "items": TEXT, "maxItems": 5}, {"type": "array"}),
    (an_object("a", a=TEXT), an_object(a=TEXT, b=TEXT)),
    ({**an_object(a=TEXT), "additionalProperties": False}, an_object(a=TEXT)),
    (TEXT, {}),
    ({"type": "string", "format": "date"}, TEXT),
    ({"type": "boolean"}, {"enum": [True, False, None]}),
    ({"not": TEXT}, {"not": TEXT, "description": "Anything else."}),
]
NARROWER: list[tuple[Any, Any]] = [
    (NUMBER, WHOLE),
    ({"type": ["integer", "null"]}, WHOLE),
    (TEXT, WHOLE),
    ({"enum": ["a", "b"]}, {"enum": ["a"]}),
    ({"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]}, {"anyOf": [{"enum": ["a"]}, {"type": "null"}]}),
    ({"type": "array", "items": {"enum": ["a", "b"]}}, {"type": "array", "items": {"enum": ["a"]}}),
    (TEXT, {"enum": ["a"]}),
    (an_object(a=TEXT), an_object("a", a=TEXT)),
    (an_object(a=an_object(b=TEXT)), an_object(a=an_object("b", b=TEXT))),
    ({**WHOLE, "maximum": 100}, {**WHOLE, "maximum": 50}),
    (WHOLE, {**WHOLE, "minimum": 1}),
    (an_object(a=TEXT), {**an_object(a=TEXT), "additionalProperties": False}),
    ({"type": "array", "items": TEXT}, {"type": "array", "items": TEXT, "maxItems": 3}),
    (TEXT, {**TEXT, "maxLength": 80}),
]
UNCLEAR: list[tuple[Any, Any]] = [
    ({**WHOLE, "minimum": 1}, {**WHOLE, "exclusiveMinimum": 0}),
    (TEXT, {**TEXT, "pattern": "^v"}),
    (TEXT, {**TEXT, "format": "date"}),
    ({**TEXT, "pattern": "^v"}, {**TEXT, "maxLength": 3}),
    (TEXT, {"not": {"const": "a"}}),
    ({"$ref": "https://example.com/elsewhere"}, TEXT),
    ({**WHOLE, "minimum": 0, "maximum": 9}, {"anyOf": [{**WHOLE, "maximum": 5}, {**WHOLE, "minimum": 6}]}),
]


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        (old, new, verdict)
        for pairs, verdict in ((WIDER, True), (NARROWER, False), (UNCLEAR, None))
        for old, new in pairs
    ],
)
def test_what_was_widened_or_narrowed_is_told_apart(old: Any, new: Any, verdict: bool | None) -> None:
    assert takes_all(old, new, {}, {}) is verdict


def test_references_are_followed_and_recursive_ones_come_to_an_end() -> None:
    def tree(*names: str) -> dict[str, Any]:
        node = an_object(*names, **{f"child{each}": {"$ref": "#/$defs/node"} for each in range(6)}, name=TEXT)
        return {"$defs": {"node": node, "kind": {"enum": [*names, "a"]}}}

    wide, narrow = tree(), tree("name")
    assert takes_all({"$ref": "#/$defs/kind"}, {"$ref": "#/$defs/kind"}, wide, narrow) is True
    assert takes_all({"$ref": "#/$defs/kind"}, {"$ref": "#/$defs/kind"}, narrow, wide) is False
    assert takes_all({"$ref": "#/$defs/node"}, {"$ref": "#/$defs/node"}, wide, wide) is True
    assert takes_all({"$ref": "#/$defs/node"}, {"$ref": "#/$defs/node"}, wide, narrow) in (False, None)


def test_references_that_double_what_they_lead_to_come_to_an_end() -> None:
    parts = {f"p{n}": {"anyOf": [{"$ref": f"#/$defs/p{n + 1}"}] * 2} for n in range(23)}
    old, new = ({"$defs": {**parts, "p23": kind}} for kind in (TEXT, WHOLE))

    assert takes_all({"$ref": "#/$defs/p0"}, {"$ref": "#/$defs/p0"}, old, new) in (False, None)


# Every type is assumed to have values: no upper limit is below a lower one.
low, high = st.sampled_from([-1, 0]), st.sampled_from([2, 3])
few, many = st.integers(0, 1), st.integers(1, 2)
names = st.sampled_from(["a", "b"])
simple = st.one_of(
    st.sampled_from(
        [{}, True, TEXT, WHOLE, NUMBER, {"type": "null"}, {"type": "boolean"}, {"type": ["integer", "null"]}]
    ),
    st.builds(lambda values: {"enum": values}, st.lists(st.sampled_from(["", "a", 0, 1, 2, None, True]), min_size=1)),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "number"])},
        optional={"minimum": low, "exclusiveMinimum": low, "maximum": high, "exclusiveMaximum": high},
    ),
    st.fixed_dictionaries({"type": st.just("string")}, optional={"minLength": few, "maxLength": many}),
)
schemas = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("array")},
            optional={"items": inner, "minItems": few, "maxItems": many, "uniqueItems": st.booleans()},
        ),
        st.fixed_dictionaries(
            {"type": st.just("object"), "additionalProperties": st.booleans() | inner},
            optional={"properties": st.dictionaries(names, inner, max_size=2)},
        ),
        st.fixed_dictionaries(
            {
                "type": st.just("object"),
                "properties": st.fixed_dictionaries({"a": inner, "b": inner}),
                "required": st.lists(names, max_size=1),
            },
            optional={"additionalProperties": st.booleans() | inner},
        ),
        st.builds(
            lambda key, parts: {key: parts},
            st.sampled_from(["anyOf", "oneOf"]),
            st.lists(inner, min_size=1, max_size=2),
        ),
    ),
    max_leaves=2,
)
plain = [
    None,
    True,
    False,
    -2,
    -1.5,
    -1,
    -0.5,
    0,
    0.25,
    0.5,
    0.75,
    1,
    1.5,
    2,
    2.5,
    3,
    3.5,
    4,
    "",
    "a",
    "b",
    "cc",
    "ddd",
]


def hold(values: list[Any]) -> list[Any]:
    """Return lists and objects with these values in them."""
    single = [[], {}, *([each] for each in values), *({name: each} for name in "abz" for each in values)]
    several = [[each, other] for each, other in product(values[:20:3], repeat=2)]
    several += [[each, each] for each in values] + [[each, each, each] for each in values]
    pairs = [{name: each, other: each} for each in values for name, other in combinations("abz", 2)]
    both = [{"a": each, "b": other} for each, other in product([*plain, [], {}], repeat=2)]
    return [*single, *several, *pairs, *both, *({"a": each, "b": each, "z": each} for each in values)]


VALUES: list[Any] = [*plain, *(once := hold(plain)), *hold([None, 0, 0.5, "", "a", *once])]


@settings(max_examples=150, deadline=None, derandomize=True)  # a refused value need not be among those tried here
@given(schemas, schemas)
def test_no_value_contradicts_what_is_told(old: Any, new: Any) -> None:
    before, after = Draft202012Validator(old), Draft202012Validator(new)
    refused = [each for each in VALUES if before.is_valid(each) and not after.is_valid(each)]

    verdict = takes_all(old, new, {}, {})

    if verdict is True:
        assert refused == []
    if verdict is False:
        assert refused != []
    assert takes_all(old, old, {}, {}) is True
