"""Where a request of a session came from: a tool of its mode, another one, or git, which every mode has."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from ghx_profiler.agents.tools.toolset import FILE_TOOLS, ToolSet, plain_name, server_tool_of
from ghx_profiler.records.tool_use import ToolUse
from ghx_profiler.records.trace import SessionTrace
from ghx_profiler.shell import is_shell_tool
from ghx_profiler.shell.names import words_in
from ghx_twin.journal import Entry

SHELL = "shell"
"""What the token of a session's shell is called; each MCP server has one that is called as `server_token` says."""

_SERVER = "mcp:"

_BY_USER_AGENT = {"github cli": "gh", "ghx-bench": "ghx"}
"""Programs whose requests name them otherwise."""

_CLIENTS: Mapping[str, frozenset[str]] = {
    "gh": frozenset({"gh"}),
    "ghx": frozenset({"ghx"}),
    # It has gh make its requests.
    "gh-axi": frozenset({"gh"}),
    "node": frozenset({"node"}),
    "curl": frozenset({"curl"}),
}
"""Programs of modes that are known here, and which programs make their requests."""

_TOOLS_OF_AGENTS = FILE_TOOLS | words_in(
    """
    exitplanmode googlewebsearch plan savememory skill task think todo todoread todowrite updateplan webfetch websearch
    writetodos
    """
)
"""The plain names of tools that agents have of themselves, next to a shell."""

_PRODUCT = re.compile(r"[^/(]*")
_LONGEST_NAME = 60

Belonging = Literal["own", "foreign", "neutral"]


def server_token(server: str) -> str:
    """Return what the token of an MCP server is called."""
    return f"{_SERVER}{server}"


@dataclass(frozen=True, slots=True)
class Origin:
    """The program or, as `mcp:NAME`, the MCP server that made a request, and whether it is one of the mode's."""

    tool: str
    belonging: Belonging


@dataclass(frozen=True, slots=True)
class RequestOrigins:
    """Tells the requests of a mode's tools from others.

    - Requests with the token of an MCP server are the mode's own: each session issues one for each of its servers.
      Those that it makes when it is started, before the agent is prompted or without any call of its tools, are
      neutral: no agent asked for them. That none was called is only known where every call of the trace is known to be
      of another tool: some agents name those of servers without the server, or have one tool that calls them all.
    - All others, with the shell's token or with none, are the shell's, where the user agent tells the program. Those of
      the mode's programs are its own; in a mode with servers alone, none is.
    - A mode's program that is not known here may use any library, so that in its mode only `gh` and `ghx` are foreign.
    - git over HTTP is neutral, and so is the file behind an address to which an earlier request was redirected: it is
      fetched without a token, and the earlier request has been counted.
    """

    tools: ToolSet
    prompted_at: datetime | None = None
    """When the agent was prompted, where that is known."""
    uncalled: frozenset[str] = frozenset()
    """The servers of which its trace tells that it called no tool."""

    def in_session(self, trace: SessionTrace | None, prompted_at: datetime | None) -> "RequestOrigins":
        """Return the same for a session that is over."""
        names = {each.name for each in trace.tool_calls} if trace is not None else set[str]()
        server_tools = {name: server_tool_of(name, self.tools.mcp_servers) for name in names}
        called = {each[0] for each in server_tools.values() if each is not None}
        unknown = {
            name
            for name, of_server in server_tools.items()
            if of_server is None and not is_shell_tool(name) and plain_name(name) not in _TOOLS_OF_AGENTS
        }
        # A trace without any call may be of an agent that tells none.
        uncalled = self.tools.mcp_servers.keys() - called if names and not unknown else frozenset[str]()
        return replace(self, prompted_at=prompted_at, uncalled=frozenset(uncalled))

    def origin_of(self, entry: Entry) -> Origin:
        """Return where a request came from."""
        name = entry.token_name or SHELL
        tool = name if name.startswith(_SERVER) else _program_of(entry.user_agent)
        if entry.surface == "git":
            return Origin("git", "neutral")
        if entry.is_signed or (name.startswith(_SERVER) and self._is_of_start(entry, name.removeprefix(_SERVER))):
            return Origin(tool, "neutral")
        is_own = name.startswith(_SERVER) or self._is_own_program(tool)
        return Origin(tool, "own" if is_own else "foreign")

    def measure(self, entries: Iterable[Entry]) -> ToolUse | None:
        """Count the requests of a session; `None` in a mode without tools, of which none can be used."""
        if not self.tools.tools and not self.tools.mcp_servers:
            return None
        counts: dict[Belonging, Counter[str]] = {"own": Counter(), "foreign": Counter(), "neutral": Counter()}
        for origin in map(self.origin_of, entries):
            counts[origin.belonging][origin.tool] += 1
        return ToolUse(**{name: dict(count.most_common()) for name, count in counts.items()}).with_all_keys()

    def _is_of_start(self, entry: Entry, server: str) -> bool:
        """Return whether a server made a request by itself."""
        if server in self.uncalled:
            return True
        if self.prompted_at is None:
            return False
        # The journal has milliseconds.
        prompted_at = self.prompted_at.replace(microsecond=self.prompted_at.microsecond // 1000 * 1000)
        return datetime.fromisoformat(entry.at) < prompted_at

    def _is_own_program(self, program: str) -> bool:
        programs = self.tools.tools
        if any(program in _CLIENTS.get(each, {each}) for each in programs):
            return True
        return program not in _BY_USER_AGENT.values() and any(each not in _CLIENTS for each in programs)


def _program_of(user_agent: str | None) -> str:
    """Return the program that a user agent names: `gh` of `GitHub CLI 2.83.0`, `curl` of `curl/8.5.0`."""
    if not user_agent:
        return "unknown program"
    text = user_agent.strip().lower()
    known_client = next((program for name, program in _BY_USER_AGENT.items() if text.startswith(name)), None)
    match = _PRODUCT.match(text)
    return known_client or (match[0].strip()[:_LONGEST_NAME] if match else "") or "unknown program"
