"""Real agents whose model fails, or who do not come to an end: who is to blame, and what is left."""

from pathlib import Path
from typing import Any

import pytest
from agent_rows import assert_all_passed

from ghx_bench.agents.controls.solution import Solution
from ghx_bench.agents.drivers.recipe import recipe_names
from ghx_bench.agents.testing import Fault, Pace
from ghx_bench.profiler.causes import Cause

from .conftest import RealAgents
from .test_scenarios import find_processes, with_mark

pytestmark = [pytest.mark.anyio, pytest.mark.agents]

GIVES_UP = ("claude", "claude-print", "codex", "codex-exec", "goose")
"""Agents that give up within a minute; the others go on for longer than a scenario lasts."""


@pytest.mark.parametrize("agent", recipe_names())
async def test_two_failures_of_the_model_are_retried_by_the_agent_and_counted(agent: str, agents: RealAgents) -> None:
    script = {"faults": (Fault(status=500, times=2),)}

    ran = await agents.run(agents.install(agent), modes=["baseline"], script=script)

    assert_all_passed(ran, 1)
    (row,) = ran.rows
    assert row.model_calls is not None
    assert (row.model_calls.failed, row.model_calls.retried) == (2, 2)


@pytest.mark.parametrize("status", [401, 429, 500])
@pytest.mark.parametrize("agent", GIVES_UP)
async def test_a_model_that_is_down_is_never_the_agents_fault(agent: str, status: int, agents: RealAgents) -> None:
    script = {"faults": (Fault(status=status),)}

    ran = await agents.run(agents.install(agent), modes=["baseline"], script=script)

    (row,) = ran.rows
    assert not row.success
    assert row.cause == Cause.MODEL_PROVIDER
    assert str(status) in (row.error or "")


async def run_past_deadline(agent: str, agents: RealAgents, folder: Path, **settings: Any) -> Any:
    """Run an agent on a scenario that ends after a few seconds."""
    recipe = with_mark(agents.install(agent), str(folder))
    # Codex leaves a command alone after 10 s, and asks its model what to do.
    timeout_ms = 8_000 if agent.startswith("codex") else 15_000
    ran = await agents.run(recipe, modes=["baseline"], timeout_ms=timeout_ms, **settings)
    (row,) = ran.rows
    assert row.completion_reason == "timeout"
    assert not find_processes(str(folder))
    return row


@pytest.mark.parametrize("agent", recipe_names())
async def test_at_the_deadline_in_a_command_nothing_is_left_and_the_command_is_on_the_row(
    agent: str, agents: RealAgents, tmp_path: Path
) -> None:
    waiting = "set -m; tail -f /dev/null & nohup tail -f /dev/null & tail -f /dev/null"
    solution = Solution.model_validate({"steps": [{"shell": waiting}], "answer": "done"})

    row = await run_past_deadline(agent, agents, tmp_path, solution=solution)

    (call,) = row.tool_calls.records
    assert call.unfinished
    assert row.cause == Cause.AGENT_TIMEOUT


@pytest.mark.parametrize("agent", recipe_names())
async def test_at_the_deadline_in_a_stream_the_tokens_are_unknown_with_a_lower_bound(
    agent: str, agents: RealAgents, tmp_path: Path
) -> None:
    row = await run_past_deadline(agent, agents, tmp_path, script={"pace": Pace(between_s=5)})

    assert row.tokens.output is None
    assert row.model_calls.cut == 1
    assert row.model_calls.tokens_at_least is not None
