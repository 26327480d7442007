"""A server at work: on the standard streams of this process, or over HTTP on this machine."""

import socket
import sys
from collections.abc import Mapping

import uvicorn
from mcp.server.stdio import stdio_server

from ghx_bench._base.errors import OperationError
from ghx_bench.capabilities.environment import client_from_environment
from ghx_bench.mcp.selection import Selection
from ghx_bench.mcp.server import make_server

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
