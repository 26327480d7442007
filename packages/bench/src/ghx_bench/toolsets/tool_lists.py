"""The tools of MCP servers as they are listed, from a server or from a file, and what being told of them costs."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pydantic import Field, JsonValue

from ghx_base.errors import InputError
from ghx_base.problems import one_line
from ghx_base.wire import Count, WireModel
from ghx_bench.toolsets.sizes import Ruler, Size, total

VERBS: Mapping[str, str] = {
    **dict.fromkeys(("get", "view", "read", "show", "fetch", "describe", "retrieve"), "get"),
    **dict.fromkeys(("list", "enumerate"), "list"),
    **dict.fromkeys(("search", "find", "query"), "search"),
    **dict.fromkeys(("create", "make", "new", "open"), "create"),
    **dict.fromkeys(("update", "edit", "modify", "change", "patch"), "update"),
    **dict.fromkeys(("delete", "destroy", "erase"), "delete"),
    **dict.fromkeys(("add", "append", "attach"), "add"),
    **dict.fromkeys(("remove", "detach"), "remove"),
    **{
        each: each
        for each in (
            "set", "put", "write", "push", "submit", "run", "call", "do", "manage", "assign", "dismiss", "merge",
            "fork", "mark", "request", "star", "unstar", "lock", "unlock", "rerun", "cancel", "dispatch",
            "trigger", "resolve", "download", "close", "reopen", "enable", "disable", "reply", "or", "and", "for",
            "the", "to", "of", "by",
        )
    },
}  # fmt: skip
"""Words in the names of tools that are no nouns, by what they mean: verbs, and what stands between words."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTool:
    """A tool as a server lists it."""

    name: str
    description: str
    input_schema: Mapping[str, JsonValue]
    annotations: Mapping[str, JsonValue]
    is_abridged: bool = False
    """Whether it is from a published list, which has neither descriptions of arguments nor all annotations."""

    @property
    def told(self) -> dict[str, JsonValue]:
        """What a model is told of it; annotations and the schema of its output are for the client."""
        return {"name": self.name, "description": self.description, "inputSchema": dict(self.input_schema)}

    @property
    def arguments(self) -> Mapping[str, JsonValue]:
        """The schemas of its arguments."""
        properties = self.input_schema.get("properties")
        return properties if isinstance(properties, dict) else {}

    @property
    def is_read_only(self) -> bool:
        """Whether it says of itself that it changes nothing."""
        return self.annotations.get("readOnlyHint") is True


class ToolSize(WireModel):
    """What one tool costs to be told of."""

    name: str
    group: str
    arguments: Count
    description: Size
    schema_: Size
    size: Size
    listed: ListedTool | None = Field(default=None, exclude=True)
    """The tool itself, to be compared with others."""


class GroupSize(WireModel):
    """What the tools about one noun cost together."""

    name: str
    tools: Count
    size: Size


class ServerSurface(WireModel):
    """What an MCP server costs to be told of."""

    name: str
    version: str | None
    instructions: Size
    instructions_text: str = Field(default="", exclude=True)
    tools: tuple[ToolSize, ...]
    groups: tuple[GroupSize, ...]
    size: Size
    """Of all tools and the instructions."""


def parse_tool(raw: Mapping[str, JsonValue]) -> ListedTool:
    """Return a tool of a `tools/list` answer; one of a published list says `properties` and `readOnly` instead."""
    schema, annotations = raw.get("inputSchema"), raw.get("annotations")
    is_abridged = not isinstance(schema, dict) and isinstance(raw.get("properties"), dict)
    if is_abridged:
        schema = _schema_of(cast("dict[str, JsonValue]", raw["properties"]), raw.get("required"))
        annotations = {"readOnlyHint": raw["readOnly"]} if isinstance(raw.get("readOnly"), bool) else annotations
    description = raw.get("description")
    return ListedTool(
        name=str(raw["name"]),
        description=description if isinstance(description, str) else "",
        input_schema=schema if isinstance(schema, dict) else {},
        annotations=annotations if isinstance(annotations, dict) else {},
        is_abridged=is_abridged,
    )


def _schema_of(properties: Mapping[str, JsonValue], required: JsonValue) -> dict[str, JsonValue]:
    """Return the schema that a published list shortens: an argument is there its type, or its choices."""
    parts: dict[str, JsonValue] = {
        name: {"type": schema} if isinstance(schema, str) else {"enum": schema} if isinstance(schema, list) else schema
        for name, schema in properties.items()
    }
    return {"type": "object", "properties": parts, "required": required if isinstance(required, list) else []}


def read_tools(path: Path) -> tuple[ListedTool, ...]:
    """Read a `tools/list` answer from a file: `{"tools": [...]}`, that inside of `result`, or the list alone."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{path} has more than {_MOST_BYTES >> 20} MB, which is no list of tools")
        value: object = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; name a file with a `tools/list` answer") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no JSON: {one_line(str(error))}; store a `tools/list` answer in it") from None
    for key in ("result", "tools"):
        if isinstance(value, dict) and key in value:
            value = cast("dict[str, object]", value)[key]
    if not isinstance(value, list):
        raise InputError(f"{path} has no list of tools; write {{'tools': [...]}}, as a server answers `tools/list`")
    tools = cast("list[object]", value)
    for index, each in enumerate(tools):
        if not isinstance(each, dict) or not isinstance(cast("dict[str, object]", each).get("name"), str):
            raise InputError(f"{path}: tool {index + 1} of {len(tools)} has no name; a tool is an object with a `name`")
    return tuple(parse_tool(cast("dict[str, JsonValue]", each)) for each in tools)


def measure_tools(
    name: str, version: str | None, tools: Sequence[ListedTool], instructions: str, ruler: Ruler
) -> ServerSurface:
    """Return what a server costs to be told of."""
    sizes = tuple(_measure_tool(each, ruler) for each in tools)
    groups = sorted({each.group for each in sizes})
    size = ruler.measure(instructions)
    return ServerSurface(
        name=name,
        version=version,
        instructions=size,
        instructions_text=instructions,
        tools=sizes,
        groups=tuple(_measure_group(group, sizes) for group in groups),
        size=total((size, *(each.size for each in sizes))),
    )


def _measure_tool(tool: ListedTool, ruler: Ruler) -> ToolSize:
    return ToolSize(
        name=tool.name,
        group=noun_of(tool.name),
        arguments=len(tool.arguments),
        description=ruler.measure(tool.description),
        schema_=ruler.measure_json(tool.input_schema),
        size=ruler.measure_json(tool.told),
        listed=tool,
    )


def _measure_group(name: str, tools: Iterable[ToolSize]) -> GroupSize:
    own = [each for each in tools if each.group == name]
    return GroupSize(name=name, tools=len(own), size=total(each.size for each in own))


def words_of(name: str) -> tuple[str, ...]:
    """Return the words in the name of a tool, however they are joined, in small letters and the singular."""
    return tuple(_singular(each.lower()) for each in _WORDS.findall(name))


def _singular(word: str) -> str:
    for ending, instead in (("ies", "y"), ("ches", "ch"), ("sses", "ss"), ("ss", "ss"), ("us", "us"), ("s", "")):
        if len(word) > len(ending) + 2 and word.endswith(ending):
            return word.removesuffix(ending) + instead
    return word


def noun_of(name: str) -> str:
    """Return what a tool is about: the first word of its name that is no verb. `tools/list` has no field for it."""
    words = words_of(name)
    return next((each for each in words if each not in VERBS), words[0] if words else name)
