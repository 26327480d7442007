"""MCP servers as tools of a session, spoken to with the official client.

The SDK takes a second to load: import this module where a server is really needed, and not before.
"""

import base64
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import PIPE
from typing import cast

import anyio
import httpx2
from anyio.abc import ByteReceiveStream, ByteSendStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import Client, MCPError
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    TextResourceContents,
    jsonrpc_message_adapter,
)
from pydantic import JsonValue, ValidationError

from ghx_base.errors import ungrouped
from ghx_profiler.agents.processes.process import program
from ghx_profiler.agents.tools.server_identity import ServerIdentity, StderrTail, lines_of
from ghx_profiler.agents.tools.toolset import McpServer, Tool, ToolAnswer, value_of
from ghx_profiler.records.causes import EnvironmentFailure, describe_error

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]
"""A transport of the SDK: an incoming and an outgoing stream."""


_MOST_PAGES = 1_000


class ToolServer:
    """An open session with an MCP server."""

    def __init__(self, name: str, client: Client, last_words: StderrTail) -> None:
        self.name = name
        self._client = client
        self._last_words = last_words

    @property
    def identity(self) -> ServerIdentity:
        """Its name and version, as announced when the session was opened."""
        info = self._client.server_info
        return ServerIdentity(name=info.name if info else None, version=info.version if info else None)

    @property
    def instructions(self) -> str:
        """The instructions of the server for a model; empty if it sends none."""
        return self._client.instructions or ""

    async def list_tools(self) -> tuple[Tool, ...]:
        """Return the tools of the server, by the names that it gives them."""
        return tuple(
            Tool(
                name=str(each["name"]),
                description=str(each.get("description") or ""),
                input_schema=cast("dict[str, JsonValue]", each["inputSchema"]),
            )
            for each in await self.list_raw_tools()
        )

    async def list_raw_tools(self) -> tuple[dict[str, JsonValue], ...]:
        """Return the tools as the server sent them: with annotations and all other fields.

        Raises `EnvironmentFailure` where the server refuses, ends, or does not answer with a list of tools.
        """
        tools: list[dict[str, JsonValue]] = []
        cursor: str | None = None
        seen: set[str] = set()
        while True:
            try:
                page = await self._client.list_tools(cursor=cursor)
            except MCPError as error:
                raise self._last_words.failure(f"the MCP server {self.name!r} does not list its tools", error) from None
            except ValidationError as error:
                raise EnvironmentFailure(
                    f"the MCP server {self.name!r} lists tools that are none of the protocol: {_first_error(error)}"
                ) from None
            tools += [each.model_dump(mode="json", by_alias=True, exclude_unset=True) for each in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                return tuple(tools)
            if cursor in seen or len(seen) == _MOST_PAGES:
                raise EnvironmentFailure(
                    f"the MCP server {self.name!r} lists its tools without end: "
                    + (f"nextCursor {cursor[:40]!r} comes twice" if cursor in seen else f"{len(seen):,} pages")
                )
            seen.add(cursor)

    async def call(self, tool: str, arguments: Mapping[str, JsonValue]) -> ToolAnswer:
        """Call a tool; what the server refuses is a failed answer, a server that is gone raises."""
        self._last_words.forget()
        try:
            return _answer(await self._client.call_tool(tool, dict(arguments)))
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                reason = f": {self._last_words.last_line}" if self._last_words.last_line else ""
                raise EnvironmentFailure(
                    f"the MCP server {self.name!r} ended during a call of {tool!r}{reason}"
                ) from None
            return ToolAnswer(text=error.message, value=None, failed=True)
        except ValidationError as error:
            # One malformed answer is that tool's affair; the agent of a session would get the same error.
            reason = f"(the answer of {tool} is none of the protocol: {_first_error(error)})"
            return ToolAnswer(text=reason, value=None, failed=True)
        except RuntimeError as error:  # the SDK's error for an answer that does not match the tool's schema
            return ToolAnswer(text=describe_error(error), value=None, failed=True)


def _first_error(error: ValidationError) -> str:
    wrong = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, wrong['loc']))}: {wrong['msg']}"


def _answer(result: CallToolResult) -> ToolAnswer:
    text = "\n".join(block.text if block.type == "text" else f"({block.type})" for block in result.content)
    value = cast("JsonValue", result.structured_content)
    if value is None:
        value = value_of(text)
    return ToolAnswer(
        text=text or json.dumps(value, ensure_ascii=False),
        value=value,
        failed=bool(result.is_error),
        attachments=tuple(_data_of(block) for block in result.content if block.type != "text"),
    )


def _data_of(block: ContentBlock) -> bytes:
    match block:
        case ImageContent() | AudioContent():
            return _from_base64(block.data)
        case EmbeddedResource(resource=TextResourceContents() as resource):
            return f"{resource.uri}\n{resource.text}".encode()
        case EmbeddedResource(resource=BlobResourceContents() as resource):
            return f"{resource.uri}\n".encode() + _from_base64(resource.blob)
        case _:
            return block.model_dump_json(exclude_none=True).encode()


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except ValueError:
        return text.encode()


@asynccontextmanager
async def connect(
    name: str, server: McpServer, *, environment: Mapping[str, str], directory: Path | None = None
) -> AsyncGenerator[ToolServer]:
    """Start a server, or reach it at its URL, for one session; on leaving, its processes are gone.

    It gets the session's environment and its own variables, and nothing of this process. Raises `EnvironmentFailure`
    with the server's last words where it does not come up.
    """
    here, last_words = server.in_session(environment), StderrTail()
    is_open = False
    with ungrouped():
        try:
            # "legacy" is the handshake that every server knows, and which includes its name.
            async with Client(_transport(here, directory, last_words), mode="legacy") as client:
                is_open = True
                yield ToolServer(name, client, last_words)
        except Exception as error:
            if is_open:
                raise
            raise last_words.start_failure(name, server, error) from error


def _transport(server: McpServer, directory: Path | None, last_words: StderrTail) -> Transport:
    if server.url is not None:
        return cast("Transport", _over_http(server.url, server.headers))
    streams = _over_pipes(server.words, environment=server.environment, directory=directory, last_words=last_words)
    return cast("Transport", streams)


@asynccontextmanager
async def _over_http(url: str, headers: Mapping[str, str]) -> AsyncGenerator[object]:
    """Speak to a running server."""
    # `trust_env` is off, since proxies of this process are not the session's; deadlines belong to the caller.
    async with (
        httpx2.AsyncClient(headers=dict(headers), trust_env=False, timeout=None) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams


@asynccontextmanager
async def _over_pipes(
    command: Sequence[str], *, environment: Mapping[str, str], directory: Path | None, last_words: StderrTail
) -> AsyncGenerator[Streams]:
    """Start a server and pass its messages on in both directions; on leaving, it and its descendants are gone."""
    # The SDK can start servers itself, but gives them variables of this process, and misses detached descendants.
    async with program(command, environment=environment, directory=directory, stderr=PIPE) as process:
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise RuntimeError("a program was started without its pipes")
        incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        sent, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        async with received, sent, anyio.create_task_group() as pipes:
            pipes.start_soon(_receive, process.stdout, incoming, last_words)
            pipes.start_soon(_send, outgoing, process.stdin)
            pipes.start_soon(last_words.read, process.stderr)
            try:
                yield received, sent
            finally:
                pipes.cancel_scope.cancel()


async def _receive(
    stream: ByteReceiveStream, incoming: MemoryObjectSendStream[SessionMessage | Exception], last_words: StderrTail
) -> None:
    """Pass on what the server writes, one message a line; a line that is not a message is passed on as an error."""
    async with incoming:
        async for line in lines_of(stream):
            try:
                message = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
            except ValueError as error:
                await incoming.send(error)
            else:
                await incoming.send(message)
        await last_words.wait()  # before the client learns that the server ended, and asks for them


async def _send(outgoing: MemoryObjectReceiveStream[SessionMessage], stream: ByteSendStream) -> None:
    async with outgoing:
        async for message in outgoing:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                await stream.send(f"{text}\n".encode())
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return  # the server is gone, which the reading side learns as well
