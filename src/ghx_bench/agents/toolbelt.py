"""The hands of the control agents: real shells and real MCP sessions, and a note of every call."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from anyio.abc import Process
from pydantic import JsonValue

from ghx_bench.agents.answer import ToolAnswer, value_of
from ghx_bench.agents.process import Household, household
from ghx_bench.agents.shell import Ran, outcome_of, shell_of
from ghx_bench.agents.toolset import ToolSet, tool_name
from ghx_bench.profiler.causes import EnvironmentFailure
from ghx_bench.profiler.contracts import SessionRequest
from ghx_bench.profiler.recorder import TraceRecorder

SHELL_TOOL = "bash"
"""What a shell call is called in traces; its input is `{"command": ...}`."""

_LONGEST_ERROR = 500


class Server(Protocol):
    """An open session with an MCP server."""

    async def call(self, tool: str, arguments: Mapping[str, JsonValue]) -> ToolAnswer:
        """Call a tool; what the server refuses is a failed answer, a server that is gone raises."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolBelt:
    """The tools of one session."""

    request: SessionRequest
    recorder: TraceRecorder
    servers: Mapping[str, Server]
    members: Household

    async def shell(self, command: str, *, options: Sequence[str] = ()) -> ToolAnswer:
        """Run a command in bash, in the stage's folder and environment."""
        # What is done to be rid of what it left behind is not the tool's time: the call is over before the stack is.
        async with AsyncExitStack() as clearing_up:
            with self.recorder.timed_tool_call(SHELL_TOOL, {"command": command}) as call:
                ran = await outcome_of(await clearing_up.enter_async_context(self._shell_of(command, options)))
                call.output = ran.output
                if ran.exit_code:
                    call.error = _complaint(ran)
        return ToolAnswer(
            text=ran.output,
            value=value_of(ran.stdout),
            failed=ran.exit_code != 0,
            exit_code=ran.exit_code,
            complaint=ran.stderr,
        )

    @asynccontextmanager
    async def _shell_of(self, command: str, options: Sequence[str]) -> AsyncGenerator[Process]:
        request = self.request
        try:
            async with shell_of(
                command,
                environment=request.environment,
                directory=request.directory,
                options=options,
                members=self.members,
            ) as process:
                yield process
        except FileNotFoundError:
            raise EnvironmentFailure("the session has no bash on its PATH, or no folder to work in") from None

    async def mcp(self, server: str, tool: str, arguments: Mapping[str, JsonValue]) -> ToolAnswer:
        """Call a tool of an MCP server."""
        with self.recorder.timed_tool_call(tool_name(server, tool), arguments) as call:
            answer = await self.servers[server].call(tool, arguments)
            call.output = answer.text
            if answer.failed:
                call.error = answer.text[:_LONGEST_ERROR]
            return answer


@asynccontextmanager
async def tool_belt(
    request: SessionRequest, recorder: TraceRecorder, *, with_servers: bool
) -> AsyncGenerator[ToolBelt]:
    """Open the session's MCP servers, if wanted, and hand out its tools; on leaving, every process is gone."""
    servers: dict[str, Server] = {}
    async with household() as members, AsyncExitStack() as stack:
        wanted = ToolSet.of(request.mode).mcp_servers if with_servers else {}
        if wanted:
            from ghx_bench.agents.toolserver import connected  # noqa: PLC0415 - loads the MCP SDK, see there

            for name, server in wanted.items():
                servers[name] = await stack.enter_async_context(
                    connected(name, server, environment=request.environment, directory=request.directory)
                )
        yield ToolBelt(request=request, recorder=recorder, servers=servers, members=members)


def _complaint(ran: Ran) -> str:
    lines = (ran.stderr.strip() or ran.stdout.strip()).splitlines()
    return f"exit code {ran.exit_code}" + (f": {lines[-1][:_LONGEST_ERROR]}" if lines else "")
