"""For tests of agents: a model's API on loopback that speaks all four wires and follows a script."""

from ghx_profiler.agents.testing.decisions import CallServerTool, Decision, RunShell, Say, decide, find_tool, find_value
from ghx_profiler.agents.testing.scripted_answers import ScriptedAnswer, ScriptedTokens, write_stream, write_whole
from ghx_profiler.agents.testing.scripted_endpoint import (
    SESSION_HEADER,
    AskedCall,
    Fault,
    Pace,
    Script,
    ScriptedEndpoint,
)

__all__ = [
    "SESSION_HEADER",
    "AskedCall",
    "CallServerTool",
    "Decision",
    "Fault",
    "Pace",
    "RunShell",
    "Say",
    "Script",
    "ScriptedAnswer",
    "ScriptedEndpoint",
    "ScriptedTokens",
    "decide",
    "find_tool",
    "find_value",
    "write_stream",
    "write_whole",
]
