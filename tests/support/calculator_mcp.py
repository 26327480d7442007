"""A small MCP server for tests: `python calculator_mcp.py`, or with the official SDK: `--sdk`, `--http PORT`.

Without the SDK it speaks just enough of the protocol itself: dozens of tests start it, and the SDK takes half a second
of CPU to load. That we get along with the SDK's servers is what the tests of `toolserver` are for.
"""

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

NAME, VERSION = "calculator", "1.2.3"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def things(count: int) -> dict[str, list[dict[str, int]]]:
    """List things."""
    return {"items": [{"id": number} for number in range(1, count + 1)]}


def variable(name: str) -> str:
    """Tell an environment variable."""
    return os.environ.get(name, "(not set)")


def refuse() -> str:
    """Fail."""
    raise ValueError("I would rather not")


def vanish() -> str:
    """End the server in the middle of a call."""
    print("something terrible happened", file=sys.stderr, flush=True)
    os._exit(3)


def linger() -> str:
    """Start a child that leaves the family, and never answer."""
    subprocess.run(["sleep", "1000"], start_new_session=True, stdout=subprocess.DEVNULL, check=False)
    return ""


TOOLS = {tool.__name__: tool for tool in (add, things, variable, refuse, vanish, linger)}
_JSON_TYPES = {int: "integer", str: "string"}


def answer(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a request."""
    match method:
        case "initialize":
            about = {"name": NAME, "version": VERSION}
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            return {"tools": [describe(name) for name in TOOLS]}
        case "tools/call":
            return call(params["name"], params.get("arguments") or {})
        case _:
            raise LookupError(method)


def describe(name: str) -> dict[str, Any]:
    parameters = inspect.signature(TOOLS[name]).parameters
    properties = {each: {"type": _JSON_TYPES[one.annotation]} for each, one in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return {"name": name, "description": TOOLS[name].__doc__, "inputSchema": schema}


def call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    try:
        value = TOOLS[name](**arguments)
    except (KeyError, TypeError, ValueError) as error:
        return {"content": [{"type": "text", "text": f"{name}: {error}"}], "isError": True}
    text = value if isinstance(value, str) else json.dumps(value)
    structured = value if isinstance(value, dict) else {"result": value}
    return {"content": [{"type": "text", "text": text}], "structuredContent": structured}


def serve() -> None:
    """Answer the requests on standard input, one after the other, until it ends."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        try:
            reply = {"result": answer(request["method"], request.get("params", {}))}
        except LookupError as error:
            reply = {"error": {"code": -32601, "message": f"there is no {error}"}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)


def serve_with_sdk(port: int | None) -> None:
    """Serve the same tools by the SDK, over pipes unless there is a port."""
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Context

    server = MCPServer(NAME, version=VERSION)
    for tool in TOOLS.values():
        server.tool()(tool)

    def header(name: str, context: Context) -> str:
        """Tell a header of the request that this call came with."""
        headers = getattr(context.request_context.request, "headers", {})
        return headers.get(name, "(not there)")

    server.tool()(header)
    if port is None:
        server.run("stdio")
    else:
        server.run("streamable-http", port=port)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--http", port]:
            serve_with_sdk(int(port))
        case ["--sdk"]:
            serve_with_sdk(None)
        case ["--broken"]:
            sys.exit("cannot find my abacus")
        case _:
            serve()
