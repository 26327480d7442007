"""A server that offers capabilities as tools over streamable HTTP on this machine, by the protocol's own library."""

import hmac
import secrets
import socket
import sys
from collections.abc import Mapping
from typing import Any

import uvicorn
from mcp import types
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ghx_base.errors import OperationError
from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.environment import client_from_environment
from ghx_tools.mcp.tool_calls import call_tool
from ghx_tools.mcp.tool_list import NO_SUCH_CURSOR, describe_tools, instructions, server_info
from ghx_tools.mcp.toolsets import Selection

HOST = "127.0.0.1"
"""Every client of the server acts with its token, so other machines must not reach it."""

PATH = "/mcp"

TOKEN_VARIABLE = "GHX_MCP_TOKEN"  # noqa: S105 - its name
"""The variable with the token that clients have to send; without it a new one is made and printed."""


async def serve_http(selection: Selection, environ: Mapping[str, str], port: int) -> None:
    """Serve any number of clients on this machine over streamable HTTP, until interrupted; port 0 is any free one."""
    with _listen(port) as listener:
        address = f"http://{HOST}:{listener.getsockname()[1]}{PATH}"
        async with client_from_environment(environ) as client:
            app = _make_server(client, selection).streamable_http_app(streamable_http_path=PATH, host=HOST)
            token = environ.get(TOKEN_VARIABLE) or _make_token()
            # On standard error, as the line that a starting process waits for: the socket listens by now, so a client
            # that connects at once is served.
            print(f"serving on {address}", file=sys.stderr, flush=True)  # noqa: T201 - the command line
            await uvicorn.Server(uvicorn.Config(_require_token(app, token), log_level="warning", lifespan="on")).serve(
                [listener]
            )


def _make_token() -> str:
    token = secrets.token_urlsafe(24)
    # Before the address: who has read that line has read everything.
    print(f"clients send the header: Authorization: Bearer {token}", file=sys.stderr)  # noqa: T201 - the command line
    return token


def _require_token(app: ASGIApp, token: str) -> ASGIApp:
    """Return the app behind its token: other users of this machine reach the port as well, and are not its clients."""
    expected = f"Bearer {token}".encode()

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        credentials = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] != "http" or hmac.compare_digest(credentials, expected):
            return await app(scope, receive, send)
        refusal = PlainTextResponse(
            f"send the header Authorization: Bearer with the token that `ghx mcp` printed, or {TOKEN_VARIABLE}\n",
            status_code=401,
            headers={"www-authenticate": "Bearer"},
        )
        return await refusal(scope, receive, send)

    return guarded


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
    tools = [types.Tool.model_validate(tool) for tool in describe_tools(selection)]

    async def list_tools(
        _context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        if params is not None and params.cursor is not None:
            raise MCPError(code=types.INVALID_PARAMS, message=NO_SUCH_CURSOR)
        return types.ListToolsResult(tools=tools)

    async def call(context: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        report = context.session.report_progress
        result = await call_tool(client, selection, params.name, params.arguments or {}, report)
        return types.CallToolResult.model_validate(result)

    about = server_info()
    return Server(
        about["name"],
        version=about["version"],
        title=about["title"],
        instructions=instructions(),
        on_list_tools=list_tools,
        on_call_tool=call,
    )
