"""What the server says of itself and of its tools: data that `scripts/mcp_tools.py` makes from the capabilities."""

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from ghx_tools.capabilities.entries import Entry
from ghx_tools.mcp.toolsets import CHAIN, Selection

NO_SUCH_CURSOR = "unknown cursor; all tools are on one page, so list them without a cursor"
"""What is wrong with any cursor: some clients never ask for a second page, so there is none."""


def server_info() -> dict[str, str]:
    """Return the server's name, title and version."""
    return _data()["serverInfo"]


def instructions() -> str:
    """Return what an agent should know before it sees the tools."""
    return _data()["instructions"]


def describe_tools(selection: Selection) -> list[dict[str, Any]]:
    """Return the tools of a selection as the protocol lists them, and `chain`, which calls several of them."""
    tools = {tool["name"]: tool for tool in _data()["tools"]}
    listed = [{**tools[name], "annotations": _annotate([entry])} for name, entry in selection.tools.items()]
    # A chain is what the worst of its steps may be.
    return [*listed, {**tools[CHAIN], "annotations": _annotate(selection.tools.values())}]


def _annotate(entries: Iterable[Entry]) -> dict[str, bool]:
    # Clients decide by these whether to ask their user. `destructiveHint` is true by default, so it has to be denied
    # for plain changes; the world is open, since others change GitHub as well.
    effects = {entry.effect for entry in entries}
    return {
        "readOnlyHint": effects <= {"reads"},
        "destructiveHint": "destructive" in effects,
        "openWorldHint": True,
    }


@cache
def _data() -> dict[str, Any]:
    return json.loads(Path(__file__).with_name("tools.json").read_bytes())
