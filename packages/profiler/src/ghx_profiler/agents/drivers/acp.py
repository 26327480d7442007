"""Agents that speak the Agent Client Protocol: their messages over pipes, answers to their questions, their sessions.

The SDK takes a moment to load: import this module where an agent is really run, and not before.
"""

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

import acp
import anyio
from acp import RequestPermissionResponse
from acp.client.connection import ClientSideConnection
from acp.schema import (
    AcpMcpServer,
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    EnvVariable,
    FileSystemCapabilities,
    HttpHeader,
    HttpMcpServer,
    Implementation,
    InitializeResponse,
    McpServerStdio,
    PermissionOption,
    PromptResponse,
    SseMcpServer,
    ToolCallUpdate,
    Usage,
)
from anyio.abc import Process
from pydantic import JsonValue, ValidationError

from ghx_base.wire import JsonObject
from ghx_profiler.agents.drivers.recipe import PermissionKind
from ghx_profiler.agents.drivers.recipe_provider import RecipeProvider, RecipeSession, SessionStart, start_agent
from ghx_profiler.agents.drivers.session_log import UpdateLog
from ghx_profiler.agents.tools.server_identity import StderrTail, lines_of, parse_line
from ghx_profiler.agents.tools.toolset import fill_variables
from ghx_profiler.evidence import Answer
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.causes import AgentError, EnvironmentFailure
from ghx_profiler.records.metrics import TokenUsage

PROMPT = "session/prompt"
UPDATE = "session/update"
PERMISSION = "session/request_permission"

_REFUSALS: tuple[PermissionKind, ...] = ("reject_once", "reject_always")


class MessagePipe:
    """What the SDK calls a transport, over the pipes of a program.

    The SDK hands each update to a task of its own, so that their order is lost, and some come after the answer that
    they belong to; so updates go to `on_update` from here, as they come in, and no further. Nor does what is not a
    message, nor a notification that the protocol does not know, on which the SDK would log a traceback.
    """

    def __init__(self, process: Process, on_update: Callable[[JsonObject], None]) -> None:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("a program was started without its pipes")
        self._stdin, self._lines = process.stdin, lines_of(process.stdout)
        self._on_update = on_update
        self._sending = anyio.Lock()
        self._prompt_id: object = None
        self.prompt_over = anyio.Event()
        """Set when the agent has answered the prompt, or will not: also if nothing waits for the answer any more."""

    async def send(self, message: dict[str, Any]) -> None:
        """Send one message."""
        if message.get("method") == PROMPT:
            self._prompt_id = message["id"]
        async with self._sending:
            try:
                await self._stdin.send(json.dumps(message).encode() + b"\n")
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                raise ConnectionError("it has closed its input") from None

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message for the SDK; `None` when the program has closed its output."""
        try:
            async for line in self._lines:
                message = parse_line(line)
                if message and self._is_for_sdk(message):
                    return message
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass  # the program is being ended, or has ended
        self.prompt_over.set()
        return None

    async def close(self) -> None:
        """Leave the pipes to the process, which closes them."""

    def _is_for_sdk(self, message: dict[str, Any]) -> bool:
        method, params = message.get("method"), message.get("params")
        if method is None:
            if message.get("id") == self._prompt_id:
                self.prompt_over.set()
            return True
        fields = cast("JsonObject", params) if isinstance(params, dict) else {}
        update, call = fields.get("update"), fields.get("toolCall")
        if method == UPDATE and isinstance(update, dict):
            self._on_update(update)
        if method == PERMISSION and isinstance(call, dict):
            # Some agents report a call here for the first time.
            self._on_update({**call, "sessionUpdate": "tool_call_update"})
        return "id" in message


class PermissionDesk:
    """Answers an agent that asks for permission: by the kind of its options, since each agent names these otherwise.

    The numbers of requests and refusals go into `facts`.
    """

    def __init__(
        self, kinds: Sequence[PermissionKind], *, refused_tools: Sequence[str], facts: dict[str, JsonValue]
    ) -> None:
        self._kinds = kinds
        self._refused_tools = refused_tools
        self._facts = facts
        self._asked = self._refused = 0

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_meta: object
    ) -> RequestPermissionResponse:
        """Choose the first option of the kinds that are wanted; of a tool that the mode does not have, a refusal."""
        del session_id  # a connection has one
        self._asked += 1
        kinds = _REFUSALS if tool_call.kind in self._refused_tools else self._kinds
        choice = next((option for kind in kinds for option in options if option.kind == kind), None)
        if choice is None or choice.kind in _REFUSALS:
            self._refused += 1
        self._facts["permissions"] = {"asked": self._asked, "refused": self._refused}
        if choice is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=choice.option_id))


def read_usage(used: Usage) -> TokenUsage:
    """Return the tokens that an agent reports, each counted once.

    The protocol leaves open whether the output holds the thoughts, and the input what came from a cache or went into
    one; agents do either. The total, which is reported as well, shows which: it is smaller than the sum of all parts.
    """
    thought, cached = used.thought_tokens or 0, (used.cached_read_tokens or 0) + (used.cached_write_tokens or 0)
    counted_twice = used.input_tokens + used.output_tokens + thought + cached - used.total_tokens
    holds_thoughts = counted_twice in (thought, thought + cached)
    holds_cached = counted_twice == cached + (thought if holds_thoughts else 0)
    return TokenUsage.of(
        input=max(used.input_tokens - (cached if holds_cached else 0), 0),
        output=max(used.output_tokens - (thought if holds_thoughts else 0), 0),
        reasoning=used.thought_tokens,
        cache_read=used.cached_read_tokens,
        cache_write=used.cached_write_tokens,
    )


_CLIENT = Implementation(name="ghx-bench", version="1")
_NO_CAPABILITIES = ClientCapabilities(
    fs=FileSystemCapabilities(read_text_file=False, write_text_file=False), terminal=False
)
"""Files and commands are the agent's own business, in its own process: what it does there is what is measured."""
_BROKEN = (acp.RequestError, ConnectionError, ValidationError)
_CANCEL_GRACE_S = 1.0
"""How long a cancelled agent may take to end its turn; those measured need less than 0.2 s."""
_LOOK_S = 0.1
_PATIENCE_S = 2.0
"""How long a program that has ended is listened to, if a child of it keeps its output open."""


class AcpProvider(RecipeProvider):
    """Opens sessions of one agent over the protocol; its program runs from the opening of a session to its end."""

    @asynccontextmanager
    async def open_session(self, start: SessionStart) -> AsyncGenerator["AcpSession"]:
        """Start the agent, and open a session with the tools of the mode."""
        words = (self.launch.program, *(fill_variables(word, start.values) for word in self.recipe.command[1:]))
        recorder, tools = TraceRecorder(), start.tools
        log = UpdateLog(recorder, servers=tools.mcp_servers, strip=self.recipe.strip)
        async with (
            start_agent(self.name, words, start) as (process, last_words),
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(_close_after_end, process)
            pipe = MessagePipe(process, log.add)
            refused = (*(() if tools.shell else ("execute",)), *(() if tools.web else ("fetch",)))
            desk = PermissionDesk(self.recipe.permissions, refused_tools=refused, facts=recorder.facts)
            # The SDK answers by itself what the desk has no method for: that the client cannot do it.
            connection = acp.connect_to_agent(cast("acp.Client", desk), pipe)
            try:
                session = AcpSession(
                    recipe=self.recipe,
                    recorder=recorder,
                    start=start,
                    connection=connection,
                    process=process,
                    last_words=last_words,
                    pipe=pipe,
                    log=log,
                )
                await session.open()
                yield session
            finally:
                tasks.cancel_scope.cancel()
                with anyio.CancelScope(shield=True):
                    await connection.close()


async def _close_after_end(process: Process) -> None:
    """Close the output of a program that was killed, say, and has left a child behind, as Qwen Code does."""
    while process.returncode is None:  # noqa: ASYNC110 - no event exists for it: `wait` waits for the streams, too
        await anyio.sleep(_LOOK_S)
    await anyio.sleep(_PATIENCE_S)
    if process.stdout is not None:
        await process.stdout.aclose()


@dataclass(slots=True, kw_only=True)
class AcpSession(RecipeSession):
    """One conversation with an agent over the protocol."""

    connection: ClientSideConnection
    process: Process
    last_words: StderrTail
    pipe: MessagePipe
    log: UpdateLog
    agents_id: str = ""
    """What the agent calls the session."""

    @property
    def answer_text(self) -> str:
        """What the agent has answered so far."""
        return self.log.answer

    async def open(self) -> None:
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
            # Anything that is not a parameter of the request goes into its `_meta`.
            meta = cast("dict[str, Any]", self.recipe.session_meta)
            servers = self._servers(hello)
            opened = await self.connection.new_session(cwd=self.start.directory, mcp_servers=servers, **meta)
            # Not the id of the trace: goose restarts its session numbers in every home.
            self.agents_id = self.recorder.facts["session"] = opened.session_id
            if hello.agent_info is not None:
                self.recorder.facts |= {"agent": hello.agent_info.name, "agentVersion": hello.agent_info.version}
            if self.recipe.session_mode is not None:
                doing = "session/set_mode"
                await self.connection.set_session_mode(session_id=opened.session_id, mode_id=self.recipe.session_mode)
        except _BROKEN as error:
            raise EnvironmentFailure(await self._explain(doing, error)) from error

    async def ask(self, words: str) -> Answer:
        """Send the prompt and wait until the agent ends its turn."""
        try:
            response = await self.connection.prompt(session_id=self.agents_id, prompt=[acp.text_block(words)])
        except _BROKEN as error:
            if self.is_unused:
                explanation = await self._explain("session/prompt (and asked its model for nothing)", error)
                raise EnvironmentFailure(explanation) from error
            raise AgentError(await self._explain("session/prompt", error)) from error
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._cancel()
            raise
        self._note_own_figures(response)
        return self._answer(response)

    async def _cancel(self) -> None:
        """Ask the agent to stop, and wait until it has."""
        # Agents report the end of a cancelled call in different ways: as failed, as aborted, even as completed.
        self.log.is_closed = True
        with anyio.move_on_after(_CANCEL_GRACE_S), suppress(ConnectionError):
            await self.connection.cancel(session_id=self.agents_id)
            await self.pipe.prompt_over.wait()

    def _note_own_figures(self, response: PromptResponse) -> None:
        """Record the usage that the agent reports; with a meter, in addition to what the meter has counted."""
        if response.usage is not None and self.recipe.tells_usage:
            self.recorder.add_usage(read_usage(response.usage))
        if self.log.cost_usd is not None:
            self.recorder.cost(self.log.cost_usd)

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

    def _servers(self, hello: InitializeResponse) -> list[HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio]:
        servers: list[HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio] = []
        for name, server in self.start.tools.mcp_servers.items():
            here = server.in_session(self.start.request.environment_of(name))
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
        return self.explain(reason, self.last_words)
