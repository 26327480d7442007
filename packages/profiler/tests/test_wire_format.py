"""Rows, sessions and analyses: what is read is written back, key for key."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghx_profiler.records.analysis import AnalysisResult, NumberFinding, SessionAnalysisBundle
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.records.trace import SessionTrace, TextOutputEvent, ToolCallEvent
from ghx_profiler.scenario import BaseScenario, ScenarioSets

OLD_ROW: dict[str, Any] = {
    "runId": "run_1",
    "scenarioId": "s-001",
    "mode": "baseline",
    "model": "vendor/model",
    "iteration": 0,
    "startedAt": "2026-01-02T03:04:05.678Z",
    "completedAt": "2026-01-02T03:04:15Z",
    "tokens": {"input": 10, "output": 2, "reasoning": 1, "cacheRead": 5, "cacheWrite": 0, "total": 18, "active": 13},
    "timing": {"wallMs": 9000, "segments": [{"label": "thinking", "startMs": 0, "endMs": 4000.5}]},
    "toolCalls": {
        "total": 2,
        "byCategory": {"bash": 2},
        "failed": 1,
        "retried": 0,
        "errorRate": 0.5,
        "records": [
            {"name": "bash", "category": "bash", "success": True, "durationMs": None},
            {"name": "bash", "category": "bash", "success": False, "durationMs": 12, "error": "exit code 1"},
        ],
    },
    "cost": {"totalUsd": 0.25, "inputUsd": 0.2, "outputUsd": 0.05, "reasoningUsd": 0},
    "success": False,
    "checkpointsPassed": 0,
    "checkpointsTotal": 1,
    "checkpointDetails": [{"id": "c", "description": "d", "passed": False, "actual": {"items": []}, "expected": "> 0"}],
    "outputValid": True,
    "provider": "opencode",
    "sessionId": "ses_1",
    "agentTurns": 3,
    "completionReason": "stop",
    "extensions": {"anything": [1, 2.5, None, {"deep": True}]},
}

SESSION: dict[str, Any] = {
    "sessionId": "ses_1",
    "events": [
        {"type": "turn_boundary", "turnNumber": 1, "timestamp": "2026-01-02T03:04:05.678Z"},
        {"type": "reasoning", "content": "hm", "durationMs": 5, "tokenCount": 1},
        {
            "type": "tool_call",
            "name": "bash",
            "input": {"command": "ls"},
            "output": "x",
            "durationMs": 1.5,
            "success": True,
        },
        {
            "type": "tool_call",
            "name": "b",
            "input": None,
            "output": None,
            "durationMs": None,
            "success": False,
            "error": "e",
        },
        {"type": "error", "message": "overloaded", "recoverable": True},
        {"type": "text_output", "content": "done", "tokenCount": 1},
    ],
    "turns": [
        {
            "number": 1,
            "events": [{"type": "text_output", "content": "done", "tokenCount": 1}],
            "startTimestamp": "2026-01-02T03:04:05.678Z",
            "endTimestamp": "2026-01-02T03:04:06Z",
            "durationMs": 322,
        }
    ],
    "summary": {"totalTurns": 1, "totalToolCalls": 2, "totalTokens": OLD_ROW["tokens"], "totalDuration": 322},
}

ANALYSIS: dict[str, Any] = {
    "sessionId": "ses_1",
    "scenarioId": "s-001",
    "mode": "baseline",
    "model": "",
    "results": {
        "error": {
            "analyzer": "error",
            "findings": {
                "n": {"type": "number", "value": 1, "unit": "errors"},
                "s": {"type": "string", "value": "mixed"},
                "l": {"type": "list", "values": ["a"]},
                "t": {"type": "table", "headers": ["k", "v"], "rows": [["a", "1"]]},
                "r": {"type": "ratio", "value": 0.5, "label": "half"},
            },
            "summary": "one error",
        }
    },
}


@pytest.mark.parametrize(
    ("model", "value"),
    [(ProfileRow, OLD_ROW), (SessionTrace, SESSION), (SessionAnalysisBundle, ANALYSIS)],
    ids=["row", "session", "analysis"],
)
def test_what_is_read_is_written_back_key_for_key(model: Any, value: dict[str, Any]) -> None:
    read = model.model_validate(value)

    assert read.model_dump(mode="json") == value
    assert json.loads(read.model_dump_json()) == value
    assert read.to_wire() == value
    assert model.model_validate_json(json.dumps(value)).to_wire() == value


def test_keys_of_other_versions_are_kept() -> None:
    newer = {**OLD_ROW, "madeUp": {"x": 1}, "tokens": {**OLD_ROW["tokens"], "audio": 3}}

    assert ProfileRow.model_validate(newer).to_wire() == newer


def test_numbers_keep_their_kind() -> None:
    text = ProfileRow.model_validate(OLD_ROW).model_dump_json()

    assert '"wallMs":9000,' in text
    assert '"endMs":4000.5' in text


def test_compat_files_round_trip(older_tools: Path) -> None:
    for line in (older_tools / "rows.jsonl").read_text().splitlines():
        assert ProfileRow.model_validate_json(line).to_wire() == json.loads(line)
    for path in (older_tools / "sessions").glob("*.json"):
        assert SessionTrace.model_validate_json(path.read_text()).to_wire() == json.loads(path.read_text())
    for path in (older_tools / "analysis").glob("*.json"):
        assert SessionAnalysisBundle.model_validate_json(path.read_text()).to_wire() == json.loads(path.read_text())
    sets = json.loads((older_tools / "scenarios/scenario-sets.json").read_text())
    assert ScenarioSets.model_validate(sets).model_dump(mode="json") == sets


def test_an_old_row_of_a_failed_iteration_has_unknown_metrics_and_is_not_rewritten() -> None:
    zeros = {**OLD_ROW, "tokens": dict.fromkeys(OLD_ROW["tokens"], 0), "sessionId": "", "error": "seeding failed"}

    row = ProfileRow.model_validate(zeros)

    assert row.upgraded().known_metrics == {}
    assert row.to_wire() == zeros


def test_what_stopped_an_old_row_is_told_by_its_end_and_a_recorded_cause_comes_first() -> None:
    stopped = {**OLD_ROW, "completionReason": "timeout", "error": "Timeout after 9000ms"}

    old, recorded = (ProfileRow.model_validate(each) for each in (stopped, {**stopped, "cause": "environment"}))
    old_now, recorded_now = old.upgraded(), recorded.upgraded()

    assert (old.cause, old_now.cause, old_now.was_measured) == (None, "agent_timeout", True)
    assert old_now.known_metrics["latency_wall_ms"] == 9000
    assert (recorded_now.cause, recorded_now.was_measured) == ("environment", False)


def test_a_row_of_ours_without_a_trace_knows_how_long_its_agent_had() -> None:
    stopped = {**OLD_ROW, "version": 1, "sessionId": "", "error": "stopped", "cause": "agent_timeout"}

    assert ProfileRow.model_validate(stopped).upgraded().known_metrics["latency_wall_ms"] == 9000


def test_the_known_metrics_of_a_row_have_the_names_of_the_prior_art() -> None:
    known = ProfileRow.model_validate(OLD_ROW).upgraded().known_metrics

    assert known["tokens_active"] == 13
    assert known["latency_wall_ms"] == 9000
    assert known["latency_thinking_ms"] == 4000.5
    assert known["cost_total_usd"] == 0.25
    assert known["tool_calls_total"] == 2
    assert known["tool_calls_category_bash"] == 2
    assert known["agent_turns"] == 3


COUNTS = st.none() | st.integers(min_value=0, max_value=10**9)


@given(input=COUNTS, output=COUNTS, reasoning=COUNTS, cache_read=COUNTS, cache_write=COUNTS)
def test_nothing_unknown_becomes_zero(**parts: int | None) -> None:
    usage = TokenUsage.of(**parts)

    assert (usage.total is None) == (parts["input"] is None or parts["output"] is None)
    assert (usage.active is None) == (usage.total is None or parts["cache_read"] is None)
    if usage.total is not None:
        assert usage.total == sum(part or 0 for part in parts.values())


def test_spelling_out_writes_null_for_what_is_not_known_and_leaves_optional_keys_away() -> None:
    row = ProfileRow.model_validate({**OLD_ROW, "tokens": {}, "cost": {}}).with_all_keys().to_wire()

    assert row["tokens"] == dict.fromkeys(OLD_ROW["tokens"])
    assert row["cost"] == dict.fromkeys(OLD_ROW["cost"])
    assert "error" not in row
    assert "source" not in row["cost"]


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("timeoutMs", "120000"),
        ("timeoutMs", True),
        ("timeoutMs", 0),
        ("timeoutMs", 1.5),
        ("allowedRetries", -1),
        ("prompt", ""),
        ("id", ""),
        ("tags", [""]),
    ],
)
def test_a_base_scenario_is_strict(field: str, bad: object) -> None:
    good = {"id": "a", "name": "n", "description": "d", "prompt": "p", "timeoutMs": 1}
    BaseScenario.model_validate(good)

    with pytest.raises(ValueError, match=r"(?i)" + "".join(f"_?{c}" if c.isupper() else c for c in field)):
        BaseScenario.model_validate({**good, field: bad})


def test_a_scenario_reads_both_spellings_and_writes_back_only_what_it_was_given() -> None:
    given_ = {"id": "a", "name": "n", "description": "d", "prompt": "p", "timeoutMs": 1}
    snake = {**given_, "timeout_ms": 1}
    del snake["timeoutMs"]

    assert BaseScenario.model_validate(given_).to_wire() == given_
    assert BaseScenario.model_validate(snake).to_wire() == given_
    assert BaseScenario.model_validate(given_).allowed_retries == 0


def test_records_made_here_say_of_which_kind_they_are() -> None:
    result = AnalysisResult(analyzer="a", findings={"n": NumberFinding(value=1)})
    bundle = SessionAnalysisBundle(session_id="s", scenario_id="s", mode="m", model="m", results={"a": result})

    assert SessionAnalysisBundle.model_validate_json(bundle.to_bytes()) == bundle
    assert TextOutputEvent(content="x").to_wire() == {"type": "text_output", "content": "x"}
    spelled = bundle.with_all_keys().to_wire()
    assert spelled["results"]["a"]["findings"]["n"] == {"type": "number", "value": 1, "unit": ""}


def test_half_a_character_from_an_agent_costs_no_record() -> None:
    trace = SessionTrace(session_id="s", events=(ToolCallEvent(name="t", input={"\ud800": ["\udfff", 1.5, None]}),))

    read = SessionTrace.model_validate_json(trace.with_all_keys().to_bytes())

    assert read.tool_calls[0].input == {"\ufffd": ["\ufffd", 1.5, None]}
