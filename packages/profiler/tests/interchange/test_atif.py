"""Sessions as ATIF trajectories, and back."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from report_runs import a_row, a_trace

from ghx_profiler.interchange import AgentInfo, BadTrajectoryError, from_atif, to_atif
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.trace import (
    ErrorEvent,
    ReasoningEvent,
    SessionTrace,
    TextOutputEvent,
    ToolCallEvent,
    TraceEvent,
    TraceSummary,
    Turn,
    TurnBoundaryEvent,
)

AGENT = AgentInfo(name="opencode", model="vendor/model-1")

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(["\n\n", "\n", "a\n\nb"])
counts = st.none() | st.integers(0, 10**9)
numbers = st.none() | st.integers(-5, 10**6) | st.floats(0, 1e6)
stamps = st.none() | st.sampled_from(["2026-03-03T16:54:00.958Z", "yesterday", "2026-01-01Z10:00:00"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
thoughts = st.builds(ReasoningEvent, content=texts, duration_ms=numbers, token_count=counts)
says = st.builds(TextOutputEvent, content=texts, token_count=counts)
calls = st.builds(
    ToolCallEvent,
    name=texts,
    input=values,
    output=values,
    duration_ms=numbers,
    success=st.none() | st.booleans(),
    error=st.none() | texts,
)
errors = st.builds(ErrorEvent, message=texts, recoverable=st.none() | st.booleans())
boundaries = st.builds(
    lambda number, stamp: TurnBoundaryEvent(turn_number=number, timestamp=stamp), st.integers(0, 3), stamps
)
strange = st.builds(lambda event: type(event).model_validate({**event.to_wire(), "length": 3, "x": [1]}), says | calls)
events = thoughts | says | calls | errors | strange
usages = st.builds(
    TokenUsage,
    input=counts,
    output=counts,
    reasoning=counts,
    cache_read=counts,
    cache_write=counts,
    total=counts,
    active=counts,
)
summaries = st.builds(
    TraceSummary,
    total_turns=counts,
    total_tool_calls=counts,
    total_tokens=usages,
    total_duration=numbers,
    total_cost_usd=numbers,
)
turns = st.builds(
    Turn,
    number=st.integers(0, 3),
    events=st.lists(events, max_size=5).map(tuple),
    start_timestamp=stamps,
    end_timestamp=stamps,
    duration_ms=numbers,
)


@st.composite
def recorded(draw: st.DrawFn) -> SessionTrace:
    """Draw a trace as recorders write it: turns, with or without boundaries among the events."""
    made = draw(st.lists(turns, max_size=4))
    flat: list[TraceEvent] = draw(st.lists(errors, max_size=2))
    bounded = draw(st.booleans())
    for turn in made:
        flat += [TurnBoundaryEvent(turn_number=turn.number, timestamp=turn.start_timestamp)] * bounded
        flat += turn.events
    return SessionTrace(session_id="s", events=tuple(flat), turns=tuple(made), summary=draw(summaries))


inconsistent = st.fixed_dictionaries(
    {
        "session_id": texts,
        "events": st.lists(events | boundaries, max_size=8),
        "turns": st.lists(turns, max_size=3),
        "summary": summaries,
        "prompt": st.none() | texts,
        "instructions": st.none() | texts,
    }
).map(SessionTrace.model_validate)


def as_json(document: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(document))


@given(trace=recorded() | inconsistent, with_row=st.booleans(), prompt=st.none() | texts)
def test_a_trace_comes_back_as_it_was(trace: SessionTrace, with_row: bool, prompt: str | None) -> None:
    document = to_atif(trace, a_row() if with_row else None, agent=AGENT, prompt=prompt)

    assert from_atif(as_json(document)) == trace


@pytest.mark.slow
@given(trace=recorded() | inconsistent, model=st.sampled_from(["none", "vendor/model-1"]))
def test_documents_keep_the_rules_of_the_format(trace: SessionTrace, model: str) -> None:
    document = as_json(to_atif(trace, a_row(), agent=AgentInfo(name="opencode", model=model)))

    steps = document["steps"]
    assert [step["step_id"] for step in steps] == list(range(1, len(steps) + 1))
    assert document["final_metrics"]["total_steps"] == len(steps) > 0
    for step in steps:
        ids = [call["tool_call_id"] for call in step.get("tool_calls", [])]
        assert len(set(ids)) == len(ids)
        answered = [result.get("source_call_id") for result in step.get("observation", {"results": []})["results"]]
        assert {call_id for call_id in answered if call_id is not None} <= set(ids)
        if step["source"] == "agent" and step.get("llm_call_count") == 0:
            assert "reasoning_content" not in step
        if step["source"] == "system":
            assert not {"reasoning_content", "tool_calls"} & step.keys()
        assert None not in step.values()


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)  # the first example waits for the download
@given(trace=recorded() | inconsistent, model=st.sampled_from(["none", "vendor/model-1"]), prompt=st.none() | texts)
def test_harbor_reads_what_we_write(trajectory_model: Any, trace: SessionTrace, model: str, prompt: str | None) -> None:
    document = as_json(to_atif(trace, a_row(), agent=AgentInfo(name="opencode", model=model), prompt=prompt))

    read = trajectory_model.model_validate(document)

    assert as_json(read.model_dump(mode="json", exclude_unset=True)) == document
    assert from_atif(read.model_dump(mode="json")) == trace


def test_harbor_is_a_judge_that_can_say_no(trajectory_model: Any) -> None:
    document = as_json(to_atif(a_trace(a_row()), agent=AGENT))
    document["steps"][0]["observation"]["results"][0]["source_call_id"] = "call_9_9"

    with pytest.raises(ValueError, match="call_9_9"):
        trajectory_model.model_validate(document)


def test_a_document_begins_with_what_the_session_was_told() -> None:
    trace = a_trace(a_row()).model_copy(update={"prompt": "Reply to #7.", "instructions": "Use gh."})

    document = to_atif(trace, agent=AGENT, prompt="Reply to #{{number}}.")

    assert document["steps"][:2] == [  # type: ignore[index]
        {"step_id": 1, "source": "system", "message": "Use gh."},
        {"step_id": 2, "source": "user", "message": "Reply to #7."},
    ]


def test_a_turn_is_one_step_with_its_thought_words_and_calls() -> None:
    trace = a_trace(a_row(), says="Look first.")

    document = to_atif(trace, agent=AGENT, prompt="Reply to every thread.")

    asked, first, second = document["steps"]  # type: ignore[misc]
    assert asked == {"step_id": 1, "source": "user", "message": "Reply to every thread."}
    assert first["reasoning_content"] == "Look first."
    assert first["message"] == ""
    assert first["llm_call_count"] == 1
    assert first["tool_calls"][0]["arguments"] == {"command": "gh pr view 7"}
    assert first["observation"]["results"] == [
        {"source_call_id": "call_2_1", "content": "Look first.", "extra": {"is_error": True}}
    ]
    assert second["message"] == "Look first."
    assert document["agent"] == {"name": "opencode", "version": "unknown", "model_name": "vendor/model-1"}


def test_cached_tokens_are_part_of_the_prompt_there_and_not_here() -> None:
    usage = TokenUsage.of(input=100, output=20, reasoning=5, cache_read=300, cache_write=40)
    trace = SessionTrace(session_id="s", summary=TraceSummary(total_tokens=usage))

    document = to_atif(trace, agent=AGENT)

    assert document["final_metrics"] == {
        "total_prompt_tokens": 440,
        "total_completion_tokens": 25,
        "total_cached_tokens": 300,
        "total_steps": 1,
        "extra": {"reasoning_tokens": 5, "cache_write_tokens": 40, "total_tokens": 465, "active_tokens": 165},
    }
    assert from_atif(document).summary.total_tokens == usage


def test_a_cost_from_a_price_table_is_told_but_is_not_the_agents_word() -> None:
    trace = SessionTrace(session_id="s")
    row = a_row(cost={"totalUsd": 0.02, "source": "computed"})

    document = to_atif(trace, row, agent=AGENT)

    assert document["final_metrics"]["total_cost_usd"] == 0.02  # type: ignore[index]
    assert from_atif(document).summary.total_cost_usd is None


def foreign(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    numbered = [{"step_id": number, "message": "", **step} for number, step in enumerate(steps, start=1)]
    return {
        "schema_version": "ATIF-v1.6",
        "session_id": "theirs",
        "agent": {"name": "other", "version": "2"},
        "steps": numbered,
        **fields,
    }


def call(call_id: str, **fields: Any) -> dict[str, Any]:
    return {"tool_call_id": call_id, "function_name": "bash", "arguments": {"command": call_id}, **fields}


def test_a_trajectory_of_others_is_read_as_far_as_it_tells() -> None:
    document = foreign(
        {"source": "system", "message": "Be good."},
        {"source": "user", "message": "Do it."},
        {"source": "agent", "message": "old", "is_copied_context": True},
        {
            "source": "agent",
            "timestamp": "2026-03-03T16:54:00Z",
            "message": [{"type": "text", "text": "Yes."}, {"type": "image", "source": {"path": "x.png"}}],
            "reasoning_content": "Hm.",
            "tool_calls": [call("a"), call("b")],
            "observation": {"results": [{"source_call_id": "b", "content": "done"}]},
            "metrics": {"prompt_tokens": 50, "completion_tokens": 9, "cached_tokens": 30, "cost_usd": 1},
        },
        {"source": "agent", "tool_calls": [call("c")], "llm_call_count": 0},
        {"source": "agent", "message": "Ready.", "metrics": {"prompt_tokens": 70, "completion_tokens": 1}},
    )

    trace = from_atif(document)

    assert [(event.type, getattr(event, "input", None)) for event in trace.events] == [
        ("turn_boundary", None),
        ("reasoning", None),
        ("text_output", None),
        ("tool_call", {"command": "a"}),
        ("tool_call", {"command": "b"}),
        ("tool_call", {"command": "c"}),
        ("turn_boundary", None),
        ("text_output", None),
    ]
    assert [len(turn.events) for turn in trace.turns] == [5, 1]
    assert [(each.output, each.success) for each in trace.tool_calls] == [(None, None), ("done", None), (None, None)]
    assert trace.summary.total_turns == 2
    assert trace.summary.total_tool_calls == 3
    assert (trace.summary.total_tokens.input, trace.summary.total_tokens.output) == (120, 10)
    assert trace.summary.total_tokens.cache_read is None, "one step did not tell"


def test_a_document_that_somebody_edited_is_read_by_its_contents() -> None:
    document = as_json(to_atif(a_trace(a_row()), agent=AGENT))
    document["steps"][1]["message"] = "[removed]"

    trace = from_atif(document)

    assert [event.content for event in trace.events if isinstance(event, TextOutputEvent)] == ["[removed]"]
    assert len(trace.tool_calls) == 2


def test_totals_smaller_than_their_parts_are_not_known() -> None:
    totals = {"total_prompt_tokens": 10, "total_cached_tokens": 30, "total_completion_tokens": 4}

    tokens = from_atif(foreign({"source": "agent"}, final_metrics=totals)).summary.total_tokens

    assert (tokens.input, tokens.cache_read, tokens.output, tokens.total) == (None, 30, 4, None)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"schema_version": "ATIF-v2.0", "steps": [{"step_id": 1, "source": "agent", "message": ""}]},
        foreign(),
        foreign({"source": "robot"}),
        foreign({"source": "agent", "tool_calls": [{"function_name": "x"}]}),
        foreign({"source": "agent"}, extra={"ghx_bench": {"turns": [1]}}),
    ],
)
def test_what_is_no_trajectory_is_refused_in_one_line(document: dict[str, Any]) -> None:
    with pytest.raises(BadTrajectoryError) as caught:
        from_atif(document)

    assert "\n" not in str(caught.value)


def test_sessions_of_older_tools_come_back_as_they_were(older_tools: Path) -> None:
    for path in sorted((older_tools / "sessions").glob("*.json")):
        trace = SessionTrace.model_validate_json(path.read_bytes())
        document = to_atif(trace, agent=AGENT)
        assert from_atif(as_json(document)) == trace
        assert "turns" not in document["extra"]["ghx_bench"], "told twice"  # type: ignore[index]
