"""What became of tool calls, by what they say of themselves and by their output; and no output does harm."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghx_profiler.failures import CallOutcome, FailureKind, kind_of, outcome_of_call
from ghx_profiler.records.trace import SessionTrace, ToolCallEvent


def test_exactly_the_three_hidden_failures_of_a_real_session_are_found(older_tools: Path) -> None:
    trace = SessionTrace.model_validate_json((older_tools / "sessions" / "baseline-iter-0.json").read_text())

    fates = [outcome_of_call(call) for call in trace.tool_calls]

    assert [at for at, fate in enumerate(fates) if fate.failed] == [2, 3, 4]
    assert {fate.kind for fate in fates if fate.failed} == {FailureKind.NOT_FOUND}


@pytest.mark.parametrize("mode", ["ghx", "mcp"])
def test_no_failure_is_found_in_real_sessions_without_one(older_tools: Path, mode: str) -> None:
    trace = SessionTrace.model_validate_json((older_tools / "sessions" / f"{mode}-iter-0.json").read_text())

    assert {outcome_of_call(call).failed for call in trace.tool_calls} == {False}


def test_a_call_that_says_it_failed_did() -> None:
    assert outcome_of_call(ToolCallEvent(name="read", success=False, output="fine")).failed is True
    assert outcome_of_call(ToolCallEvent(name="read", success=None, error="gone")).failed is True


def test_the_kind_of_a_flagged_failure_is_read_from_its_error_first() -> None:
    call = ToolCallEvent(name="read", success=False, error="request timed out", output="404 Not Found")

    assert outcome_of_call(call) == CallOutcome(failed=True, kind=FailureKind.TIMEOUT, evidence="request timed out")


@pytest.mark.parametrize(
    "output",
    [
        {"output": "done", "exitCode": 0},
        {"ok": True},
        json.dumps({"ok": True, "data": []}),
        {"isError": False, "content": "x"},
    ],
)
def test_a_call_whose_output_tells_that_it_went_well_succeeded(output: Any) -> None:
    assert outcome_of_call(ToolCallEvent(name="run", output=output)).failed is False


@pytest.mark.parametrize("output", [None, "", "some text", [1, 2], 7])
def test_of_a_call_that_tells_nothing_nothing_is_known(output: Any) -> None:
    assert outcome_of_call(ToolCallEvent(name="run", output=output)) == CallOutcome(failed=None)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("HTTP 403: You have exceeded a secondary rate limit", FailureKind.RATE_LIMIT),
        ("HTTP 403: Forbidden", FailureKind.AUTH),
        ("could not find the author", FailureKind.NOT_FOUND),
        ("the author's name is too long", FailureKind.UNKNOWN),
        ("issue 404 is locked", FailureKind.UNKNOWN),
        ("RATE_LIMITED", FailureKind.RATE_LIMIT),
        ("context deadline exceeded", FailureKind.TIMEOUT),
        ("invalid character '<' looking for beginning of value", FailureKind.PARSE_ERROR),
        ("invalid value for --limit", FailureKind.VALIDATION),
        ("boom", FailureKind.UNKNOWN),
    ],
)
def test_kinds_are_read_from_messages(message: str, kind: FailureKind) -> None:
    assert kind_of(message) == kind


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text() | st.sampled_from(["error", "ok", "status", "content", "exit", "message"]), inner)
    ),
    max_leaves=12,
)


@given(
    output=json_values,
    given=json_values,
    name=st.sampled_from(["bash", "read", "x"]),
    success=st.none() | st.booleans(),
)
def test_no_output_raises_and_a_flagged_failure_stays_one(
    output: Any, given: Any, name: str, success: bool | None
) -> None:
    fate = outcome_of_call(ToolCallEvent(name=name, input=given, output=output, success=success))

    assert fate.failed is True or success is not False
    assert fate.failed is not None or success is None
    assert (fate.kind is not None) == (fate.failed is True)
    assert len(fate.evidence) <= 200
    assert "\n" not in fate.evidence


@pytest.mark.parametrize(
    "output",
    ["[" * 200_000, "{" * 200_000, '{"a":' * 50_000, "}gh: " * 50_000, "x/" * 100_000, "\n" * 100_000, "9" * 10_000],
)
def test_hostile_outputs_are_read_in_no_time(output: str) -> None:
    assert (
        outcome_of_call(ToolCallEvent(name="bash", input={"command": "gh api x"}, output=output, success=True)).failed
        is False
    )
