"""The JSON Schemas that editors use: they say what the records say."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from ghx_bench.capabilities.ids import CAPABILITY_IDS
from ghx_bench.eval import CheckpointCondition, EvalConfig, EvalScenario, FixtureManifest
from ghx_bench.eval.schemas import DRAFT, SchemaName, json_schema

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
    for part in objects_in(json_schema("scenario")):
        assert part["additionalProperties"] is False


def test_every_condition_has_to_say_its_type() -> None:
    parts = json_schema("scenario")["$defs"]

    for condition in CONDITIONS:
        part = parts[condition.__name__]
        assert "type" in part["required"]
        assert "default" not in part["properties"]["type"]


def test_editors_can_propose_capabilities() -> None:
    task = json_schema("scenario")["$defs"]["Checkpoint"]["properties"]["task"]

    assert task["enum"] == list(CAPABILITY_IDS)


def test_sets_may_name_their_schema() -> None:
    schema = json_schema("sets")

    assert schema["properties"]["$schema"]["type"] == "string"
    assert schema["additionalProperties"]["type"] == "array"


def test_the_schema_does_not_depend_on_what_was_asked_before() -> None:
    first = json.dumps(json_schema("scenario"))
    code = (
        "import json; from ghx_bench.eval import EvalScenario; EvalScenario.model_json_schema();"
        "from ghx_bench.eval.schemas import json_schema; print(json.dumps(json_schema('scenario')))"
    )

    assert (
        subprocess.check_output([sys.executable, "-c", code], text=True).strip()
        == first
        == json.dumps(json_schema("scenario"))
    )
