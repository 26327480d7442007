# %% ToolSet, McpServer
from ghx_bench.agents import McpServer, ToolSet
from ghx_bench.profiler import Mode

tools = ToolSet(tools=("gh",), mcp_servers={"files": McpServer(command="files-mcp", environment={"KEY": "${TOKEN}"})})
mode = Mode(name="with-files", settings=tools.settings())
assert ToolSet.of(mode) == tools  # how a provider finds out what its session has
server = tools.mcp_servers["files"].in_session({"TOKEN": "secret"})  # `${NAME}` filled from the session's environment
assert server.environment["KEY"] == "secret"

# %% program, ProcessGroup, process_group
import os

import anyio

from ghx_bench.agents import ProcessGroup, process_group, program

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
from ghx_bench.agents import Tool, ToolAnswer, ToolBelt, tool_belt
from ghx_bench.profiler import Cell, SessionRequest, TraceRecorder

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

# %% SolutionFile, Solution, Step, McpCall, load_solution_file
import tempfile
from pathlib import Path

from ghx_bench.agents import McpCall, Solution, SolutionFile, Step, load_solution_file

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "greet-001.solution.yaml")
    path.write_text("version: 1\nmodes:\n  shell:\n    - {shell: echo hello, save: said}\nanswer: '{{said}}'\n")
    file = load_solution_file(path)
assert isinstance(file, SolutionFile)
solution = file.solution_for("shell")
assert solution == Solution(steps=(Step(shell="echo hello", save="said"),), answer="{{said}}")
assert Solution(steps=(Step(mcp=McpCall(tool="greet", arguments={"name": "Ada"})),)).needs_servers()

# %% ReferenceProvider, Solutions, SolutionError
from ghx_bench.agents import ReferenceProvider, SolutionError, Solutions

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
from ghx_bench.agents import NopProvider


async def do_nothing() -> str:
    async with NopProvider().session(request) as session:  # a scenario that it passes proves nothing
        return (await session.prompt("Say hello.")).text


assert anyio.run(do_nothing) == ""

# %% ReplayProvider, Recordings
from ghx_bench.agents import Recordings, ReplayProvider

recordings: Recordings = {cell: recorder.trace()}.get


async def replay() -> int:
    async with ReplayProvider(recordings).session(request) as session:
        await session.prompt("Say hello.")
        return len((await session.trace()).tool_calls)


assert anyio.run(replay) == 1
