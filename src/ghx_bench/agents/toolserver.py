"""MCP servers as tools of a session, spoken to with the official client.

The SDK takes a second to load: import this module where a server is really needed, and not before.
"""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import httpx2
from mcp import Client, MCPError
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CONNECTION_CLOSED, CallToolResult
from pydantic import JsonValue

from ghx_bench._base.errors import ungrouped
from ghx_bench.agents.answer import ToolAnswer, value_of
from ghx_bench.agents.pipes import LastWords, over_pipes
from ghx_bench.agents.toolset import McpServer
from ghx_bench.profiler.causes import describe_error


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerIdentity:
    """What a server calls itself; `None` where it does not say."""

    name: str | None
    version: str | None


class ToolServer:
    """An open session with an MCP server."""

    def __init__(self, name: str, client: Client, last_words: LastWords) -> None:
        self.name = name
        self._client = client
        self._last_words = last_words

    @property
    def identity(self) -> ServerIdentity:
        """Its name and version, as it told when the session was opened."""
        told = self._client.server_info
        return ServerIdentity(name=told.name if told else None, version=told.version if told else None)

    async def call(self, tool: str, arguments: Mapping[str, JsonValue]) -> ToolAnswer:
        """Call a tool; what the server refuses is a failed answer, a server that is gone raises."""
        try:
            return _answer(await self._client.call_tool(tool, dict(arguments)))
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                raise self._last_words.failure(
                    f"the MCP server {self.name!r} ended during a call of {tool!r}"
                ) from None
            return ToolAnswer(text=error.message, value=None, failed=True)
        except RuntimeError as error:  # how the SDK says that an answer does not fit the tool's own schema
            return ToolAnswer(text=describe_error(error), value=None, failed=True)


def _answer(result: CallToolResult) -> ToolAnswer:
    text = "\n".join(block.text if block.type == "text" else f"({block.type})" for block in result.content)
    value = cast("JsonValue", result.structured_content)
    if value is None:
        value = value_of(text)
    return ToolAnswer(text=text or json.dumps(value, ensure_ascii=False), value=value, failed=bool(result.is_error))


@asynccontextmanager
async def connected(
    name: str, server: McpServer, *, environment: Mapping[str, str], directory: Path | None = None
) -> AsyncGenerator[ToolServer]:
    """Start a server, or reach it at its URL, for one session; on leaving, its processes are gone.

    It gets the session's environment and its own variables, and nothing of this process. Raises `EnvironmentFailure`
    with the server's last words where it does not come up.
    """
    here, last_words = server.in_session(environment), LastWords()
    is_open = False
    with ungrouped():
        try:
            # "legacy" is the handshake that every server knows, and in which it has to tell its name.
            async with Client(_transport(here, directory, last_words), mode="legacy") as client:
                is_open = True
                yield ToolServer(name, client, last_words)
        except Exception as error:
            if is_open:
                raise
            raise last_words.failure(f"the MCP server {name!r} ({_address(server)}) does not come up", error) from error


def _address(server: McpServer) -> str:
    """Say where a server is, as its mode does: what `${NAME}` stands for may be a secret."""
    return " ".join(server.words) if server.url is None else server.url


def _transport(server: McpServer, directory: Path | None, last_words: LastWords) -> Transport:
    if server.url is not None:
        return cast("Transport", _over_http(server.url, server.headers))
    streams = over_pipes(server.words, environment=server.environment, directory=directory, last_words=last_words)
    return cast("Transport", streams)


@asynccontextmanager
async def _over_http(url: str, headers: Mapping[str, str]) -> AsyncGenerator[object]:
    """Speak to a running server; proxies of this process are none of the session's business, nor are deadlines ours."""
    async with (
        httpx2.AsyncClient(headers=dict(headers), trust_env=False, timeout=None) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams
