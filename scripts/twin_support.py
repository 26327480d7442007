"""Write what the emulator supports: REST operations, GraphQL types, MCP tools, and what returns 501.

    python scripts/twin_support.py [FOLDER]    write `twin-support.md` into this folder, or into docs/

`make docs` calls this.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLUnionType,
)

from ghx_twin.graphql.documents import published_names
from ghx_twin.graphql.schema import schema
from ghx_twin.rest.catalogue import catalogue_source, documentation_url, known_operations
from ghx_twin.rest.operation import Operation
from ghx_twin.rest.operations import OPERATIONS

ROOT = Path(__file__).parents[1]
TWIN = ROOT / "packages" / "twin" / "src" / "ghx_twin"
DATA = ROOT / "tests" / "data"
PAGE = """# What the emulator supports

REST operations that are not listed return 501 with their name. GraphQL fields, arguments and types that are not listed
return an error with theirs. A name that GitHub lacks too gets GitHub's own error.

{sources}

## Known gaps

{missing}

## REST

{rest}

## MCP servers

The requests that the tools of two MCP servers make, and those of them that the emulator does not answer yet. `R` stands
for `/repos/{owner}/{repo}`. GraphQL documents have the names that `tests/data/mcp_requests.yaml` gives them. The
requests of the npm server were recorded. Those of GitHub's server were partly compared with its source; the server was
not run.

{mcp}

## GraphQL

A subset of GitHub's schema with the same names, types, nullability and arguments. `3 of 5` means that GitHub has two
more fields. Connections, edges and payloads of mutations are as on GitHub and not listed.

{graphql}
"""


def main() -> None:
    """Write the page."""
    folder = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "docs"
    parts = {"sources": sources(), "missing": missing(), "rest": rest(), "mcp": mcp(), "graphql": graphql()}
    page = re.sub("|".join(f"{{{name}}}" for name in parts), lambda match: parts[match[0][1:-1]], PAGE)
    (folder / "twin-support.md").write_text(page, encoding="utf-8")


def rest() -> str:
    """List the REST operations, in groups."""
    groups: dict[str, list[Operation]] = {}
    for operation in OPERATIONS:
        groups.setdefault(operation.handler.__module__.rpartition(".")[2], []).append(operation)
    rival = set((DATA / "emulate_operations.txt").read_text(encoding="utf-8").splitlines())
    shared = sum(one.name in rival for one in OPERATIONS)
    lines = [
        f"{len(OPERATIONS)} operations; each leads to GitHub's own page on it.",
        f"emulate 0.12.2, of Vercel Labs, has {len(rival)}, {shared} of them among these.",
    ]
    for name, operations in groups.items():
        lines += ["", f"**{name.replace('_', ' ').capitalize()}**", ""]
        lines += ["| operation | what it does | emulate |", "|---|---|---|"]
        lines += [
            f"| [`{one.name}`]({documentation_url(one.name)}) | {one.summary} | {'yes' if one.name in rival else ''} |"
            for one in operations
        ]
    theirs = sorted(rival - {one.name for one in OPERATIONS})
    lines += ["", f"Only emulate has, as of that version: {', '.join(f'`{one}`' for one in theirs)}."]
    return "\n".join(lines)


def mcp() -> str:
    """List the tools of two MCP servers with the requests they make, and which of these answer 501."""
    table = yaml.safe_load((DATA / "mcp_requests.yaml").read_text(encoding="utf-8"))
    missing = set(table["missing"])
    heading = ["| tool | requests | still 501 |", "|---|---|---|"]
    lines = ["**@modelcontextprotocol/server-github** (npm)", "", *heading]
    lines += [_tool_row(tool, requests, missing) for tool, requests in table["npm"].items()]
    for toolset, tools in table["go"].items():
        lines += ["", f"**github-mcp-server** (GitHub's own), toolset {toolset}", "", *heading]
        lines += [_tool_row(tool, requests, missing) for tool, requests in tools.items()]
    return "\n".join(lines)


def _tool_row(tool: str, requests: list[str], missing: set[str]) -> str:
    shown = ", ".join(f"`{one}`" if " " in one else f"GraphQL `{one}`" for one in requests)
    refused = ", ".join(f"`{one}`" for one in requests if one in missing)
    return f"| `{tool}` | {shown} | {refused} |"


def graphql() -> str:
    """List the types of the GraphQL schema with their fields, and how many of GitHub's these are."""
    types = [one for name, one in sorted(schema().type_map.items()) if not name.startswith("__")]
    query, mutation = schema().type_map["Query"], schema().type_map["Mutation"]
    lines = [f"**Queries** ({_counted(query)}): {_names(query)}", ""]
    lines += [f"**Mutations** ({_counted(mutation)}): {_plain(getattr(mutation, 'fields', {}))}", ""]
    objects = [one for one in types if isinstance(one, GraphQLObjectType | GraphQLInterfaceType)]
    shown = [one for one in objects if one not in (query, mutation) and not _is_wrapper(one.name)]
    lines += ["**Types and interfaces**", "", "| type | fields | names |", "|---|---|---|"]
    lines += [f"| `{one.name}` | {_counted(one)} | {_names(one)} |" for one in shown]
    lines += ["", "**Inputs**", "", "| input | fields |", "|---|---|"]
    lines += [f"| `{one.name}` | {_plain(one.fields)} |" for one in types if isinstance(one, GraphQLInputObjectType)]
    lines += ["", "**Enums and unions**", "", "| name | members |", "|---|---|"]
    enums = [one for one in types if isinstance(one, GraphQLEnumType)]
    unions = [one for one in types if isinstance(one, GraphQLUnionType)]
    lines += [f"| `{one.name}` | {_plain(one.values)} |" for one in enums]
    lines += [f"| `{one.name}` | {_plain({member.name: None for member in one.types})} |" for one in unions]
    return "\n".join(lines)


def sources() -> str:
    """Report which descriptions of GitHub the names of what the emulator lacks are from."""
    operations, types = len(known_operations()), len(published_names()["types"])
    return (
        f"Known are the {operations:,} REST operations of `{catalogue_source()}` and the {types:,} GraphQL types of\n"
        f"`{published_names()['source']}`, and some newer names that clients use."
    )


def missing() -> str:
    """List what the parts that exist refuse with 501, as their messages say it."""
    return "\n".join(f"- {text}" for text in sorted({*_refusals()}))


def _is_wrapper(name: str) -> bool:
    """Report whether a type only wraps others: connections, edges and payloads go without saying."""
    return name.endswith(("Connection", "Edge", "Payload"))


def _counted(shown: GraphQLNamedType) -> str:
    ours = getattr(shown, "fields", {})
    theirs = published_names()["fields"].get(shown.name, {})
    return f"{len(ours)} of {len({*ours, *theirs})}"


def _names(shown: GraphQLNamedType) -> str:
    """Return the fields, with the arguments of those that take any."""
    fields = getattr(shown, "fields", {})
    return ", ".join(
        f"`{name}({', '.join(field.args)})`" if field.args else f"`{name}`" for name, field in sorted(fields.items())
    )


def _plain(names: dict[str, object]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def _refusals() -> Iterator[str]:
    for path in sorted(TWIN.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "NotImplementedRefusal" and node.args:
                text = _text(node.args[0])
                if text and text.startswith("The twin"):  # others are made up elsewhere
                    yield text


def _text(node: ast.expr) -> str | None:
    """Return a text as it stands in the source, with dots where something is filled in."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_text(value) or "..." for value in values)
        case _:
            return None


if __name__ == "__main__":
    main()
