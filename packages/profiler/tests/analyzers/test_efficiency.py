"""Turns and calls that led somewhere are told from those that did not; and where the tokens went."""

import pytest
from analyzed_sessions import NOT_FOUND, analyzed, bash, said, session, thought, tool, trace_of

from ghx_profiler.analyzers import EfficiencyAnalyzer
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.trace import SessionTrace, TextOutputEvent, ToolCallEvent, Turn


def efficiency(trace: SessionTrace) -> dict[str, object]:
    return analyzed(EfficiencyAnalyzer(), trace)


LOST = bash("gh api x", NOT_FOUND)


@pytest.mark.parametrize(
    ("turn", "is_productive"),
    [
        ([bash("ls")], True),
        ([LOST], False),
        ([LOST, bash("ls")], True),
        ([said("Let me see."), LOST], False),
        ([said("Here you are.")], True),
        ([thought()], False),
        ([], False),
        ([bash("ls", success=None)], True),
    ],
)
def test_a_turn_is_productive_if_a_call_made_progress_or_the_user_was_told_something(
    turn: list[object], is_productive: bool
) -> None:
    values = efficiency(session(turn))

    assert (values["total_turns"], values["productive_turns"], values["wasted_turns"]) == (
        1,
        is_productive,
        not is_productive,
    )
    assert values["turn_efficiency"] == is_productive


def test_asking_again_for_what_is_known_is_no_progress() -> None:
    values = efficiency(session([bash("ls", "a b")], [bash("ls", "a b")], [said()]))

    assert values["productive_turns"] == 2
    assert values["information_redundancy"] == 0.5


def test_asking_again_and_getting_another_answer_is_progress() -> None:
    values = efficiency(session([bash("gh run view 1", "queued")], [bash("gh run view 1", "done")]))

    assert (values["productive_turns"], values["information_redundancy"], values["backtracking_events"]) == (
        2,
        0,
        0,
    )


def test_trying_a_failed_call_again_is_not_redundant() -> None:
    assert efficiency(session([LOST], [bash("gh api x", "{}")]))["information_redundancy"] == 0


def test_an_agent_goes_back_when_it_asks_again_for_what_is_known_after_something_else() -> None:
    ask, other = bash("cat a", "text"), bash("ls")

    assert efficiency(session([ask], [other], [ask]))["backtracking_events"] == 1
    assert efficiency(session([ask], [ask]))["backtracking_events"] == 0


def test_an_agent_goes_back_when_it_tries_a_failed_step_again() -> None:
    assert efficiency(session([LOST, LOST], [bash("gh api y")], [said()]))["backtracking_events"] == 2


def test_using_the_same_tool_many_times_is_not_going_back() -> None:
    calls = [[bash(f"gh api issues/{number}", str(number))] for number in range(5)]

    assert efficiency(session(*calls))["backtracking_events"] == 0


def test_the_longest_stretch_without_progress_is_told_in_calls() -> None:
    fine, known = bash("ls", "a"), bash("ls", "a")

    values = efficiency(session([fine], [LOST, known], [LOST], [bash("pwd")], [LOST]))

    assert values["longest_stretch_without_progress"] == 3


def test_of_a_session_in_which_nothing_happened_there_are_no_shares() -> None:
    values = efficiency(session())

    assert (values["total_turns"], values["turn_efficiency"], values["information_redundancy"]) == (0, None, None)


def test_where_turns_are_not_told_apart_only_their_number_may_be_known() -> None:
    values = efficiency(trace_of(bash("ls"), total_turns=4))

    assert (
        values["total_turns"],
        values["productive_turns"],
        values["wasted_turns"],
        values["turn_efficiency"],
    ) == (
        4,
        None,
        None,
        None,
    )


def test_turns_may_be_told_beside_the_events() -> None:
    call = ToolCallEvent(name="read", success=True)
    turns = (Turn(number=1, events=(call,)), Turn(number=2, events=(TextOutputEvent(content="x"),)))

    values = efficiency(SessionTrace(session_id="s", events=(call,), turns=turns))

    assert (values["total_turns"], values["productive_turns"]) == (2, 2)


def test_of_calls_that_are_only_counted_nothing_more_is_known() -> None:
    values = efficiency(session([said()], total_tool_calls=3))

    assert (values["information_redundancy"], values["backtracking_events"]) == (None, None)
    assert values["longest_stretch_without_progress"] is None


def test_tokens_are_told_by_what_they_were_spent_on_where_that_is_known() -> None:
    turn = [thought("abc", 10), bash("ls", "12345"), said("four", 2)]

    values = efficiency(session(turn, tokens=TokenUsage.of(input=100, output=50, reasoning=40)))

    assert values["token_breakdown"] == [
        ["tool definitions", "unknown", "unknown"],
        ["tool requests", "unknown", str(len('{"command": "ls"}'))],
        ["tool results", "unknown", "5"],
        ["reasoning", "40", "3"],
        ["text", "2", "4"],
    ]


def test_a_recorder_that_knows_more_may_tell_where_the_tokens_went() -> None:
    told = {"toolDefinitions": 9_000, "toolResults": 700, "reasoning": 5}

    values = efficiency(session([thought("x", 3)], tokenBreakdown=told))

    assert [row[1] for row in values["token_breakdown"]] == ["9000", "unknown", "700", "5", "unknown"]


def test_tokens_that_not_every_text_tells_are_not_known() -> None:
    values = efficiency(session([said("a", 1), said("b"), thought("c", 4)]))

    assert [row[1] for row in values["token_breakdown"]][3:] == ["4", "unknown"]


def test_the_largest_answers_are_told() -> None:
    calls = [tool(f"t{size}", "x" * size) for size in (3, 0, 9, 5, 7, 1, 8)]

    rows = efficiency(session(calls))["largest_results"]

    assert [(row[0], row[2]) for row in rows] == [("t9", "9"), ("t8", "8"), ("t7", "7"), ("t5", "5"), ("t3", "3")]
