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
from pydantic import JsonValue, ValidationError

from ghx_bench._base.atomic_files import write_file
from ghx_bench._base.errors import ungrouped
from ghx_bench._base.problems import plural
from ghx_bench.agents.acp_connection import MessagePipe, PermissionDesk
from ghx_bench.agents.acp_updates import UpdateLog
from ghx_bench.agents.installation import Launch
from ghx_bench.agents.meter import Meter, ModelProvider
from ghx_bench.agents.metered_session import MeteredSession
from ghx_bench.agents.model_budget import ModelBudget
from ghx_bench.agents.model_recording import record_traffic, recording_name
from ghx_bench.agents.process import program
from ghx_bench.agents.recipe import FilledSettings, Recipe
from ghx_bench.agents.server_identity import LastWords
from ghx_bench.agents.toolset import ToolSet, fill_variables, server_tool_of
from ghx_bench.profiler.causes import AgentError, EnvironmentFailure, MeasurementError, TransientError
from ghx_bench.profiler.contracts import ControlKind, SessionRequest
from ghx_bench.profiler.evidence import Answer
from ghx_bench.profiler.metrics import TokenUsage
from ghx_bench.profiler.model_calls import WireKind
from ghx_bench.profiler.recorder import TraceRecorder
from ghx_bench.profiler.trace import NamedCause, SessionTrace

_CLIENT = Implementation(name="ghx-bench", version="1")
_NO_CAPABILITIES = ClientCapabilities(
    fs=FileSystemCapabilities(read_text_file=False, write_text_file=False), terminal=False
)
"""Files and commands are the agent's own business, in its own process: what it does there is what is measured."""
_BROKEN = (acp.RequestError, ConnectionError, ValidationError)
_LONGEST_WORDS = 1000
_MOST_TOOLS = 10
_LOOK_S = 0.02
_CANCEL_GRACE_S = 1.0
"""How long a cancelled agent may take to end its turn; those measured need less than 0.2 s."""


class AcpProvider:
    """Opens sessions of one agent: a program of its own for each, in the session's private home.

    Whatever goes wrong before the first prompt is the environment's fault: the agent has not been asked for anything.
    """

    def __init__(
        self,
        recipe: Recipe,
        launch: Launch,
        model_provider: ModelProvider | None = None,
        *,
        vendor: str | None = None,
        session_budget: ModelBudget | None = None,
        run_budget: ModelBudget | None = None,
        records: bool = False,
    ) -> None:
        if recipe.wire is not None and model_provider is None:
            raise ValueError(f"the recipe of {recipe.name} has a wire, and no provider of models is given for it")
        self.name = recipe.name
        self.version = None if recipe.install is None else recipe.install.version
        self.is_paid = model_provider is not None and model_provider.key is not None
        self.is_metered = recipe.wire is not None
        replayed = None if model_provider is None else model_provider.replayed_run
        self.control_kind: ControlKind | None = None if replayed is None else "replay"
        replay = {} if replayed is None else {"replayedRun": replayed}
        self.facts: Mapping[str, JsonValue] = {"protocol": recipe.protocol, **launch.versions, **replay}
        self._recipe, self._launch, self._model_provider = recipe, launch, model_provider
        self._vendor = vendor
        """What ids of models may begin with that this provider's own API does not know: `openai/gpt-5`."""
        self._session_budget, self._run_budget = session_budget, run_budget
        self._records = records
        """Whether model traffic is written down, beside the traces of the run."""
        self._meter: Meter | None = None

    @asynccontextmanager
    async def run(self, directory: Path) -> AsyncGenerator[None]:
        """Hold the meter, where the agent's model calls go through one."""
        if self._recipe.wire is None or self._model_provider is None:
            yield
            return
        provider = record_traffic(self._model_provider, directory) if self._records else self._model_provider
        providers: dict[WireKind, ModelProvider] = {self._recipe.wire: provider}
        async with Meter.open(providers, session_budget=self._session_budget, run_budget=self._run_budget) as meter:
            self._meter = meter
            try:
                yield
            finally:
                self._meter = None

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator["AcpSession"]:
        """Start the agent, and open a session with the tools of the mode."""
        if self._meter is None or self._model_provider is None:
            if self._recipe.wire is not None:
                raise RuntimeError("a session was asked for outside of the run's scope, which has the meter")
            async with self._open(request, None) as session:
                yield session
            return
        await self._meter.wait_for_provider(self._model_provider.name)
        name = recording_name(request.cell)
        with self._meter.session(name, model=request.model, secrets=request.secrets) as tap:
            async with self._open(request, tap) as session:
                yield session

    @asynccontextmanager
    async def _open(self, request: SessionRequest, tap: MeteredSession | None) -> AsyncGenerator["AcpSession"]:
        tools = ToolSet.of(request.mode)
        values, settings = self._fill(request, tools, tap)
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
                refused = (*(() if tools.shell else ("execute",)), *(() if tools.web else ("fetch",)))
                desk = PermissionDesk(self._recipe.permissions, refused_tools=refused)
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
                        tap=tap,
                        servers=tuple(tools.mcp_servers),
                        instructions=None if self._recipe.instructions_file else request.mode.instructions,
                    )
                    await session.open(values["DIRECTORY"], tools, request.environment)
                    yield session
                finally:
                    with anyio.CancelScope(shield=True):
                        await connection.close()
                    beside.cancel_scope.cancel()

    def _fill(
        self, request: SessionRequest, tools: ToolSet, tap: MeteredSession | None
    ) -> tuple[Mapping[str, str], FilledSettings]:
        if request.directory is None or "HOME" not in request.environment:
            raise EnvironmentFailure(f"{self.name} needs a folder to work in and a home, and the stage has none")
        settings = self._recipe.settings_for(shell=tools.shell, web=tools.web)
        if settings is None:
            raise EnvironmentFailure(
                f"mode {request.mode.name!r} has no shell, and the recipe of {self.name} does not say how to take "
                "its own away; add `without_shell` to it, or leave the mode out"
            )
        values = {
            **self._launch.values,
            "MODEL": request.model.removeprefix(f"{self._vendor}/"),
            "HOME": request.environment["HOME"],
            "DIRECTORY": str(request.directory),
            **({} if tap is None else {"BASE_URL": tap.base_url, "KEY": tap.key}),
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
    tap: MeteredSession | None
    """What the meter sees of the session."""
    servers: tuple[str, ...]
    """The MCP servers of the mode."""
    instructions: str | None
    """What the prompt begins with."""
    agents_id: str = ""
    """What the agent calls the session."""
    calls_at_answer: int | None = None
    """How many model calls there were when the agent ended its turn; `None` until then."""

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
            # Not the id of the trace: goose counts its sessions anew in every home.
            self.agents_id = self.recorder.facts["session"] = opened.session_id
            if hello.agent_info is not None:
                self.recorder.facts |= {"agent": hello.agent_info.name, "agentVersion": hello.agent_info.version}
            if self.recipe.session_mode is not None:
                doing = "session/set_mode"
                await self.connection.set_session_mode(session_id=opened.session_id, mode_id=self.recipe.session_mode)
        except _BROKEN as error:
            raise EnvironmentFailure(await self._explain(doing, error)) from error

    async def prompt(self, text: str) -> Answer:
        """Send the prompt and wait until the agent ends its turn."""
        words = "\n\n".join(filter(None, (self.instructions, text)))
        if self.tap is not None:
            self.tap.expect_prompt(words)
        response: PromptResponse | None = None
        try:
            with ungrouped():
                async with anyio.create_task_group() as beside:
                    beside.start_soon(self._watch_tools)
                    block = acp.text_block(words)
                    response = await self.connection.prompt(session_id=self.agents_id, prompt=[block])
                    beside.cancel_scope.cancel()
        except _BROKEN as error:
            raise self._blame() or AgentError(await self._explain("session/prompt", error)) from error
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._cancel()
            raise
        if response is None:
            raise RuntimeError("a group of tasks that nothing cancelled was left early")
        self.calls_at_answer = None if self.tap is None else len(self.tap.calls)
        self._note_own_figures(response)
        # Some agents end their turn with the error of the model's provider as their answer.
        if (blame := self._blame()) is not None:
            raise blame
        return self._answer(response)

    async def trace(self) -> SessionTrace:
        """Return what the agent told so far, and what the meter saw."""
        if self.tap is not None:
            await self._wait_for_late_call(self.tap)
            await self.tap.settle()
            self.recorder.model_calls[:] = self.tap.calls
        if (blame := self._blame()) is not None:
            self.recorder.cause = NamedCause(
                kind=blame.cause,
                message=str(blame),
                may_work_next_time=isinstance(blame, TransientError),
                retry_after_s=blame.retry_after_s if isinstance(blame, TransientError) else None,
            )
        return self.recorder.trace()

    async def _wait_for_late_call(self, tap: MeteredSession) -> None:
        """Wait for the model call that the agent is known to make after its answer, and no longer."""
        if self.calls_at_answer is not None:
            with anyio.move_on_after(self.recipe.late_calls_ms / 1000):
                while len(tap.calls) <= self.calls_at_answer:  # noqa: ASYNC110 - the meter has a thread of its own
                    await anyio.sleep(_LOOK_S)

    async def _watch_tools(self) -> None:
        """Raise as soon as it shows that the agent does not offer its model the tools of the mode."""
        # Looked at again and again, since the meter serves in a thread of its own.
        while self.tap is not None and self.servers and not self.tap.offered_tools():  # noqa: ASYNC110 - see above
            await anyio.sleep(_LOOK_S)
        if (missing := self._find_missing_server()) is not None:
            raise missing

    def _find_missing_server(self) -> EnvironmentFailure | None:
        """Return that a server's tools were not offered: an agent without them would be measured in another mode."""
        offered = None if self.tap is None else self.tap.offered_tools()
        # Before the answer, a call without any tool may be one for a title, and that of the conversation still to come.
        if offered is None or not (offered or self.calls_at_answer):
            return None
        found = {server for server, _ in filter(None, (server_tool_of(each, self.servers) for each in offered))}
        missing = [each for each in self.servers if each not in found]
        if not missing:
            return None
        others = ", ".join(offered[:_MOST_TOOLS]) + (", ..." if len(offered) > _MOST_TOOLS else "")
        return EnvironmentFailure(
            f"{self.recipe.name}: {missing[0]}: tools not offered: its first request to the model has "
            f"{plural(len(offered), 'tool')} ({others}), and none of this MCP server"
        )

    def _blame(self) -> MeasurementError | None:
        """Return whose fault it is, if it is not the agent's: the environment's, the model provider's, the budget's."""
        if self.tap is None:
            return None
        return self._find_missing_server() or self.tap.verdict()

    def _note_own_figures(self, response: PromptResponse) -> None:
        """Take down what the agent says that it used; with a meter, it stands beside what that has counted."""
        if response.usage is not None and self.recipe.tells_usage:
            used = response.usage
            self.recorder.add_usage(
                TokenUsage.of(
                    input=used.input_tokens,
                    output=used.output_tokens,
                    reasoning=used.thought_tokens,
                    cache_read=used.cached_read_tokens,
                    cache_write=used.cached_write_tokens,
                )
            )
        if self.log.cost_usd is not None:
            self.recorder.cost(self.log.cost_usd)

    async def _cancel(self) -> None:
        """Tell the agent to stop, and let it do so in good order."""
        # How agents say that a call ended which was cancelled differs: as failed, as aborted, even as completed.
        self.log.is_closed = True
        with anyio.move_on_after(_CANCEL_GRACE_S), suppress(ConnectionError):
            await self.connection.cancel(session_id=self.agents_id)
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
