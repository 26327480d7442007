"""What is wrong with the tools of an MCP server: seen in their list, and in the journal of a world."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Literal

from pydantic import JsonValue

from ghx_base.wire import WireModel
from ghx_bench.toolsets.tool_lists import VERBS, ListedTool, words_of
from ghx_twin.journal import Entry

LintKind = Literal[
    "missing-description", "ambiguous-names", "untyped-argument", "missing-annotations", "read-only-writes"
]
_TYPED = frozenset({"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"})


class LintFinding(WireModel):
    """One thing that is wrong."""

    kind: LintKind
    server: str
    tool: str
    message: str


def lint_tools(server: str, tools: Sequence[ListedTool]) -> tuple[LintFinding, ...]:
    """Return what is wrong with a list of tools, in their order."""
    findings = [
        LintFinding(kind=kind, server=server, tool=tool.name, message=message)
        for tool in tools
        for kind, message in _findings_in(tool)
    ]
    for one, other in combinations(tools, 2):
        if (message := _confusion(one, other)) is not None:
            findings.append(LintFinding(kind="ambiguous-names", server=server, tool=one.name, message=message))
    return tuple(findings)


def lint_writes(server: str, tool: str, changing: Sequence[Entry]) -> LintFinding:
    """Return the finding for a tool that calls itself read-only and asked for changes."""
    operations = ", ".join(dict.fromkeys(each.operation for each in changing))
    return LintFinding(
        kind="read-only-writes",
        server=server,
        tool=tool,
        message=f"says readOnlyHint and asked GitHub for changes: {operations}",
    )


def _findings_in(tool: ListedTool) -> Iterator[tuple[LintKind, str]]:
    if not tool.description.strip():
        yield "missing-description", "has no description"
    if tool.is_abridged:
        return
    for name, part in tool.arguments.items():
        described = part if isinstance(part, dict) else dict[str, JsonValue]()
        # An argument that names its choices says what it takes.
        if not str(described.get("description") or "").strip() and not {"enum", "const"} & described.keys():
            yield "missing-description", f"the argument {name!r} has no description"
        if missing := _missing_type(described):
            yield "untyped-argument", f"the argument {name!r} has no {missing}"
    if not isinstance(tool.annotations.get("readOnlyHint"), bool):
        yield "missing-annotations", "does not say readOnlyHint"
    elif not tool.is_read_only and not isinstance(tool.annotations.get("destructiveHint"), bool):
        yield "missing-annotations", "is not read-only, and does not say destructiveHint"


def _missing_type(part: Mapping[str, JsonValue]) -> str | None:
    if not _TYPED & part.keys():
        return "type"
    items = part.get("items")
    if part.get("type") == "array" and not (isinstance(items, dict) and _TYPED & items.keys()):
        return "type of its items"
    return None


def _confusion(one: ListedTool, other: ListedTool) -> str | None:
    """Return why a model could take a tool for another one, if it could."""
    if _meaning(one.name) == _meaning(other.name):
        return f"can be taken for {other.name!r}: the names mean the same"
    description = " ".join(one.description.split()).casefold()
    if description and description == " ".join(other.description.split()).casefold():
        return f"can be taken for {other.name!r}: the descriptions are the same"
    return None


def _meaning(name: str) -> tuple[str, ...]:
    """Return the words of a name in any order, verbs by what they mean: `view_issue` means what `issue_get` does."""
    return tuple(sorted(VERBS.get(each, each) for each in words_of(name)))
