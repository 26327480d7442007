"""Writing down a session as it happens."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.trace import SessionTrace, ToolCallEvent, TraceEvent, TurnBoundaryEvent


@dataclass
class HandClock:
    """Goes on when told to."""

    seconds: float = 0.0
    began: datetime = field(default=datetime(2026, 3, 3, tzinfo=UTC))

    def now(self) -> datetime:
        return self.began + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return 1_000 + self.seconds

    def pass_by(self, seconds: float) -> None:
        self.seconds += seconds


def recorder(clock: HandClock | None = None) -> TraceRecorder:
    return TraceRecorder(session_id="ses_1", clock=clock or HandClock())


def shape_of(events: tuple[TraceEvent, ...]) -> list[str]:
    return [event.type for event in events]


def wire_call(trace: SessionTrace) -> dict[str, Any]:
    (call,) = trace.tool_calls
    return call.to_wire()


def test_a_session_in_which_nothing_happened_has_an_empty_trace() -> None:
    trace = recorder().trace()

    assert (trace.session_id, trace.events, trace.turns) == ("ses_1", (), ())
    assert (trace.summary.total_turns, trace.summary.total_tool_calls) == (0, 0)
    assert trace.summary.total_tokens == TokenUsage().with_all_keys()


def test_events_stand_in_order_and_in_their_turns() -> None:
    notes = recorder()
    notes.begin_turn()
    notes.reasoning("Let me look.", tokens=4)
    notes.tool_call("bash", {"command": "ls"}, "a.txt", success=True, duration_ms=7)
    notes.begin_turn()
    notes.text("There is one file.", tokens=5)

    trace = notes.trace()

    assert shape_of(trace.events) == ["turn_boundary", "reasoning", "tool_call", "turn_boundary", "text_output"]
    assert [shape_of(turn.events) for turn in trace.turns] == [["reasoning", "tool_call"], ["text_output"]]
    assert [turn.number for turn in trace.turns] == [0, 1]
    assert (trace.summary.total_turns, trace.summary.total_tool_calls) == (2, 1)


def test_a_turn_ends_where_the_next_begins() -> None:
    clock = HandClock()
    notes = recorder(clock)
    notes.begin_turn()
    clock.pass_by(1.5)
    notes.begin_turn()
    clock.pass_by(2)
    notes.end_turn()
    clock.pass_by(60)

    first, second = notes.trace().turns

    assert first.start_timestamp == "2026-03-03T00:00:00.000Z"
    assert first.end_timestamp == second.start_timestamp == "2026-03-03T00:00:01.500Z"
    assert second.end_timestamp == "2026-03-03T00:00:03.500Z"
    assert (first.duration_ms, second.duration_ms) == (1_500, 2_000)
    assert notes.trace().summary.total_duration == 3_500


def test_an_open_turn_ends_in_the_trace_at_the_current_time_and_goes_on() -> None:
    clock = HandClock()
    notes = recorder(clock)
    notes.begin_turn()
    clock.pass_by(1)

    early = notes.trace()
    clock.pass_by(1)
    notes.text("done")

    assert early.turns[0].end_timestamp == "2026-03-03T00:00:01.000Z"
    assert early.turns[0].events == ()
    assert notes.trace().turns[0].duration_ms == 2_000
    assert shape_of(notes.trace().turns[0].events) == ["text_output"]


def test_what_happens_outside_a_turn_begins_one() -> None:
    notes = recorder()
    notes.text("hello")
    notes.end_turn()
    notes.text("again")

    assert [shape_of(turn.events) for turn in notes.trace().turns] == [["text_output"], ["text_output"]]


def test_an_error_before_the_first_turn_begins_none() -> None:
    notes = recorder()
    notes.error("cannot log in", recoverable=False)
    assert notes.trace().summary.total_turns == 0

    notes.begin_turn()
    notes.error("lost the connection", recoverable=True)

    trace = notes.trace()
    assert shape_of(trace.events) == ["error", "turn_boundary", "error"]
    assert [shape_of(turn.events) for turn in trace.turns] == [["error"]]


def test_ending_a_turn_twice_or_none_at_all_is_no_matter() -> None:
    clock = HandClock()
    notes = recorder(clock)
    notes.end_turn()
    notes.begin_turn()
    notes.end_turn()
    clock.pass_by(1)
    notes.end_turn()

    assert [turn.duration_ms for turn in notes.trace().turns] == [0]


def test_a_tool_call_is_written_with_all_that_is_known_of_it() -> None:
    notes = recorder()
    notes.tool_call("read", {"path": "x"}, None, success=False, duration_ms=3, error="no such file")

    assert wire_call(notes.trace()) == {
        "type": "tool_call",
        "name": "read",
        "input": {"path": "x"},
        "output": None,
        "durationMs": 3,
        "success": False,
        "error": "no such file",
    }


def test_a_timed_call_is_timed_and_succeeds_unless_it_says_otherwise() -> None:
    clock = HandClock()
    notes = recorder(clock)
    with notes.timed_tool_call("bash", "ls") as call:
        clock.pass_by(0.25)
        call.output = "a.txt"

    assert wire_call(notes.trace()) == {
        "type": "tool_call",
        "name": "bash",
        "input": "ls",
        "output": "a.txt",
        "durationMs": 250,
        "success": True,
    }


def test_a_timed_call_that_reports_an_error_failed() -> None:
    notes = recorder()
    with notes.timed_tool_call("bash") as call:
        call.error = "exit code 1"

    (event,) = notes.trace().tool_calls
    assert (event.success, event.error) == (False, "exit code 1")


def test_a_timed_call_that_raises_failed_and_the_error_goes_on() -> None:
    notes = recorder()
    with pytest.raises(OSError, match="disk full"), notes.timed_tool_call("write"):
        raise OSError("disk full")

    (event,) = notes.trace().tool_calls
    assert (event.success, event.error) == (False, "disk full")


@pytest.mark.anyio
@pytest.mark.both_backends
async def test_of_a_cancelled_call_nobody_knows_whether_it_succeeded() -> None:
    clock = HandClock()
    notes = recorder(clock)
    notes.begin_turn()
    with anyio.CancelScope() as scope:
        with notes.timed_tool_call("sleep") as call:
            clock.pass_by(3)
            scope.cancel()
            await anyio.sleep_forever()
            call.output = "never"

    trace = notes.trace()
    (event,) = trace.tool_calls
    assert (event.success, event.error, event.output, event.duration_ms) == (None, None, None, 3_000)
    assert event.unfinished
    assert trace.turns[0].duration_ms == 3_000


def test_a_call_that_is_going_on_is_in_the_trace_where_it_began() -> None:
    clock = HandClock()
    notes = recorder(clock)
    with notes.timed_tool_call("slow"):
        clock.pass_by(1)
        notes.text("meanwhile")
        trace = notes.trace()

    assert shape_of(trace.events) == ["turn_boundary", "tool_call", "text_output"]
    assert (trace.tool_calls[0].success, trace.tool_calls[0].duration_ms) == (None, 1_000)
    assert notes.trace().tool_calls[0].success is True


def test_begin_and_end_of_a_call_are_noted_apart() -> None:
    clock = HandClock()
    notes = recorder(clock)
    notes.begin_tool_call("call-1", "Run a command")
    clock.pass_by(1)
    notes.begin_tool_call("call-1", "bash", {"command": "ls"})
    notes.text("meanwhile")
    notes.begin_turn()
    clock.pass_by(1)
    notes.end_tool_call("call-1", "a.txt", success=True)

    trace = notes.trace()

    assert [shape_of(turn.events) for turn in trace.turns] == [["tool_call", "text_output"], []]
    assert wire_call(trace) == {
        "type": "tool_call",
        "name": "bash",
        "input": {"command": "ls"},
        "output": "a.txt",
        "durationMs": 2_000,
        "success": True,
        "callId": "call-1",
    }


def test_a_call_that_goes_on_when_the_session_ends_is_unfinished_with_its_time_so_far() -> None:
    clock = HandClock()
    notes = recorder(clock)
    notes.begin_tool_call("call-1", "bash", {"command": "sleep 60"})
    clock.pass_by(4)

    (event,) = notes.trace().tool_calls

    assert (event.unfinished, event.success, event.duration_ms) == (True, None, 4_000)
    notes.end_tool_call("call-1", error="killed")
    (event,) = notes.trace().tool_calls
    assert (event.unfinished, event.success, event.error) == (False, False, "killed")


def test_a_call_that_is_told_of_when_it_is_over_took_as_long_as_the_agent_says() -> None:
    notes = recorder(HandClock())
    notes.begin_tool_call("call-1", "bash")
    notes.end_tool_call("call-1", success=True, duration_ms=1_500)

    (event,) = notes.trace().tool_calls

    assert event.duration_ms == 1_500


def test_an_end_without_a_beginning_and_a_second_end_are_passed_over() -> None:
    notes = recorder()
    notes.end_tool_call("call-1", "nothing")
    notes.begin_tool_call("call-2", "bash")
    notes.end_tool_call("call-2", "first", success=True)
    notes.end_tool_call("call-2", "second", success=False)

    assert [(call.output, call.success) for call in notes.trace().tool_calls] == [("first", True)]


def test_pieces_of_text_and_of_thought_are_one_event_each_until_something_else_happens() -> None:
    notes = recorder()
    for piece in ("I ", "think"):
        notes.reasoning_chunk(piece)
    for piece in ("Hello, ", "wor", "ld \ud83d", "\ude00"):
        notes.text_chunk(piece)
    notes.tool_call("bash")
    notes.text_chunk("Done")
    notes.begin_turn()
    notes.text_chunk(".")

    trace = notes.trace()

    assert [shape_of(turn.events) for turn in trace.turns] == [
        ["reasoning", "text_output", "tool_call", "text_output"],
        ["text_output"],
    ]
    contents = [getattr(event, "content", None) for turn in trace.turns for event in turn.events]
    assert contents == ["I think", "Hello, world \U0001f600", None, "Done", "."]


def test_calls_that_overlap_stand_in_the_order_they_began() -> None:
    notes = recorder()
    first, second = notes.timed_tool_call("first"), notes.timed_tool_call("second")
    first.__enter__()
    second.__enter__()
    second.__exit__(None, None, None)
    first.__exit__(None, None, None)

    assert [call.name for call in notes.trace().tool_calls] == ["first", "second"]


def test_usage_is_summed() -> None:
    notes = recorder()
    notes.add_usage(TokenUsage.of(input=10, output=1, reasoning=2, cache_read=3, cache_write=4))
    notes.add_usage(TokenUsage.of(input=20, output=1, reasoning=2, cache_read=3, cache_write=4))

    assert notes.trace().summary.total_tokens == TokenUsage.of(
        input=30, output=2, reasoning=4, cache_read=6, cache_write=8
    )


def test_a_part_that_one_model_call_does_not_tell_is_not_known_of_the_session() -> None:
    notes = recorder()
    notes.add_usage(TokenUsage.of(input=10, output=1, reasoning=5))
    notes.add_usage(TokenUsage.of(input=10, output=1))

    tokens = notes.trace().summary.total_tokens
    assert (tokens.input, tokens.reasoning, tokens.total, tokens.active) == (20, None, 27, None)


def test_costs_are_summed_and_absent_where_nobody_tells_them() -> None:
    notes = recorder()
    assert "totalCostUsd" not in notes.trace().summary.to_wire()

    notes.cost(0.1)
    notes.cost(0.2)

    assert notes.trace().summary.total_cost_usd == pytest.approx(0.3)


def test_an_unknown_cost_of_one_step_makes_the_whole_unknown() -> None:
    notes = recorder()
    notes.cost(0.1)
    notes.cost(None)

    assert "totalCostUsd" not in notes.trace().summary.to_wire()


def test_the_session_id_may_be_told_later() -> None:
    notes = TraceRecorder(clock=HandClock())
    notes.text("hello")
    notes.session_id = "ses_2"

    assert notes.trace().session_id == "ses_2"


def test_changing_an_input_or_output_later_does_not_change_the_trace() -> None:
    arguments, answer = {"paths": ["a"]}, ["one"]
    notes = recorder()
    notes.tool_call("read", arguments, answer)
    with notes.timed_tool_call("read", arguments) as call:
        call.output = answer
    arguments["paths"].append("b")
    answer.append("two")

    assert [(event.input, event.output) for event in notes.trace().tool_calls] == [({"paths": ["a"]}, ["one"])] * 2


class Reply(BaseModel):
    lines: tuple[str, ...]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Path("a/b"), "a/b"),
        (b"caf\xc3\xa9 \xff", "café \ufffd"),
        ({1: (True, None, 1.5)}, {"1": [True, None, 1.5]}),
        (float("nan"), "nan"),
        ("broken \udc80", "broken ?"),
        ({"x": {"one"}}, {"x": ["one"]}),
        (Reply(lines=("a", "b")), {"lines": ["a", "b"]}),
    ],
)
def test_what_json_cannot_hold_is_written_as_text(value: object, written: object) -> None:
    notes = recorder()
    notes.tool_call("any", value, value)

    (event,) = notes.trace().tool_calls
    assert event.input == event.output == written
    assert SessionTrace.model_validate_json(notes.trace().model_dump_json()) == notes.trace()


def test_every_key_is_written_as_in_the_files_of_others(older_tools: Path) -> None:
    real = SessionTrace.model_validate_json((older_tools / "sessions" / "ghx-iter-0.json").read_text())
    notes = recorder()
    notes.begin_turn()
    notes.reasoning("hm")
    notes.tool_call("bash", {}, "")
    notes.text("done")
    trace = notes.trace()

    assert trace.to_wire().keys() == real.to_wire().keys()
    assert trace.summary.to_wire().keys() == real.summary.to_wire().keys()
    assert trace.turns[0].to_wire().keys() == real.turns[0].to_wire().keys()
    ours = {event.type: event.to_wire().keys() for event in trace.events}
    theirs = {event.type: event.to_wire().keys() for event in real.events}
    assert ours == theirs


@pytest.mark.parametrize("mode", ["baseline", "ghx", "mcp"])
def test_a_real_session_told_again_groups_as_it_did(older_tools: Path, mode: str) -> None:
    real = SessionTrace.model_validate_json((older_tools / "sessions" / f"{mode}-iter-0.json").read_text())
    clock = HandClock()
    notes = TraceRecorder(session_id=real.session_id, clock=clock)

    for turn in real.turns:
        assert turn.start_timestamp is not None
        clock.seconds = (datetime.fromisoformat(turn.start_timestamp) - clock.began).total_seconds()
        notes.begin_turn()
        for event in turn.events:
            replay(notes, event)
    assert real.turns[-1].end_timestamp is not None
    clock.seconds = (datetime.fromisoformat(real.turns[-1].end_timestamp) - clock.began).total_seconds()
    notes.add_usage(real.summary.total_tokens)

    retold = notes.trace()
    assert retold.events == real.events
    assert retold.summary == real.summary
    # The prior art wrote 0 for the duration of every turn.
    assert [turn.model_copy(update={"duration_ms": 0}) for turn in retold.turns] == list(real.turns)


def replay(notes: TraceRecorder, event: TraceEvent) -> None:
    match event.type:
        case "reasoning":
            notes.reasoning(event.content, tokens=event.token_count, duration_ms=event.duration_ms)
        case "text_output":
            notes.text(event.content, tokens=event.token_count)
        case "tool_call":
            notes.tool_call(event.name, event.input, event.output, success=event.success, duration_ms=event.duration_ms)
        case other:
            pytest.fail(f"no way to tell {other} again")


actions = st.lists(
    st.sampled_from(["begin", "end", "reasoning", "text", "call", "timed", "error", "wait"]), max_size=30
)


def act(notes: TraceRecorder, clock: HandClock, action: str) -> None:
    match action:
        case "begin":
            notes.begin_turn()
        case "end":
            notes.end_turn()
        case "reasoning":
            notes.reasoning("hm")
        case "text":
            notes.text("so")
        case "call":
            notes.tool_call("bash", success=True)
        case "timed":
            with notes.timed_tool_call("bash"):
                clock.pass_by(0.001)
        case "error":
            notes.error("oh")
        case _:
            clock.pass_by(0.5)


@given(actions)
def test_at_every_moment_the_trace_is_whole(taken: list[str]) -> None:
    clock = HandClock()
    notes = recorder(clock)
    for action in taken:
        act(notes, clock, action)
        assert_whole(notes.trace())


def assert_whole(trace: SessionTrace) -> None:
    grouped: list[TraceEvent] = []
    for turn in trace.turns:
        grouped += [TurnBoundaryEvent(turn_number=turn.number, timestamp=turn.start_timestamp), *turn.events]
    early = len(trace.events) - len(grouped)
    assert shape_of(trace.events[:early]) == ["error"] * early
    assert list(trace.events[early:]) == grouped
    assert trace.summary.total_tool_calls == sum(isinstance(event, ToolCallEvent) for event in trace.events)
    assert trace.summary.total_turns == len(trace.turns)
    stamps = [stamp for turn in trace.turns for stamp in (turn.start_timestamp, turn.end_timestamp)]
    assert stamps == sorted(str(stamp) for stamp in stamps)
    assert SessionTrace.model_validate_json(trace.model_dump_json()).to_wire() == trace.to_wire()
