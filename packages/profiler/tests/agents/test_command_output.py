"""What agents print that are run as a command, in each dialect: streams written here as the programs write them."""

import json
from typing import Any

import pytest

from ghx_profiler.agents.drivers.command import DIALECTS, OutputLog
from ghx_profiler.agents.drivers.recipe import OutputDialect, Recipe
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.trace import ReasoningEvent, SessionTrace, TextOutputEvent, ToolCallEvent

SERVERS = ("ghx",)
FAILURE = [{"type": "text", "text": "no such issue"}]


def read(dialect: OutputDialect, lines: list[Any], **changes: Any) -> tuple[OutputLog, SessionTrace]:
    recipe = Recipe.model_validate(
        {
            "name": "mine",
            "description": "my own",
            "command": ["mine"],
            "protocol": "command",
            "output": dialect,
            **changes,
        }
    )
    recorder = TraceRecorder()
    log = DIALECTS[dialect](recorder, recipe, servers=SERVERS)
    for line in lines:
        log.read(line if isinstance(line, str) else json.dumps(line))
    return log, recorder.trace()


def claude_block(**block: Any) -> dict[str, Any]:
    usage = {"input_tokens": 200, "output_tokens": 1}
    return {"type": "assistant", "message": {"id": "m", "role": "assistant", "content": [block], "usage": usage}}


def claude_result(id_: str, content: Any, **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": id_, "content": content, **more}
    return {"type": "user", "message": {"role": "user", "content": [block]}}


def claude_end(**changes: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 400,
        "cache_read_input_tokens": 2100,
        "cache_creation_input_tokens": 30,
        "output_tokens": 46,
    }
    told = {"subtype": "success", "is_error": False, "result": "Done.", "stop_reason": "end_turn"}
    return {"type": "result", **told, "total_cost_usd": 0.003, "usage": usage, **changes}


CLAUDE = [
    {"type": "system", "subtype": "init", "session_id": "s-1", "claude_code_version": "2.1.312", "tools": ["Bash"]},
    {"type": "system", "subtype": "thinking_tokens", "estimated_tokens": 3},
    claude_block(type="thinking", thinking="Let me see."),
    claude_block(type="text", text="I look. "),
    claude_block(type="tool_use", id="c1", name="Bash", input={"command": "ls"}),
    claude_result("c1", "a.txt", is_error=False),
    claude_block(type="tool_use", id="c2", name="mcp__ghx__issue_view", input={"number": 4}),
    claude_result("c2", FAILURE, is_error=True),
    claude_block(type="text", text="Done."),
    claude_end(),
]


def codex_item(event: str, **item: Any) -> dict[str, Any]:
    return {"type": f"item.{event}", "item": item}


CODEX_COMMAND = {"id": "i3", "type": "command_execution", "command": "ls"}
CODEX = [
    {"type": "thread.started", "thread_id": "s-1"},
    codex_item("completed", id="i0", type="error", message="Model metadata for `m` not found."),
    {"type": "turn.started"},
    codex_item("completed", id="i1", type="reasoning", text="Let me see."),
    codex_item("completed", id="i2", type="agent_message", text="I look. "),
    codex_item("started", id="i3", type="command_execution", command="ls", aggregated_output="", status="in_progress"),
    codex_item(
        "completed", id="i3", type="command_execution", command="ls", aggregated_output="a.txt", status="completed"
    ),
    codex_item("started", id="i4", type="mcp_tool_call", server="ghx", tool="issue_view", arguments={"number": 4}),
    codex_item(
        "completed",
        id="i4",
        type="mcp_tool_call",
        server="ghx",
        tool="issue_view",
        arguments={"number": 4},
        result=None,
        error=FAILURE,
        status="failed",
    ),
    codex_item("completed", id="i5", type="agent_message", text="Done."),
    {
        "type": "turn.completed",
        "usage": {
            "input_tokens": 2530,
            "cached_input_tokens": 2100,
            "cache_write_input_tokens": 30,
            "output_tokens": 46,
            "reasoning_output_tokens": 7,
        },
    },
]


def opencode_part(kind: str, **part: Any) -> dict[str, Any]:
    return {"type": kind, "timestamp": 1, "sessionID": "s-1", "part": part}


def opencode_call(id_: str, tool: str, given: Any, **state: Any) -> dict[str, Any]:
    return opencode_part("tool_use", type="tool", callID=id_, tool=tool, state={"input": given, **state})


def opencode_step(given: int, made: int, thought: int, read: int, cost: float = 0.001) -> dict[str, Any]:
    cache = {"read": read, "write": 15}
    tokens = {"input": given, "output": made, "reasoning": thought, "cache": cache}
    return opencode_part("step_finish", type="step-finish", reason="stop", tokens=tokens, cost=cost)


OPENCODE = [
    opencode_part("step_start", type="step-start"),
    opencode_part("reasoning", type="reasoning", text="Let me see."),
    opencode_part("text", type="text", text="I look. "),
    opencode_call("c1", "bash", {"command": "ls"}, status="completed", output="a.txt", time={"start": 5, "end": 755}),
    opencode_step(200, 27, 7, 1000),
    opencode_part("step_start", type="step-start"),
    opencode_call(
        "c2", "ghx_issue_view", {"number": 4}, status="error", error=[{"type": "text", "text": "no such issue"}]
    ),
    opencode_part("text", type="text", text="Done."),
    opencode_step(200, 12, 0, 1100, cost=0.002),
]


@pytest.mark.parametrize(
    ("dialect", "lines", "told"),
    [
        ("claude-stream-json", CLAUDE, TokenUsage.of(input=400, output=46, cache_read=2100, cache_write=30)),
        ("codex-jsonl", CODEX, TokenUsage.of(input=400, output=39, reasoning=7, cache_read=2100, cache_write=30)),
        ("opencode-json", OPENCODE, TokenUsage.of(input=400, output=39, reasoning=7, cache_read=2100, cache_write=30)),
    ],
)
def test_the_same_session_is_read_in_every_dialect(dialect: OutputDialect, lines: list[Any], told: TokenUsage) -> None:
    log, trace = read(dialect, ["a warning that is no JSON", "[1, 2]", *lines])

    thought, said, shell, view, last = [each for turn in trace.turns for each in turn.events]
    assert isinstance(thought, ReasoningEvent)
    assert thought.content == "Let me see."
    assert isinstance(said, TextOutputEvent)
    assert isinstance(shell, ToolCallEvent)
    assert (shell.name, shell.input, shell.output, shell.success) == ("bash", {"command": "ls"}, "a.txt", True)
    assert isinstance(view, ToolCallEvent)
    assert (view.name, view.input, view.output, view.success) == ("ghx_issue_view", {"number": 4}, FAILURE, False)
    assert isinstance(last, TextOutputEvent)
    assert [len(turn.events) for turn in trace.turns] == [3, 1, 1]
    assert trace.summary.total_tokens == told
    assert trace.facts["session"] == "s-1"
    assert (log.answer, log.reason, log.error, log.is_understood) == ("Done.", "stop", None, True)


@pytest.mark.parametrize(
    ("dialect", "lines", "usd"), [("claude-stream-json", CLAUDE, 0.003), ("opencode-json", OPENCODE, 0.003)]
)
def test_what_the_agent_says_it_cost_is_kept(dialect: OutputDialect, lines: list[Any], usd: float) -> None:
    _, trace = read(dialect, lines)

    assert trace.summary.total_cost_usd == pytest.approx(usd)


def test_a_cost_of_nothing_is_one_that_the_agent_does_not_know() -> None:
    _, trace = read("opencode-json", [opencode_step(200, 12, 0, 1100, cost=0)])

    assert trace.summary.total_cost_usd is None


def test_tokens_are_passed_over_where_the_recipe_says_that_they_are_not_those_of_all_calls() -> None:
    _, trace = read("claude-stream-json", CLAUDE, tells_usage=False)

    assert trace.summary.total_tokens == TokenUsage()


def test_a_call_of_opencode_took_as_long_as_it_says() -> None:
    _, trace = read("opencode-json", OPENCODE)

    assert trace.tool_calls[0].duration_ms == 750


@pytest.mark.parametrize(
    ("dialect", "line", "error"),
    [
        (
            "claude-stream-json",
            claude_end(is_error=True, result="API Error: 529 overloaded"),
            "API Error: 529 overloaded",
        ),
        (
            "claude-stream-json",
            claude_end(is_error=True, subtype="error_during_execution", result=None),
            "error_during_execution",
        ),
        ("codex-jsonl", {"type": "turn.failed", "error": {"message": "exceeded retry limit"}}, "exceeded retry limit"),
        (
            "opencode-json",
            {"type": "error", "error": {"name": "APIError", "data": {"message": "Too many"}}},
            "Too many",
        ),
        ("opencode-json", {"type": "error", "error": {"name": "MessageAbortedError"}}, "MessageAbortedError"),
    ],
)
def test_an_error_that_the_agent_tells_is_kept(dialect: OutputDialect, line: dict[str, Any], error: str) -> None:
    log, _ = read(dialect, [line])

    assert (log.error, log.is_understood) == (error, True)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"subtype": "error_max_turns", "is_error": True}, "tool_limit"), ({"stop_reason": "refusal"}, "refusal")],
)
def test_why_claude_stopped_is_kept(changes: dict[str, Any], reason: str) -> None:
    log, _ = read("claude-stream-json", [claude_end(**changes)])

    assert (log.reason, log.error) == (reason, None)


def test_a_call_that_has_only_begun_is_unfinished() -> None:
    _, trace = read("codex-jsonl", CODEX[:6])

    (call,) = trace.tool_calls
    assert (call.name, call.unfinished) == ("bash", True)


def test_calls_of_other_kinds_are_named_by_their_kind() -> None:
    changed = codex_item("completed", id="i1", type="file_change", changes=[{"path": "a"}], status="completed")
    _, trace = read("codex-jsonl", [changed])

    (call,) = trace.tool_calls
    assert (call.name, call.input, call.success) == ("file_change", {"changes": [{"path": "a"}]}, True)


def test_a_text_is_the_answer_without_what_is_stripped() -> None:
    log, trace = read("text", ["Warning: old version", "It is", "done."], strip=["Warning: .*\n"])

    assert log.answer == "It is\ndone."
    assert trace.summary.total_tokens == TokenUsage()


@pytest.mark.parametrize("dialect", ["claude-stream-json", "codex-jsonl", "opencode-json"])
def test_what_is_of_no_dialect_is_not_understood(dialect: OutputDialect) -> None:
    log, _ = read(dialect, ["All done.", {"hello": "world"}])

    assert not log.is_understood
