# %% ToolSet, McpServer
from ghx_profiler.agents import McpServer, ToolSet
from ghx_profiler import Mode

tools = ToolSet(tools=("gh",), mcp_servers={"files": McpServer(command="files-mcp", environment={"KEY": "${TOKEN}"})})
mode = Mode(name="with-files", settings=tools.settings())
assert ToolSet.of(mode) == tools  # how a provider finds out what its session has
server = tools.mcp_servers["files"].in_session({"TOKEN": "secret"})  # `${NAME}` filled from the session's environment
assert server.environment["KEY"] == "secret"

# %% program, ProcessGroup, process_group
import os

import anyio

from ghx_profiler.agents import ProcessGroup, process_group, program

environment = {"PATH": os.environ["PATH"]}


async def count_words(text: str) -> int:
    async with process_group() as group:  # on leaving, every process of the group is gone, however deep
        assert isinstance(group, ProcessGroup)
        async with program(["wc", "-w"], environment=environment, group=group) as process:
            await process.stdin.send(text.encode())
            await process.stdin.aclose()
            return int(b"".join([chunk async for chunk in process.stdout]))


assert anyio.run(count_words, "one two three") == 3

# %% tool_belt, ToolBelt, ToolAnswer, Tool
from ghx_profiler.agents import Tool, ToolAnswer, ToolBelt, tool_belt
from ghx_profiler import Cell, SessionRequest, TraceRecorder

cell = Cell(agent="mine", model="none", mode=mode.name, scenario_id="greet-001", iteration=0)
request = SessionRequest(cell=cell, mode=Mode(name="shell"), environment=environment)
recorder = TraceRecorder()


async def greet() -> ToolAnswer:
    async with tool_belt(request, recorder, with_servers=False) as belt:
        assert isinstance(belt, ToolBelt)
        (shell,) = await belt.list_tools()  # what a model is told
        assert isinstance(shell, Tool)
        assert shell.input_schema["required"] == ["command"]
        return await belt.shell("""echo '{"greeting": "hello"}'""")


answer = anyio.run(greet)
assert isinstance(answer, ToolAnswer)
assert answer.value == {"greeting": "hello"}
assert [call.name for call in recorder.trace().tool_calls] == ["bash"]  # every call is noted

# %% AgentTask, BlockingToolBelt, ModelEndpoint
from ghx_profiler.agents import AgentTask, BlockingToolBelt, ModelEndpoint


def greet_by_hand(task: AgentTask[BlockingToolBelt], greeting: str = "hello") -> str:
    """Answer with what a command prints; `--agent ./my_agent.py:greet_by_hand` makes this an agent."""
    return task.belt.shell(f"echo {greeting}").text


def name_model(task: AgentTask[ToolBelt]) -> str:
    """Tell where the model of a task is asked."""
    model: ModelEndpoint = task.endpoint("anthropic")  # raises without a meter
    return f"{task.model} at {model.base_url}"


# %% SolutionFile, Solution, Step, McpCall, load_solution_file
import tempfile
from pathlib import Path

from ghx_profiler.agents import McpCall, Solution, SolutionFile, Step, load_solution_file

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "greet-001.solution.yaml")
    path.write_text("version: 1\nmodes:\n  shell:\n    - {shell: echo hello, save: said}\nanswer: '{{said}}'\n")
    file = load_solution_file(path)
assert isinstance(file, SolutionFile)
solution = file.solution_for("shell")
assert solution == Solution(steps=(Step(shell="echo hello", save="said"),), answer="{{said}}")
assert Solution(steps=(Step(mcp=McpCall(tool="greet", arguments={"name": "Ada"})),)).needs_servers()

# %% ReferenceProvider, Solutions, SolutionError
from ghx_profiler.agents import ReferenceProvider, SolutionError, Solutions

known = {("greet-001", "shell"): solution}
solutions: Solutions = lambda scenario_id, mode: known.get((scenario_id, mode))  # noqa: E731


async def follow(request: SessionRequest) -> str:
    async with ReferenceProvider(solutions).session(request) as session:
        return (await session.prompt("Say hello.")).text


assert anyio.run(follow, request) == "hello"
unknown = Cell(agent="mine", model="none", mode="shell", scenario_id="other-001", iteration=0)
try:
    anyio.run(follow, SessionRequest(cell=unknown, mode=Mode(name="shell"), environment=environment))
except SolutionError as error:
    reason = str(error)
assert "has no solution for mode 'shell'" in reason

# %% NopProvider
from ghx_profiler.agents import NopProvider


async def do_nothing() -> str:
    async with NopProvider().session(request) as session:  # a scenario that it passes proves nothing
        return (await session.prompt("Say hello.")).text


assert anyio.run(do_nothing) == ""

# %% ReplayProvider, Recordings
from ghx_profiler.agents import Recordings, ReplayProvider

recordings: Recordings = {cell: recorder.trace()}.get


async def replay() -> int:
    async with ReplayProvider(recordings).session(request) as session:
        await session.prompt("Say hello.")
        return len((await session.trace()).tool_calls)


assert anyio.run(replay) == 1

# %% Meter, MeteredSession, ModelProvider, Budget, BudgetExhaustedError
import httpx2

from ghx_profiler.agents import Budget, BudgetExhaustedError, Meter, MeteredSession, ModelProvider
from ghx_profiler.agents.testing import Script, ScriptedEndpoint  # instead of a model that costs money

body = {"model": "m", "messages": [{"role": "user", "content": "Say hello."}]}


async def ask(session: MeteredSession) -> int:
    async with httpx2.AsyncClient() as client:  # an agent, which is given an address and a key that is worth nothing
        headers = {"authorization": f"Bearer {session.key}"}
        response = await client.post(f"{session.base_url}/v1/chat/completions", json=body, headers=headers)
        return response.status_code


async def measure() -> list[str]:
    async with ScriptedEndpoint.open(Script()) as endpoint:
        environment = {"MODEL_KEY": "the-real-one"}
        provider = ModelProvider.at("scripted", f"{endpoint.url}/v1", key_variable="MODEL_KEY", environment=environment)
        budget = Budget(max_model_calls=1)
        async with Meter({"openai-chat": provider}, session_budget=budget) as meter:
            with meter.session(model="m") as session:
                assert [await ask(session), await ask(session)] == [200, 400]
                assert session.usage() == endpoint.claimed_usage()
                verdict = session.verdict()  # who is to blame if the model did not answer, as an error to raise
                assert isinstance(verdict, BudgetExhaustedError)
                return [str(call.status) for call in session.calls] + [str(verdict)]


assert anyio.run(measure) == ["200", "400", "max_model_calls of the session is used up (1 of 1)"]

# %% ModelRecorder, BlindSpot, ReplayUpstream
import tempfile
from pathlib import Path

from ghx_profiler.agents import BlindSpot, ModelRecorder, ReplayUpstream
from ghx_profiler import ReplayDivergedError, ReplayedCall

folder = Path(tempfile.mkdtemp())


async def record() -> None:
    recorder = ModelRecorder(folder, blind_spots=[BlindSpot(name="numbers", pattern=r"\d+")])
    async with ScriptedEndpoint.open(Script()) as endpoint:
        upstream = recorder.wrap(endpoint.providers()["openai-chat"].upstream)
        async with Meter({"openai-chat": ModelProvider(name="scripted", upstream=upstream)}) as meter:
            with meter.session("hello-001", secrets=["a-token-of-github"]) as session:
                await ask(session)


async def replay_model(prompts: list[str]) -> tuple[list[ReplayedCall | None], Exception | None]:
    upstream = ReplayUpstream(folder)  # no model, no key, no cost
    async with Meter({"openai-chat": ModelProvider(name="replay", upstream=upstream)}) as meter:
        with meter.session("hello-001") as session:
            for prompt in prompts:
                body["messages"] = [{"role": "user", "content": prompt}]
                await ask(session)
            return [call.replayed for call in session.calls], session.verdict()


anyio.run(record)
replayed, diverged = anyio.run(replay_model, ["Say hello.", "Say goodbye."])
assert replayed[0] == ReplayedCall(verdict="exact")
assert isinstance(diverged, ReplayDivergedError)
assert "the recording has 'Say hello.', the agent asked 'Say goodbye.'" in str(diverged)
