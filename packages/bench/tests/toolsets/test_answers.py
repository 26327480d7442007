"""The rules by which an answer fails its reader."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from ghx_bench.toolsets.answers import (
    AnswerRow,
    compare_answers,
    figures,
    judge,
    says_there_is_more,
    says_what_to_do,
)
from ghx_bench.toolsets.calls import WORLDS, Call
from ghx_bench.toolsets.questions import Items, Question, built_in_table
from ghx_bench.toolsets.sizes import ESTIMATE
from ghx_bench.toolsets.surface import Measuring, ModeSurface, summarize
from ghx_bench.toolsets.surface_tables import brief_table, tables_of
from ghx_profiler.agents.tools.toolset import ToolAnswer
from ghx_twin.journal import Entry
from ghx_twin.seed.loading import load_seed

LISTED = Question(id="list", asks="List them.", items=Items(pattern=r"thing-\d+", total=3))


def row(text: str, question: Question = LISTED, *, failed: bool = False, limit_tokens: int = 25_000) -> AnswerRow:
    call = Call(answer=ToolAnswer(text=text, value=None, failed=failed), requests=(), written="ask")
    return judge(question, [call], ESTIMATE, limit_tokens=limit_tokens)


def mode(name: str, rows: Sequence[AnswerRow]) -> ModeSurface:
    nothing = ESTIMATE.measure("")
    return ModeSurface(name=name, instructions=nothing, told=nothing, rows=tuple(rows), answers=figures(rows))


@pytest.mark.parametrize(
    "text",
    [
        "accepted values: `open`, `closed`",
        "no issue 12; did you mean 21?",
        "state: expected one of 'open', 'closed'",
        "missing flag, specify --repo",
        "Usage: gh issue view NUMBER",
    ],
)
def test_an_error_that_names_a_way_on_says_what_to_do(text: str) -> None:
    assert says_what_to_do(text)


@pytest.mark.parametrize(
    "text", ["", "Not Found", "GraphQL: Could not resolve to an issue with the number of 9.", "HTTP 500", "EOF"]
)
def test_an_error_that_only_says_what_happened_does_not(text: str) -> None:
    assert not says_what_to_do(text)


@pytest.mark.parametrize(
    "text",
    [
        'thing-1 {"total_count": 3}',
        "count: 1 of 3 total\nthing-1",
        '{"items": ["thing-1"], "pageInfo": {"hasNextPage": true, "endCursor": "abc"}}',
        "thing-1\n(2 more)",
        "thing-1\nnext page: 2",
        "thing-1 ... truncated",
        '{"items": ["thing-1"], "nextCursor": "abc"}',
        '{"items": ["thing-1"], "next_page": 2}',
        '{"items": ["thing-1"], "has_more": true}',
    ],
)
def test_a_part_of_a_list_that_says_so_is_not_cut_off_silently(text: str) -> None:
    assert says_there_is_more(text, 1)
    assert not row(text).cut_off


@pytest.mark.parametrize(
    "text",
    [
        "thing-1\nthing-2",
        '{"hasNextPage": false, "total_count": 1} thing-1',
        "count: 1",
        '{"items":["thing-1"],"pageInfo":{"hasNextPage":false,"endCursor":"Y3Vyc29yOnYyOjU6"}}',
        '{"items":["thing-1"],"endCursor":null}',
        '{"items": ["thing-1"], "nextCursor": ""}',
        "thing-1\nnext_cursor: None",
        '{"items": ["thing-1"], "next_page": 0}',
        '{"items": ["thing-1"], "next_page": null, "has_more": false}',
        "body: thing-1\ntruncated: false",
    ],
)
def test_a_part_of_a_list_that_does_not_say_so_is_cut_off_silently(text: str) -> None:
    assert row(text).cut_off


def test_a_whole_list_is_not_cut_off_and_what_is_named_twice_counts_once() -> None:
    assert not row("thing-1 thing-2 thing-3").cut_off
    assert row("thing-1 thing-1 thing-2").items == 2


def test_an_answer_over_the_limit_is_marked() -> None:
    assert row("x" * 44, limit_tokens=10).over_limit
    assert not row("x" * 40, limit_tokens=10).over_limit


def test_an_error_is_refused_where_one_was_due_and_failed_elsewhere() -> None:
    due = Question(id="wrong", asks="Do what cannot be done.", kind="error")

    assert row("Not Found", due, failed=True).outcome == "refused"
    assert row("Here you are", due).outcome == "no-error"
    assert row("Not Found", failed=True).outcome == "failed"
    assert row("Not Found", failed=True).no_hint
    assert not row("Not Found").no_hint


def test_figures_are_of_answers_alone() -> None:
    rows = [row("x" * 4 * size, Question(id=f"q{size}", asks="?")) for size in range(1, 21)]
    found = figures([*rows, row("y" * 4000, failed=True)])

    assert (found.questions, found.tokens_p50, found.tokens_p95, found.tokens_largest) == (20, 10, 19, 20)
    assert (found.largest, found.size.tokens, found.calls) == ("q20", 210, 20)


def test_requests_that_one_mode_cannot_count_are_counted_for_none_where_modes_stand_side_by_side() -> None:
    def counted(*requests: int | None) -> list[AnswerRow]:
        rows = [row("x", Question(id=f"q{at}", asks="?")) for at in range(len(requests))]
        return [each.model_copy(update={"requests": number}) for each, number in zip(rows, requests, strict=True)]

    modes = [mode("a", counted(2, None, 3)), mode("b", counted(1, 5, 1))]
    measured = summarize(modes, Measuring(table=built_in_table(), ruler=ESTIMATE))

    found = [(each.answers, each.common) for each in measured.modes]
    assert [(alone and alone.requests, common and common.requests) for alone, common in found] == [(5, 5), (7, 2)]


def test_the_fixed_world_has_no_words_by_which_answers_are_judged() -> None:
    path: Path = WORLDS / "tidewatch.seed.yaml"
    repository = load_seed(path).repositories[0]
    talked = [text for each in repository.issues for text in (each.title, each.body, *(c.body for c in each.comments))]

    assert talked
    assert not [each for each in talked if says_there_is_more(each or "", 0)]


def test_modes_are_compared_question_by_question_and_not_by_what_one_long_answer_weighs() -> None:
    def rows(*tokens: int) -> list[AnswerRow]:
        return [row("x" * 4 * each, Question(id=f"q{at}", asks="?")) for at, each in enumerate(tokens)]

    # What is written counts as well: one token here.
    found = compare_answers("first", rows(9, 9, 9, 49_999), rows(19, 39, 9, 24_999))

    assert found is not None
    assert (found.questions, found.smaller, found.larger) == (4, 1, 2)
    assert (found.geometric_mean, found.median) == (1.414, 1.5)
    assert (found.lowest, found.highest) == (("q3", 0.5), ("q1", 4.0))


def test_a_list_is_compared_by_its_items_so_that_ending_early_is_no_merit() -> None:
    whole, part = row("thing-1 thing-2 thing-3 " + "x" * 84), row("thing-1 " + "x" * 36)

    assert part.tokens < whole.tokens
    found = compare_answers("whole", [whole], [part])
    assert found is not None
    assert found.larger == 1
    assert compare_answers("whole", [whole], [row("x" * 40)]) is None  # it has nothing of the list


def test_tables_say_how_much_of_a_list_was_shown_and_rank_nobody_by_a_sum() -> None:
    whole, part = row("thing-1 thing-2 thing-3 " + "x" * 84, limit_tokens=10), row("thing-1 " + "x" * 36)
    modes = [mode("all", [whole]), mode("few", [part])]
    measured = summarize(modes, Measuring(table=built_in_table(), ruler=ESTIMATE))

    tables = [*tables_of(measured), brief_table(measured)]
    lists = next(each for each in tables if each.title.startswith("Lists"))
    assert lists.rows == (("list", "3 of 3, over limit: 9.3", "1 of 3, silently: 12.0"),)
    assert not [each.title for each in tables if "together" in each.header]
    (_, against) = brief_table(measured).rows
    assert "0 / 1 of 1" in against


def test_what_the_embedded_github_lacks_is_not_charged_to_the_tool() -> None:
    lacking = Entry(
        at="", surface="rest", actor=None, method="GET", path="/gists", operation="GET /gists", status=501, failed=True,
        mutation=False, duration_ms=0, request_bytes=0, response_bytes=0, not_implemented="GET /gists",
    )  # fmt: skip
    for failed in (True, False):
        answer = ToolAnswer(text="GET /gists is not implemented by the twin", value=None, failed=failed)
        found = judge(LISTED, [Call(answer=answer, requests=(lacking,))], ESTIMATE, limit_tokens=1)

        assert (found.outcome, found.gaps) == ("not-measurable", ("GET /gists",))
        assert [found.no_hint, found.cut_off, found.over_limit] == [False] * 3
        assert figures([found]).questions == 0
        measured = summarize([mode("one", [found])], Measuring(table=built_in_table(), ruler=ESTIMATE))
        assert "not measurable" in next(each for each in tables_of(measured) if each.title.startswith("Answers")).header
