"""Scenarios as records: any valid one is written back exactly as it was read."""

import copy
import json
import pickle
import string
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ghx_bench import Checkpoint, EvalScenario, FixtureRequirements, load_eval_scenarios
from ghx_bench.scenario.conditions import CountGte, NonEmpty
from ghx_bench.scenario.eval_scenario import Assertions

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
NAMES = st.text(string.ascii_letters + string.digits + "_", min_size=1, max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=3)
PLACEHOLDER = NAMES.map(lambda name: f"{{{{{name}}}}}")
COUNTS = st.integers(0, 10**6) | PLACEHOLDER
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | PLACEHOLDER
PRIMITIVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
SIMPLE = st.one_of(
    st.sampled_from([{"type": "non_empty"}, {"type": "empty"}]),
    st.fixed_dictionaries({"type": st.sampled_from(["count_gte", "count_eq"]), "value": COUNTS}),
    st.fixed_dictionaries({"type": st.just("field_equals"), "path": TEXT, "value": PRIMITIVES}),
    st.fixed_dictionaries({"type": st.just("field_contains"), "path": TEXT, "value": st.text(max_size=5)}),
    st.fixed_dictionaries({"type": st.just("field_gte"), "path": TEXT, "value": NUMBERS}),
    st.fixed_dictionaries({"type": st.just("contains_item"), "value": JSON}, optional={"path": TEXT}),
    st.fixed_dictionaries({"type": st.just("matches"), "path": TEXT, "pattern": st.sampled_from(["^a+$", "{{x}}"])}),
    st.fixed_dictionaries({"type": st.just("custom"), "scorer": TEXT}, optional={"params": OBJECTS}),
)
CONDITIONS = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.fixed_dictionaries(
            {"type": st.sampled_from(["all", "any"]), "conditions": st.lists(inner, min_size=1, max_size=3)}
        ),
        st.fixed_dictionaries({"type": st.just("not"), "condition": inner}),
        st.fixed_dictionaries({"type": st.just("contains_item"), "where": inner}, optional={"path": TEXT}),
    ),
    max_leaves=4,
)
CHECKPOINTS = st.fixed_dictionaries(
    {"id": TEXT, "description": TEXT, "task": TEXT, "input": OBJECTS, "condition": CONDITIONS}
)
FIXTURES = st.fixed_dictionaries(
    {"repo": TEXT, "requires": st.lists(TEXT, max_size=2), "bindings": st.dictionaries(NAMES, TEXT, max_size=2)},
    optional={"reseedPerIteration": st.booleans(), "seedPerIteration": st.booleans()},
)
ASSERTIONS = st.fixed_dictionaries(
    {"checkpoints": st.lists(CHECKPOINTS, max_size=3, unique_by=lambda each: each["id"])},
    optional={
        "expectedToolSequence": st.lists(TEXT, max_size=2),
        "expectedCapabilities": st.lists(TEXT, max_size=2),
    },
)
SCENARIOS = st.fixed_dictionaries(
    {
        "id": st.from_regex(r"[a-z0-9]{1,4}(-[a-z0-9]{1,4}){0,2}-[0-9]{3}", fullmatch=True),
        "name": TEXT,
        "description": TEXT,
        "prompt": TEXT,
        "timeoutMs": st.integers(1, 86_400_000),
        "category": st.sampled_from(["pr", "issue", "workflow", "release", "repo"]),
        "difficulty": st.sampled_from(["basic", "intermediate", "advanced"]),
        "assertions": ASSERTIONS,
    },
    optional={
        "$schema": TEXT,
        "allowedRetries": st.integers(0, 9),
        "tags": st.lists(TEXT, max_size=2),
        "extensions": OBJECTS,
        "fixture": FIXTURES,
    },
)


@pytest.mark.slow
@given(SCENARIOS)
def test_any_valid_scenario_is_written_back_as_it_was_read(value: dict[str, Any]) -> None:
    before = copy.deepcopy(value)

    scenario = EvalScenario.model_validate(value)

    assert json.dumps(scenario.to_wire(), sort_keys=True) == json.dumps(before, sort_keys=True)
    assert json.loads(scenario.model_dump_json()) == before
    assert EvalScenario.model_validate_json(scenario.model_dump_json()) == scenario
    assert pickle.loads(pickle.dumps(scenario)) == scenario
    assert value == before


@given(SCENARIOS)
def test_snake_case_is_read_as_well(value: dict[str, Any]) -> None:
    renamed = {"timeout_ms" if key == "timeoutMs" else key: each for key, each in value.items()}

    assert EvalScenario.model_validate(renamed) == EvalScenario.model_validate(value)


def test_a_schema_is_kept_and_does_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(
        "$schema: ../scenario.schema.json\n"
        + yaml.safe_dump(
            {
                "id": "a-001",
                "name": "n",
                "description": "d",
                "prompt": "p",
                "timeoutMs": 1,
                "category": "pr",
                "difficulty": "basic",
                "assertions": {"checkpoints": []},
            }
        )
    )

    (scenario,) = load_eval_scenarios(path)

    assert scenario.to_wire()["$schema"] == "../scenario.schema.json"


def test_a_scenario_can_be_made_in_python() -> None:
    scenario = EvalScenario(
        id="pr-a-001",
        name="n",
        description="d",
        prompt="p",
        timeout_ms=1000,
        category="pr",
        difficulty="basic",
        fixture=FixtureRequirements(repo="a/b", requires=("pr",), bindings={"n": "pr.number"}),
        assertions=Assertions(
            checkpoints=(
                Checkpoint(id="a", description="d", task="pr.view", input={}, condition=NonEmpty()),
                Checkpoint(id="b", description="d", task="pr.list", input={}, condition=CountGte(value=2)),
            )
        ),
    )

    assert EvalScenario.model_validate(scenario.to_wire()) == scenario
    assert scenario.to_wire()["assertions"]["checkpoints"][1]["condition"] == {"type": "count_gte", "value": 2}


@pytest.mark.parametrize("bindings", [{1: "x"}, {None: "x"}, 5, [("a", "b")]])
def test_whatever_python_gives_is_refused_and_nothing_breaks(bindings: Any) -> None:
    with pytest.raises(ValidationError):
        FixtureRequirements.model_validate({"repo": "a/b", "requires": [], "bindings": bindings})


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("tags", ["x"] * 1000),
        ("id", "a" * 124 + "-001"),
        ("allowedRetries", 100),
        ("timeoutMs", 86_400_000),
    ],
)
def test_the_bounds_are_generous_and_they_are_bounds(pointer: str, value: Any) -> None:
    base: dict[str, Any] = {
        "id": "a-001",
        "name": "n",
        "description": "d",
        "prompt": "p",
        "timeoutMs": 1,
        "category": "pr",
        "difficulty": "basic",
        "assertions": {"checkpoints": []},
    }
    beyond = ["x", *value] if isinstance(value, list) else f"a{value}" if isinstance(value, str) else value + 1

    assert EvalScenario.model_validate({**base, pointer: value}).to_wire()[pointer] == value
    with pytest.raises(ValidationError):
        EvalScenario.model_validate({**base, pointer: beyond})


def test_a_list_that_is_too_long_is_one_problem_whatever_is_in_it() -> None:
    for key in ("checkpoints", "expectedToolSequence", "expectedCapabilities"):
        with pytest.raises(ValidationError) as caught:
            Assertions.model_validate({"checkpoints": [], key: [1] * 1001})
        assert caught.value.error_count() == 1
