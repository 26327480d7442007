"""A server that offers capabilities as tools; which transport it speaks over is not its business."""

import json
from collections.abc import Mapping
from functools import cached_property
from importlib.metadata import version
from typing import Any

from mcp import types
from mcp.server import Server, ServerRequestContext

from ghx_bench._base.problems import did_you_mean, shortened
from ghx_bench.capabilities.chain import Step, read_steps, run_chain
from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.errors import CapabilityError, ErrorCode, InvalidInputError
from ghx_bench.capabilities.execution import execute_task
from ghx_bench.mcp.selection import CHAIN, Selection
from ghx_bench.mcp.tools import tools_of

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
