"""What an agent thinks aloud is weighed and read."""

import pytest
from analyzed_sessions import NOT_FOUND, analyzed, bash, said, session, thought

from ghx_profiler.analyzers import ReasoningAnalyzer
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.trace import SessionTrace


def reasoning(trace: SessionTrace) -> dict[str, object]:
    return analyzed(ReasoningAnalyzer(), trace)


def test_reasoning_is_weighed_against_all_tokens_and_all_calls() -> None:
    tokens = TokenUsage.of(input=700, output=200, reasoning=100)

    findings = reasoning(session([bash("ls"), bash("pwd")], tokens=tokens))

    assert (findings["reasoning_density"], findings["reasoning_per_tool_call"]) == (0.1, 50)


def test_what_the_agent_does_not_tell_is_not_known() -> None:
    findings = reasoning(session([bash("ls")], tokens=TokenUsage(total=100)))

    assert (findings["reasoning_density"], findings["reasoning_per_tool_call"], findings["planning_quality"]) == (
        None,
        None,
        None,
    )


def test_without_calls_there_is_no_reasoning_for_each() -> None:
    assert (
        reasoning(session([said()], tokens=TokenUsage.of(input=1, output=1, reasoning=9)))["reasoning_per_tool_call"]
        is None
    )


LOST = bash("gh api x", NOT_FOUND)


@pytest.mark.parametrize(
    ("turns", "quality"),
    [
        ([[thought("a" * 50), bash("ls")], [thought("b" * 50), said()]], "proactive"),
        ([[thought("a" * 10), bash("ls")], [thought("b" * 50), said()]], "mixed"),
        ([[bash("ls")], [thought("b" * 50), said()]], "reactive"),
        ([[thought("a" * 10), LOST], [thought("b" * 50), said()]], "reactive"),
        ([[thought("a"), said()]], "proactive"),
        ([[bash("ls")], [said()]], None),
    ],
)
def test_planning_is_judged_by_when_the_agent_thinks(turns: list[list[object]], quality: str | None) -> None:
    assert reasoning(session(*turns))["planning_quality"] == quality


@pytest.mark.parametrize(
    ("content", "decision"),
    [
        ("**Planning replies**\n\nThere are three threads. I will reply to each.", "**Planning replies**"),
        ("There are three threads. I will reply to each. Then I stop.", "I will reply to each."),
        ("Three threads are open. One is resolved.", "Three threads are open."),
        ("The file v1.2.md is there\nLet me open it", "Let me open it"),
    ],
)
def test_each_thought_gives_its_headline_or_its_decision(content: str, decision: str) -> None:
    assert reasoning(session([thought(content)]))["key_decisions"] == [decision]


def test_empty_thoughts_decide_nothing_and_long_ones_are_shortened() -> None:
    long = reasoning(session([thought("  \n"), thought("x" * 500)]))["key_decisions"]

    assert [len(decision) for decision in long] == [160]


@pytest.mark.parametrize(
    "sentence",
    [
        "Wait, that is the wrong repository.",
        "Hmm.",
        "I'm not sure which label is meant.",
        "That's strange.",
        "I misread the issue.",
        "It doesn't make sense to me.",
        "That didn't work.",
    ],
)
def test_sentences_of_an_agent_at_a_loss_are_told(sentence: str) -> None:
    assert reasoning(session([thought(f"I look. {sentence} I go on.")]))["confusion_signals"] == [sentence]


@pytest.mark.parametrize(
    "content",
    [
        "Wait for the checks to finish, then merge.",
        "The issue is about a confusing error message.",
        "I am sure that this is right.",
        "The strange loop test is in tests/test_loop.py.",
    ],
)
def test_sentences_about_other_things_are_not(content: str) -> None:
    assert reasoning(session([thought(content)]))["confusion_signals"] == []
