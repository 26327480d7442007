"""What tool calls are about: GitHub in one of several ways, git, files, something else; shell calls are looked into."""

import re
from collections.abc import Collection, Iterable
from typing import Literal, get_args

from ghx_profiler.agents.tools.toolset import FILE_TOOLS, plain_name, server_tool_of
from ghx_profiler.records.trace import ToolCallEvent
from ghx_profiler.shell import (
    COMMON_PROGRAMS,
    Command,
    SubcommandResolver,
    Subcommands,
    command_of,
    is_shell_tool,
    names_of,
)

Category = Literal["ghx", "mcp", "gh_cli", "git", "bash", "file_ops", "other"]
CATEGORIES: tuple[Category, ...] = get_args(Category)

_BY_PROGRAM: dict[str, Category] = {"ghx": "ghx", "gh": "gh_cli", "gh-axi": "gh_cli", "git": "git"}
_OF_SOME_SERVER = re.compile(r"mcp__.+?(?:__|\.).+|mcp\.[^.]+\..+|.+ \(.+ MCP Server\)")
"""How agents name the tools of MCP servers, also of those that are no mode's but their own."""
_CAPABILITY = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+")


class GitHubToolClassifier:
    """Sorts tool calls into `CATEGORIES`; `servers` are the names of the MCP servers of all modes.

    A shell call is what the programs in it are: `ghx` before `gh` before `git` where there are several, and `bash`
    where there is none of them. What only moves about or filters does not count, so that `cd x && gh pr view | jq .` is
    `gh_cli`. A chain of `ghx` is one call, however many steps it has.
    """

    def __init__(self, servers: Iterable[str]) -> None:
        self._servers = tuple(servers)

    def __call__(self, call: ToolCallEvent) -> Category:
        """Return the category of a call."""
        if server_tool_of(call.name, self._servers) or _OF_SOME_SERVER.fullmatch(call.name):
            return "mcp"
        if is_shell_tool(call.name):
            # Some agents do not report the command: such a call still counts as a shell call.
            programs = names_of(call, lambda command: command.program) if command_of(call) is not None else ()
            return _category_of(programs)
        return "file_ops" if plain_name(call.name) in FILE_TOOLS else "other"


def _category_of(programs: Collection[str]) -> Category:
    for program, category in _BY_PROGRAM.items():
        if program in programs:
            return category
    return "bash"


_BY_SUBCOMMANDS = SubcommandResolver(
    programs={
        **COMMON_PROGRAMS,
        "gh": Subcommands(words=2, options_with_value=frozenset({"-R", "--repo", "--hostname"})),
        "gh-axi": Subcommands(words=2, options_with_value=frozenset({"-R", "--repo", "--hostname"})),
        "ghx": Subcommands(words=2),
    }
)


def resolve_github_command(command: Command) -> str:
    """Name a command as people speak of it: `gh pr view`, `git push`, and `ghx:pr.threads.list` for a capability."""
    if command.program == "ghx":
        match command.arguments:
            case ["run", *rest] if task := next(filter(_CAPABILITY.fullmatch, rest), None):
                return f"ghx:{task}"
            case ["chain", *_]:
                return "ghx:chain"
            case _:
                pass
    return _BY_SUBCOMMANDS(command)
