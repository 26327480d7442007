"""The search language: how queries are read, and that nothing fails to be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghx_twin.queries.search.grammar import All, Either, Node, Not, Qualifier, Word, compile_query, parse
from ghx_twin.queries.search.matching import compile_number, compile_time
from ghx_twin.refusals import InvalidRefusal

KNOWN = {"is", "label", "repo", "user", "milestone", "author"}
A, B, C = Word("a"), Word("b"), Word("c")
NOW = "2026-01-10T12:00:00Z"


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("a b", All((A, B))),
        ("a AND b", All((A, B))),
        ("a OR b AND c", Either((A, All((B, C))))),
        ("a OR b c", All((Either((A, B)), C))),
        ("c a OR b", All((C, Either((A, B))))),
        ("is:open a OR b", All((Qualifier("is", ("open",)), Either((A, B))))),
        ("(a OR b) c", All((Either((A, B)), C))),
        ("( a )", A),
        ("-a", Not(A)),
        ("NOT a", Not(A)),
        ("-(a b)", Not(All((A, B)))),
        ("NOT NOT a", A),
        ('"a b"', Word("a b")),
        ('-"a b"', Not(Word("a b"))),
        ("is:open", Qualifier("is", ("open",))),
        ("IS:open", Qualifier("is", ("open",))),
        ("-label:bug", Not(Qualifier("label", ("bug",)))),
        ('label:"good first issue",bug', Qualifier("label", ("good first issue", "bug"))),
        (r'label:"a \"b\""', Qualifier("label", ('a "b"',))),
        ("other:thing", Word("other:thing")),
        ("a in:title", Word("a", frozenset({"title"}))),
        ("in:title (a OR b)", Either((Word("a", frozenset({"title"})), Word("b", frozenset({"title"}))))),
        ("in:title,body a", Word("a", frozenset({"title", "body"}))),
        ("-in:title -sort:updated a", A),
        ("(a in:title) OR b", Either((Word("a", frozenset({"title"})), B))),
        ("repo:x/y", Either((Qualifier("repo", ("x/y",)),))),
        ("repo:x/y user:z a", All((A, Either((Qualifier("repo", ("x/y",)), Qualifier("user", ("z",))))))),
        ("", All(())),
        ("()", All(())),
        ("OR", All(())),
        ("a OR", A),
        ("OR a", A),
        ("AND a AND", A),
        ("NOT", All(())),
        ("a)", A),
        ("(a", A),
        (")a(b", All((A, B))),
        ('"a', Word("a")),
        ("and or", All((Word("and"), Word("or")))),
    ],
)  # fmt: skip
def test_a_query_is_read_as_github_means_it(text: str, root: Node) -> None:
    assert parse(text, KNOWN).root == root


def test_the_order_stands_anywhere_in_the_query() -> None:
    query = parse("a sort:updated-asc b", KNOWN)

    assert (query.root, query.sort) == (All((A, B)), "updated-asc")


@pytest.mark.parametrize("text", ["x" * 257, "(" * 30 + "a" + ")" * 30, "x " * 5000])
def test_what_github_limits_is_refused(text: str) -> None:
    with pytest.raises(InvalidRefusal):
        parse(text, KNOWN)


def test_qualifiers_do_not_count_as_text() -> None:
    parse("label:" + "x" * 300 + " a", KNOWN)


PIECES = st.sampled_from([
    "a", "-b", "(", ")", "-(", "AND", "OR", "NOT", '"', "-", "is:", 'label:"x', "repo:a/b", "in:title", "-in:title",
    "-sort:x", "\\", ",",
])  # fmt: skip


@given(st.text(max_size=120) | st.lists(PIECES, max_size=25).map(" ".join))
def test_everything_parses_and_can_be_asked(text: str) -> None:
    try:
        root = parse(text, KNOWN).root
    except InvalidRefusal:
        return
    question = compile_query(root, lambda leaf: lambda subject: leaf == Word(subject))
    assert question("a") in {True, False}


EXPRESSIONS = st.recursive(
    st.sampled_from("abc"),
    lambda inner: st.one_of(
        inner.map(lambda part: f"NOT ({part})"),
        st.tuples(inner, inner).map(lambda parts: f"({parts[0]}) ({parts[1]})"),
        st.tuples(inner, inner).map(lambda parts: f"({parts[0]}) OR ({parts[1]})"),
    ),
    max_leaves=8,
)


@given(EXPRESSIONS, st.sets(st.sampled_from("abc")))
def test_operators_mean_what_they_say(text: str, true: set[str]) -> None:
    question = compile_query(
        parse(text, KNOWN).root, lambda leaf: lambda truths: isinstance(leaf, Word) and leaf.text in truths
    )
    python = text.replace(") (", ") and (").replace("OR", "or").replace("NOT", "not")

    assert question(true) == eval(python, {name: name in true for name in "abc"})


@pytest.mark.parametrize(
    ("text", "fits"),
    [("3", {3}), (">3", {4, 5}), (">=3", {3, 4, 5}), ("<3", {1, 2}), ("<=3", {1, 2, 3}), ("2..4", {2, 3, 4}),
     ("*..2", {1, 2}), ("4..*", {4, 5})],
)  # fmt: skip
def test_numbers_are_compared(text: str, fits: set[int]) -> None:
    assert {number for number in range(1, 6) if compile_number(text)(number)} == fits


@pytest.mark.parametrize(
    ("text", "days"),
    [("2026-01-08", {8}), (">2026-01-08", {9, 10}), (">=2026-01-08", {8, 9, 10}), ("<2026-01-08", {6, 7}),
     ("<=2026-01-08", {6, 7, 8}), ("2026-01-07..2026-01-08", {7, 8}), ("*..2026-01-06", {6}),
     ("2026-01", {6, 7, 8, 9, 10}), ("2025", set()),
     (">=2026-01-08T13:00:00+01:00", {8, 9, 10}), (">2026-01-08T12:00:00Z", {9, 10}),
     (">=@today-2d", {8, 9, 10}), ("@today", {10}), ("<@today-1w", set())],
)  # fmt: skip
def test_times_are_compared_by_whole_days_where_only_a_day_is_named(text: str, days: set[int]) -> None:
    fits = compile_time(text, NOW)

    assert {day for day in range(6, 11) if fits(f"2026-01-{day:02}T12:00:00Z")} == days
    assert not fits(None)


@pytest.mark.parametrize("text", ["soon", "2026-13-01", "2026-02-30", ">", "..x", "0000-01-01", "9999"])
def test_a_date_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidRefusal):
        compile_time(text, NOW)


@pytest.mark.parametrize("text", ["many", ">", "1e5", "9" * 30, "٣"])
def test_a_number_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidRefusal):
        compile_number(text)
