"""How much an agent gets to read from the MCP server: the texts of its answers, through the official client."""

import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import TextContent

GHX = str(Path(sysconfig.get_path("scripts")) / "ghx")


async def answer_sizes(
    environment: Mapping[str, str], calls: Mapping[str, tuple[str, Mapping[str, Any]]]
) -> dict[str, int]:
    """Call tools of `ghx mcp` over stdio; return how many bytes of text each answer has."""
    server = StdioServerParameters(command=GHX, args=["mcp"], env=dict(environment))
    sizes: dict[str, int] = {}
    async with Client(stdio_client(server)) as client:
        for name, (tool, given) in calls.items():
            answer = await client.call_tool(tool, dict(given))
            if answer.is_error:
                raise SystemExit(f"{tool} failed: {answer.content}")
            sizes[name] = sum(len(part.text.encode()) for part in answer.content if isinstance(part, TextContent))
    return sizes
