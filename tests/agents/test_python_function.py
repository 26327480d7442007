"""Agents that are a function: with and without `async`, with a model behind the meter, and whatever goes wrong."""

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from agent_rows import assert_all_passed
from scripted_sessions import MODEL, REAL_KEY, run_scripted

from ghx_profiler.agents import AgentTask, BlockingToolBelt, ToolBelt
from ghx_profiler.agents.controls.solution import Solution
from ghx_profiler.agents.drivers.loop_limits import ModelRoute
from ghx_profiler.agents.drivers.python_function import FunctionProvider, FunctionSession
from ghx_profiler.agents.metering.meter import ModelProvider
from ghx_profiler.agents.testing import Fault, Script, ScriptedEndpoint
from ghx_profiler.config import Budget, Budgets
from ghx_profiler.contracts import SessionRequest
from ghx_profiler.evidence import Mode
from ghx_profiler.records.causes import AgentError, Cause, EnvironmentFailure, TransientError
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.model_calls import WireKind, usage_of
from ghx_profiler.records.trace import TextOutputEvent
from ghx_profiler.testing import SessionProviderContract, sample_cell

pytestmark = [pytest.mark.anyio, pytest.mark.process]

PATIENCE_S = 60
SCRIPT = Script(solution=Solution.model_validate({"steps": [{"shell": "echo hello"}], "answer": "done"}))


async def obey(task: AgentTask[ToolBelt]) -> str:
    """Run the prompt in bash."""
    if task.prompt == "fail":
        raise ValueError(task.prompt)
    return (await task.belt.shell(task.prompt)).text


def obey_blocking(task: AgentTask[BlockingToolBelt]) -> str:
    """Run the prompt in bash, and wait for it."""
    if task.prompt == "fail":
        raise ValueError(task.prompt)
    return task.belt.shell(task.prompt).text


def ask(task: AgentTask[BlockingToolBelt]) -> str:
    """Do what a model asks for, until it asks for nothing more."""
    model = task.endpoint("openai-chat")
    messages: list[dict[str, Any]] = [{"role": "user", "content": task.prompt}]
    tools = [
        {"type": "function", "function": {"name": each.name, "parameters": each.input_schema}}
        for each in task.belt.list_tools()
    ]
    url, headers = f"{model.base_url}/chat/completions", {"Authorization": f"Bearer {model.key}"}
    while True:
        request = {"model": task.model, "messages": messages, "tools": tools}
        with httpx2.Client(trust_env=False) as client:
            response = client.post(url, json=request, headers=headers).raise_for_status()
        message = response.json()["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            return message["content"]
        for call in message["tool_calls"]:
            answer = task.belt.call(call["function"]["name"], call["function"]["arguments"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": answer.text})


def request_in(folder: Path, mode: Mode | None = None) -> SessionRequest:
    variables = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    return SessionRequest(cell=sample_cell(), mode=mode or Mode(name="some"), environment=variables, directory=folder)


@asynccontextmanager
async def opened(
    function: Callable[..., object], folder: Path, mode: Mode | None = None, **settings: Any
) -> AsyncGenerator[FunctionSession]:
    agent = FunctionProvider(function, **settings)
    with anyio.fail_after(PATIENCE_S):
        async with agent.run(folder), agent.session(request_in(folder, mode)) as session:
            yield session


@asynccontextmanager
async def metered(
    function: Callable[..., object], folder: Path, script: Script = SCRIPT, budget: Budget | None = None
) -> AsyncGenerator[tuple[FunctionSession, ScriptedEndpoint]]:
    """Hold a session whose model follows a script, behind the meter."""
    async with ScriptedEndpoint.open(script) as endpoint:
        providers = {"openai-chat": endpoint.providers(key=REAL_KEY)["openai-chat"]}
        routes = {sample_cell().model: ModelRoute(wire="openai-chat", model=MODEL)}
        budgets = Budgets(session=budget or Budget())
        async with opened(function, folder, routes=routes, providers=providers, budgets=budgets) as session:
            yield session, endpoint


async def test_a_function_gets_all_that_a_session_has(tmp_path: Path) -> None:
    seen: list[AgentTask[ToolBelt]] = []

    async def agent(task: AgentTask[ToolBelt], greeting: str) -> str:
        seen.append(task)
        task.recorder.add_usage(TokenUsage.of(input=7, output=3))
        return greeting

    instructed = Mode(name="told", instructions="Beware of the xylophone.")
    async with opened(agent, tmp_path, instructed, arguments={"greeting": "hello"}) as session:
        answer = await session.prompt("Do it.")
        trace = await session.trace()

    (task,) = seen
    assert (answer.text, task.prompt, task.instructions) == ("hello", "Do it.", "Beware of the xylophone.")
    assert (task.workspace, task.environment["HOME"], task.model) == (tmp_path, str(tmp_path), sample_cell().model)
    assert trace.events[-1] == TextOutputEvent(content="hello")
    assert trace.summary.total_tokens.total == 10


async def test_what_a_function_has_said_itself_is_not_noted_twice(tmp_path: Path) -> None:
    async def agent(task: AgentTask[ToolBelt]) -> str:
        task.recorder.text("done")
        return "done"

    async with opened(agent, tmp_path) as session:
        await session.prompt("Do it.")
        trace = await session.trace()

    assert [each for each in trace.events if isinstance(each, TextOutputEvent)] == [TextOutputEvent(content="done")]


async def test_calls_of_a_function_go_through_the_meter_which_alone_has_the_key(tmp_path: Path) -> None:
    async with metered(ask, tmp_path) as (session, endpoint):
        answer = await session.prompt("Do it.")
        trace = await session.trace()

    assert answer.text == "done"
    assert [(each.name, each.input) for each in trace.tool_calls] == [("bash", {"command": "echo hello"})]
    assert usage_of(trace.model_calls) == endpoint.claimed_usage()
    assert {key for each in endpoint.calls for key in each.keys} == {REAL_KEY}
    assert {each.model for each in endpoint.calls} == {MODEL}
    assert endpoint.calls[-1].results == ("hello\n",)


async def test_a_function_passes_a_scenario_with_a_server_and_its_tokens_are_those_of_the_script(
    tmp_path: Path,
) -> None:
    def make(providers: Mapping[WireKind, ModelProvider]) -> FunctionProvider:
        routes = {MODEL: ModelRoute(wire="openai-chat", model=MODEL)}
        return FunctionProvider(ask, routes=routes, providers={"openai-chat": providers["openai-chat"]})

    ran = await run_scripted([make], tmp_path, modes=["ghx-mcp"])

    assert_all_passed(ran, 1)
    [row] = ran.rows
    assert (row.agent, row.tool_calls.by_category) == ("ask", {"mcp": 4})


async def test_a_model_that_is_down_is_not_the_functions_fault(tmp_path: Path) -> None:
    async with metered(ask, tmp_path, Script(faults=(Fault(status=500),))) as (session, _):
        with pytest.raises(TransientError, match="500") as raised:
            await session.prompt("Do it.")
        trace = await session.trace()

    assert isinstance(raised.value.__cause__, httpx2.HTTPStatusError)
    assert trace.cause is not None
    assert trace.cause.kind == Cause.MODEL_PROVIDER


async def test_a_budget_that_is_used_up_ends_the_work_which_is_scored_as_it_is(tmp_path: Path) -> None:
    async with metered(ask, tmp_path, budget=Budget(max_model_calls=1)) as (session, _):
        answer = await session.prompt("Do it.")
        trace = await session.trace()

    assert answer.text == ""
    assert trace.cause is not None
    assert trace.cause.kind == Cause.AGENT_SPEND
    assert len(trace.tool_calls) == 1


async def test_without_a_meter_the_way_to_a_model_is_refused_with_what_to_do(tmp_path: Path) -> None:
    async with opened(ask, tmp_path) as session:
        with pytest.raises(EnvironmentFailure, match=r"over 'openai-chat': this run has none; begin the model's id"):
            await session.prompt("Do it.")


def return_number(task: object) -> int:
    return 7


def return_coroutine(task: AgentTask[ToolBelt]) -> object:
    return obey(task)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (return_number, "return_number: it returned int, and not its answer, which is a text"),
        (return_coroutine, "it returned coroutine, and not its answer, which is a text; write `async def`"),
    ],
)
async def test_what_is_no_text_is_no_answer(function: Callable[..., object], says: str, tmp_path: Path) -> None:
    async with opened(function, tmp_path) as session:
        with pytest.raises(AgentError) as raised:
            await session.prompt("Do it.")

    assert says in str(raised.value)


async def test_a_function_that_is_left_to_itself_makes_no_further_call(tmp_path: Path) -> None:
    gate, ended = threading.Event(), threading.Event()
    raised: list[BaseException] = []

    def agent(task: AgentTask[BlockingToolBelt]) -> str:
        gate.wait()
        try:
            return task.belt.shell("touch late").text
        except BaseException as error:
            raised.append(error)
            raise
        finally:
            ended.set()

    async with opened(agent, tmp_path) as session:
        with anyio.move_on_after(0.2) as scope:
            await session.prompt("Do it.")
        assert scope.cancelled_caught
        gate.set()
        assert await anyio.to_thread.run_sync(ended.wait, PATIENCE_S)

    assert [type(each) for each in raised] == [asyncio.CancelledError]
    assert not (tmp_path / "late").exists()


class FunctionContract(SessionProviderContract):
    function: Callable[..., object]

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def make_provider(self) -> FunctionProvider:
        return FunctionProvider(type(self).function)

    def make_request(self, environment: Mapping[str, str]) -> SessionRequest:
        return SessionRequest(
            cell=sample_cell(), mode=Mode(name="some"), environment=environment, directory=self.folder
        )

    def make_prompt(self) -> str:
        return "echo hello"

    def make_slow_prompt(self) -> str:
        return "sleep 1000 & setsid sleep 1000 & sleep 1000"

    def make_failing_prompt(self) -> str:
        return "fail"

    def make_environment_prompt(self, variable: str) -> str:
        return f"printenv {variable}"


class TestAsyncFunctionKeepsTheContract(FunctionContract):
    function = staticmethod(obey)


class TestPlainFunctionKeepsTheContract(FunctionContract):
    function = staticmethod(obey_blocking)
