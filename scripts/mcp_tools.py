#!/usr/bin/env python
"""Write packages/tools/src/ghx_tools/mcp/tools.json from the capabilities; run it after changing one, or the version.

Making the schemas loads every capability, which takes longer than all else that a starting server does.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from ghx_base.version import VERSION
from ghx_tools.capabilities.chain import MOST_STEPS
from ghx_tools.capabilities.entries import Entry
from ghx_tools.capabilities.index import ENTRIES
from ghx_tools.capabilities.registry import capability
from ghx_tools.mcp.toolsets import CHAIN, tool_name

TARGET = Path(__file__).parents[1] / "packages" / "tools" / "src" / "ghx_tools" / "mcp" / "tools.json"

INSTRUCTIONS = """\
Typed operations on GitHub. Every tool gives structured data; a failed call says {code, message}. \
Lists take `first` and `after`, and tell in `pageInfo` where they go on. \
`chain` calls several tools in one go, in few round trips."""

CHAIN_PURPOSE = """\
Call several tools of this server in one go. Steps happen as if one after the other, but take few round trips. \
A step may use what an earlier one gave: "{{steps.0.data.id}}" in its input is the `id` that the first step gave. \
A step that fails spoils only those that use what it would have given."""

CHAIN_INPUT = {
    "type": "object",
    "properties": {
        "steps": {
            "type": "array",
            "description": "The calls, in their order.",
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
ERROR = {
    "type": "object",
    "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
    "required": ["code", "message"],
}
CHAIN_OUTPUT = {
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
                    "error": ERROR,
                },
                "required": ["task", "ok"],
            },
        },
    },
    "required": ["status", "results"],
}


def text() -> str:
    """Return the whole file, a tool on each line, so that a difference shows which tools have changed."""
    server = {"name": "ghx", "title": "GitHub capabilities", "version": VERSION}
    tools = ",\n".join(json.dumps(tool, ensure_ascii=False) for tool in _tools())
    said = json.dumps(INSTRUCTIONS, ensure_ascii=False)
    return f'{{"serverInfo": {json.dumps(server)},\n"instructions": {said},\n"tools": [\n{tools}\n]}}\n'


def _tools() -> list[dict[str, Any]]:
    chain = {"name": CHAIN, "description": CHAIN_PURPOSE, "inputSchema": CHAIN_INPUT, "outputSchema": CHAIN_OUTPUT}
    return [*(_describe_tool(entry) for entry in ENTRIES.values()), chain]


def _describe_tool(entry: Entry) -> dict[str, Any]:
    called = capability(entry.id)
    return {
        "name": tool_name(entry.id),
        "description": entry.description,
        "inputSchema": _shorten_schema(called.input_schema),
        "outputSchema": _shorten_schema(called.output_schema),
    }


def _shorten_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON Schema without its own description, which its tool has already, and without titles."""
    return {key: value for key, value in _remove_titles(schema).items() if key != "description"}


def _remove_titles(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON Schema without titles: they repeat the names of fields, and agents pay for every word."""
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "title":
            continue
        # Keys below these two are names of fields, of which one may well be `title`.
        if key in {"properties", "$defs"}:
            kept[key] = {name: _remove_titles(each) for name, each in value.items()}
        else:
            kept[key] = _remove_titles_inside(value)
    return kept


def _remove_titles_inside(value: Any) -> Any:
    match value:
        case dict():
            return _remove_titles(cast("dict[str, Any]", value))
        case list():
            return [_remove_titles_inside(each) for each in cast("list[Any]", value)]
        case _:
            return value


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
