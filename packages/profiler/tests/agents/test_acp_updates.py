"""What six agents tell over the Agent Client Protocol, recorded: each names and describes tool calls in its own way."""

import json
from pathlib import Path

import pytest
from acp.schema import Usage

from ghx_base.wire import JsonObject
from ghx_profiler.agents.drivers.acp import read_usage
from ghx_profiler.agents.drivers.recipe import built_in_recipe, recipe_names
from ghx_profiler.agents.drivers.session_log import UpdateLog
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.trace import SessionTrace, ToolCallEvent

RECORDED = Path(__file__).parents[4] / "tests" / "data" / "acp_updates"
AGENTS = [name for name in recipe_names() if built_in_recipe(name).protocol == "acp"]
ANSWER = "It is labelled as a matter of performance and has a summary."
SERVER_TOOLS = ["ghx_issue_view", "ghx_repo_labels_list", "ghx_issue_labels_add", "ghx_issue_comments_create"]
SILENT = {"gemini"}
"""Agents that tell no input of a call: there, only the meter knows it."""


def replay(agent: str, mode: str) -> tuple[UpdateLog, SessionTrace]:
    recorder = TraceRecorder()
    log = UpdateLog(recorder, servers=["ghx"], strip=built_in_recipe(agent).strip)
    for line in (RECORDED / f"{agent}.jsonl").read_text().splitlines():
        recorded = json.loads(line)
        if recorded["mode"] == mode:
            log.add(recorded["update"])
    return log, recorder.trace()


def calls_of(trace: SessionTrace) -> list[ToolCallEvent]:
    return list(trace.tool_calls)


@pytest.mark.parametrize("agent", AGENTS)
def test_commands_of_every_agent_are_calls_of_a_shell_and_come_to_their_end(agent: str) -> None:
    log, trace = replay(agent, "baseline")

    calls = calls_of(trace)
    assert [call.name for call in calls] == ["shell" if agent == "goose" else "bash"] * 4
    assert [call.success for call in calls] == [True] * 4
    assert not any(call.unfinished for call in calls)
    assert log.answer == ANSWER
    commands = [json.dumps(call.input) for call in calls]
    assert all("gh " in command for command in commands), commands


@pytest.mark.parametrize("agent", AGENTS)
def test_tools_of_servers_have_one_name_whatever_the_agent_calls_them(agent: str) -> None:
    log, trace = replay(agent, "ghx-mcp")

    calls = calls_of(trace)
    assert [call.name for call in calls] == SERVER_TOOLS
    assert [call.success for call in calls] == [True] * 4
    assert log.answer == ANSWER
    if agent not in SILENT:
        assert "issueNumber" in json.dumps(calls[0].input)


@pytest.mark.parametrize("agent", AGENTS)
def test_turns_begin_with_what_follows_a_call(agent: str) -> None:
    _, trace = replay(agent, "ghx-mcp")

    assert len(trace.turns) == 5


@pytest.mark.parametrize(("amounts", "told"), [([0.25, 0.5], 0.5), ([0], None), ([0.0, 0.0], None)])
def test_a_cost_of_nothing_is_a_price_that_the_agent_does_not_know(amounts: list[float], told: float | None) -> None:
    log = UpdateLog(TraceRecorder(), servers=[])

    for amount in amounts:
        cost: JsonObject = {"amount": amount, "currency": "USD"}
        log.add({"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": cost})

    assert log.cost_usd == told


@pytest.mark.parametrize(
    ("given", "made", "total"),
    [
        pytest.param(400, 39, 2546, id="each apart"),
        pytest.param(400, 46, 2546, id="thoughts in the output"),
        pytest.param(2500, 39, 2546, id="cached tokens in the input"),
        pytest.param(2500, 46, 2546, id="both"),
    ],
)
def test_tokens_are_counted_once_whichever_way_an_agent_tells_them(given: int, made: int, total: int) -> None:
    used = Usage(input_tokens=given, output_tokens=made, thought_tokens=7, cached_read_tokens=2100, total_tokens=total)

    assert read_usage(used) == TokenUsage.of(input=400, output=39, reasoning=7, cache_read=2100)


def test_tokens_whose_total_fits_no_way_of_counting_are_taken_as_they_are_told() -> None:
    used = Usage(input_tokens=400, output_tokens=46, thought_tokens=7, cached_read_tokens=2100, total_tokens=1)

    assert read_usage(used) == TokenUsage.of(input=400, output=46, reasoning=7, cache_read=2100)
