"""A capability in words: what it takes and gives."""

import json
from collections.abc import Mapping
from typing import Any

from ghx_bench.capabilities.registry import Capability


def explained(called: Capability) -> dict[str, Any]:
    """Return everything there is to know of a capability, for programs."""
    return {
        "id": called.id,
        "description": called.entry.description,
        "effect": called.entry.effect,
        "route": called.operation.route,
        "inputSchema": called.input_schema,
        "outputSchema": called.output_schema,
        "example": dict(called.operation.example),
    }


def in_words(called: Capability) -> str:
    """Return everything there is to know of a capability, for reading."""
    example = json.dumps(dict(called.operation.example), ensure_ascii=False)
    return "\n".join(
        (
            f"{called.id}: {called.entry.description} ({called.entry.effect})",
            "",
            "Inputs:",
            inputs_in_words(called),
            "",
            "Gives:",
            outputs_in_words(called),
            "",
            f"Example: ghx run {called.id} --input '{example}'",
        )
    )


def inputs_in_words(called: Capability, *, mark: str = "") -> str:
    """Return what a capability takes, one line for each input; `mark` stands before its name."""
    schema, optional = called.input_schema, called.entry.signature.optional
    names = called.entry.signature.names
    width = max(map(len, names))
    lines = [
        f"  {mark}{name.ljust(width)}  {kind_of(schema['properties'][name], schema)}"
        f"{', optional' if name in optional else ''}{_more(schema['properties'][name])}"
        for name in names
    ]
    return "\n".join(lines)


def outputs_in_words(called: Capability) -> str:
    """Return what a capability gives, one line for each field."""
    schema = called.output_schema
    width = max(map(len, schema["properties"]))
    return "\n".join(f"  {name.ljust(width)}  {kind_of(part, schema)}" for name, part in schema["properties"].items())


def kind_of(part: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    """Say in a few words which values a part of a schema allows."""
    if "$ref" in part:
        part = root["$defs"][part["$ref"].rpartition("/")[2]]
    if "anyOf" in part:
        return " or ".join(kind_of(choice, root) for choice in part["anyOf"])
    if "enum" in part:
        return " | ".join(map(str, part["enum"]))
    if "const" in part:
        return str(part["const"])
    match part.get("type"):
        case "array":
            return f"list of {kind_of(part.get('items', {}), root)}"
        case "object" if part.get("properties"):
            return "{" + ", ".join(part["properties"]) + "}"
        case kind:
            return str(kind or "anything")


def _more(part: Mapping[str, Any]) -> str:
    default = part.get("default")
    told = [] if default in {None, ""} else [f"{default} if left out"]
    told += [part["description"]] if "description" in part else []
    return f". {'. '.join(told)}" if told else ""
