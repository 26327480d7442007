"""The hands of the control agents: real shells and real MCP sessions, and a note of every call."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import JsonValue

from ghx_bench.agents.answer import ToolAnswer, value_of
from ghx_bench.agents.shell import Ran, run_in_shell
from ghx_bench.agents.toolset import ToolSet, tool_name
from ghx_bench.profiler.causes import EnvironmentFailure
from ghx_bench.profiler.contracts import SessionRequest
from ghx_bench.profiler.recorder import TraceRecorder

if TYPE_CHECKING:  # it loads the MCP SDK, which sessions without a server do not need
    from ghx_bench.agents.toolserver import ToolServer

SHELL_TOOL = "bash"
"""What a shell call is called in traces; its input is `{"command": ...}`."""

_LONGEST_ERROR = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolBelt:
    """The tools of one session."""

    request: SessionRequest
    recorder: TraceRecorder
    servers: "Mapping[str, ToolServer]"

    async def shell(self, command: str, *, options: Sequence[str] = ()) -> ToolAnswer:
        """Run a command in bash, in the stage's folder and environment."""
        with self.recorder.timed_tool_call(SHELL_TOOL, {"command": command}) as call:
            try:
                ran = await run_in_shell(
                    command,
                    environment=self.request.environment,
                    directory=self.request.directory,
                    options=options,
                )
            except FileNotFoundError:
                raise EnvironmentFailure("the session has no bash on its PATH, or no folder to work in") from None
            call.output = ran.output
            if ran.exit_code:
                call.error = _complaint(ran)
            return ToolAnswer(text=ran.output, value=value_of(ran.stdout), failed=ran.exit_code != 0)

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
    servers: dict[str, ToolServer] = {}
    async with AsyncExitStack() as stack:
        wanted = ToolSet.of(request.mode).mcp_servers if with_servers else {}
        if wanted:
            from ghx_bench.agents.toolserver import connected  # noqa: PLC0415 - loads the MCP SDK, see there

            for name, server in wanted.items():
                servers[name] = await stack.enter_async_context(
                    connected(name, server, environment=request.environment, directory=request.directory)
                )
        yield ToolBelt(request=request, recorder=recorder, servers=servers)


def _complaint(ran: Ran) -> str:
    lines = (ran.stderr.strip() or ran.stdout.strip()).splitlines()
    return f"exit code {ran.exit_code}" + (f": {lines[-1][:_LONGEST_ERROR]}" if lines else "")
