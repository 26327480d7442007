"""How long an agent waits for the MCP server, and how much it gets to read from it."""

import json
import subprocess
import sysconfig
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import TextContent

GHX = str(Path(sysconfig.get_path("scripts")) / "ghx")


INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


def answer_times_ms(environment: Mapping[str, str], calls: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, float]:
    """Start `ghx mcp` and ask one thing after the other; return how long each took, the start with the first."""
    took: dict[str, float] = {}
    asked = [("initialize", INITIALIZE), ("tools/list", {})]
    asked += [("tools/call", {"name": name, "arguments": given}) for name, given in calls]
    began = time.perf_counter()
    with subprocess.Popen([GHX, "mcp"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin
        assert server.stdout
        for id_, (method, params) in enumerate(asked):
            message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
            server.stdin.write(json.dumps(message).encode() + b"\n")
            server.stdin.flush()
            answer = json.loads(server.stdout.readline())
            if "error" in answer or answer["result"].get("isError"):
                raise SystemExit(f"{method} failed: {answer}")
            ended = time.perf_counter()
            took[f"{method} {params.get('name', '')}".strip()] = (ended - began) * 1000
            began = ended
        server.stdin.close()
    return took


async def answer_sizes(
    environment: Mapping[str, str], calls: Mapping[str, tuple[str, Mapping[str, Any]]]
) -> dict[str, int]:
    """Call tools of `ghx mcp` through the official client; return how many bytes of text each answer has."""
    server = StdioServerParameters(command=GHX, args=["mcp"], env=dict(environment))
    sizes: dict[str, int] = {}
    async with Client(stdio_client(server)) as client:
        for name, (tool, given) in calls.items():
            answer = await client.call_tool(tool, dict(given))
            if answer.is_error:
                raise SystemExit(f"{tool} failed: {answer.content}")
            sizes[name] = sum(len(part.text.encode()) for part in answer.content if isinstance(part, TextContent))
    return sizes
