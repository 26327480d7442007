"""The JSON Schemas that editors use: they say what the records say."""

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ValidationError

from ghx_bench import CheckpointCondition, EvalConfig, EvalScenario, FixtureManifest
from ghx_bench.checking.json_schemas import DRAFT, SchemaName, json_schema
from ghx_tools.capabilities.index import CAPABILITY_IDS

NAMES = get_args(SchemaName)
CONDITIONS = get_args(get_args(CheckpointCondition)[0])


def objects_in(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every part of a schema that describes an object with named keys."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield schema
        for part in schema.values():
            yield from objects_in(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from objects_in(part)


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_json_of_the_draft_it_names(name: SchemaName) -> None:
    schema = json_schema(name)

    assert schema["$schema"] == DRAFT == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"]
    assert schema["type"] == "object"
    assert json.loads(json.dumps(schema)) == schema


@pytest.mark.parametrize("name", NAMES)
def test_every_key_says_what_it_is_for(name: SchemaName) -> None:
    silent = [
        (part.get("title"), key)
        for part in objects_in(json_schema(name))
        for key, value in part["properties"].items()
        if not value.keys() & {"description", "const", "$ref"}
    ]

    assert silent == []
    assert all("description" in part for part in objects_in(json_schema(name)))


@pytest.mark.parametrize("name", NAMES)
def test_no_key_has_a_title_that_hides_its_description(name: SchemaName) -> None:
    titled = [
        key for part in objects_in(json_schema(name)) for key, value in part["properties"].items() if "title" in value
    ]

    assert titled == []


@pytest.mark.parametrize("name", NAMES)
def test_every_reference_leads_somewhere(name: SchemaName) -> None:
    schema = json_schema(name)
    text = json.dumps(schema)

    targets = {part.split('"')[0] for part in text.split('"$ref": "#/$defs/')[1:]}
    assert targets <= set(schema.get("$defs", {}))


@pytest.mark.parametrize(
    ("name", "model"), [("scenario", EvalScenario), ("manifest", FixtureManifest), ("config", EvalConfig)]
)
def test_the_keys_are_those_of_the_record(name: SchemaName, model: type[BaseModel]) -> None:
    schema = json_schema(name)

    fields = model.model_fields.items()
    assert set(schema["properties"]) == {field.alias or key for key, field in fields}
    assert set(schema["required"]) == {field.alias or key for key, field in fields if field.is_required()}


def test_a_scenario_takes_no_other_keys_anywhere() -> None:
    schema = json_schema("scenario")
    variant = schema["$defs"]["Variant"]["properties"]
    for extensions in (schema["properties"]["extensions"], variant["extensions"]):
        extensions.pop("properties")  # what else is in there is the user's
    for part in objects_in(schema):
        assert part["additionalProperties"] is False


def test_editors_know_what_the_bench_reads_in_extensions() -> None:
    schema = json_schema("scenario")
    extensions = schema["properties"]["extensions"]

    assert {"allowedChanges", "targets", "workspace"} <= extensions["properties"].keys()
    assert schema["$defs"]["Workspace"]["properties"].keys() == {"repo", "branch", "upstream", "changes"}


def test_every_condition_has_to_say_its_type() -> None:
    parts = json_schema("scenario")["$defs"]

    for condition in CONDITIONS:
        part = parts[condition.__name__]
        assert "type" in part["required"]
        assert "default" not in part["properties"]["type"]


def test_editors_can_propose_capabilities() -> None:
    task = json_schema("scenario")["$defs"]["Checkpoint"]["properties"]["task"]

    assert task["enum"] == [*CAPABILITY_IDS, "session.answer"]


def test_sets_may_name_their_schema() -> None:
    schema = json_schema("sets")

    assert schema["properties"]["$schema"]["type"] == "string"
    assert schema["additionalProperties"]["type"] == "array"


def test_the_schema_does_not_depend_on_what_was_asked_before() -> None:
    first = json.dumps(json_schema("scenario"))
    code = (
        "import json; from ghx_bench import EvalScenario; EvalScenario.model_json_schema();"
        "from ghx_bench.checking.json_schemas import json_schema; print(json.dumps(json_schema('scenario')))"
    )

    assert (
        subprocess.check_output([sys.executable, "-c", code], text=True).strip()
        == first
        == json.dumps(json_schema("scenario"))
    )


# What the schemas refuse is what the records refuse.

MALFORMED: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "malformed_scenarios.yaml").read_text())

BEYOND_A_SCHEMA = {
    "a timeout written as a float",  # for JSON Schema, 1000.0 is an integer
    "a count written as a float",
    "an id with a line break",  # Python's $ also matches before one
    "two checkpoints with one id",
    "a broken pattern",
    "a pattern that looks ahead",
    "a pattern that refers back",
    "a pattern that explodes",
}
BEYOND_A_RECORD = {  # capabilities and extensions are checked when a file is loaded
    "a misspelt capability",
    "a capability by an old name",
    "a capability its domain does not have",
    "a capability of another domain",
    "faults that are an object",
    "a fault with a misspelt key",
}

SCENARIO: dict[str, Any] = {
    "id": "pr-review-001",
    "name": "Review",
    "description": "Reviews a pull request.",
    "category": "pr",
    "difficulty": "basic",
    "prompt": "Review #{{pr_number}} in {{repo}}.",
    "timeoutMs": 1000,
    "fixture": {
        "repo": "{{fixture_repo}}",
        "requires": ["pr"],
        "bindings": {"pr_number": "pr.number", "repo": "pr.repo"},
    },
    "assertions": {
        "checkpoints": [
            {
                "id": id_,
                "description": "d",
                "task": "pr.view",
                "input": {},
                "condition": {"type": "count_eq", "value": 1},
            }
            for id_ in ("first", "second")
        ]
    },
}


def malformed(case: dict[str, Any]) -> Any:
    scenario = copy.deepcopy(SCENARIO)
    for pointer in case.get("drop", ()):
        part, last = part_of(scenario, pointer)
        part.pop(last, None)
    for pointer, value in case.get("change", {}).items():
        part, last = part_of(scenario, pointer)
        part[last] = value
    return scenario


def part_of(value: Any, pointer: str) -> tuple[Any, Any]:
    *way, last = pointer[1:].split("/")
    for step in way:
        value = value[int(step) if isinstance(value, list) else step]
    return value, int(last) if isinstance(value, list) else last


def is_valid(model: type[BaseModel], value: Any) -> bool:
    try:
        model.model_validate(value)
    except ValidationError:
        return False
    return True


@pytest.mark.slow
def test_the_schema_and_the_record_agree_on_a_scenario_with_any_mistake() -> None:
    validator = Draft202012Validator(json_schema("scenario"))
    refused_by = {
        case["name"]: (not validator.is_valid(value := malformed(case)), not is_valid(EvalScenario, value))
        for case in MALFORMED
    }

    assert {name for name, refused in refused_by.items() if refused == (False, True)} == BEYOND_A_SCHEMA
    assert {name for name, refused in refused_by.items() if refused == (True, False)} == BEYOND_A_RECORD


CONFIGURATIONS: list[tuple[Any, bool]] = [
    ({"modes": ["ghx"]}, True),
    ({"$schema": "config.schema.json", "modes": ["ghx"]}, True),
    ({"modes": ["ghx"], "models": ["x"]}, True),
    ({"modes": ["ghx"], "models": ["x", {"id": "y", "label": "z"}]}, True),
    ({"modes": ["ghx"], "fixtures": {"repo": ""}}, True),
    ({"modes": ["ghx"], "fixtures": {"repo": "octo_corp/x"}}, True),
    ({"modes": ["ghx"], "fixtures": {"repo": None}}, True),
    ({"modes": ["ghx"], "output": {"log_level": "warn"}}, True),
    ({"modes": ["ghx"], "execution": {"allowed_retries": 1}}, True),
    ({"modes": ["ghx"], "scorers": "scorers.py"}, True),
    ({"modes": []}, False),
    ({"modes": "ghx"}, False),
    ({}, False),
    ({"modes": ["ghx"], "models": []}, False),
    ({"modes": ["ghx"], "models": [""]}, False),
    ({"modes": ["ghx"], "models": [1]}, False),
    ({"modes": ["ghx"], "models": [{"label": "z"}]}, False),
    ({"modes": ["ghx"], "fixtures": {"repo": "octo"}}, False),
    ({"modes": ["ghx"], "fixtures": {"repo": "octo/.."}}, False),
    ({"modes": ["ghx"], "output": {"log_level": "loud"}}, False),
    ({"modes": ["ghx"], "execution": {"repetitions": 0}}, False),
    ({"modes": ["ghx"], "provider": {"port": 70000}}, False),
    ({"modes": ["ghx"], "mode": 1}, False),
]


@pytest.mark.parametrize(("value", "expected"), CONFIGURATIONS)
def test_the_schema_and_the_record_agree_on_a_configuration(value: Any, expected: bool) -> None:
    assert is_valid(EvalConfig, value) is expected
    assert Draft202012Validator(json_schema("config")).is_valid(value) is expected


@pytest.mark.parametrize(
    ("repo", "expected"),
    [
        ("o/r", True),
        ("o_p/r.x", True),
        ("o/.github", True),
        ("o/.", False),
        ("o/..", False),
        ("o/r/s", False),
        ("-o/r", False),
    ],
)
def test_the_schema_and_the_record_agree_on_a_manifest(repo: str, expected: bool) -> None:
    value = {
        "seedId": "s",
        "createdAt": "t",
        "repo": repo,
        "fixtures": {"a": {"type": "pr", "number": 1, "repo": "o/r"}},
    }

    assert is_valid(FixtureManifest, value) is expected
    assert Draft202012Validator(json_schema("manifest")).is_valid(value) is expected


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_a_schema(name: SchemaName) -> None:
    Draft202012Validator.check_schema(json_schema(name))
