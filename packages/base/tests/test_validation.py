import enum
import json
from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    BaseModel,
    Field,
    JsonValue,
    StrictBool,
    field_validator,
    model_validator,
)

from ghx_base.documents import DocumentError, RefusedError, parse_document, validate_document
from ghx_base.wire import Number, StrictInt, WireModel


class Equals(WireModel):
    type: Literal["equals"]
    path: str
    value: JsonValue


class Value(WireModel):
    type: Literal["value"]  # a tag that is also a key
    value: Annotated[StrictInt, Field(ge=1)]


class Every(WireModel):
    type: Literal["every"]
    conditions: tuple["Condition", ...]


Condition = Annotated[Equals | Value | Every, Field(discriminator="type")]
Every.model_rebuild()


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Fixture(WireModel):
    repo_name: str
    reseed_per_iteration: StrictBool = False


class Scenario(WireModel):
    """CamelCase on the wire, with every kind of field that scenarios and fixtures have."""

    timeout_ms: Annotated[StrictInt, Field(gt=0)] = Field(
        description="The longest the agent may take.", examples=[1000]
    )
    id: Annotated[str, Field(pattern=r"^[a-z]+-\d{3}$", examples=["pr-001"])] = "a-001"
    slug: Annotated[str, Field(pattern=r"^[a-z]+$", min_length=1, max_length=3)] = "a"
    fixture: Fixture | None = None
    condition: Condition | None = None
    conditions: tuple[Condition, ...] = ()
    actors: tuple[str | Fixture, ...] = ()
    mixed: Condition | str | None = None
    either: Fixture | Every | None = None
    word_or_number: Literal["auto"] | StrictInt = "auto"
    labels: dict[Annotated[str, Field(pattern="^[a-z]+$")], Fixture] = Field(default={})
    tags: Annotated[tuple[str, ...], Field(min_length=1, max_length=2)] = ("a",)
    pair: tuple[int, str] = (1, "")
    number: Number = 0
    ratio: Annotated[float, Field(gt=0, lt=1)] = 0.5
    colour: Colour = Colour.RED
    level: Literal["basic", "advanced"] = "basic"
    input: dict[str, JsonValue] = Field(default={})
    even: StrictInt = 0
    where: Path = Path("x")

    @field_validator("even")
    @classmethod
    def _is_even(cls, value: int) -> int:
        if value % 2:
            raise ValueError(f"{value} is odd")
        return value

    @model_validator(mode="after")
    def _tags_are_distinct(self) -> "Scenario":
        for index, tag in enumerate(self.tags):
            if tag in self.tags[:index]:
                raise RefusedError(f"{tag!r} is given twice", at=("tags", index), suggestion="name it once")
        return self


def problems(value: object, model: type[BaseModel] = Scenario, *, suffix: str = ".json") -> list[str]:
    text = value if isinstance(value, str) else json.dumps(value)
    document = parse_document(text.encode(), path=Path(f"a{suffix}"))
    with pytest.raises(DocumentError) as caught:
        validate_document(document, model)
    return str(caught.value).splitlines()


def one_problem(**fields: object) -> str:
    """What is said about these keys of an otherwise fine scenario, without file, line and column."""
    (line,) = problems({"timeoutMs": 1, **fields})
    return line.split(": ", 1)[1]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        # unknown keys
        ({"timeuotMs": 2}, "/timeuotMs: unknown key 'timeuotMs'; did you mean 'timeoutMs'?"),
        ({"Tags": []}, "/Tags: unknown key 'Tags'; did you mean 'tags'?"),
        ({"timeout_ms": 2}, "/timeout_ms: key 'timeout_ms' says the same as 'timeoutMs'; keep one of them"),
        (
            {"fixture": {"repoName": "x", "branch": "y"}},
            "/fixture/branch: unknown key 'branch'; known keys: 'repoName', 'reseedPerIteration'",
        ),
        ({"repoName": "x"}, "/repoName: unknown key 'repoName'; it belongs into /fixture"),
        (
            {"fixture": {"repoName": "x", "level": "basic"}},
            "/fixture/level: unknown key 'level'; it belongs into the top level",
        ),
        (
            {"condition": {"type": "value", "value": 1, "path": "x"}},
            "/condition/path: unknown key 'path'; known keys: 'type', 'value'",
        ),
        (
            {"condition": {"type": "equals", "path": "x", "value": 1, "pathh": 1}},
            "/condition/pathh: unknown key 'pathh'; did you mean 'path'?",
        ),
        # missing keys
        ({"fixture": {}}, "/fixture: missing key 'repoName'"),
        ({"conditions": [{"type": "equals", "path": "x"}]}, "/conditions/0: missing key 'value'"),
        ({"conditions": [{}]}, "/conditions/0: missing key 'type'; add it: one of 'equals', 'every', 'value'"),
        # wrong kinds
        ({"timeoutMs": "5"}, "/timeoutMs: expected an integer, got the string '5'; write 5, without quotes"),
        ({"timeoutMs": "1_000"}, "/timeoutMs: expected an integer, got the string '1_000'; write 1000"),
        ({"timeoutMs": "1.5"}, "/timeoutMs: expected an integer, got the string '1.5'"),
        ({"timeoutMs": "soon"}, "/timeoutMs: expected an integer, got the string 'soon'"),
        ({"timeoutMs": 5.0}, "/timeoutMs: expected an integer, got the number 5.0; write 5"),
        ({"timeoutMs": 5.5}, "/timeoutMs: expected an integer, got the number 5.5"),
        ({"timeoutMs": True}, "/timeoutMs: expected an integer, got true"),
        ({"timeoutMs": None}, "/timeoutMs: expected an integer, got null; give it a value, or remove it"),
        ({"id": 1.5}, "/id: expected a string, got the number 1.5; put quotes around it"),
        ({"where": []}, "/where: expected a string, got a list"),
        ({"tags": "a"}, "/tags: expected a list, got the string 'a'; write ['a']"),
        ({"tags": {}}, "/tags: expected a list, got an object"),
        ({"fixture": "x"}, "/fixture: expected an object, got the string 'x'"),
        ({"input": [1]}, "/input: expected an object, got a list"),
        ({"condition": 5}, "/condition: expected an object, got the number 5"),
        (
            {"fixture": {"repoName": "x", "reseedPerIteration": "yes"}},
            "/fixture/reseedPerIteration: expected true or false, got the string 'yes'; write true",
        ),
        (
            {"fixture": {"repo_name": "x", "reseed_per_iteration": 0}},
            "/fixture/reseed_per_iteration: expected true or false, got the number 0; write false",
        ),
        ({"number": "x"}, "/number: expected a number, got the string 'x'"),
        # choices
        ({"level": "advnced"}, "/level: expected one of 'basic', 'advanced', got 'advnced'; did you mean 'advanced'?"),
        ({"level": 3}, "/level: expected one of 'basic', 'advanced', got the number 3"),
        ({"colour": "RED"}, "/colour: expected one of 'red', 'blue', got 'RED'; did you mean 'red'?"),
        (
            {"condition": {"type": "equal"}},
            "/condition/type: unknown type 'equal'; did you mean 'equals'? known: 'equals', 'every', 'value'",
        ),
        ({"condition": {"type": 7}}, "/condition/type: unknown type '7'; known: 'equals', 'every', 'value'"),
        # constraints
        ({"timeoutMs": 0}, "/timeoutMs: must be more than 0, not 0"),
        ({"ratio": 2}, "/ratio: must be more than 0 and less than 1, not 2"),
        ({"slug": ""}, "/slug: must not be empty"),
        ({"slug": "abcd"}, "/slug: must have at most 3 characters, not 4"),
        ({"slug": "A"}, "/slug: 'A' does not match the pattern ^[a-z]+$"),
        ({"id": "PR-1"}, "/id: 'PR-1' does not have the form of 'pr-001'; the pattern is ^[a-z]+-\\d{3}$"),
        ({"tags": []}, "/tags: must not be empty"),
        ({"tags": [1]}, "/tags/0: expected a string, got the number 1; put quotes around it"),
        ({"tags": ["a", "b", "c"]}, "/tags: must have at most 2 items, not 3"),
        ({"pair": [1]}, "/pair: must have 2 items, not 1"),
        ({"labels": {"A": {"repoName": "x"}}}, "/labels/A: key 'A' does not match the pattern ^[a-z]+$"),
        (
            {"labels": {"a": {"repo": "x"}}},
            "/labels/a/repo: unknown key 'repo'; did you mean 'repoName'?",
        ),
        # validators of the model's own
        ({"even": 3}, "/even: 3 is odd"),
        ({"tags": ["a", "a"]}, "/tags/1: 'a' is given twice; name it once"),
        # unions
        ({"actors": ["a", 5]}, "/actors/1: expected a string or an object, got the number 5"),
        (
            {"actors": [{"repoName": 5}]},
            "/actors/0/repoName: expected a string, got the number 5; put quotes around it",
        ),
        ({"mixed": 5}, "/mixed: expected an object or a string, got the number 5"),
        ({"mixed": {"type": "value", "value": 0}}, "/mixed/value: must be at least 1, not 0"),
        ({"wordOrNumber": "x"}, "/wordOrNumber: expected 'auto' or an integer, got the string 'x'"),
        ({"either": {"repoName": 1}}, "/either/repoName: expected a string, got the number 1; put quotes around it"),
        (
            {"conditions": [{"type": "every", "conditions": [{"type": "value", "value": "q"}]}]},
            "/conditions/0/conditions/0/value: expected an integer, got the string 'q'",
        ),
        ({"condition": {"type": "value", "value": 0}}, "/condition/value: must be at least 1, not 0"),
    ],
)
def test_each_fault_is_told_in_words_with_a_remedy(fields: dict[str, object], message: str) -> None:
    assert one_problem(**fields) == message


def test_a_key_is_not_sent_to_where_it_is_already() -> None:
    problems = one_problem(repoName="x", fixture={"repoName": "x"})

    assert problems.startswith("/repoName: unknown key 'repoName'; known keys: 'timeoutMs', 'id', 'slug', ")
    assert problems.endswith(" and 4 more")


def test_a_missing_key_is_told_with_what_it_is_for() -> None:
    assert problems({}) == [
        "a.json:1:1: missing key 'timeoutMs'; add it: the longest the agent may take, for example 1000"
    ]


def test_a_misspelt_key_is_one_problem_and_not_two() -> None:
    assert problems({"timeoutMS": 5}) == ["a.json:1:2: /timeoutMS: unknown key 'timeoutMS'; did you mean 'timeoutMs'?"]


def test_all_problems_are_told_in_the_order_of_the_file() -> None:
    text = """\
timeoutMs: 0
tags:
  - a
  - 5
fixture:
  reseedPerIteration: on
condition: {type: value, valeu: 1}
"""
    assert problems(text, suffix=".yaml") == [
        "a.yaml:1:12: /timeoutMs: must be more than 0, not 0",
        "a.yaml:4:5: /tags/1: expected a string, got the number 5; put quotes around it",
        "a.yaml:6:3: /fixture: missing key 'repoName'",
        "a.yaml:6:23: /fixture/reseedPerIteration: expected true or false, got the string 'on'; write true",
        "a.yaml:7:26: /condition/valeu: unknown key 'valeu'; did you mean 'value'?",
    ]


def test_a_document_of_another_kind_is_told_at_its_beginning() -> None:
    assert problems([1]) == ["a.json:1:1: expected an object, got a list"]
    assert problems("---\n", suffix=".yaml") == ["a.yaml:2:1: expected an object, got null"]


def test_nobody_is_shown_thousands_of_lines() -> None:
    shown = problems({"timeoutMs": 1, "conditions": [5] * 5000})

    assert len(shown) == 101
    assert shown[-1] == "a.json: only the first 100 problems are shown; correct these first"


def test_a_record_comes_out_where_nothing_is_wrong() -> None:
    document = parse_document(b'{"timeoutMs": 5, "condition": {"type": "value", "value": 2}}', path=Path("a.json"))

    assert validate_document(document, Scenario).condition == Value(type="value", value=2)


KEYS = st.sampled_from(
    [*(field.alias or name for name, field in Scenario.model_fields.items()), "type", "value", "path", "x"]
)
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.floats(-2, 2)
    | st.sampled_from(["", "value", "every", "auto", "5"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=15,
)


@given(st.dictionaries(KEYS, ANYTHING, max_size=8) | ANYTHING)
def test_whatever_is_written_is_accepted_or_told_in_plain_words_at_a_place(value: object) -> None:
    document = parse_document(json.dumps(value).encode(), path=Path("a.json"))
    try:
        validate_document(document, Scenario)
    except DocumentError as error:
        problems = error.problems
    else:
        return

    assert problems
    for problem in problems:
        assert problem.line == 1
        assert document.position(problem.pointer) is not None or "type" in problem.pointer
        assert not any(
            word in str(problem) for word in ("Input", "valid ", "dictionary", "instance", "NoneType", "tuple")
        )
