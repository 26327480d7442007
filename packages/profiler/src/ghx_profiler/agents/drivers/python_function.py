"""Agents that are a Python function: it gets a task, works with the tools of its session, and returns its answer."""

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import anyio
from pydantic import JsonValue

from ghx_profiler.agents.agent_threads import ThreadedProvider, ThreadedSession
from ghx_profiler.agents.drivers.loop_limits import ModelRoute
from ghx_profiler.agents.metering.meter import ModelProvider
from ghx_profiler.agents.metering.metered_session import MeteredSession
from ghx_profiler.agents.metering.model_budget import BudgetExhaustedError, Spending
from ghx_profiler.agents.metering.run_meter import RunMeter, note_metered
from ghx_profiler.agents.metering.service_queue import ServiceQueue
from ghx_profiler.agents.tools.toolbelt import Server, ToolBelt, tool_belt
from ghx_profiler.agents.tools.toolset import Tool, ToolAnswer, ToolSet
from ghx_profiler.config import Budgets
from ghx_profiler.contracts import SessionRequest
from ghx_profiler.evidence import Answer
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.causes import AgentError, EnvironmentFailure
from ghx_profiler.records.model_calls import WireKind
from ghx_profiler.records.trace import SessionTrace, TextOutputEvent

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockingToolBelt:
    """The tools of a session for a plain function: as those of `ToolBelt`, but each call waits for its answer."""

    belt: ToolBelt
    thread: "_FunctionThread"

    @property
    def servers(self) -> Mapping[str, Server]:
        """The MCP servers of the session."""
        return self.belt.servers

    def list_tools(self) -> Sequence[Tool]:
        """Return all tools of the session as definitions for a model."""
        return self.thread.wait_for(self.belt.list_tools)

    def call(self, name: str, arguments: Mapping[str, JsonValue] | str) -> ToolAnswer:
        """Call a tool by its name in `list_tools`."""
        return self.thread.wait_for(lambda: self.belt.call(name, arguments))

    def shell(self, command: str) -> ToolAnswer:
        """Run a command in bash."""
        return self.thread.wait_for(lambda: self.belt.shell(command))

    def mcp(self, server: str, tool: str, arguments: Mapping[str, JsonValue]) -> ToolAnswer:
        """Call a tool of an MCP server."""
        return self.thread.wait_for(lambda: self.belt.mcp(server, tool, arguments))


Belt = TypeVar("Belt", ToolBelt, BlockingToolBelt)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEndpoint:
    """The address of the model behind the meter, for API clients to use instead of the vendor's."""

    base_url: str
    key: str = field(repr=False)
    """Worth nothing elsewhere, and nothing after the session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTask(Generic[Belt]):
    """What a function that is an agent gets: with a `ToolBelt` if it is `async`, else with a `BlockingToolBelt`."""

    prompt: str
    instructions: str | None
    """The instructions of the mode about its tools; not part of the prompt."""
    workspace: Path | None
    """The folder to work in."""
    environment: Mapping[str, str]
    """Every variable that a program of the session may have."""
    skills: Mapping[str, Path]
    """Folders with a SKILL.md, by the names of the skills that the mode brings."""
    model: str
    """The model to ask for, by the name under which its API knows it."""
    endpoints: Mapping[WireKind, ModelEndpoint]
    """The ways to the model through the meter, by its API; empty without a meter."""
    belt: Belt
    recorder: TraceRecorder
    """Takes down what the tool belt and the meter do not see: texts, and tokens of calls that are not metered."""

    def endpoint(self, wire: WireKind) -> ModelEndpoint:
        """Return the way to the model over one API; raise `EnvironmentFailure` if the meter has none."""
        try:
            return self.endpoints[wire]
        except KeyError:
            there = f"it has {', '.join(self.endpoints)}" if self.endpoints else "this run has none"
            raise EnvironmentFailure(
                f"no meter leads to model {self.model!r} over {wire!r}: {there}; begin the model's id with its vendor "
                "(openai/, anthropic/, google/), or set the agent's option `wire` or `base_url`"
            ) from None


class FunctionProvider:
    """Opens sessions of an agent that is a function: it is called once for each prompt, with `arguments` as options.

    `routes` are the routes of metered models, by their ids; `providers` answer their calls.
    """

    def __init__(
        self,
        function: Callable[..., object],
        *,
        arguments: Mapping[str, JsonValue] | None = None,
        routes: Mapping[str, ModelRoute] | None = None,
        providers: Mapping[WireKind, ModelProvider] | None = None,
        budgets: Budgets | None = None,
        run_spending: Spending | None = None,
        queue: ServiceQueue | None = None,
        records: bool = False,
    ) -> None:
        self.name = function.__name__
        self.__wrapped__ = function
        """Whose code the agent is made of."""
        self._routes = dict(routes or {})
        self._meter = RunMeter(
            providers or {}, budgets=budgets, run_spending=run_spending, queue=queue, records=records
        )
        self.is_metered, self.is_paid = bool(providers), self._meter.is_paid
        self.control_kind, self.secrets = self._meter.control_kind, self._meter.secrets
        self.facts: Mapping[str, JsonValue] = {"protocol": "python", **self._meter.facts}
        self._threaded = ThreadedProvider(_FunctionInThread(function, dict(arguments or {})))

    @asynccontextmanager
    async def run(self, directory: Path) -> AsyncGenerator[None]:
        """Hold the meter, where there is one, and the thread of the function."""
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._threaded.aclose)
            if self.is_metered:
                await stack.enter_async_context(self._meter.open(directory))
            yield

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator["FunctionSession"]:
        """Open the tools of the mode in the function's thread, and here the way to the model."""
        route, recorder = self._routes.get(request.model), TraceRecorder()
        async with nullcontext() if route is None else self._meter.session(route.wire, request) as tap:
            function_request = _FunctionRequest(
                **{each.name: getattr(request, each.name) for each in fields(request)},
                asked_as=request.model if route is None else route.model,
                endpoints={} if tap is None else {wire: _endpoint_of(tap, wire) for wire in self._meter.providers},
                recorder=recorder,
            )
            async with self._threaded.session(function_request) as session:
                yield FunctionSession(inner=session, recorder=recorder, tap=tap)


def _endpoint_of(tap: MeteredSession, wire: WireKind) -> ModelEndpoint:
    url = f"{tap.base_url}/v1" if wire.startswith("openai") else tap.base_url
    return ModelEndpoint(base_url=url, key=tap.key)


@dataclass(slots=True, kw_only=True)
class FunctionSession:
    """One call of the function, and what the meter sees of it."""

    inner: ThreadedSession
    recorder: TraceRecorder
    tap: MeteredSession | None
    calls_at_answer: int | None = None
    """How many model calls there were when the function returned; `None` until then."""
    was_stopped: bool = False
    """Whether it was cancelled during a prompt."""

    async def prompt(self, text: str) -> Answer:
        """Call the function; what it did until the budget of its session was used up is an answer, to be scored."""
        if self.tap is None:
            return await self.inner.prompt(text)
        self.tap.expect_prompt(text)
        answer, failure = Answer(text=""), None
        try:
            answer = await self.inner.prompt(text)
            self.calls_at_answer = self.tap.call_count
        except anyio.get_cancelled_exc_class():
            self.was_stopped = True
            raise
        except Exception as error:  # noqa: BLE001 - plugin call: raised again unless it has another cause
            failure = error
        await self.tap.wait_for_last_answer()
        cause = self.tap.verdict(self.calls_at_answer) or failure
        if cause is not None and not isinstance(cause, BudgetExhaustedError):
            raise cause from (None if cause is failure else failure)
        return answer

    async def trace(self) -> SessionTrace:
        """Return what was recorded so far, and what the meter saw."""
        if self.tap is not None:
            await self.tap.settle()
            cause = self.tap.verdict(self.calls_at_answer, was_stopped=self.was_stopped)
            note_metered(self.recorder, self.tap, cause)
        return self.recorder.trace()


@dataclass(frozen=True, slots=True, kw_only=True)
class _FunctionRequest(SessionRequest):
    """What the session in the function's thread is opened with."""

    asked_as: str
    endpoints: Mapping[WireKind, ModelEndpoint]
    recorder: TraceRecorder


@dataclass(frozen=True, slots=True)
class _FunctionInThread:
    """The sessions of the function in its thread, where no call in it keeps the bench from looking at the clock."""

    function: Callable[..., Any]
    arguments: Mapping[str, JsonValue]

    @property
    def name(self) -> str:
        return self.function.__name__

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator["_OpenFunction"]:
        function_request = cast("_FunctionRequest", request)
        async with tool_belt(request, function_request.recorder) as belt:
            yield _OpenFunction(self, function_request, belt)


@dataclass(frozen=True, slots=True)
class _OpenFunction:
    agent: _FunctionInThread
    request: _FunctionRequest
    belt: ToolBelt

    async def prompt(self, text: str) -> Answer:
        request, mode = self.request, self.request.mode
        task = AgentTask(
            prompt=text,
            instructions=mode.instructions,
            workspace=request.directory,
            environment=request.environment,
            skills={name: Path(folder) for name, folder in ToolSet.of(mode).skills.items()},
            model=request.asked_as,
            endpoints=request.endpoints,
            belt=self.belt,
            recorder=request.recorder,
        )
        function, arguments = self.agent.function, self.agent.arguments
        if inspect.iscoroutinefunction(function):
            answer: object = await function(task, **arguments)
        else:
            thread = _FunctionThread(self.agent.name)
            blocking = replace(task, belt=BlockingToolBelt(belt=self.belt, thread=thread))
            answer = await thread.call(partial(function, blocking, **arguments))
        if not isinstance(answer, str):
            if inspect.iscoroutine(answer):
                answer.close()  # or Python complains that it was never awaited
            raise AgentError(
                f"{self.agent.name}: it returned {type(answer).__name__}, and not its answer, which is a text"
                + ("; write `async def` where it is defined" if inspect.isawaitable(answer) else "")
            )
        noted = [each.content for each in request.recorder.trace().events if isinstance(each, TextOutputEvent)]
        if answer and noted[-1:] != [answer]:
            request.recorder.text(answer)
        return Answer(text=answer)

    async def trace(self) -> SessionTrace:
        return self.request.recorder.trace()


class _FunctionThread:
    """A thread for one call of a function that blocks; the asynchronous calls that it waits for are made by `call`.

    There, so that they end with the session. The thread is a daemon: a function that does not come to its end is left
    to itself, and neither a session nor the interpreter waits for it.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop = asyncio.get_running_loop()
        self._asked = asyncio.Queue[_ToolRequest | None]()
        self._is_over = False

    async def call(self, function: Callable[[], T]) -> T:
        """Return what the function returns; cancelled, leave it to itself."""
        ended = Future[T]()

        def run() -> None:
            try:
                ended.set_result(function())
            except BaseException as error:  # noqa: BLE001 - plugin call: raised again where it is waited for
                ended.set_exception(error)
            with suppress(RuntimeError):  # the loop is closed: it was left to itself
                self._loop.call_soon_threadsafe(self._asked.put_nowait, None)

        threading.Thread(target=run, name=f"agent {self._name}", daemon=True).start()
        try:
            while (tool_request := await self._asked.get()) is not None:
                await tool_request.answer()
        finally:
            self._is_over = True
            while not self._asked.empty():
                if (tool_request := self._asked.get_nowait()) is not None:
                    tool_request.refuse()
        return ended.result()

    def wait_for(self, work: Callable[[], Awaitable[T]]) -> T:
        """Make an asynchronous call, and return its result; raise `CancelledError` after the session."""
        tool_request = _ToolRequest(work)

        def post() -> None:
            if self._is_over:
                tool_request.refuse()
            else:
                self._asked.put_nowait(tool_request)

        try:
            self._loop.call_soon_threadsafe(post)
        except RuntimeError:  # the loop is closed
            tool_request.refuse()
        return tool_request.reply.result()


@dataclass(frozen=True, slots=True)
class _ToolRequest:
    """A call that a thread waits for."""

    work: Callable[[], Awaitable[Any]]
    reply: Future[Any] = field(default_factory=Future[Any])

    async def answer(self) -> None:
        try:
            self.reply.set_result(await self.work())
        except Exception as error:  # noqa: BLE001 - raised again where it is waited for
            self.reply.set_exception(error)
        except BaseException:
            self.refuse()
            raise

    def refuse(self) -> None:
        # Not an `Exception`: a function that tries again whatever fails must come to its end.
        self.reply.set_exception(asyncio.CancelledError("the session is over"))
