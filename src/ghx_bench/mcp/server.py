"""Capabilities described as tools: what they take and give, and what they do to GitHub."""

import json
import socket
import sys
from collections.abc import Mapping
from functools import cached_property
from importlib.metadata import version
from typing import Any, cast

import uvicorn
from mcp import types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

from ghx_bench._base.errors import OperationError
from ghx_bench._base.problems import did_you_mean, shortened
from ghx_bench.capabilities.chain import MOST_STEPS, Step, read_steps, run_chain
from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.entries import Entry
from ghx_bench.capabilities.environment import client_from_environment
from ghx_bench.capabilities.errors import CapabilityError, ErrorCode, InvalidInputError
from ghx_bench.capabilities.execution import execute_task
from ghx_bench.capabilities.registry import capability
from ghx_bench.mcp.toolsets import CHAIN, Selection, tool_name

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


_INSTRUCTIONS = """\
Typed operations on GitHub. Every tool gives structured data; a failed call says {code, message}. \
Lists take `first` and `after`, and tell in `pageInfo` where they go on. \
`chain` calls several tools in one go, in few round trips."""


def make_server(client: GitHubClient, selection: Selection) -> Server[Any]:
    """Return a server that offers a selection of capabilities on one GitHub."""
    tools = _Tools(client, selection)
    return Server(
        "ghx",
        version=version("ghx-bench"),
        title="GitHub capabilities",
        instructions=_INSTRUCTIONS,
        on_list_tools=tools.list_tools,
        on_call_tool=tools.call_tool,
    )


class _Tools:
    """Answers what clients ask of tools; whatever GitHub says, a call ends in a result."""

    def __init__(self, client: GitHubClient, selection: Selection) -> None:
        self._client = client
        self._selection = selection

    @cached_property
    def _described(self) -> list[types.Tool]:
        return tools_of(self._selection)

    async def list_tools(
        self, _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """Describe the tools; only now are all capabilities loaded, so that the server starts without delay."""
        return types.ListToolsResult(tools=self._described)

    async def call_tool(
        self, _context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Call a capability, or a chain of them."""
        given = params.arguments or {}
        try:
            return await (self._chain(given) if params.name == CHAIN else self._call(params.name, given))
        except CapabilityError as error:
            return _failed(error.error_code, str(error))

    async def _call(self, name: str, given: Mapping[str, Any]) -> types.CallToolResult:
        envelope = await execute_task(self._client, self._id_of(name), given)
        if envelope.error is not None:
            return _failed(envelope.error.code, envelope.error.message)
        return _succeeded(envelope.data)

    async def _chain(self, given: Mapping[str, Any]) -> types.CallToolResult:
        if set(given) != {"steps"}:
            raise InvalidInputError("chain takes `steps`, a list of {task, input}, and nothing else")
        steps = [self._meant(step) for step in read_steps(given["steps"])]
        result = await run_chain(self._client, steps, offered=self._ids)
        told = _succeeded(result.to_compact())
        return told.model_copy(update={"is_error": result.status == "failed"})

    @cached_property
    def _ids(self) -> frozenset[str]:
        return frozenset(entry.id for entry in self._selection.tools.values())

    def _meant(self, step: Step) -> Step:
        """Return a step by the id of its capability; one that is not offered is left for the chain to refuse."""
        entry = self._selection.entry(step.task)
        return step if entry is None else Step(task=entry.id, input=step.input)

    def _id_of(self, name: str) -> str:
        entry = self._selection.entry(name)
        if entry is None:
            hint = did_you_mean(name, self._selection.tools, otherwise="list the tools to see what there is")
            raise InvalidInputError(f"this server offers no tool {shortened(name)}; {hint}")
        return entry.id


def _succeeded(data: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[_text(data)], structured_content=data)


def _failed(code: ErrorCode, message: str) -> types.CallToolResult:
    return types.CallToolResult(content=[_text({"code": code.value, "message": message})], is_error=True)


def _text(value: Any) -> types.TextContent:
    return types.TextContent(text=json.dumps(value, ensure_ascii=False, separators=(",", ":")))


HOST = "127.0.0.1"
"""Whoever reaches the server acts with its token, so nobody else's machine does."""

PATH = "/mcp"


async def serve_stdio(selection: Selection, environ: Mapping[str, str]) -> None:
    """Serve one client on standard input and output, until it goes."""
    async with client_from_environment(environ) as client, stdio_server() as (incoming, outgoing):
        server = make_server(client, selection)
        await server.run(incoming, outgoing, server.create_initialization_options())


async def serve_http(selection: Selection, environ: Mapping[str, str], port: int) -> None:
    """Serve any number of clients on this machine over streamable HTTP, until interrupted; port 0 is any free one."""
    with _listening(port) as listener:
        address = f"http://{HOST}:{listener.getsockname()[1]}{PATH}"
        async with client_from_environment(environ) as client:
            app = make_server(client, selection).streamable_http_app(streamable_http_path=PATH, host=HOST)
            print(f"serving on {address}", file=sys.stderr, flush=True)  # noqa: T201 - whoever started it waits for it
            await uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on")).serve([listener])


def _listening(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise OperationError(f"cannot serve on port {port}: {error}; choose another one, or 0 for any") from None
    listener.listen()
    return listener
