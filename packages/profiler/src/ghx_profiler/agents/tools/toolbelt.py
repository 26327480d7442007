"""The tools of a session, for agents written in Python: real shells and real MCP sessions, each call recorded."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from subprocess import PIPE
from typing import Protocol

import anyio
from anyio import to_thread
from anyio.abc import ByteReceiveStream, Process
from pydantic import JsonValue

from ghx_profiler.agents.processes.process import ProcessGroup, process_group, program
from ghx_profiler.agents.tools.toolset import Tool, ToolAnswer, ToolSet, server_tool_of, tool_name, value_of
from ghx_profiler.contracts import SessionRequest
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.causes import EnvironmentFailure

SHELL_TOOL = "bash"
"""What a shell call is called in traces; its input is `{"command": ...}`."""

MOST_BYTES = 8_000_000
"""What is kept of each stream of a command; the rest is read and dropped, so that the program can go on."""

_SHELL = Tool(
    name=SHELL_TOOL,
    description="Run a command in bash and return its output. Each command has a shell of its own.",
    input_schema={
        "type": "object",
        "properties": {"command": {"type": "string", "description": "The command to run."}},
        "required": ["command"],
        "additionalProperties": False,
    },
)
_LONGEST_ERROR = 500
_LOOK_AGAIN_S = 0.05
_LAST_WORDS_S = 0.2


class Server(Protocol):
    """An open session with an MCP server."""

    async def list_tools(self) -> Sequence[Tool]:
        """Return its tools, by the names that it gives them."""
        ...

    async def call(self, tool: str, arguments: Mapping[str, JsonValue]) -> ToolAnswer:
        """Call a tool; what the server refuses is a failed answer, a server that is gone raises."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolBelt:
    """The tools of one session."""

    request: SessionRequest
    recorder: TraceRecorder
    servers: Mapping[str, Server]
    group: ProcessGroup

    async def list_tools(self) -> tuple[Tool, ...]:
        """Return the tool definitions of the session for a model: the shell, if the mode has one, and the servers'."""
        tools = [_SHELL] if ToolSet.of(self.request.mode).shell else []
        for name, server in self.servers.items():
            tools += [replace(each, name=tool_name(name, each.name)) for each in await server.list_tools()]
        return tuple(tools)

    async def call(self, name: str, arguments: Mapping[str, JsonValue] | str) -> ToolAnswer:
        """Call a tool by its name in `list_tools`, with its arguments as an object or, as models write them, as JSON.

        A mistake of the model is a failed answer with a message, recorded like any call.
        """
        values = value_of(arguments) if isinstance(arguments, str) else dict(arguments)
        server_tool, has_shell = server_tool_of(name, self.servers), ToolSet.of(self.request.mode).shell
        match values:
            case {"command": str(command)} if has_shell and name == SHELL_TOOL:
                return await self.shell(command)
            case dict() if server_tool is not None:
                return await self.mcp(*server_tool, values)
            case _ if server_tool is not None or (has_shell and name == SHELL_TOOL):
                needs = "with a `command`, which is a text" if server_tool is None else "with its arguments"
                complaint = f"the tool {name!r} takes a JSON object {needs}"
            case _:
                known = ", ".join(each.name for each in await self.list_tools())
                complaint = f"there is no tool {name!r}; there are: {known}"
        self.recorder.tool_call(name, values, complaint, success=False, error=complaint)
        return ToolAnswer(text=complaint, value=None, failed=True)

    async def shell(self, command: str, *, options: Sequence[str] = ()) -> ToolAnswer:
        """Run a command in bash, in the stage's folder and environment."""
        environment, directory = self.request.environment, self.request.directory
        if directory is not None and not directory.is_dir():
            # The agent may have removed it, and must not spoil the measurement of what it got wrong by that.
            directory.unlink(missing_ok=True)
            directory.mkdir(parents=True)
        shell = open_shell(command, environment=environment, directory=directory, options=options, group=self.group)
        # Ending what the command left behind is not the tool's time: the call is over before the stack is left.
        async with AsyncExitStack() as clean_up:
            with self.recorder.timed_tool_call(SHELL_TOOL, {"command": command}) as call:
                result = await read_result(await clean_up.enter_async_context(shell))
                call.output = result.output
                if result.exit_code:
                    call.error = result.complaint
        return ToolAnswer(
            text=result.output,
            value=value_of(result.stdout),
            failed=result.exit_code != 0,
            exit_code=result.exit_code,
            complaint=result.stderr,
        )

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
    request: SessionRequest, recorder: TraceRecorder, *, with_servers: bool = True
) -> AsyncGenerator[ToolBelt]:
    """Open the session's MCP servers and hand out its tools; on leaving, every process is gone.

    Without `with_servers` none is started: a control that knows that it will call none saves the time.
    """
    servers: dict[str, Server] = {}
    async with process_group() as group, AsyncExitStack() as stack:
        mcp_servers = ToolSet.of(request.mode).mcp_servers if with_servers else {}
        if mcp_servers:
            # In a thread: it takes a second, in which the agent whose event loop this is would seem to block it.
            await to_thread.run_sync(import_module, "ghx_profiler.agents.tools.toolserver")
            from ghx_profiler.agents.tools.toolserver import connect  # noqa: PLC0415 - loads the MCP SDK, see there

            for name, server in mcp_servers.items():
                servers[name] = await stack.enter_async_context(
                    connect(name, server, environment=request.environment_of(name), directory=request.directory)
                )
        yield ToolBelt(request=request, recorder=recorder, servers=servers, group=group)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellResult:
    """The output of a command, and how it ended."""

    stdout: str
    stderr: str
    exit_code: int
    bytes_left_out: int = 0

    @property
    def output(self) -> str:
        """Both streams, as an agent gets to see them."""
        left_out = f"({self.bytes_left_out:,} bytes left out)\n" if self.bytes_left_out else ""
        between = "\n" if self.stdout and self.stderr and not self.stdout.endswith("\n") else ""
        return f"{self.stdout}{between}{self.stderr}{left_out}"

    @property
    def complaint(self) -> str:
        """The reason of a failure in one line: programs print it last."""
        lines = (self.stderr.strip() or self.stdout.strip()).splitlines()
        return f"exit code {self.exit_code}" + (f": {lines[-1][:_LONGEST_ERROR]}" if lines else "")


@asynccontextmanager
async def open_shell(
    command: str,
    *,
    environment: Mapping[str, str],
    directory: Path | None = None,
    options: Sequence[str] = (),
    group: ProcessGroup | None = None,
) -> AsyncGenerator[Process]:
    """Start bash with a command; leaving the block ends what the command left in the background."""
    words = ["bash", *options, "-c", command]
    try:
        async with program(words, environment=environment, directory=directory, stderr=PIPE, group=group) as process:
            yield process
    except FileNotFoundError:
        raise EnvironmentFailure("the session has no bash on its PATH, or no folder to work in") from None


async def read_result(process: Process) -> ShellResult:
    """Wait until a command is over, which is when its shell is: what it left in the background is not waited for."""
    stdout, stderr = _Capture(), _Capture()
    await _read_streams(process, stdout, stderr)
    code = process.returncode
    return ShellResult(
        stdout=stdout.text,
        stderr=stderr.text,
        exit_code=await process.wait() if code is None else code,
        bytes_left_out=stdout.left_out + stderr.left_out,
    )


@dataclass(slots=True)
class _Capture:
    """The content of a stream, up to a limit."""

    chunks: list[bytes] = field(default_factory=list[bytes])
    size: int = 0
    left_out: int = 0

    async def read(self, stream: ByteReceiveStream) -> None:
        async for chunk in stream:
            keep = chunk[: MOST_BYTES - self.size]
            self.chunks.append(keep)
            self.size += len(keep)
            self.left_out += len(chunk) - len(keep)

    @property
    def text(self) -> str:
        return b"".join(self.chunks).decode(errors="replace")


async def _read_streams(process: Process, stdout: _Capture, stderr: _Capture) -> None:
    """Read both streams to their end, or as long as the shell lives: a child in the background may keep them open."""
    if process.stdin is not None:
        await process.stdin.aclose()  # a command that asks for something must not wait for an answer
    async with anyio.create_task_group() as watching:
        watching.start_soon(cancel_after_end, process, watching.cancel_scope)
        async with anyio.create_task_group() as reading:
            for stream, capture in ((process.stdout, stdout), (process.stderr, stderr)):
                if stream is not None:
                    reading.start_soon(capture.read, stream)
        watching.cancel_scope.cancel()


async def cancel_after_end(process: Process, reading: anyio.CancelScope, *, patience_s: float = _LAST_WORDS_S) -> None:
    """Stop reading soon after a program ended: a child of it may keep its output open."""
    # Looked at now and then: `process.wait` also waits for the streams, which a child may keep open.
    while process.returncode is None:  # noqa: ASYNC110 - no event exists for it
        await anyio.sleep(_LOOK_AGAIN_S)
    await anyio.sleep(patience_s)
    reading.cancel()
