"""The reference agent: real shells, real MCP sessions, traces like a real agent's, and wrong solutions made visible."""

import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import psutil
import pytest

from ghx_profiler.agents.controls.reference import ReferenceProvider
from ghx_profiler.agents.controls.solution import Solution, SolutionError
from ghx_profiler.agents.tools.toolset import McpServer, ToolSet
from ghx_profiler.contracts import NoLifecycle, SessionProvider, SessionRequest
from ghx_profiler.evidence import Answer, Mode, Stage
from ghx_profiler.failures import outcome_of_call
from ghx_profiler.plan.cell import Cell
from ghx_profiler.records.causes import Cause, cause_of, error_code, is_transient
from ghx_profiler.records.outcome import Completed, Failed
from ghx_profiler.records.trace import ErrorEvent, SessionTrace, TextOutputEvent, TurnBoundaryEvent
from ghx_profiler.runner.instruments import Instruments
from ghx_profiler.runner.iteration import Task, measure
from ghx_profiler.scorers import AnswerScorer
from ghx_profiler.testing import SessionProviderContract, sample_cell, sample_scenario

pytestmark = pytest.mark.process

CALCULATOR = str(Path(__file__).parents[4] / "tests" / "support" / "calculator_mcp.py")
PATH = {"PATH": os.environ["PATH"]}
BINDINGS = {"pr_number": 7, "title": 'It\'s "quoted" $HOME'}


def with_server(**more: McpServer) -> Mode:
    server = McpServer(command=sys.executable, args=(CALCULATOR,))
    return Mode(name="tools", settings=ToolSet(mcp_servers={"calc": server, **more}).settings())


def solution(*steps: dict[str, Any], answer: str = "Done.") -> Solution:
    return Solution.model_validate({"steps": steps, "answer": answer})


class Held:
    def __init__(self, answer: Answer | None, trace: SessionTrace, error: Exception | None) -> None:
        self.answer, self.trace, self.error = answer, trace, error


async def hold(
    follow: Solution | None, *, mode: Mode | None = None, directory: Path | None = None, **facts: Any
) -> Held:
    request = SessionRequest(
        cell=sample_cell(),
        mode=mode or Mode(name="sample-mode"),
        environment=PATH,
        directory=directory,
        facts={"repo": "octo/box", "bindings": BINDINGS, **facts},
    )
    answer, error = None, None
    async with ReferenceProvider(lambda scenario, mode: follow).session(request) as session:
        try:
            answer = await session.prompt("Whatever is asked.")
        except SolutionError as raised:
            error = raised
        return Held(answer, await session.trace(), error)


@pytest.mark.anyio
async def test_shell_steps_run_in_the_stages_folder_and_leave_a_trace_like_an_agents(tmp_path: Path) -> None:
    outcome = await hold(
        solution(
            {"shell": "echo {{repo}}#{{pr_number}} > note; cat note"},
            {"shell": "printf %s {{title}}"},
            answer="Noted PR {{pr_number}}.",
        ),
        directory=tmp_path,
    )

    assert outcome.answer == Answer(text="Noted PR 7.")
    assert (tmp_path / "note").read_text() == "octo/box#7\n"
    first, second = outcome.trace.tool_calls
    assert (first.name, first.input, first.output) == (
        "bash",
        {"command": "echo octo/box#7 > note; cat note"},
        "octo/box#7\n",
    )
    assert (first.success, first.error) == (True, None)
    assert first.duration_ms is not None
    assert second.output == BINDINGS["title"]
    assert [type(event) for event in outcome.trace.events][-2:] == [TurnBoundaryEvent, TextOutputEvent]
    assert outcome.trace.summary.total_turns == 3
    assert outcome.trace.summary.total_tokens.total is None


@pytest.mark.anyio
async def test_what_a_step_saves_can_be_used_and_gone_through_by_later_ones() -> None:
    outcome = await hold(
        solution(
            {"shell": """echo '{"items": [{"id": "a b"}, {"id": "c"}]}'""", "save": "threads"},
            {"for_each": "threads.items", "as": "thread", "do": [{"shell": "echo got {{thread.id}}", "save": "last"}]},
            answer="{{threads.items.length}} done, the last said: {{last}}",
        )
    )

    assert [call.output for call in outcome.trace.tool_calls[1:]] == ["got a b\n", "got c\n"]
    assert outcome.answer == Answer(text="2 done, the last said: got c")


@pytest.mark.anyio
async def test_mcp_steps_are_real_calls_named_after_their_server_and_keep_the_types_of_values() -> None:
    outcome = await hold(
        solution(
            {"mcp": {"tool": "things", "arguments": {"count": 2}, "save": "things"}},
            {"for_each": "things.items", "do": [{"mcp": {"tool": "add", "arguments": {"a": "{{item.id}}", "b": 10}}}]},
            {"mcp": {"tool": "refuse", "server": "calc"}, "expect_failure": True},
        ),
        mode=with_server(),
    )

    assert outcome.error is None
    calls = outcome.trace.tool_calls
    assert [call.name for call in calls] == ["calc_things", "calc_add", "calc_add", "calc_refuse"]
    assert [call.input for call in calls[1:3]] == [{"a": 1, "b": 10}, {"a": 2, "b": 10}]
    assert [call.output for call in calls[1:3]] == ["11", "12"]
    assert [call.success for call in calls] == [True, True, True, False]
    assert calls[3].error is not None


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("steps", "mode", "message"),
    [
        (
            [{"shell": "echo said; echo no >&2; exit 4"}],
            None,
            "step 1 (echo said; echo no >&2; exit 4) failed with exit code 4: no (steps run in bash -euo pipefail: ",
        ),
        (
            [{"shell": "false | cat"}],
            None,
            "step 1 (false | cat) failed with exit code 1 and said nothing (steps run in bash -euo pipefail: ",
        ),
        ([{"shell": "ls nowhere"}], None, "step 1 (ls nowhere) failed with exit code 2: ls: "),
        ([{"shell": "echo $NOBODY"}], None, "step 1 (echo $NOBODY) failed with exit code "),
        ([{"shell": "true", "expect_failure": True}], None, "step 1 (true) was expected to fail, and succeeded"),
        (
            [{"shell": "echo {{prnumber}}"}],
            None,
            "step 1 (echo {{prnumber}}): nothing is bound to {{prnumber}}; did you",
        ),
        ([{"for_each": "repo", "do": [{"shell": "ls"}]}], None, "step 1: repo is not a list, but octo/box"),
        (
            [
                {"shell": """echo '{"items": [], "total": 0}'""", "save": "x"},
                {"for_each": "x", "do": [{"shell": "ls"}]},
            ],
            None,
            "step 2: x is not a list, but an object with 'items', 'total'",
        ),
        ([{"mcp": {"tool": "add"}}], None, "mcp add: no server is named; mode 'sample-mode' has: none"),
        (
            [{"shell": "echo '[1]'", "save": "x"}, {"for_each": "x", "do": [{"shell": "exit 1"}]}],
            None,
            "step 2, item 1, step 1 (exit 1) failed with exit code 1 and said nothing",
        ),
        (
            [{"shell": "ls"}],
            Mode(name="mute", settings={"shell": False}),
            "mode 'mute' has no shell for 'ls'",
        ),
    ],
)
async def test_a_wrong_solution_is_the_benchs_fault_and_says_where(
    steps: list[dict[str, Any]], mode: Mode | None, message: str
) -> None:
    outcome = await hold(solution(*steps), mode=mode)

    assert str(outcome.error).startswith(message)
    assert outcome.error is not None
    assert cause_of(outcome.error, otherwise=Cause.AGENT_CRASH) is Cause.BENCH
    assert not is_transient(outcome.error)
    assert isinstance(outcome.trace.events[-1], ErrorEvent)


@pytest.mark.anyio
async def test_a_plain_command_that_fails_is_told_without_a_reminder_of_how_bash_is_run() -> None:
    outcome = await hold(solution({"shell": "ls nowhere"}))

    assert "pipefail" not in str(outcome.error)


@pytest.mark.anyio
async def test_of_a_long_complaint_both_ends_are_told() -> None:
    outcome = await hold(solution({"shell": "(echo unknown field; seq 1000; echo at line 7) >&2; exit 1"}))

    assert "exit code 1: unknown field 1 2 3" in str(outcome.error)
    assert "999 1000 at line 7 (steps run" in str(outcome.error)
    assert len(str(outcome.error)) < 600


@pytest.mark.anyio
async def test_a_refusal_of_an_mcp_tool_is_told_without_an_exit_code() -> None:
    outcome = await hold(solution({"mcp": {"tool": "refuse"}}), mode=with_server())

    assert str(outcome.error).startswith("step 1 (mcp refuse) failed: ")


@pytest.mark.anyio
async def test_the_trace_of_a_wrong_solution_has_the_call_that_failed() -> None:
    outcome = await hold(
        solution({"shell": "echo first"}, {"shell": "echo 'gone wrong' >&2; exit 4"}, {"shell": "true"})
    )

    first, failed = outcome.trace.tool_calls
    assert first.success
    assert (failed.success, failed.output, failed.error) == (False, "gone wrong\n", "exit code 4: gone wrong")
    assert outcome_of_call(failed).failed


@pytest.mark.anyio
async def test_a_server_has_to_be_named_where_there_are_two() -> None:
    two = with_server(other=McpServer(command=sys.executable, args=(CALCULATOR,)))
    named = await hold(solution({"mcp": {"tool": "add", "arguments": {"a": 1, "b": 1}, "server": "other"}}), mode=two)
    unnamed = await hold(solution({"mcp": {"tool": "add"}}), mode=two)

    assert [call.name for call in named.trace.tool_calls] == ["other_add"]
    assert str(unnamed.error) == "mcp add: no server is named; mode 'tools' has: calc, other"


@pytest.mark.anyio
async def test_a_scenario_without_a_solution_is_an_error_that_names_the_file_to_write() -> None:
    outcome = await hold(None)

    assert str(outcome.error).startswith(
        "scenario 'sample-scenario-001' has no solution for mode 'sample-mode'; add one"
    )
    assert outcome.trace.tool_calls == ()


@pytest.mark.anyio
async def test_the_solution_is_asked_for_by_scenario_and_mode() -> None:
    requests: list[tuple[str, str]] = []

    def solutions(scenario: str, mode: str) -> Solution:
        requests.append((scenario, mode))
        return solution({"shell": "true"})

    request = SessionRequest(cell=sample_cell(), mode=Mode(name="mine"), environment=PATH)
    async with ReferenceProvider(solutions).session(request):
        pass

    assert requests == [("sample-scenario-001", "mine")]


class Staged(NoLifecycle[Any]):
    """Stages the scenario in a folder, with facts about it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @asynccontextmanager
    async def cell(self, cell: Cell, scenario: Any, mode: Mode) -> AsyncGenerator[Stage[Any]]:
        yield Stage(scenario=scenario, directory=self.directory, facts={"repo": "octo/box", "bindings": {"n": 7}})


def measured_with(follow: Solution, directory: Path, **scenario: Any) -> Task[Any]:
    instruments = Instruments(
        provider=ReferenceProvider(lambda scenario, mode: follow),
        scorer=AnswerScorer(lambda text: text == "octo/box 7"),
        lifecycle=Staged(directory),
        environment=PATH,
    )
    staged = sample_scenario(**scenario)
    return Task(
        cell=sample_cell(agent=ReferenceProvider.name),
        scenario=staged,
        mode=Mode(name="sample-mode"),
        instruments=instruments,
    )


@pytest.mark.anyio
async def test_the_facts_of_the_stage_are_the_variables_of_a_measured_solution(tmp_path: Path) -> None:
    outcome = await measure(measured_with(solution({"shell": "true"}, answer="{{repo}} {{n}}"), tmp_path))

    assert isinstance(outcome, Completed)
    assert outcome.success


@pytest.mark.anyio
async def test_a_wrong_solution_fails_its_cell_and_its_calls_are_kept(tmp_path: Path) -> None:
    outcome = await measure(measured_with(solution({"shell": "exit 3"}), tmp_path))

    assert isinstance(outcome, Failed)
    assert (outcome.cause, error_code(outcome.error)) == (Cause.BENCH, "SOLUTION_FAILED")
    assert outcome.evidence is not None
    assert (outcome.evidence.tool_calls.total, outcome.evidence.tool_calls.failed) == (1, 1)


@pytest.mark.anyio
async def test_a_solution_past_the_deadline_is_stopped_and_its_call_is_kept(tmp_path: Path) -> None:
    follow = solution({"shell": "echo $$ > pid; exec sleep 1000"})
    outcome = await measure(measured_with(follow, tmp_path, timeout_ms=1_000))

    assert outcome.evidence is not None
    assert (outcome.evidence.completion_reason, outcome.evidence.tool_calls.total) == ("timeout", 1)
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


def test_reports_know_it_for_a_control() -> None:
    assert ReferenceProvider.control_kind == "solution"


class TestReferenceOnShells(SessionProviderContract):
    """The suite speaks in prompts; each of them stands for a solution, which is there before the provider is made."""

    cancel_after_s = 0.3
    quick: ClassVar[dict[str, Any]] = {"shell": "echo hello"}
    slow: ClassVar[dict[str, Any]] = {"shell": "setsid sleep 1000 & sleep 1000"}
    failing: ClassVar[dict[str, Any]] = {"shell": "exit 3"}
    step: dict[str, Any] | None = None

    def telling(self, variable: str) -> dict[str, Any]:
        return {"shell": f"printenv {variable} || true"}

    def make_provider(self) -> SessionProvider:
        follow = solution(self.step or self.quick)
        return ReferenceProvider(lambda scenario, mode: follow)

    def make_slow_prompt(self) -> str:
        self.step = self.slow
        return "slow"

    def make_failing_prompt(self) -> str:
        self.step = self.failing
        return "failing"

    def make_environment_prompt(self, variable: str) -> str:
        self.step = self.telling(variable)
        return "environment"


class TestReferenceOnShellsWithTrio(TestReferenceOnShells):
    backend = "trio"


class TestReferenceOnServers(TestReferenceOnShells):
    quick: ClassVar[dict[str, Any]] = {"mcp": {"tool": "add", "arguments": {"a": 1, "b": 2}}}
    slow: ClassVar[dict[str, Any]] = {"mcp": {"tool": "linger"}}
    failing: ClassVar[dict[str, Any]] = {"mcp": {"tool": "refuse"}}

    def telling(self, variable: str) -> dict[str, Any]:
        return {"mcp": {"tool": "variable", "arguments": {"name": variable}}}

    def make_request(self, environment: Mapping[str, str]) -> SessionRequest:
        return SessionRequest(cell=sample_cell(), mode=with_server(), environment=environment)
