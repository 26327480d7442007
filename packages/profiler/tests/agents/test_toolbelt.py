"""The tools of a session: what is booked as a tool's time, and what is not."""

import os
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from ghx_profiler.agents.processes.process import ProcessGroup
from ghx_profiler.agents.tools.toolbelt import tool_belt
from ghx_profiler.agents.tools.toolset import McpServer, ToolAnswer, ToolSet
from ghx_profiler.contracts import SessionRequest
from ghx_profiler.evidence import Mode
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.testing import sample_cell

pytestmark = [pytest.mark.anyio, pytest.mark.process]

REQUEST = SessionRequest(cell=sample_cell(), mode=Mode(name="plain"), environment={"PATH": os.environ["PATH"]})


class StandingClock:
    """Time that passes only when somebody says so."""

    seconds = 0.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.seconds, UTC)

    def monotonic(self) -> float:
        return self.seconds


async def test_clearing_up_behind_a_command_is_not_the_tools_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = StandingClock()
    really_end = ProcessGroup.end

    async def end_slowly(self: ProcessGroup, *given: Any, **more: Any) -> None:
        clock.seconds += 60
        await really_end(self, *given, **more)

    monkeypatch.setattr(ProcessGroup, "end", end_slowly)
    recorder = TraceRecorder(clock=clock)
    async with tool_belt(REQUEST, recorder, with_servers=False) as belt:
        answer = await belt.shell("echo done")

    (call,) = recorder.trace().tool_calls
    assert answer.text == "done\n"
    assert clock.seconds == 60
    assert call.duration_ms == 0


async def test_a_command_that_is_cut_short_does_not_end_those_beside_it() -> None:
    beside: list[ToolAnswer] = []
    async with tool_belt(REQUEST, TraceRecorder(), with_servers=False) as belt, anyio.create_task_group() as tasks:

        async def go_on() -> None:
            beside.append(await belt.shell("sleep 1.5; echo all passed"))

        tasks.start_soon(go_on)
        with anyio.move_on_after(0.5):
            await belt.shell("sleep 1000")

    assert [answer.text for answer in beside] == ["all passed\n"]


async def test_what_left_the_family_of_a_command_is_there_for_the_next_one_and_gone_with_the_session() -> None:
    leaving = "set -m; sleep 1000 >/dev/null 2>&1 & echo $!"  # a group of its own, as job control makes them
    async with tool_belt(REQUEST, TraceRecorder(), with_servers=False) as belt:
        pid = int((await belt.shell(leaving)).text)
        seen = await belt.shell(f"kill -0 {pid}")

    assert not seen.failed
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


CALCULATOR = McpServer(
    command=sys.executable, args=(str(Path(__file__).parents[4] / "tests" / "support" / "calculator_mcp.py"),)
)


@pytest.mark.parametrize("wreck", ["rm -rf $PWD", "rmdir $PWD && touch $PWD"])
async def test_a_session_that_takes_its_own_folder_away_goes_on_in_an_empty_one(tmp_path: Path, wreck: str) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    async with tool_belt(replace(REQUEST, directory=folder), TraceRecorder(), with_servers=False) as belt:
        await belt.shell(wreck)
        answer = await belt.shell("pwd && ls -A")

    assert answer.text == f"{folder}\n"


def request_with(tools: ToolSet) -> SessionRequest:
    mode = Mode(name="mine", settings=tools.settings())
    return SessionRequest(cell=sample_cell(), mode=mode, environment={"PATH": os.environ["PATH"]})


@pytest.mark.parametrize("shell", [True, False])
async def test_the_tools_of_a_mode_are_listed_with_their_schemas(shell: bool) -> None:
    request = request_with(ToolSet(shell=shell, mcp_servers={"calc": CALCULATOR}))
    async with tool_belt(request, TraceRecorder()) as belt:
        tools = {each.name: each for each in await belt.list_tools()}

    assert ("bash" in tools) is shell
    assert tools["calc_add"].description == "Add two numbers."
    assert tools["calc_add"].input_schema["required"] == ["a", "b"]


async def test_tools_are_called_by_the_names_that_models_are_told() -> None:
    recorder = TraceRecorder()
    async with tool_belt(request_with(ToolSet(mcp_servers={"calc": CALCULATOR})), recorder) as belt:
        answer = await belt.call("bash", '{"command": "echo hello"}')
        added = await belt.call("calc_add", {"a": 2, "b": 3})

    assert (answer.text, added.text) == ("hello\n", "5")
    assert [call.name for call in recorder.trace().tool_calls] == ["bash", "calc_add"]


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("bash", "{not json", "the tool 'bash' takes a JSON object with a `command`, which is a text"),
        ("bash", {"command": 7}, "the tool 'bash' takes a JSON object with a `command`, which is a text"),
        ("calc_add", "[1, 2]", "the tool 'calc_add' takes a JSON object with its arguments"),
        ("editor", {}, "there is no tool 'editor'; there are: bash, calc_add, "),
        ("calc_divide", {}, "divide"),
    ],
)
async def test_what_a_model_gets_wrong_is_a_failed_answer_and_recorded(name: str, arguments: Any, says: str) -> None:
    recorder = TraceRecorder()
    async with tool_belt(request_with(ToolSet(mcp_servers={"calc": CALCULATOR})), recorder) as belt:
        answer = await belt.call(name, arguments)

    (call,) = recorder.trace().tool_calls
    assert answer.failed
    assert says in answer.text
    assert (call.name, call.success) == (name, False)


async def test_a_mode_without_a_shell_has_no_bash_to_call() -> None:
    async with tool_belt(request_with(ToolSet(shell=False)), TraceRecorder()) as belt:
        answer = await belt.call("bash", {"command": "echo hello"})

    assert answer.text == "there is no tool 'bash'; there are: "
