"""Capabilities described as tools: what they take and give, and what they do to GitHub."""

from collections.abc import Mapping
from typing import Any, cast

from mcp import types

from ghx_bench.capabilities.chain import MOST_STEPS
from ghx_bench.capabilities.entries import Entry
from ghx_bench.capabilities.registry import capability
from ghx_bench.mcp.selection import CHAIN, Selection, tool_name

_CHAIN_PURPOSE = """\
Call several tools of this server in one go. Steps happen as if one after the other, but take few round trips. \
A step may use what an earlier one gave: "{{steps.0.data.id}}" in its input is the `id` that the first step gave. \
A step that fails spoils only those that use what it would have given."""

_CHAIN_INPUT = {
    "type": "object",
    "properties": {
        "steps": {
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_STEPS,
            "items": {
                "type": "object",
                "properties": {
                    "task": {"type": "string", "description": "The name of a tool of this server."},
                    "input": {"type": "object", "description": "What the tool takes."},
                },
                "required": ["task", "input"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["steps"],
    "additionalProperties": False,
}
_ERROR = {
    "type": "object",
    "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
    "required": ["code", "message"],
}
_CHAIN_OUTPUT = {
    "type": "object",
    "properties": {
        "status": {"type": "string", "enum": ["success", "partial", "failed"]},
        "results": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "task": {"type": "string"},
                    "ok": {"type": "boolean"},
                    "data": {"type": "object"},
                    "error": _ERROR,
                },
                "required": ["task", "ok"],
            },
        },
    },
    "required": ["status", "results"],
}


def tools_of(selection: Selection) -> list[types.Tool]:
    """Describe everything that is offered; loads the capabilities."""
    return [*(_tool(entry) for entry in selection.tools.values()), _chain(selection)]


def _tool(entry: Entry) -> types.Tool:
    called = capability(entry.id)
    return types.Tool(
        name=tool_name(entry.id),
        description=entry.description,
        input_schema=_lean(called.input_schema),
        output_schema=_lean(called.output_schema),
        annotations=types.ToolAnnotations(
            read_only_hint=entry.effect == "reads",
            destructive_hint=entry.effect == "destructive",
            open_world_hint=True,
        ),
    )


def _chain(selection: Selection) -> types.Tool:
    deletes = any(entry.effect == "destructive" for entry in selection.tools.values())
    return types.Tool(
        name=CHAIN,
        description=_CHAIN_PURPOSE,
        input_schema=_CHAIN_INPUT,
        output_schema=_CHAIN_OUTPUT,
        annotations=types.ToolAnnotations(
            read_only_hint=selection.only_reads, destructive_hint=deletes, open_world_hint=True
        ),
    )


def _lean(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out of a JSON Schema what the description of its tool says already: what it is as a whole."""
    return {key: value for key, value in without_titles(schema).items() if key != "description"}


def without_titles(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Leave the titles out of a JSON Schema: they repeat the names of fields, and agents pay for every word."""
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "title":
            continue
        if key in {"properties", "$defs"}:
            kept[key] = {name: without_titles(each) for name, each in value.items()}
        else:
            kept[key] = _inside(value)
    return kept


def _inside(value: Any) -> Any:
    match value:
        case dict():
            return without_titles(cast("dict[str, Any]", value))
        case list():
            return [_inside(each) for each in cast("list[Any]", value)]
        case _:
            return value
