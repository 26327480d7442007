"""Cells as OpenTelemetry spans."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_runs import a_row, a_trace

from ghx_profiler.interchange import to_otlp
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.records.trace import SessionTrace, ToolCallEvent, Turn

SECOND = 1_000_000_000
START = 1_772_555_777_710 * 1_000_000  # 2026-03-03T16:36:17.710Z
ROW = a_row(startedAt="2026-03-03T16:36:17.710Z", completedAt="2026-03-03T16:36:47.710Z")


def spans(row: ProfileRow, trace: SessionTrace | None) -> list[dict[str, Any]]:
    (resource,) = json.loads(json.dumps(to_otlp(row, trace)))["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    return scope["spans"]


def facts(span: dict[str, Any]) -> dict[str, Any]:
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}


def window(span: dict[str, Any]) -> tuple[int, int]:
    return int(span["startTimeUnixNano"]) - START, int(span["endTimeUnixNano"]) - START


def test_a_cell_is_a_workflow_of_an_agent_that_talks_and_calls_tools() -> None:
    exported = spans(ROW, a_trace(ROW))

    assert [(span["name"], span["kind"]) for span in exported] == [
        ("invoke_workflow pr-reply-001", 1),
        ("invoke_agent opencode", 1),
        ("chat vendor/model-1", 3),
        ("execute_tool bash", 1),
        ("chat vendor/model-1", 3),
        ("execute_tool bash", 1),
    ]
    root, agent, *others = exported
    assert "parentSpanId" not in root
    assert agent["parentSpanId"] == root["spanId"]
    assert {span["parentSpanId"] for span in others} == {agent["spanId"]}
    assert facts(root)["ghx_bench.mode"] == "ghx"
    assert facts(agent)["gen_ai.provider.name"] == "vendor"


def test_input_tokens_include_those_of_the_cache() -> None:
    row = a_row(tokens={"input": 100, "output": 20, "reasoning": 5, "cacheRead": 300, "cacheWrite": 40})

    attributes = facts(spans(row, a_trace(row))[1])

    assert {name: value for name, value in attributes.items() if ".usage." in name} == {
        "gen_ai.usage.input_tokens": "440",
        "gen_ai.usage.output_tokens": "25",
        "gen_ai.usage.cache_read.input_tokens": "300",
        "gen_ai.usage.cache_creation.input_tokens": "40",
        "gen_ai.usage.reasoning.output_tokens": "5",
    }


def test_tokens_that_nobody_told_are_absent() -> None:
    row = a_row(tokens={})

    assert not [name for name in facts(spans(row, a_trace(row))[1]) if ".usage." in name]


def test_every_checkpoint_is_one_evaluation() -> None:
    checks = [
        {"id": "replied", "description": "Every thread has a reply", "passed": False},
        {"id": "unresolved", "description": "No thread was resolved", "passed": True},
    ]

    (root,) = spans(a_row(checkpointDetails=checks), None)

    assert [event["name"] for event in root["events"]] == ["gen_ai.evaluation.result"] * 2
    assert facts(root["events"][0]) == {
        "gen_ai.evaluation.name": "replied",
        "gen_ai.evaluation.score.value": 0.0,
        "gen_ai.evaluation.score.label": "fail",
        "gen_ai.evaluation.explanation": "Every thread has a reply",
    }
    assert facts(root["events"][1])["gen_ai.evaluation.score.label"] == "pass"
    assert "status" not in root, "a wrong answer is no failed operation"


def test_failures_carry_their_kind() -> None:
    row = a_row(error="stopped after 120 s", cause="agent_timeout", success=False)

    root, _agent, _chat, tool, *_ = spans(row, a_trace(row))

    assert root["status"] == {"code": 2, "message": "stopped after 120 s"}
    assert facts(root)["error.type"] == "agent_timeout"
    assert facts(tool)["error.type"] == "tool_error"


def test_tools_run_at_the_end_of_their_turn_and_the_guess_is_marked() -> None:
    calls = tuple(ToolCallEvent(name=name, duration_ms=ms) for name, ms in (("a", 1000), ("b", 2000)))
    turn = Turn(
        number=0,
        events=calls,
        start_timestamp="2026-03-03T16:36:18.710Z",
        end_timestamp="2026-03-03T16:36:27.710Z",
    )

    _root, agent, chat, first, second = spans(ROW, SessionTrace(session_id="s", turns=(turn,), events=calls))

    assert window(agent) == (1 * SECOND, 10 * SECOND)
    assert window(chat) == (1 * SECOND, 7 * SECOND)
    assert window(first) == (7 * SECOND, 8 * SECOND)
    assert window(second) == (8 * SECOND, 10 * SECOND)
    assert "ghx_bench.time.is_estimated" not in facts(agent)
    assert facts(first)["ghx_bench.time.is_estimated"] is True


def test_an_agent_without_a_model_has_no_chats() -> None:
    row = a_row(model="none")

    assert not [span for span in spans(row, a_trace(row)) if span["name"].startswith("chat")]


def test_ids_are_those_of_the_cell() -> None:
    again = [span["spanId"] for span in spans(ROW, a_trace(ROW))]

    assert [span["spanId"] for span in spans(ROW, a_trace(ROW))] == again
    assert len(set(again)) == len(again)
    others = {spans(a_row(**changes), None)[0]["traceId"] for changes in ({"mode": "mcp"}, {"iteration": 1})}
    assert len(others | {spans(ROW, None)[0]["traceId"]}) == 3
    assert all(re.fullmatch("[0-9a-f]{16}", each) for each in again)
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in others)


stamps = st.none() | st.sampled_from(["2026-03-03T16:36:20Z", "2026-03-03T16:36:30", "soon", "0001-01-01T00:00:00Z"])
durations = st.none() | st.integers(-9, 10**15) | st.floats()


@given(st.lists(st.tuples(stamps, stamps, durations, st.lists(durations, max_size=3)), max_size=4), stamps, stamps)
def test_no_span_ends_before_it_began(
    drawn: list[tuple[str | None, str | None, float | None, list[float | None]]], began: str | None, ended: str | None
) -> None:
    turns = tuple(
        Turn(
            number=number,
            start_timestamp=start,
            end_timestamp=end,
            duration_ms=took,
            events=tuple(ToolCallEvent(name="x", duration_ms=ms) for ms in calls),
        )
        for number, (start, end, took, calls) in enumerate(drawn)
    )
    row = a_row(startedAt=began or "", completedAt=ended or "")

    for span in spans(row, SessionTrace(session_id="s", turns=turns)):
        assert 0 <= int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])


def test_the_values_have_the_types_of_the_protocol() -> None:
    kinds = {"stringValue": str, "intValue": str, "boolValue": bool, "doubleValue": float}

    for span in spans(ROW, a_trace(ROW)):
        for attribute in span["attributes"]:
            ((kind, value),) = attribute["value"].items()
            assert type(value) is kinds[kind]


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_is_no_number_is_not_told(number: float) -> None:
    (root,) = spans(a_row(cost={"totalUsd": number}), None)

    assert "ghx_bench.cost.usd" not in facts(root)
