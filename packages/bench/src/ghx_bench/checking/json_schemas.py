"""The JSON Schemas of the files that people write, for editors to complete and check them."""

from collections.abc import Callable
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from ghx_bench.fixtures.fixture_document import FixtureDocument
from ghx_bench.modes.definitions import PRESETS, ModeDefinition
from ghx_bench.project.config import EvalConfig
from ghx_bench.project.sets import SCHEMA_KEY
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_bench.scenario.extensions import VARIANTS, ScenarioExtensions
from ghx_bench.scenario.manifest import FixtureManifest
from ghx_bench.scenario.scenario_changes import LONGEST_VARIANT_NAME, RESERVED, VARIANT_NAME
from ghx_bench.scenario.session_answer import ANSWER_TASK
from ghx_profiler.agents.controls.solution import SolutionFile
from ghx_profiler.agents.drivers.recipe import Recipe
from ghx_profiler.scenario import ScenarioSets
from ghx_tools.capabilities.index import CAPABILITY_IDS

DRAFT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]
SchemaName = Literal["scenario", "sets", "fixture", "manifest", "solution", "mode", "agent", "config"]


def json_schema(name: SchemaName) -> Schema:
    """Return the JSON Schema (2020-12) of one kind of file, whether it is written as JSON or as YAML."""
    title, make = _SCHEMAS[name]
    return {"$schema": DRAFT, **make(), "title": title}


class _WithoutTitles(GenerateJsonSchema):
    """Leaves out the titles that only repeat the keys: editors show them before the descriptions."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        """Never set one."""
        return False


def _schema_of(model: type[BaseModel]) -> Schema:
    return model.model_json_schema(by_alias=True, schema_generator=_WithoutTitles, mode="validation")


def _scenario() -> Schema:
    schema = _schema_of(EvalScenario)
    parts: dict[str, Schema] = schema["$defs"]
    for part in parts.values():
        kind = part.get("properties", {}).get("type", {})
        if "const" in kind:  # a condition: in files, what it is has to be said
            kind.pop("default", None)
            part["required"] = ["type", *part.get("required", ())]
    parts["FixtureRequirements"]["properties"]["bindings"]["additionalProperties"] = False  # but for its pattern
    parts["ContainsItem"]["oneOf"] = [{"required": ["value"]}, {"required": ["where"]}]
    parts["Checkpoint"]["properties"]["task"]["enum"] = [*CAPABILITY_IDS, ANSWER_TASK]
    extensions = _schema_of(ScenarioExtensions)
    for name, part in extensions.pop("$defs").items():
        parts.setdefault(name, part)  # conditions are in both, and done with
    parts["StateCheck"]["properties"]["task"]["enum"] = [*CAPABILITY_IDS]
    schema["properties"]["extensions"]["properties"] = extensions["properties"]
    in_variants = {key: each for key, each in extensions["properties"].items() if key != VARIANTS}
    parts["Variant"]["properties"]["extensions"]["properties"] = in_variants
    parts["FixtureChanges"]["properties"]["bindings"]["anyOf"][0]["additionalProperties"] = False  # as above
    name = {"pattern": f"^{VARIANT_NAME}$", "maxLength": LONGEST_VARIANT_NAME, "not": {"enum": list(RESERVED)}}
    schema["properties"]["extensions"]["properties"][VARIANTS]["propertyNames"] = name
    fixture = schema["properties"]["fixture"]
    fixture["$ref"] = next(each["$ref"] for each in fixture.pop("anyOf") if "$ref" in each)  # omitted rather than null
    fixture.pop("default")
    return schema


def _sets() -> Schema:
    note = {"type": "string", "description": "The JSON Schema of this file, for editors."}
    return {**_schema_of(ScenarioSets), "properties": {SCHEMA_KEY: note}}


def _fixture() -> Schema:
    schema = _schema_of(FixtureDocument)
    schema["anyOf"] = [{"required": ["issues"]}, {"required": ["pulls"]}, {"required": ["world"]}]
    return schema


_MODE_FILE = {"type": "string", "pattern": r"\.(?:json|ya?ml)$", "description": "A file with a mode."}


def _mode() -> Schema:
    schema = _schema_of(ModeDefinition)
    _allow_presets(schema)
    return schema


def _allow_presets(definition: Schema) -> None:
    """Accept the name of a preset for an MCP server."""
    servers: dict[str, Schema] = definition["properties"]["mcp_servers"]["patternProperties"]
    for pattern, server in servers.items():
        servers[pattern] = {"anyOf": [{"enum": list(PRESETS)}, server]}


def _config() -> Schema:
    """Describe a configuration, with the short forms that are read as well."""
    schema = _schema_of(EvalConfig)
    parts: dict[str, Schema] = schema["$defs"]
    models: Schema = schema["properties"]["models"]
    models["items"] = {"anyOf": [{"type": "string", "minLength": 1}, models["items"]]}
    modes: Schema = schema["properties"]["modes"]
    modes["items"] = {"anyOf": [modes["items"], _MODE_FILE, {"$ref": "#/$defs/ModeDefinition"}]}
    _allow_presets(parts["ModeDefinition"])
    parts["FixtureChoice"]["properties"]["repo"]["anyOf"].append({"const": ""})
    parts["EvalOutput"]["properties"]["log_level"]["anyOf"][0]["enum"].append("warn")
    execution: Schema = parts["Execution"]["properties"]
    execution["allowed_retries"] = {
        **execution["retries"],
        "description": "Another name of retries.",
        "deprecated": True,
    }
    return schema


_SCHEMAS: dict[SchemaName, tuple[str, Callable[[], Schema]]] = {
    "scenario": ("A scenario of ghx-bench", _scenario),
    "sets": ("The scenario sets of ghx-bench", _sets),
    "fixture": ("A fixture of ghx-bench", _fixture),
    "manifest": ("A fixture manifest of ghx-bench", lambda: _schema_of(FixtureManifest)),
    "solution": ("A solution of a ghx-bench scenario", lambda: _schema_of(SolutionFile)),
    "mode": ("A mode of ghx-bench", _mode),
    "agent": ("The recipe of an agent for ghx-bench", lambda: _schema_of(Recipe)),
    "config": ("The configuration of ghx-bench", _config),
}
