"""The replaying agent: the recorded calls are really made again, with nothing in them changed."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from ghx_profiler.agents.controls.replay import ReplayProvider, ServerCall, ShellCall, parse_call
from ghx_profiler.agents.controls.solution import SolutionError
from ghx_profiler.agents.tools.toolset import McpServer, ToolSet
from ghx_profiler.contracts import SessionProvider, SessionRequest
from ghx_profiler.evidence import Answer, Mode
from ghx_profiler.plan.cell import Cell
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.trace import ErrorEvent, SessionTrace, ToolCallEvent
from ghx_profiler.testing import SessionProviderContract, sample_cell

pytestmark = pytest.mark.process

CALCULATOR = str(Path(__file__).parents[4] / "tests" / "support" / "calculator_mcp.py")
PATH = {"PATH": os.environ["PATH"]}
WITH_SERVER = Mode(
    name="tools",
    settings=ToolSet(mcp_servers={"calc": McpServer(command=sys.executable, args=(CALCULATOR,))}).settings(),
)


def recording(*calls: tuple[str, Any], answer: str = "All done.") -> SessionTrace:
    recorder = TraceRecorder(session_id="recorded")
    for name, given in calls:
        recorder.begin_turn()
        recorder.reasoning("Hm.")
        recorder.tool_call(name, given, "as it was", success=True)
    recorder.begin_turn()
    recorder.text(answer)
    return recorder.trace()


async def replay(
    recorded: SessionTrace | None, mode: Mode, directory: Path | None = None
) -> tuple[Answer, SessionTrace]:
    request = SessionRequest(cell=sample_cell(), mode=mode, environment=PATH, directory=directory)
    async with ReplayProvider(lambda cell: recorded).session(request) as session:
        return await session.prompt("Whatever was asked."), await session.trace()


@pytest.mark.process
@pytest.mark.anyio
async def test_commands_and_calls_are_made_again_and_what_was_said_is_said_again(tmp_path: Path) -> None:
    recorded = recording(
        ("bash", {"command": "echo {{not_a_variable}} | tee made", "description": "Make a file"}),
        ("calc_add", {"a": 4, "b": 5}),
        ("local_shell", {"command": ["printf", "%s", "a  b"]}),
        answer="It is 9.",
    )

    answer, trace = await replay(recorded, WITH_SERVER, tmp_path)

    assert answer == Answer(text="It is 9.")
    assert (tmp_path / "made").read_text() == "{{not_a_variable}}\n"
    assert [(call.name, call.output) for call in trace.tool_calls] == [
        ("bash", "{{not_a_variable}}\n"),
        ("calc_add", "9"),
        ("bash", "a  b"),
    ]
    assert trace.summary.total_turns == 4
    assert trace.session_id != recorded.session_id


@pytest.mark.process
@pytest.mark.anyio
async def test_a_call_that_fails_does_not_end_the_session() -> None:
    recorded = recording(("bash", {"command": "exit 2"}), ("calc_refuse", {}), ("bash", {"command": "echo on"}))

    _, trace = await replay(recorded, WITH_SERVER)

    assert [call.success for call in trace.tool_calls] == [False, False, True]


@pytest.mark.anyio
async def test_a_tool_of_the_agents_own_is_left_out_and_that_is_noted() -> None:
    _, trace = await replay(recording(("edit", {"path": "x"}), ("bash", {"command": "echo on"})), Mode(name="plain"))

    assert [call.output for call in trace.tool_calls] == ["on\n"]
    notes = [event.message for event in trace.events if isinstance(event, ErrorEvent)]
    assert notes == ["tool 'edit' cannot be replayed, and was left out"]


@pytest.mark.anyio
async def test_a_cell_without_a_recording_is_an_error() -> None:
    with pytest.raises(SolutionError, match="there is no recorded session for "):
        await replay(None, Mode(name="plain"))


@pytest.mark.anyio
async def test_the_recording_is_asked_for_by_cell() -> None:
    requests: list[Cell] = []
    request = SessionRequest(cell=sample_cell(iteration=3), mode=Mode(name="plain"), environment=PATH)
    async with ReplayProvider(requests.append).session(request):
        pass

    assert [cell.iteration for cell in requests] == [3]


@pytest.mark.parametrize(
    ("name", "given", "meant"),
    [
        ("bash", {"command": "gh pr view 7"}, ShellCall("gh pr view 7")),
        ("run_shell_command", {"command": "ls"}, ShellCall("ls")),
        ("exec_command", {"cmd": "ls"}, ShellCall("ls")),
        ("github_pull_request_read", {"n": 1}, ServerCall("github", "pull_request_read", {"n": 1})),
        ("mcp__github__merge", {}, ServerCall("github", "merge", {})),
        ("github-two.merge", {}, ServerCall("github-two", "merge", {})),
        ("githubber", {}, None),
        ("read", {"path": "x"}, None),
    ],
)
def test_recorded_calls_are_understood_however_the_agent_names_its_tools(name: str, given: Any, meant: Any) -> None:
    assert parse_call(ToolCallEvent(name=name, input=given), ["github", "github-two"]) == meant


def test_recorded_sessions_of_real_agents_are_understood(older_tools: Path) -> None:
    for mode in ("baseline", "ghx", "mcp"):
        recorded = SessionTrace.model_validate_json((older_tools / "sessions" / f"{mode}-iter-0.json").read_text())
        assert recorded.tool_calls
        for call in recorded.tool_calls:
            match parse_call(call, ["github"]):
                case ShellCall(command):
                    assert isinstance(call.input, dict)
                    assert command == call.input["command"]
                case ServerCall(server, tool, arguments):
                    assert (f"{server}_{tool}", arguments) == (call.name, call.input)
                case None:
                    raise AssertionError(json.dumps(call.to_wire()))


def test_reports_know_it_for_a_control() -> None:
    assert ReplayProvider.control_kind == "replay"


class TestReplay(SessionProviderContract):
    """The suite speaks in prompts; each of them stands for a recording."""

    cancel_after_s = 0.3
    recorded: tuple[str, Any] = ("bash", {"command": "echo hello"})
    is_missing = False

    def make_provider(self) -> SessionProvider:
        recorded_session = None if self.is_missing else recording(self.recorded)
        return ReplayProvider(lambda cell: recorded_session)

    def make_slow_prompt(self) -> str:
        self.recorded = ("bash", {"command": "setsid sleep 1000 & sleep 1000"})
        return "slow"

    def make_failing_prompt(self) -> str:
        self.is_missing = True
        return "failing"

    def make_environment_prompt(self, variable: str) -> str:
        self.recorded = ("bash", {"command": f"printenv {variable} || true"})
        return "environment"
