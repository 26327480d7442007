"""The rules by which an answer fails its reader."""

from pathlib import Path

import pytest

from ghx_bench.agents.tools.toolset import ToolAnswer
from ghx_bench.eval.toolsets.answers import AnswerRow, figures, judge, says_there_is_more, says_what_to_do
from ghx_bench.eval.toolsets.calls import WORLDS, Call
from ghx_bench.eval.toolsets.questions import PLACEHOLDERS, Items, Question, built_in_table, values_of
from ghx_bench.eval.toolsets.sizes import ESTIMATE
from ghx_bench.eval.toolsets.surface import Measuring, ModeSurface, summarize
from ghx_bench.twin.seed.loading import load_seed
from ghx_bench.twin.seed.worlds import open_world

LISTED = Question(id="list", asks="List them.", items=Items(pattern=r"thing-\d+", total=3))


def row(text: str, question: Question = LISTED, *, failed: bool = False, limit_tokens: int = 25_000) -> AnswerRow:
    call = Call(answer=ToolAnswer(text=text, value=None, failed=failed), requests=())
    return judge(question, [call], ESTIMATE, limit_tokens=limit_tokens)


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
    ],
)
def test_a_part_of_a_list_that_says_so_is_not_cut_off_silently(text: str) -> None:
    assert says_there_is_more(text, 1)
    assert not row(text).cut_off


@pytest.mark.parametrize("text", ["thing-1\nthing-2", '{"hasNextPage": false, "total_count": 1} thing-1', "count: 1"])
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
    def mode(name: str, *requests: int | None) -> ModeSurface:
        rows = [row("x", Question(id=f"q{at}", asks="?")) for at in range(len(requests))]
        counted = tuple(
            each.model_copy(update={"requests": number}) for each, number in zip(rows, requests, strict=True)
        )
        nothing = ESTIMATE.measure("")
        return ModeSurface(name=name, instructions=nothing, told=nothing, rows=counted, answers=figures(counted))

    measured = summarize([mode("a", 2, None, 3), mode("b", 1, 5, 1)], Measuring(table=built_in_table(), ruler=ESTIMATE))

    found = [(each.answers, each.common) for each in measured.modes]
    assert [(alone and alone.requests, common and common.requests) for alone, common in found] == [(5, 5), (7, 2)]


def test_the_fixed_world_has_no_words_by_which_answers_are_judged() -> None:
    path: Path = WORLDS / "tidewatch.seed.yaml"
    repository = load_seed(path).repositories[0]
    talked = [text for each in repository.issues for text in (each.title, each.body, *(c.body for c in each.comments))]

    assert talked
    assert not [each for each in talked if says_there_is_more(each or "", 0)]


def test_placeholders_of_calls_are_those_of_the_fixed_world() -> None:
    with open_world(WORLDS / "tidewatch.seed.yaml") as world:
        assert {*values_of(world)} == {*PLACEHOLDERS}
