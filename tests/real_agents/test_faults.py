"""Real agents to whom something happens: who is to blame, what is known, and what is left.

The model fails, the time is over, the budget is used up, the agent is killed, or may not do what it asks for.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

import anyio
import psutil
import pytest
from scripted_sessions import Ran

from ghx_profiler.agents.controls.solution import Solution
from ghx_profiler.agents.drivers.recipe import Recipe, recipe_names
from ghx_profiler.agents.testing import Fault, Pace
from ghx_profiler.config import Budget
from ghx_profiler.records.causes import Cause
from ghx_profiler.records.row import ProfileRow

from .conftest import ALL_AGENTS, RealAgents, find_processes, make_loop

pytestmark = [pytest.mark.anyio, pytest.mark.agents]

PASSING = {
    "500-twice": Fault(status=500, times=2),
    "529-twice": Fault(status=529, times=2),
    "429-twice": Fault(status=429, times=2),
    "429-and-later": Fault(status=429, times=2, retry_after="1"),
}
LASTING = {
    "401": Fault(status=401),
    "429": Fault(status=429),
    "429-and-later": Fault(status=429, retry_after="2"),
    "500": Fault(status=500),
    "529": Fault(status=529),
}
WAITING = "set -m; tail -f /dev/null & nohup tail -f /dev/null & tail -f /dev/null"


def solve(command: str) -> Solution:
    return Solution.model_validate({"steps": [{"shell": command}], "answer": "done"})


def rows_by_case(ran: Ran, cases: Mapping[str, Any]) -> dict[str, ProfileRow]:
    rows = {row.mode: row for row in ran.rows}
    assert rows.keys() == cases.keys()
    return rows


@pytest.mark.parametrize("agent", ALL_AGENTS)
async def test_failures_of_the_model_that_pass_are_retried_by_the_agent_and_counted(
    agent: str, agents: RealAgents
) -> None:
    ran = await agents.run_cases(agents.find(agent), {case: {"faults": (fault,)} for case, fault in PASSING.items()})

    rows = rows_by_case(ran, PASSING)
    if agent.startswith("codex"):
        # It tries again after a 429 only where it is told when.
        given_up = rows.pop("429-twice")
        assert (given_up.success, given_up.cause) == (None, Cause.MODEL_PROVIDER)
    for case, row in rows.items():
        assert (row.success, row.error) == (True, None), case
        assert row.model_calls is not None
        assert (row.model_calls.failed, row.model_calls.retried) == (2, 2), case
        assert row.tokens == ran.claimed(row), case


@pytest.mark.parametrize("agent", ALL_AGENTS)
async def test_a_model_that_is_down_is_never_the_agents_fault(agent: str, agents: RealAgents) -> None:
    cases = {case: {"faults": (fault,)} for case, fault in LASTING.items()}

    # Some give up after a while, others go on for minutes: until the deadline, whichever that is. They mostly wait.
    timeout_ms = 100_000 if agent == "opencode-run" else 40_000  # it is slow to start, five times at once
    ran = await agents.run_cases(agents.find(agent), cases, concurrency=len(cases), timeout_ms=timeout_ms)

    for case, row in rows_by_case(ran, LASTING).items():
        assert (row.success, row.cause) == (None, Cause.MODEL_PROVIDER), f"{case}: {row.error}"
        assert str(LASTING[case].status) in (row.error or ""), case
        assert row.tokens == ran.claimed(row), case
    assert not find_processes(agents.mark())


@pytest.mark.parametrize("agent", ALL_AGENTS)
async def test_at_the_deadline_nothing_is_left_and_what_is_known_is_on_the_row(agent: str, agents: RealAgents) -> None:
    cases: dict[str, dict[str, Any]] = {
        "in-a-command": {"solution": solve(WAITING)},
        "in-a-stream": {"pace": Pace(between_s=5)},
    }
    # Codex leaves a command alone after 10 s, and asks its model what to do. OpenCode is slow to start.
    timeout_ms = {"codex": 8_000, "codex-exec": 8_000, "opencode-run": 60_000}.get(agent, 15_000)

    ran = await agents.run_cases(agents.find(agent), cases, timeout_ms=timeout_ms)

    rows = rows_by_case(ran, cases)
    assert {row.completion_reason for row in ran.rows} == {"timeout"}
    assert not find_processes(agents.mark())
    in_command, in_stream = rows["in-a-command"], rows["in-a-stream"]
    (call,) = in_command.tool_calls.records
    assert call.unfinished
    assert in_command.cause == Cause.AGENT_TIMEOUT
    assert in_command.tokens == ran.claimed(in_command)
    assert in_stream.tokens.output is None
    assert in_stream.model_calls is not None
    assert in_stream.model_calls.cut == 1
    assert in_stream.model_calls.tokens_at_least is not None


def find_waiting(mark: str) -> psutil.Process | None:
    """Return the command that an agent with a mark waits for, once there is one."""
    for process in find_processes(mark):
        with suppress(psutil.NoSuchProcess):  # it may have ended since it was found
            if process.name() == "tail":
                return process
    return None


async def kill_in_command(mark: str) -> None:
    """Wait until an agent with a mark runs a command, and kill the agent: the program that the bench started."""
    waiting = None
    while waiting is None:
        await anyio.sleep(0.2)
        waiting = find_waiting(mark)
    line = [waiting, *waiting.parents()]
    # Found from below: a program that gives itself another title, as Qwen Code does, loses its mark by that.
    keeper = next(number for number, each in enumerate(line) if any("keeper.py" in word for word in each.cmdline()))
    line[keeper - 1].kill()


@pytest.mark.parametrize("agent", recipe_names())
async def test_an_agent_that_is_killed_is_to_blame_and_nothing_of_it_is_left(agent: str, agents: RealAgents) -> None:
    async with anyio.create_task_group() as beside:
        beside.start_soon(kill_in_command, agents.mark("killed"))
        ran = await agents.run_cases(agents.install(agent), {"killed": {"solution": solve(WAITING)}}, timeout_ms=60_000)
        beside.cancel_scope.cancel()

    (row,) = ran.rows
    assert (row.success, row.cause) == (False, Cause.AGENT_CRASH), row.error
    assert f"{agent}: it ended with exit code -9" in (row.error or "")
    assert row.tokens == ran.claimed(row)
    assert len(row.tool_calls.records) == 1
    assert not find_processes(agents.mark())


async def kill_command(mark: str) -> None:
    """Wait until an agent with a mark runs a command, and kill the shell of that."""
    waiting = None
    while waiting is None:
        await anyio.sleep(0.1)
        waiting = find_waiting(mark)
    shell = waiting.parent()
    assert shell is not None
    assert shell.name() == "bash"
    shell.kill()


async def test_loop_which_has_no_program_tells_its_model_of_a_command_that_is_killed(agents: RealAgents) -> None:
    async with anyio.create_task_group() as beside:
        beside.start_soon(kill_command, agents.mark("killed"))
        ran = await agents.run_cases(agents.find("loop"), {"killed": {"solution": solve(WAITING)}}, timeout_ms=60_000)
        beside.cancel_scope.cancel()

    (row,) = ran.rows
    assert (row.success, row.cause, row.completion_reason) == (False, None, "stop"), row.error
    (call,) = row.tool_calls.records
    assert (call.success, call.unfinished) == (False, False)
    assert "(exit code -9)" in ran.endpoint.calls[-1].results[-1]
    assert row.tokens == ran.claimed(row)
    assert not find_processes(agents.mark())


@pytest.mark.parametrize("agent", ALL_AGENTS)
async def test_a_budget_that_is_used_up_ends_the_session_and_counts_against_the_agent(
    agent: str, agents: RealAgents
) -> None:
    budget = Budget(max_turns=2)
    spender = make_loop("openai-chat", budget) if agent == "loop" else agents.install(agent)

    ran = await agents.run_cases(spender, {"spent": {}}, session_budget=budget, timeout_ms=60_000)

    (row,) = ran.rows
    assert (row.success, row.cause) == (False, Cause.AGENT_SPEND), row.error
    assert "max_turns of the session is used up (2 of 2)" in (row.error or "")
    assert row.completion_reason != "timeout"
    assert row.tokens == ran.claimed(row)
    assert len(row.tool_calls.records) == 2


def make_ask(recipe: Recipe) -> Recipe:
    """Return a recipe whose agent asks before it changes anything, and may not."""
    environment, files, changes = dict(recipe.environment), dict(recipe.files), dict[str, Any]()
    match recipe.name:
        case "codex":
            # In this mode it also has a sandbox, which does not keep tools of servers from their work.
            changes |= {"session_mode": "workspace-write", "unfit_if": ()}
        case "goose":
            environment["GOOSE_MODE"] = "approve"
        case "opencode":
            content = cast("dict[str, Any]", environment["OPENCODE_CONFIG_CONTENT"])
            environment["OPENCODE_CONFIG_CONTENT"] = {**content, "permission": {"*": "ask"}}
        case "qwen":
            settings = cast("dict[str, Any]", files[".qwen/settings.json"])
            files[".qwen/settings.json"] = {**settings, "tools": {**settings["tools"], "approvalMode": "default"}}
        case _:
            pass  # it asks in any case
    changes |= {"environment": environment, "files": files, "permissions": ("reject_once", "reject_always")}
    return recipe.model_copy(update=changes)


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "goose", "opencode", "qwen"])
async def test_what_an_agent_may_not_do_is_not_done_and_is_on_the_row(agent: str, agents: RealAgents) -> None:
    ran = await agents.run(make_ask(agents.install(agent)), modes=["ghx-mcp"], timeout_ms=60_000)

    (row,) = ran.rows
    assert (row.success, row.cause, row.error, row.completion_reason) == (False, None, None, "stop")
    told = cast("dict[str, Any]", row.extensions["agent"])
    # OpenCode and Qwen Code end their turn with the first refusal; others tell their model of it.
    assert told["permissions"]["asked"] == told["permissions"]["refused"] == row.tool_calls.failed > 0
    assert row.tokens == ran.claimed(row)
