"""The replaying agent: makes the tool calls of a recorded session again, as they were."""

import shlex
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from pydantic import JsonValue

from ghx_profiler.agents.controls.solution import SolutionError
from ghx_profiler.agents.tools.toolbelt import ToolBelt, tool_belt
from ghx_profiler.agents.tools.toolset import ToolSet, server_tool_of
from ghx_profiler.contracts import SessionRequest
from ghx_profiler.control_kinds import ControlKind
from ghx_profiler.evidence import Answer
from ghx_profiler.plan.cell import Cell
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.trace import (
    SessionTrace,
    TextOutputEvent,
    ToolCallEvent,
    TraceEvent,
    TurnBoundaryEvent,
)
from ghx_profiler.shell import command_of

Recordings = Callable[[Cell], SessionTrace | None]
"""Finds the recorded session for a cell."""


@dataclass(frozen=True, slots=True)
class ShellCall:
    """A command for the shell."""

    command: str


@dataclass(frozen=True, slots=True)
class ServerCall:
    """A call of an MCP tool."""

    server: str
    tool: str
    arguments: dict[str, JsonValue]


def parse_call(call: ToolCallEvent, servers: Iterable[str]) -> ShellCall | ServerCall | None:
    """Return how a recorded call can be made again; `None` for tools of the agent's own, such as its editor."""
    if server_tool := server_tool_of(call.name, servers):
        return ServerCall(*server_tool, call.input if isinstance(call.input, dict) else {})
    match command_of(call):
        case str(text):
            return ShellCall(text)
        case tuple(words):
            return ShellCall(shlex.join(words))
        case None:
            return None


class ReplayProvider:
    """Opens sessions that repeat recorded ones: the same commands and calls, with nothing in them changed.

    A call that fails is a call that failed; the session goes on, as the recorded one did. A call that cannot be made
    again is left out, and noted.
    """

    name: str = "replay"
    control_kind: ControlKind = "replay"

    def __init__(self, recordings: Recordings) -> None:
        self._recordings = recordings

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator["ReplaySession"]:
        """Open a session, and with it the MCP servers of its mode if the recording calls one."""
        recorder, recording = TraceRecorder(source="script"), self._recordings(request.cell)
        servers = ToolSet.of(request.mode).mcp_servers
        calls = recording.tool_calls if recording else ()
        with_servers = any(isinstance(parse_call(call, servers), ServerCall) for call in calls)
        async with tool_belt(request, recorder, with_servers=with_servers) as belt:
            yield ReplaySession(request, recorder, belt, recording)


class ReplaySession:
    """A recorded session being repeated."""

    def __init__(
        self, request: SessionRequest, recorder: TraceRecorder, belt: ToolBelt, recording: SessionTrace | None
    ) -> None:
        self._request, self._recorder, self._belt, self._recording = request, recorder, belt, recording
        self._tools = ToolSet.of(request.mode)

    async def prompt(self, text: str) -> Answer:  # noqa: ARG002 - the contract's signature; the recording has the task
        """Make the recorded calls again, and answer what was answered last."""
        if self._recording is None:
            raise SolutionError(f"there is no recorded session for {self._request.cell}; record one, or leave it out")
        said = ""
        for event in self._recording.events:
            await self._repeat(event)
            said = event.content if isinstance(event, TextOutputEvent) else said
        self._recorder.end_turn()
        return Answer(text=said)

    async def trace(self) -> SessionTrace:
        """Return what was repeated so far."""
        return self._recorder.trace()

    async def _repeat(self, event: TraceEvent) -> None:
        match event:
            case TurnBoundaryEvent():
                self._recorder.begin_turn()
            case TextOutputEvent():
                self._recorder.text(event.content)
            case ToolCallEvent():
                await self._call(event)
            case _:
                pass  # what the agent thought is not done again

    async def _call(self, call: ToolCallEvent) -> None:
        match parse_call(call, self._tools.mcp_servers):
            case ServerCall(server, tool, arguments):
                await self._belt.mcp(server, tool, arguments)
            case ShellCall(command) if self._tools.shell:
                # Without the strict options of solutions, which no agent's shell has; what failed then may fail again.
                await self._belt.shell(command)
            case _:
                self._recorder.error(f"tool {call.name!r} cannot be replayed, and was left out", recoverable=True)
