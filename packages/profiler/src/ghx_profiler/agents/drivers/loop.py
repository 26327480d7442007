"""The agent `loop`: calls a model, makes the tool calls that it requests, and returns their results, until it is done.

It is meant to be plain: what it scores is the model's and the tools' doing. Its libraries take a second to load: import
this module where the agent is really run, and not before.
"""

import re
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, cast

import anyio
import httpx2
from pydantic import JsonValue
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.providers import Provider, infer_provider_class
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from ghx_base.version import VERSION
from ghx_profiler.agents.drivers.loop_limits import LoopLimits, ModelRoute
from ghx_profiler.agents.metering.meter import ModelProvider
from ghx_profiler.agents.metering.metered_session import MeteredSession
from ghx_profiler.agents.metering.model_budget import BudgetExhaustedError, Spending
from ghx_profiler.agents.metering.run_meter import RunMeter, find_wrong_setup, note_metered
from ghx_profiler.agents.metering.service_queue import ServiceQueue
from ghx_profiler.agents.tools.file_tools import FileTools
from ghx_profiler.agents.tools.toolbelt import ToolBelt, tool_belt
from ghx_profiler.agents.tools.toolset import Tool, ToolAnswer, ToolSet
from ghx_profiler.config import Budgets
from ghx_profiler.contracts import SessionRequest
from ghx_profiler.evidence import Answer
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.causes import AgentError, EnvironmentFailure, MeasurementError, TransientError
from ghx_profiler.records.model_calls import WireKind
from ghx_profiler.records.trace import SessionTrace

_NAME = "loop"
_INSTRUCTIONS = (
    "Complete the user's task with your tools. There is no one to ask: where something is left open, decide yourself. "
    "When the task is done, or cannot be done, end with a short answer that says so."
)
_LEFT_OUT = "(left out, since the conversation has become long; call the tool again if it is needed)"
_KEPT_REQUESTS = 4
_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 60.0
_ANSWER_TIMEOUT_S = 3600.0  # longer than any deadline, which is the caller's; the libraries' own would be shorter
_REASONS: Mapping[str, Literal["tool_limit", "refusal"]] = {"length": "tool_limit", "content_filter": "refusal"}
_VENDORS: Mapping[WireKind, str] = {
    "openai-chat": "openai-chat",
    "openai-responses": "openai-responses",
    "anthropic": "anthropic",
    "gemini": "google",
}
"""What the library calls them."""


class LoopProvider:
    """Opens sessions of the plain agent, with the models of a run."""

    name = _NAME

    def __init__(
        self,
        routes: Mapping[str, ModelRoute],
        providers: Mapping[WireKind, ModelProvider],
        *,
        limits: LoopLimits | None = None,
        budgets: Budgets | None = None,
        run_spending: Spending | None = None,
        queue: ServiceQueue | None = None,
        records: bool = False,
    ) -> None:
        self.version = VERSION
        self._routes, self._limits = dict(routes), limits or LoopLimits()
        self._meter = RunMeter(providers, budgets=budgets, run_spending=run_spending, queue=queue, records=records)
        self.is_metered, self.is_paid = True, self._meter.is_paid
        self.control_kind, self.secrets = self._meter.control_kind, self._meter.secrets
        self.facts: Mapping[str, JsonValue] = {
            "protocol": _NAME,
            "pydantic-ai": version("pydantic-ai-slim"),
            **self._meter.facts,
        }
        for wire in providers:
            infer_provider_class(_VENDORS[wire])  # loaded now: it takes a second, in which a session would stand still

    @asynccontextmanager
    async def run(self, directory: Path) -> AsyncGenerator[None]:
        """Hold the meter."""
        async with self._meter.open(directory):
            yield

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator["LoopSession"]:
        """Open the tools of the mode, and a way to the model."""
        if request.directory is None:
            raise EnvironmentFailure(f"{_NAME} needs a folder to work in, and the stage has none")
        if ToolSet.of(request.mode).skills:
            raise EnvironmentFailure(
                f"mode {request.mode.name!r} has skills, which {_NAME} knows nothing of; leave the mode out"
            )
        route, recorder = self._routes[request.model], TraceRecorder()
        async with (
            self._meter.session(route.wire, request) as tap,
            tool_belt(request, recorder) as belt,
            # To the meter only: no proxy of the user's on the way, and no certificates, which take long to load.
            httpx2.AsyncClient(trust_env=False, verify=_NO_TLS, timeout=_ANSWER_TIMEOUT_S) as client,
        ):
            files = FileTools(request.directory, recorder)
            tools = (*files.list_tools(), *await belt.list_tools())
            yield LoopSession(
                wire=route.wire,
                model=_connect(route, tap, client),
                settings=_settings(route.wire, self._limits),
                limits=self._limits,
                instructions="\n\n".join(filter(None, (_INSTRUCTIONS, request.mode.instructions))),
                # Under names that all vendors allow.
                offered={re.sub(r"[^A-Za-z0-9_-]", "_", each.name): each for each in tools},
                belt=belt,
                files=files,
                recorder=recorder,
                tap=tap,
            )


@dataclass(slots=True, kw_only=True)
class LoopSession:
    """One conversation with a model."""

    wire: WireKind
    model: Model
    settings: ModelSettings
    limits: LoopLimits
    instructions: str
    offered: Mapping[str, Tool]
    """The tools by the names under which the model knows them."""
    belt: ToolBelt
    files: FileTools
    recorder: TraceRecorder
    tap: MeteredSession
    was_stopped: bool = False
    history: list[ModelMessage] = field(default_factory=list[ModelMessage])

    async def prompt(self, text: str) -> Answer:
        """Ask the model and make its tool calls, turn by turn, until it makes none."""
        try:
            return await self._converse(text)
        except anyio.get_cancelled_exc_class():
            self.was_stopped = True
            raise

    async def _converse(self, text: str) -> Answer:
        self.tap.expect_prompt(text)
        self._append(UserPromptPart(text))
        answer_text = ""
        for _ in range(self.limits.max_turns):
            self.recorder.begin_turn()
            try:
                response = await self._ask()
            except BudgetExhaustedError:
                return Answer(text=answer_text)  # what was done is scored; the trace has the reason of the end
            answer_text = response.text or answer_text
            if not response.tool_calls:
                await self.tap.wait_for_last_answer()
                if (failure := self._failure_cause()) is not None:
                    raise failure
                return Answer(text=answer_text, reason=_REASONS.get(response.finish_reason or "stop", "stop"))
            # One after the other: what a model asks for at once may well build on each other.
            self._append(*[await self._call(each) for each in response.tool_calls])
            if response.usage.total_tokens > self.limits.max_context_tokens and not self._forget_results():
                break
        return Answer(text=answer_text, reason="tool_limit")

    async def trace(self) -> SessionTrace:
        """Return what was done so far, and what the meter saw."""
        await self.tap.settle()
        note_metered(self.recorder, self.tap, self._failure_cause())
        return self.recorder.trace()

    def _failure_cause(self) -> MeasurementError | None:
        """Return whose fault it is, if it is not the agent's: the environment's, the model provider's, the budget's."""
        servers, has_asked = tuple(self.belt.servers), self.tap.call_count > 0
        # All its calls offer all tools, so the first is enough.
        wrong = find_wrong_setup(self.tap, servers, agent=_NAME, has_answered=has_asked)
        return wrong or self.tap.verdict(was_stopped=self.was_stopped)

    def _append(self, *parts: ModelRequestPart) -> None:
        self.history.append(ModelRequest(parts=parts, instructions=self.instructions))

    async def _ask(self) -> ModelResponse:
        """Return the model's next answer; ask again as long as it is the provider that fails, and may recover."""
        # As the tools' own servers describe them: `strict` would have some vendors rewrite the schemas.
        tools = [
            ToolDefinition(
                name=name,
                description=each.description,
                parameters_json_schema=dict(each.input_schema),
                strict=False,
            )
            for name, each in self.offered.items()
        ]
        parameters = ModelRequestParameters(function_tools=tools)
        attempt, response = 1, None
        while response is None:
            try:
                async with model_request_stream(
                    self.model, self.history, model_settings=self.settings, model_request_parameters=parameters
                ) as stream:
                    async for _ in stream:
                        pass
                response = stream.get()
            except (AgentRunError, httpx2.HTTPError) as error:
                await anyio.sleep(await self._find_pause(attempt, error))
                attempt += 1
        self.history.append(response)
        for part in response.parts:
            if isinstance(part, TextPart | ThinkingPart) and part.content:
                (self.recorder.text if isinstance(part, TextPart) else self.recorder.reasoning)(part.content)
        return response

    async def _find_pause(self, attempt: int, error: Exception) -> float:
        """Return how long to wait before a failed call is made again; raise if it is not worth it."""
        await self.tap.settle()
        failure = self._failure_cause()
        if failure is None:
            raise AgentError(f"{_NAME}: the model's answer cannot be used: {error}") from error
        pause = _FIRST_PAUSE_S * 2 ** (attempt - 1)
        if isinstance(failure, TransientError) and attempt < self.limits.max_attempts:
            pause = pause if failure.retry_after_s is None else failure.retry_after_s
            if pause <= _LONGEST_PAUSE_S:
                return pause
        raise failure from error

    async def _call(self, call: ToolCallPart) -> ToolReturnPart:
        """Make a tool call, and return its result for the model."""
        tool, arguments = self.offered.get(call.tool_name), call.args or {}
        name = call.tool_name if tool is None else tool.name
        is_file_tool = any(each.name == name for each in self.files.list_tools())
        answer = self.files.call(name, arguments) if is_file_tool else await self.belt.call(name, arguments)
        content = self._wrap(self._shorten(answer))
        return ToolReturnPart(tool_name=call.tool_name, content=content, tool_call_id=call.tool_call_id)

    def _wrap(self, text: str) -> str | dict[str, str]:
        # Google requires an object, with the output of the tool under this name.
        return {"output": text} if self.wire == "gemini" else text

    def _shorten(self, answer: ToolAnswer) -> str:
        text, half = answer.text or "(no output)", self.limits.max_result_chars // 2
        if len(text) > 2 * half:
            text = f"{text[:half]}\n({len(text) - 2 * half:,} characters left out)\n{text[-half:]}"
        return f"{text}\n(exit code {answer.exit_code})" if answer.exit_code else text

    def _forget_results(self) -> bool:
        """Remove tool results except those of the last requests; return whether any were removed."""
        has_forgotten = False
        requests = [each for each in self.history if isinstance(each, ModelRequest)]
        for request in requests[:-_KEPT_REQUESTS]:
            forgotten = [
                replace(each, content=self._wrap(_LEFT_OUT)) if isinstance(each, ToolReturnPart) else each
                for each in request.parts
            ]
            has_forgotten = has_forgotten or forgotten != list(request.parts)
            request.parts = forgotten
        return has_forgotten


def _settings(wire: WireKind, limits: LoopLimits) -> ModelSettings:
    settings = {
        "max_retries": 0,  # by the vendors' libraries, each of which has its own idea of it
        "max_tokens": limits.max_output_tokens,
        "temperature": limits.temperature,
        "thinking": limits.effort,
    }
    if wire == "anthropic":
        # Others cache what they have read before; here caching must be requested, or the call costs ten times as much.
        settings |= {"max_tokens": limits.max_output_tokens or 16_000, "anthropic_cache": True}
    return cast("ModelSettings", {name: value for name, value in settings.items() if value is not None})


def _connect(route: ModelRoute, tap: MeteredSession, client: httpx2.AsyncClient) -> Model:
    url = f"{tap.base_url}/v1" if route.wire.startswith("openai") else tap.base_url

    def make_provider(vendor: str) -> Provider[Any]:
        make = cast("Callable[..., Provider[Any]]", infer_provider_class(vendor))
        return make(base_url=url, api_key=tap.key, http_client=client)

    return infer_model(f"{_VENDORS[route.wire]}:{route.model}", make_provider)
