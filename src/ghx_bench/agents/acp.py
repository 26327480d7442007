"""Agents that speak the Agent Client Protocol: any of them, each as its recipe says.

The SDK takes a moment to load: import this module where an agent is really run, and not before.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE
from typing import Any, cast

import acp
import anyio
from acp.client.connection import ClientSideConnection
from acp.schema import (
    AcpMcpServer,
    ClientCapabilities,
    EnvVariable,
    FileSystemCapabilities,
    HttpHeader,
    HttpMcpServer,
    Implementation,
    InitializeResponse,
    McpServerStdio,
    PromptResponse,
    SseMcpServer,
)
from anyio.abc import Process
from pydantic import ValidationError

from ghx_bench._base.atomic_files import write_file
from ghx_bench._base.errors import ungrouped
from ghx_bench.agents.acp_connection import MessagePipe, PermissionDesk
from ghx_bench.agents.acp_updates import UpdateLog
from ghx_bench.agents.installation import Launch
from ghx_bench.agents.process import program
from ghx_bench.agents.recipe import FilledSettings, Recipe
from ghx_bench.agents.server_identity import LastWords
from ghx_bench.agents.toolset import ToolSet, fill_variables
from ghx_bench.profiler.causes import AgentError, EnvironmentFailure
from ghx_bench.profiler.contracts import SessionRequest
from ghx_bench.profiler.evidence import Answer
from ghx_bench.profiler.recorder import TraceRecorder
from ghx_bench.profiler.trace import SessionTrace

_CLIENT = Implementation(name="ghx-bench", version="1")
_NO_CAPABILITIES = ClientCapabilities(
    fs=FileSystemCapabilities(read_text_file=False, write_text_file=False), terminal=False
)
"""Files and commands are the agent's own business, in its own process: what it does there is what is measured."""
_BROKEN = (acp.RequestError, ConnectionError, ValidationError)
_LONGEST_WORDS = 1000
_CANCEL_GRACE_S = 1.0
"""How long a cancelled agent may take to say how its last calls ended; those measured need less than 0.2 s."""


class AcpProvider:
    """Opens sessions of one agent: a program of its own for each, in the session's private home.

    Whatever goes wrong before the first prompt is the environment's fault: the agent has not been asked for anything.
    """

    def __init__(self, recipe: Recipe, launch: Launch) -> None:
        self.name = recipe.name
        self.version = None if recipe.install is None else recipe.install.version
        self._recipe, self._launch = recipe, launch

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator["AcpSession"]:
        """Start the agent, and open a session with the tools of the mode."""
        tools = ToolSet.of(request.mode)
        values, settings = self._fill(request, tools)
        self._write_files(request, settings, values)
        words = (self._launch.program, *(fill_variables(word, values) for word in self._recipe.command[1:]))
        environment = {**request.environment, **settings.environment}
        last_words, recorder = LastWords(), TraceRecorder()
        log = UpdateLog(recorder, servers=tools.mcp_servers, strip=self._recipe.strip)
        # Ungrouped: what a task group wraps into groups is told to people, and judged by its cause.
        with ungrouped():
            async with (
                program(words, environment=environment, directory=request.directory, stderr=PIPE) as process,
                anyio.create_task_group() as beside,
            ):
                if process.stderr is not None:
                    beside.start_soon(last_words.read, process.stderr)
                pipe = MessagePipe(process, log.add)
                desk = PermissionDesk(self._recipe.permissions, refused_tools=() if tools.shell else ("execute",))
                # The SDK answers by itself what the desk has no method for: that the client cannot do it.
                connection = acp.connect_to_agent(cast("acp.Client", desk), pipe)
                try:
                    session = AcpSession(
                        recipe=self._recipe,
                        connection=connection,
                        process=process,
                        last_words=last_words,
                        pipe=pipe,
                        log=log,
                        recorder=recorder,
                        instructions=None if self._recipe.instructions_file else request.mode.instructions,
                    )
                    await session.open(values["DIRECTORY"], tools, request.environment)
                    yield session
                finally:
                    with anyio.CancelScope(shield=True):
                        await connection.close()
                    beside.cancel_scope.cancel()

    def _fill(self, request: SessionRequest, tools: ToolSet) -> tuple[Mapping[str, str], FilledSettings]:
        if request.directory is None or "HOME" not in request.environment:
            raise EnvironmentFailure(f"{self.name} needs a folder to work in and a home, and the stage has none")
        settings = self._recipe.settings_for(shell=tools.shell, web=False)
        if settings is None:
            raise EnvironmentFailure(
                f"mode {request.mode.name!r} has no shell, and the recipe of {self.name} does not say how to take "
                "its own away; add `without_shell` to it, or leave the mode out"
            )
        values = {
            **self._launch.values,
            "MODEL": request.model,
            "HOME": request.environment["HOME"],
            "DIRECTORY": str(request.directory),
        }
        return values, settings.fill(values)

    def _write_files(self, request: SessionRequest, settings: FilledSettings, values: Mapping[str, str]) -> None:
        files = dict(settings.files)
        if self._recipe.instructions_file and request.mode.instructions:
            files[self._recipe.instructions_file] = request.mode.instructions
        for path, content in files.items():
            write_file(Path(values["HOME"], path), content.encode())


@dataclass(slots=True, kw_only=True)
class AcpSession:
    """One conversation with an agent."""

    recipe: Recipe
    connection: ClientSideConnection
    process: Process
    last_words: LastWords
    pipe: MessagePipe
    log: UpdateLog
    recorder: TraceRecorder
    instructions: str | None
    """What the prompt begins with."""

    async def open(self, directory: str, tools: ToolSet, environment: Mapping[str, str]) -> None:
        """Shake hands, authenticate, and open a session with the servers of the mode."""
        doing = "initialize"
        try:
            hello = await self.connection.initialize(
                protocol_version=acp.PROTOCOL_VERSION, client_capabilities=_NO_CAPABILITIES, client_info=_CLIENT
            )
            if self.recipe.authentication is not None:
                doing = "authenticate"
                await self.connection.authenticate(method_id=self.recipe.authentication)
            doing = "session/new"
            # What is no parameter of the request goes into its `_meta`.
            meta = cast("dict[str, Any]", self.recipe.session_meta)
            servers = self._servers(tools, environment, hello)
            opened = await self.connection.new_session(cwd=directory, mcp_servers=servers, **meta)
            self.recorder.session_id = opened.session_id
            if self.recipe.session_mode is not None:
                doing = "session/set_mode"
                await self.connection.set_session_mode(session_id=opened.session_id, mode_id=self.recipe.session_mode)
        except _BROKEN as error:
            raise EnvironmentFailure(await self._explain(doing, error)) from error

    async def prompt(self, text: str) -> Answer:
        """Send the prompt and wait until the agent ends its turn."""
        words = "\n\n".join(filter(None, (self.instructions, text)))
        try:
            response = await self.connection.prompt(session_id=self.recorder.session_id, prompt=[acp.text_block(words)])
        except _BROKEN as error:
            raise AgentError(await self._explain("session/prompt", error)) from error
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._cancel()
            raise
        return self._answer(response)

    async def trace(self) -> SessionTrace:
        """Return what the agent told so far."""
        return self.recorder.trace()

    async def _cancel(self) -> None:
        """Tell the agent to stop, and let it say how its last calls ended."""
        with anyio.move_on_after(_CANCEL_GRACE_S), suppress(ConnectionError):
            await self.connection.cancel(session_id=self.recorder.session_id)
            await self.pipe.prompt_over.wait()

    def _answer(self, response: PromptResponse) -> Answer:
        match response.stop_reason:
            case "max_tokens" | "max_turn_requests":
                return Answer(text=self.log.answer, reason="tool_limit")
            case "refusal":
                return Answer(text=self.log.answer, reason="refusal")
            case "cancelled":
                raise AgentError(f"{self.recipe.name}: it ended its turn as cancelled, though nothing was")
            case _:
                return Answer(text=self.log.answer)

    def _servers(
        self, tools: ToolSet, environment: Mapping[str, str], hello: InitializeResponse
    ) -> list[HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio]:
        servers: list[HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio] = []
        for name, server in tools.mcp_servers.items():
            here = server.in_session(environment)
            if here.url is None:
                variables = [EnvVariable(name=key, value=value) for key, value in here.environment.items()]
                command, *args = here.words
                servers.append(McpServerStdio(name=name, command=command, args=args, env=variables))
                continue
            capabilities = hello.agent_capabilities and hello.agent_capabilities.mcp_capabilities
            if not (capabilities and capabilities.http):
                raise EnvironmentFailure(f"{self.recipe.name} takes no MCP servers by URL, and {name!r} is one")
            headers = [HttpHeader(name=key, value=value) for key, value in here.headers.items()]
            servers.append(HttpMcpServer(type="http", name=name, url=here.url, headers=headers))
        return servers

    async def _explain(self, request: str, error: Exception) -> str:
        """Return in a line what went wrong: the agent's answer or its end, and what it wrote last to standard error."""
        match error:
            case acp.RequestError():
                reason = f"it refused {request}: {error}" + ("" if error.data is None else f" {error.data}")
            case ValidationError():
                reason = f"its answer to {request} is not one of the protocol ({error.error_count()} mistakes)"
            case _:
                await self.last_words.wait()
                with anyio.move_on_after(_CANCEL_GRACE_S):
                    await self.process.wait()
                code = self.process.returncode
                ended = "closed the connection" if code is None else f"ended with exit code {code}"
                reason = f"it {ended} before it answered {request}"
        said = self.last_words.text[-_LONGEST_WORDS:]
        return f"{self.recipe.name}: {reason}" + (f"; it wrote: {said}" if said else "")
