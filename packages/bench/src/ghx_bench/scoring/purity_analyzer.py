"""Which calls of a session went past the tools of its mode."""

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from ghx_bench.modes.definitions import BUILT_IN
from ghx_profiler.agents.tools.toolset import ToolSet
from ghx_profiler.analyzers.finding_shapes import UNKNOWN, listed, number, ratio, result, table
from ghx_profiler.analyzers.hallucinated_commands import paths_in
from ghx_profiler.evidence import Evidence, Mode
from ghx_profiler.records.analysis import AnalysisResult
from ghx_profiler.records.trace import ToolCallEvent
from ghx_profiler.shell import Command, command_of, script_of

_CLIENTS = frozenset({"gh", "ghx", "gh-axi", "hub"})
"""Programs that are there to work with GitHub."""

_FETCHERS = frozenset(
    {"curl", "wget", "http", "https", "xh", "python", "python3", "node", "ruby", "perl", "deno", "bun", "php"}
)
"""Programs that may ask anybody, and did ask GitHub where their words name it."""

_NAMES_GITHUB = re.compile(r"(?i)(?:api\.|uploads\.|//)github\.com|GITHUB_(?:API|GRAPHQL)_URL|GITHUB_TOKEN|GH_TOKEN")
_PROGRAM = re.compile(r"([^/:@]+)(?:@[^/]*)?$")
_LONGEST_COMMAND = 300
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class PurityAnalyzer:
    """Names the shell calls that work with GitHub by programs which are not of the mode.

    - `purity`: the share of requests that came through the mode's own tools, where the bench saw them.
    - `foreign_calls`: how many calls ran another program for it; not known of a mode whose tools are not recorded.
    - `foreign_programs`: which, and in how many calls.
    - `commands`: what these calls ran.

    Calls are read from the trace, so that sessions are judged of which nobody saw the requests. A program that is not
    there was not used: that an agent reached for it is a desire path.
    """

    @property
    def name(self) -> str:
        """The name of its results."""
        return "purity"

    def analyze(self, evidence: Evidence[Any]) -> AnalysisResult:
        """Return the calls."""
        use, own = evidence.tool_use, programs_of(evidence.mode)
        purity = ratio(None if use is None else use.purity, 1, "of the requests, through the mode's tools")
        if own is None or evidence.trace is None:
            reason = f"{UNKNOWN} which tools the mode has" if own is None else ""
            return result(self.name, {"purity": purity, "foreign_calls": number(None, "calls")}, reason)
        foreign_calls = [(call, used) for call in evidence.trace.tool_calls if (used := foreign_programs(call, own))]
        programs = Counter(program for _, used in foreign_calls for program in used)
        commands = [_command(call) for call, _ in foreign_calls]
        findings = {
            "purity": purity,
            "foreign_calls": number(len(foreign_calls), "calls"),
            "foreign_programs": table(("program", "calls"), programs.most_common()),
            "commands": listed(commands),
        }
        more = " and more" if len(commands) > _MOST_NAMED else ""
        detail = f"past the mode's tools: {'; '.join(commands[:_MOST_NAMED])}{more}"
        return result(self.name, findings, detail if commands else "")


def programs_of(mode: Mode) -> frozenset[str] | None:
    """Return the programs that make a mode, as it says itself, as its rows say, or as it is built in; else `None`."""
    if mode.settings:
        tools = ToolSet.of(mode)
        return frozenset(tools.tools) if tools.tools or tools.mcp_servers else None
    facts = mode.facts.get("tools")
    if isinstance(facts, list):
        # Every mode has git, and tells its version.
        programs = frozenset(filter(None, map(_name_of, facts))) - {"git"}
        # What makes its requests is not there for the agent to call.
        programs -= {"gh"} if "gh-axi" in programs else set[str]()
        return programs if programs or mode.facts.get("mcp_servers") else None
    built_in = BUILT_IN.get(mode.name.partition("@")[0])
    # A program may be a path, or a package with its version.
    return None if built_in is None else frozenset(_PROGRAM.findall(tool)[0] for tool in built_in.tools)


def _name_of(tool: JsonValue) -> str | None:
    match tool:
        case {"name": str(name)}:
            return name
        case _:
            return None


def foreign_programs(call: ToolCallEvent, own: frozenset[str]) -> tuple[str, ...]:
    """Return the programs of a shell call that worked with GitHub and are not among `own`."""
    script = script_of(call)
    if script is None:
        return ()
    absent = {path.name for path in paths_in(call) if path.kind == "program"}
    used = (each.program for each in script.commands if _asks_github(each))
    return tuple(dict.fromkeys(program for program in used if program not in own and program not in absent))


def _asks_github(command: Command) -> bool:
    if command.program in _CLIENTS:
        return True
    return command.program in _FETCHERS and any(map(_NAMES_GITHUB.search, command.arguments))


def _command(call: ToolCallEvent) -> str:
    command = command_of(call)
    text = command if isinstance(command, str) else " ".join(command or ()) or json.dumps(call.input)
    return " ".join(text.split())[:_LONGEST_COMMAND]
