"""Which of the tools and capabilities that a scenario expects a session used."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ghx_bench.modes.definitions import PRESETS
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_bench.scenario.expectations import ANALYZER, expectation_findings
from ghx_bench.scoring.tool_categories import resolve_github_command
from ghx_profiler.agents.tools.toolset import ToolSet, server_tool_of
from ghx_profiler.evidence import Evidence, Mode
from ghx_profiler.records.analysis import AnalysisResult
from ghx_profiler.records.trace import ToolCallEvent
from ghx_profiler.shell import command_of, names_of
from ghx_profiler.shell.calls import script_of
from ghx_tools.capabilities.index import ENTRIES

_BY_TOOL = {id_.replace(".", "_"): id_ for id_ in ENTRIES}
_MODULE = PRESETS["ghx"].args[-2]
_DOTTED = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+")


@dataclass(frozen=True, slots=True)
class ExpectationAnalyzer:
    """Compares the way an agent took with what its scenario expects of it.

    A command is called `bash:` and its name, such as `bash:gh pr view`, whatever the agent calls its shell. What is
    expected of capabilities is left out in modes that have none.
    """

    @property
    def name(self) -> str:
        """The name of its results."""
        return ANALYZER

    def analyze(self, evidence: Evidence[EvalScenario]) -> AnalysisResult:
        """Return the expectations that were met, and those that were not."""
        calls = evidence.trace.tool_calls if evidence.trace else ()
        scenario, servers = evidence.scenario, tuple(ToolSet.of(evidence.mode).mcp_servers)
        if not _has_capabilities(evidence.mode):
            assertions = scenario.assertions.model_copy(update={"expected_capabilities": None})
            scenario = scenario.model_copy(update={"assertions": assertions})
        tools = [name for call in calls for name in _tools_of(call)]
        used = [name for call in calls for name in _capabilities_of(call, servers)]
        return expectation_findings(scenario, tools, used)


def _has_capabilities(mode: Mode) -> bool:
    """Return whether a mode has `ghx` as a program or as an MCP server."""
    tools = ToolSet.of(mode)
    words = [*tools.tools, *(word for server in tools.mcp_servers.values() for word in server.words)]
    return any(word.rpartition("/")[2] in {"ghx", _MODULE} for word in words)


def _tools_of(call: ToolCallEvent) -> Iterator[str]:
    prefix = "" if command_of(call) is None else "bash:"
    yield from (f"{prefix}{name}" for name in names_of(call, resolve_github_command))


def _capabilities_of(call: ToolCallEvent, servers: tuple[str, ...]) -> Iterator[str]:
    """Yield the capabilities that a call asks for: by their own tool, or by their names in its words."""
    server_tool = server_tool_of(call.name, servers)
    if server_tool is not None and server_tool[1] in _BY_TOOL:
        yield _BY_TOOL[server_tool[1]]
        return
    words = [json.dumps(call.input)] if server_tool is not None else []
    script = script_of(call)
    for command in script.commands if script else ():
        if command.program == "ghx":
            words += command.arguments
    yield from (name for text in words for name in _DOTTED.findall(text) if name in ENTRIES)
