"""A server that offers capabilities as tools, on the standard streams or over HTTP on this machine."""

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

HOST = "127.0.0.1"
"""Every client of the server acts with its token, so other machines must not reach it."""

PATH = "/mcp"

_INSTRUCTIONS = """\
Typed operations on GitHub. Every tool gives structured data; a failed call says {code, message}. \
Lists take `first` and `after`, and tell in `pageInfo` where they go on. \
`chain` calls several tools in one go, in few round trips."""

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


async def serve_stdio(selection: Selection, environ: Mapping[str, str]) -> None:
    """Serve one client on standard input and output, until it closes them."""
    async with client_from_environment(environ) as client, stdio_server() as (incoming, outgoing):
        server = _make_server(client, selection)
        await server.run(incoming, outgoing, server.create_initialization_options())


async def serve_http(selection: Selection, environ: Mapping[str, str], port: int) -> None:
    """Serve any number of clients on this machine over streamable HTTP, until interrupted; port 0 is any free one."""
    with _listen(port) as listener:
        address = f"http://{HOST}:{listener.getsockname()[1]}{PATH}"
        async with client_from_environment(environ) as client:
            app = _make_server(client, selection).streamable_http_app(streamable_http_path=PATH, host=HOST)
            # On standard error, as the line that a starting process waits for: the socket listens by now, so a client
            # that connects at once is served.
            print(f"serving on {address}", file=sys.stderr, flush=True)  # noqa: T201 - the command line
            await uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on")).serve([listener])


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise OperationError(f"cannot serve on port {port}: {error}; choose another one, or 0 for any") from None
    listener.listen()
    return listener


def _make_server(client: GitHubClient, selection: Selection) -> Server[Any]:
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
    """Answers requests about tools; a call that GitHub refuses ends in a result, too."""

    def __init__(self, client: GitHubClient, selection: Selection) -> None:
        self._client = client
        self._selection = selection

    @cached_property
    def _descriptions(self) -> list[types.Tool]:
        tools = [_describe_tool(entry) for entry in self._selection.tools.values()]
        return [*tools, _describe_chain(self._selection)]

    async def list_tools(
        self, _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """Describe the tools."""
        # Loads all capabilities, which takes long: done here, so that the server itself starts without delay.
        return types.ListToolsResult(tools=self._descriptions)

    async def call_tool(
        self, _context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Call a capability, or a chain of them."""
        given = params.arguments or {}
        try:
            return await (self._chain(given) if params.name == CHAIN else self._call(params.name, given))
        except CapabilityError as error:
            return _failure(error.error_code, str(error))

    async def _call(self, name: str, given: Mapping[str, Any]) -> types.CallToolResult:
        entry = self._selection.entry(name)
        if entry is None:
            hint = did_you_mean(name, self._selection.tools, otherwise="list the tools to see what there is")
            raise InvalidInputError(f"this server offers no tool {shortened(name)}; {hint}")
        envelope = await execute_task(self._client, entry.id, given)
        if envelope.error is not None:
            return _failure(envelope.error.code, envelope.error.message)
        return _success(envelope.data)

    async def _chain(self, given: Mapping[str, Any]) -> types.CallToolResult:
        if set(given) != {"steps"}:
            raise InvalidInputError("chain takes `steps`, a list of {task, input}, and nothing else")
        steps: list[Step] = []
        for step in read_steps(given["steps"]):
            entry = self._selection.entry(step.task)
            steps.append(step if entry is None else Step(task=entry.id, input=step.input))
        # A step that the selection leaves out fails in the chain: `--read-only` must hold there as well.
        offered = frozenset(entry.id for entry in self._selection.tools.values())
        result = await run_chain(self._client, steps, offered=offered)
        # A chain that succeeded in part is no error: something was done, and its results say what.
        return _success(result.to_compact()).model_copy(update={"is_error": result.status == "failed"})


def _describe_tool(entry: Entry) -> types.Tool:
    called = capability(entry.id)
    return types.Tool(
        name=tool_name(entry.id),
        description=entry.description,
        input_schema=_shorten_schema(called.input_schema),
        output_schema=_shorten_schema(called.output_schema),
        # Clients decide by these whether to ask their user. `destructive_hint` is true by default, so it has to
        # be denied for plain changes; the world is open, since others change GitHub as well.
        annotations=types.ToolAnnotations(
            read_only_hint=entry.effect == "reads",
            destructive_hint=entry.effect == "destructive",
            open_world_hint=True,
        ),
    )


def _describe_chain(selection: Selection) -> types.Tool:
    # A chain is what the worst of its steps may be.
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


def _success(data: Any) -> types.CallToolResult:
    # The protocol asks for structured content as text, too, for clients that know only that.
    return types.CallToolResult(content=[_text(data)], structured_content=data)


def _failure(code: ErrorCode, message: str) -> types.CallToolResult:
    return types.CallToolResult(content=[_text({"code": code.value, "message": message})], is_error=True)


def _text(value: Any) -> types.TextContent:
    return types.TextContent(text=json.dumps(value, ensure_ascii=False, separators=(",", ":")))
