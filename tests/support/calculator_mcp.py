"""A small real MCP server for tests: `python calculator_mcp.py`, or `--http PORT` for streamable HTTP."""

import os
import subprocess
import sys

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("calculator", version="1.2.3")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def things(count: int) -> dict[str, list[dict[str, int]]]:
    """List things."""
    return {"items": [{"id": number} for number in range(1, count + 1)]}


@server.tool()
def variable(name: str) -> str:
    """Tell an environment variable."""
    return os.environ.get(name, "(not set)")


@server.tool()
def header(name: str, context: Context) -> str:
    """Tell a header of the request that this call came with."""
    headers = getattr(context.request_context.request, "headers", {})
    return headers.get(name, "(not there)")


@server.tool()
def refuse() -> str:
    """Fail."""
    raise ValueError("I would rather not")


@server.tool()
def vanish() -> str:
    """End the server in the middle of a call."""
    print("something terrible happened", file=sys.stderr, flush=True)
    os._exit(3)


@server.tool()
async def linger() -> str:
    """Start a child that leaves the family, and never answer."""
    await anyio.open_process(["sleep", "1000"], start_new_session=True, stdout=subprocess.DEVNULL)
    await anyio.sleep_forever()
    return ""


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--http", port]:
            server.run("streamable-http", port=int(port))
        case ["--broken"]:
            sys.exit("cannot find my abacus")
        case _:
            server.run("stdio")
