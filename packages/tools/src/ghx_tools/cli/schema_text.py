"""Inputs and outputs of a capability, from its JSON Schemas, as text for people and as JSON for programs."""

import json
from collections.abc import Mapping
from typing import Any

from ghx_tools.capabilities.registry import Capability


def to_wire(called: Capability) -> dict[str, Any]:
    """Return everything that is known of a capability, as JSON."""
    return {
        "id": called.id,
        "description": called.entry.description,
        "effect": called.entry.effect,
        "route": called.operation.route,
        "inputSchema": called.input_schema,
        "outputSchema": called.output_schema,
        "example": dict(called.operation.example),
    }


def describe(called: Capability) -> str:
    """Return everything that is known of a capability, as text."""
    example = json.dumps(dict(called.operation.example), ensure_ascii=False)
    return "\n".join(
        (
            f"{called.id}: {called.entry.description} ({called.entry.effect})",
            "",
            "Inputs:",
            describe_inputs(called),
            "",
            "Gives:",
            _describe_outputs(called),
            "",
            f"Example: ghx run {called.id} --input '{example}'",
        )
    )


def describe_inputs(called: Capability, *, mark: str = "") -> str:
    """Return one line for each input of a capability; `mark` stands before its name."""
    schema, optional = called.input_schema, called.entry.signature.optional
    names = called.entry.signature.names
    width = max(map(len, names))
    lines = [
        f"  {mark}{name.ljust(width)}  {describe_values(schema['properties'][name], schema)}"
        f"{', optional' if name in optional else ''}{_describe_more(schema['properties'][name])}"
        for name in names
    ]
    return "\n".join(lines)


def _describe_outputs(called: Capability) -> str:
    """Return one line for each field of the output of a capability."""
    schema = called.output_schema
    width = max(map(len, schema["properties"]))
    return "\n".join(
        f"  {name.ljust(width)}  {describe_values(part, schema)}" for name, part in schema["properties"].items()
    )


def describe_values(part: Mapping[str, Any], root: Mapping[str, Any], *, above: frozenset[str] = frozenset()) -> str:
    """Return in a few words which values a part of a schema allows; `above` are the definitions that it is part of."""
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        if name in above:
            return name  # which would have itself in it for ever
        part, above = root["$defs"][name], above | {name}
    if "anyOf" in part:
        return " or ".join(describe_values(choice, root, above=above) for choice in part["anyOf"])
    if values := part.get("enum") or ([part["const"]] if "const" in part else None):
        return " | ".join(map(str, values))
    match part.get("type"):
        case "array":
            return f"list of {describe_values(part.get('items', {}), root, above=above)}"
        case "object" if part.get("properties"):
            fields = {name: describe_values(each, root, above=above) for name, each in part["properties"].items()}
            # Of plain values the name says enough; what is inside of others would be in no text otherwise.
            return "{" + ", ".join(f"{name}: {it}" if "{" in it else name for name, it in fields.items()) + "}"
        case kind:
            return str(kind or "anything")


def _describe_more(part: Mapping[str, Any]) -> str:
    default = part.get("default")
    more = [] if default in (None, "", [], {}) else [f"{default} if left out"]
    more += [part["description"]] if "description" in part else []
    return f". {'. '.join(more)}" if more else ""
