"""What the agent tells of a session, filled in from the model calls that a meter saw."""

import shlex
from typing import Any

import pytest

from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.metered_trace import fill_from_model_calls
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.model_calls import ModelCall, RequestedToolCall, SeenToolResult
from ghx_profiler.records.trace import SessionTrace, ToolCallEvent, TraceEvent


def call(number: int, **fields: Any) -> ModelCall:
    usage = TokenUsage.of(input=100, output=10, reasoning=1, cache_read=50, cache_write=0)
    given: dict[str, Any] = {"usage": usage, "duration_ms": 500, "status": 200, **fields}
    return ModelCall(number=number, wire="openai-chat", started_at=f"2026-03-03T00:00:{number:02}.000Z", **given)


def asks(name: str, id: str | None = None, **arguments: Any) -> RequestedToolCall:  # noqa: A002
    return RequestedToolCall(id=id, name=name, arguments=arguments)


def saw(text: str, id: str | None = None, **fields: Any) -> SeenToolResult:  # noqa: A002
    return SeenToolResult(id=id, text=text, **fields)


def shapes(trace: SessionTrace) -> list[list[str]]:
    return [[_shape(event) for event in turn.events] for turn in trace.turns]


def _shape(event: TraceEvent) -> str:
    return event.name if isinstance(event, ToolCallEvent) else str(getattr(event, "content", event.type))


def metered(notes: TraceRecorder, *calls: ModelCall) -> SessionTrace:
    notes.model_calls.extend(calls)
    return fill_from_model_calls(notes.trace())


def test_inputs_and_results_are_the_models_and_times_are_the_agents() -> None:
    notes = TraceRecorder()
    notes.text("I will look.")
    notes.tool_call("List the issues", None, None, success=True, duration_ms=7)
    notes.text("Done.")

    trace = metered(
        notes,
        call(1, tool_calls=(asks("bash", "c1", command="gh issue list"),)),
        call(2, tool_results=(saw("Output: #1", "c1"),), tool_result_count=1),
    )

    (event,) = trace.tool_calls
    assert (event.name, event.input, event.output) == ("bash", {"command": "gh issue list"}, "Output: #1")
    assert (event.duration_ms, event.success, event.call_id, event.unfinished) == (7, True, "c1", False)
    assert shapes(trace) == [["I will look.", "bash"], ["Done."]]
    assert [(turn.start_timestamp, turn.duration_ms) for turn in trace.turns] == [
        ("2026-03-03T00:00:01.000Z", 1_000),
        ("2026-03-03T00:00:02.000Z", 500),
    ]


def test_calls_are_paired_by_id_before_anything_else() -> None:
    notes = TraceRecorder()
    for id, took in (("c2", 2), ("c1", 1)):  # noqa: A001
        notes.begin_tool_call(id, "bash")
        notes.end_tool_call(id, success=took == 1)

    trace = metered(notes, call(1, tool_calls=(asks("bash", "c1", n=1), asks("bash", "c2", n=2))))

    assert [(each.input, each.success) for each in trace.tool_calls] == [({"n": 2}, False), ({"n": 1}, True)]


def test_calls_without_ids_are_paired_by_their_tool_however_it_is_written() -> None:
    notes = TraceRecorder()
    notes.tool_call("issue_view", duration_ms=1)
    notes.tool_call("run_shell_command", duration_ms=2)

    trace = metered(
        notes,
        call(1, tool_calls=(asks("run_shell_command", command="ls"), asks("mcp_ghx_issue_view", number=7))),
        call(2, tool_results=(saw("a.txt", name="run_shell_command"), saw("{}", name="mcp_ghx_issue_view"))),
    )

    assert [(each.name, each.output, each.duration_ms) for each in trace.tool_calls] == [
        ("mcp_ghx_issue_view", "{}", 1),
        ("run_shell_command", "a.txt", 2),
    ]


def test_calls_that_the_agent_does_not_tell_of_are_there_and_those_of_its_own_stay() -> None:
    notes = TraceRecorder()
    notes.tool_call("todo", duration_ms=1)
    notes.begin_tool_call("c3", "bash")
    notes.end_tool_call("c3", success=True)
    notes.text("Done.")

    trace = metered(
        notes,
        call(1, tool_calls=(asks("rm", "c1"), asks("rm", "c2"))),
        call(2, tool_calls=(asks("bash", "c3"),), tool_results=(saw("no", "c1", failed=True), saw("no", "c2"))),
        call(3, tool_results=(saw("ok", "c3"),)),
    )

    assert shapes(trace) == [["todo", "rm", "rm"], ["bash"], ["Done."]]
    assert [each.success for each in trace.tool_calls] == [None, False, None, True]
    assert (trace.summary.total_turns, trace.summary.total_tool_calls) == (3, 4)


def test_a_command_in_the_agents_own_shell_is_the_one_that_the_model_asked_for() -> None:
    notes = TraceRecorder()
    for number, command in ((1, "gh issue list"), (3, "gh issue edit 1 --title 'It works'")):
        notes.begin_tool_call(f"item_{number}", "bash", {"command": f"/bin/bash -lc {shlex.quote(command)}"})
        notes.end_tool_call(f"item_{number}", "ok", success=number == 1)

    trace = metered(
        notes,
        call(1, tool_calls=(asks("update_plan", "c0", plan=[{"step": "look", "status": "pending"}]),)),
        call(2, tool_calls=(asks("exec_command", "c1", cmd="gh issue list", workdir="/w"),)),
        call(3, tool_calls=(asks("exec_command", "c2", cmd="gh  issue edit 1 --title 'It works'", timeout_ms=1),)),
        call(4, tool_results=(saw("Plan updated", "c0"), saw("#1", "c1"), saw("no", "c2"))),
    )

    assert [(each.name, each.output, each.success) for each in trace.tool_calls] == [
        ("update_plan", "Plan updated", None),
        ("exec_command", "#1", True),
        ("exec_command", "no", False),
    ]
    assert trace.summary.total_tool_calls == 3


@pytest.mark.parametrize("told", [4, 3])
def test_calls_of_which_an_agent_tells_neither_id_nor_input_are_not_counted_twice(told: int) -> None:
    notes = TraceRecorder()
    for number in range(told):
        notes.begin_tool_call(f"own_{number}", "bash")
        notes.end_tool_call(f"own_{number}", success=True)

    tools = ("run_shell_command", "no_such_tool", *["run_shell_command"] * 3)
    trace = metered(notes, *(call(at, tool_calls=(asks(name, n=at),)) for at, name in enumerate(tools, start=1)))

    assert [each.name for each in trace.tool_calls] == list(tools)
    if told == 4:
        assert [each.success for each in trace.tool_calls] == [True, None, True, True, True]


def test_calls_with_the_same_input_are_the_same_before_those_with_the_same_tool() -> None:
    notes = TraceRecorder()
    notes.tool_call("bash", {"command": "ls"}, success=True)
    notes.tool_call("bash", {"command": "pwd"}, success=False)

    trace = metered(notes, call(1, tool_calls=(asks("bash", "c1", command="pwd"), asks("bash", "c2", command="ls"))))

    assert [(each.input, each.success) for each in trace.tool_calls] == [
        ({"command": "ls"}, True),
        ({"command": "pwd"}, False),
    ]


def test_a_call_that_the_model_did_not_ask_for_is_not_taken_for_one_elsewhere() -> None:
    notes = TraceRecorder()
    notes.tool_call("bash", {"command": "ls"}, success=True)
    notes.tool_call("web_search", {"query": "labels"}, success=True)

    trace = metered(
        notes, call(1, tool_calls=(asks("update_plan"), asks("update_plan"))), call(2, tool_calls=(asks("sh", c="ls"),))
    )

    assert [each.name for each in trace.tool_calls] == ["update_plan", "update_plan", "sh", "web_search"]


def test_a_call_whose_result_the_model_never_saw_is_unfinished() -> None:
    trace = metered(TraceRecorder(), call(1, tool_calls=(asks("bash", "c1", command="sleep 60"),)))

    (event,) = trace.tool_calls
    assert (event.unfinished, event.output, event.success) == (True, None, None)


def test_tokens_and_turns_are_the_meters_and_the_agents_own_figures_stand_beside() -> None:
    notes = TraceRecorder()
    notes.add_usage(TokenUsage.of(input=1, output=1))
    notes.cost(0.5)
    notes.text("Hello.")

    trace = metered(notes, call(1), call(2, side="no_tools"), call(3, error_kind="server", usage=TokenUsage()))

    assert trace.summary.total_tokens.total == 2 * 161
    assert trace.summary.total_turns == 1
    assert trace.reported is not None
    assert (trace.reported.tokens.total, trace.reported.cost_usd) == (2, 0.5)
    assert trace.sources == {"tokens": "meter", "toolCalls": "meter", "agentTurns": "meter"}


def test_a_call_that_was_cut_makes_the_tokens_unknown() -> None:
    trace = metered(TraceRecorder(), call(1), call(2, cut=True, usage=TokenUsage()))

    assert trace.summary.total_tokens.total is None


def test_without_a_call_that_was_answered_events_stay_as_the_agent_told_them() -> None:
    notes = TraceRecorder()
    notes.text("Rate limit exceeded.")

    trace = metered(notes, call(1, error_kind="rate_limit", status=429, usage=TokenUsage()))

    assert shapes(trace) == [["Rate limit exceeded."]]
    assert trace.summary.total_turns == 0


def test_a_filled_trace_survives_a_file() -> None:
    notes = TraceRecorder()
    notes.facts["binary"] = "1.2.3"
    notes.tool_call("bash", {"command": "ls"}, "a")

    trace = metered(notes, call(1, tool_calls=(asks("bash", "c1"),)))

    assert SessionTrace.model_validate_json(trace.model_dump_json()) == trace
