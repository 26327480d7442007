"""What a session spent, as named numbers, and the counting of tool calls."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghx_profiler.records.metrics import Cost, Timing, TimingSegment, TokenUsage, ToolCallSummary
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.records.trace import SessionTrace, TextOutputEvent, ToolCallEvent, TraceSummary
from ghx_profiler.runner.toolcalls import summarise_tool_calls


def by_name(record: TokenUsage | Timing | Cost | ToolCallSummary) -> dict[str, Any]:
    return {metric.name: metric.value for metric in record.metrics()}


def call(name: str = "bash", *, success: bool | None = True, **more: Any) -> ToolCallEvent:
    return ToolCallEvent(name=name, success=success, **more)


def trace(*events: Any, **summary: Any) -> SessionTrace:
    return SessionTrace(session_id="s", events=events, summary=TraceSummary(**summary))


def own_name(event: ToolCallEvent) -> str:
    return event.name


def test_tokens_are_collected_by_category() -> None:
    collected = by_name(TokenUsage.of(input=10, output=5, cache_read=100))

    assert collected["tokens_total"] == 115
    assert collected["tokens_active"] == 15
    assert collected["tokens_reasoning"] is None


def test_time_is_collected_as_a_whole_and_by_label() -> None:
    segments = (
        TimingSegment(label="prompt", start_ms=0, end_ms=30),
        TimingSegment(label="score", start_ms=30, end_ms=40),
        TimingSegment(label="prompt", start_ms=40, end_ms=45),
    )

    collected = by_name(Timing(wall_ms=45, segments=segments))

    assert collected == {"latency_wall_ms": 45, "latency_prompt_ms": 35, "latency_score_ms": 10}


def test_cost_is_collected_with_its_parts() -> None:
    collected = by_name(Cost(total_usd=0.5, input_usd=0.2))

    assert collected == {
        "cost_total_usd": 0.5,
        "cost_input_usd": 0.2,
        "cost_output_usd": None,
        "cost_reasoning_usd": None,
    }


def test_tool_calls_are_collected_by_fate_and_category() -> None:
    summary = summarise_tool_calls(trace(call(), call(success=False), call("read")), own_name)

    collected = by_name(summary)

    assert collected == {
        "tool_calls_total": 3,
        "tool_calls_failed": 1,
        "tool_calls_retried": 0,
        "tool_calls_error_rate": pytest.approx(1 / 3),
        "tool_calls_unique": 2,
        "tool_calls_category_bash": 2,
        "tool_calls_category_read": 1,
    }


def test_of_a_session_nobody_knows_anything_of_no_number_is_collected() -> None:
    for record in (TokenUsage(), Timing(), Cost(), ToolCallSummary()):
        assert set(by_name(record).values()) == {None}


def test_every_number_of_a_session_has_its_own_name() -> None:
    names = [
        metric.name for record in (TokenUsage(), Timing(), Cost(), ToolCallSummary()) for metric in record.metrics()
    ]

    assert len(names) == len(set(names))


def test_without_a_trace_nothing_is_known_of_tool_calls() -> None:
    summary = summarise_tool_calls(None, own_name)

    assert (summary.total, summary.failed, summary.retried, summary.error_rate) == (None, None, None, None)
    assert summary.records == ()


def test_a_session_without_tool_calls_had_none_and_none_failed() -> None:
    summary = summarise_tool_calls(trace(TextOutputEvent(content="42")), own_name)

    assert (summary.total, summary.failed, summary.retried, summary.error_rate) == (0, 0, 0, 0.0)


def test_calls_are_counted_by_the_category_the_classifier_gives() -> None:
    summary = summarise_tool_calls(
        trace(call("bash", input="gh pr list"), call("bash", input="ls"), call("bash", input="gh issue list")),
        lambda event: "gh" if str(event.input).startswith("gh ") else "shell",
    )

    assert summary.by_category == {"gh": 2, "shell": 1}
    assert [record.category for record in summary.records] == ["gh", "shell", "gh"]


def test_a_record_keeps_name_fate_and_duration_and_its_error() -> None:
    failed = call("read", success=False, duration_ms=12, error="no such file")

    (record,) = summarise_tool_calls(trace(failed), own_name).records

    assert record.to_wire() == {
        "name": "read",
        "category": "read",
        "success": False,
        "durationMs": 12,
        "error": "no such file",
    }


def test_a_call_that_went_well_has_no_error_on_its_record() -> None:
    (record,) = summarise_tool_calls(trace(call()), own_name).records

    assert "error" not in record.with_all_keys().to_wire()


def test_calls_that_do_not_tell_their_fate_are_left_out_of_the_error_rate() -> None:
    summary = summarise_tool_calls(trace(call(), call(success=None), call(success=False)), own_name)

    assert (summary.total, summary.failed, summary.error_rate) == (3, 1, 0.5)


def test_where_no_call_tells_its_fate_failures_are_not_known() -> None:
    summary = summarise_tool_calls(trace(call(success=None), call(success=None)), own_name)

    assert (summary.total, summary.failed, summary.retried, summary.error_rate) == (2, None, None, None)


def test_a_call_with_an_error_failed_even_if_it_does_not_say_so() -> None:
    summary = summarise_tool_calls(trace(call(success=None, error="boom")), own_name)

    assert (summary.failed, summary.records[0].success) == (1, False)


def test_calls_an_agent_only_counts_are_counted_and_nothing_more_is_known_of_them() -> None:
    summary = summarise_tool_calls(trace(total_tool_calls=5), own_name)

    assert (summary.total, summary.failed, summary.error_rate, summary.records) == (5, None, None, ())


def test_repeating_a_failed_call_is_a_retry() -> None:
    failed = call(input={"a": 1, "b": 2}, success=False)

    assert summarise_tool_calls(trace(failed, call(), call(input={"b": 2, "a": 1})), own_name).retried == 1
    assert summarise_tool_calls(trace(failed, failed, failed), own_name).retried == 2


@pytest.mark.parametrize(
    "other", [call(input={"a": 2}), call("sh", input={"a": 1}), call(input={"a": True}), call(input={"a": "1"})]
)
def test_another_call_is_not_a_retry(other: ToolCallEvent) -> None:
    assert summarise_tool_calls(trace(call(input={"a": 1}, success=False), other), own_name).retried == 0


def test_repeating_a_call_after_it_succeeded_is_not_a_retry() -> None:
    assert summarise_tool_calls(trace(call(success=False), call(), call()), own_name).retried == 1


def test_what_a_classifier_raises_is_raised() -> None:
    def refuse(event: ToolCallEvent) -> str:
        raise LookupError(event.name)

    with pytest.raises(LookupError, match="bash"):
        summarise_tool_calls(trace(call()), refuse)


fates = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.none() | st.booleans()))


@given(fates)
def test_the_counts_of_a_summary_agree_with_its_records(calls: list[tuple[str, int, bool | None]]) -> None:
    events = [call(name, input=argument, success=success) for name, argument, success in calls]

    summary = summarise_tool_calls(trace(*events), own_name)

    assert summary.total == len(summary.records) == sum(summary.by_category.values())
    assert summary.by_category == Counter(record.category for record in summary.records)
    if summary.failed is not None and summary.retried is not None and summary.error_rate is not None:
        assert summary.failed == sum(record.success is False for record in summary.records)
        assert 0 <= summary.retried <= summary.total
        assert 0 <= summary.error_rate <= 1
    else:
        assert all(record.success is None for record in summary.records)


@pytest.mark.parametrize(
    "output",
    [
        {"output": "half", "exitCode": 1},
        '{"message": "Not Found", "status": "404"}gh: Not Found (HTTP 404)',
        '{"ok": false, "error": {"code": "NOT_FOUND", "message": "no such thing"}}',
        {"isError": True, "content": [{"type": "text", "text": "no"}]},
    ],
)
def test_a_call_failed_when_its_output_shows_it_whatever_its_flag_says(output: Any) -> None:
    failed = call(input={"command": "gh api x"}, output=output)

    summary = summarise_tool_calls(trace(failed, call(input={"command": "gh api y"}, output="{}")), own_name)

    assert (summary.failed, summary.error_rate) == (1, 0.5)
    assert [record.success for record in summary.records] == [False, True]
    assert summary.records[0].error


def test_repeating_a_call_whose_output_shows_a_failure_is_a_retry() -> None:
    failed = call(input={"command": "make"}, output={"output": "", "exitCode": 2})

    assert summarise_tool_calls(trace(failed, call(input={"command": "make"}, output="ok")), own_name).retried == 1


def test_a_successful_call_whose_output_speaks_of_errors_is_a_success() -> None:
    read = call("read", output="Error: this is line one\nError: and this line two\n")

    assert summarise_tool_calls(trace(read), own_name).failed == 0


@pytest.mark.parametrize(("mode", "hidden_failures"), [("baseline", 3), ("ghx", 0), ("mcp", 0)])
def test_real_traces_give_the_counts_of_their_real_rows_and_the_failures_those_missed(
    older_tools: Path, mode: str, hidden_failures: int
) -> None:
    session = SessionTrace.model_validate_json((older_tools / "sessions" / f"{mode}-iter-0.json").read_text())
    rows = map(ProfileRow.model_validate_json, (older_tools / "rows.jsonl").read_text().splitlines())
    expected: ToolCallSummary = next(row for row in rows if row.session_id == session.session_id).tool_calls

    summary = summarise_tool_calls(session, own_name)

    assert (summary.total, summary.retried) == (expected.total, expected.retried)
    assert (expected.failed, summary.failed) == (0, hidden_failures)
    assert [record.name for record in summary.records] == [record.name for record in expected.records]
