"""How an agent goes about its task is told by the phases of its session."""

import pytest
from analyzed_sessions import NOT_FOUND, analyzed, bash, said, session, thought, tool

from ghx_profiler.analyzers import StrategyAnalyzer
from ghx_profiler.records.trace import SessionTrace


def strategy(trace: SessionTrace) -> dict[str, object]:
    return analyzed(StrategyAnalyzer(), trace)


def test_phases_are_thoughts_in_a_row_and_the_calls_of_a_turn() -> None:
    trace = session([thought(), thought(), bash("ls"), bash("pwd")], [bash("id")], [thought()], [thought(), said()])

    assert strategy(trace)["strategy_steps"] == [
        "reasoning phase (2 events)",
        "tool execution phase (2 calls)",
        "tool execution phase (1 calls)",
        "reasoning phase (2 events)",
    ]


LOST = bash("gh api x", NOT_FOUND)


@pytest.mark.parametrize(
    ("turns", "summary"),
    [
        ([[thought(), bash("ls"), bash("pwd")], [said()]], "direct"),
        ([[said("42")]], "direct"),
        ([[bash("ls")], [bash("pwd")], [said()]], "iterative"),
        ([[tool(f"tool{number}")] for number in range(6)], "exploratory"),
        ([[bash(f"gh api {number}", str(number))] for number in range(9)], "iterative"),
        ([[LOST], [bash("ls")], [LOST], [bash("pwd")]], "exploratory"),
        ([[LOST], [bash("gh api y")], [said()]], "iterative"),
        ([], None),
        ([[]], None),
    ],
)
def test_a_session_is_direct_iterative_or_exploratory(turns: list[list[object]], summary: str | None) -> None:
    assert strategy(session(*turns))["strategy_summary"] == summary


def test_what_could_have_been_saved_is_noted() -> None:
    known = bash("cat a", "text")
    large = tool("dump", "x" * 60_000)
    characters = 60_000 + 3 * len(NOT_FOUND) + 3 * len("text")

    assert strategy(session([LOST], [LOST], [known], [known], [LOST, known], [large]))["optimality_notes"] == [
        "3 of 7 tool calls failed",
        "2 requests were made again just as they had failed before",
        "2 tool calls asked again for what was known",
        "3 tool calls in a row made no progress",
        f"one answer of dump has 60,000 of the {characters:,} characters of all answers",
    ]


def test_of_a_session_without_fault_nothing_is_noted() -> None:
    assert strategy(session([bash("ls")], [said()]))["optimality_notes"] == []
