"""What a text points at: references, mentions and closing keywords."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghx_twin.queries.references import Reference, closing_references, mentions, references

OWN = "acme/widgets"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see #12.", [("acme", "widgets", 12)]),
        ("(#1, #2) and #1", [("acme", "widgets", 1), ("acme", "widgets", 2)]),
        ("octo/cat.py#3", [("octo", "cat.py", 3)]),
        ("GH-4 gh-5", [("acme", "widgets", 4), ("acme", "widgets", 5)]),
        ("https://github.com/o/n/pull/6#issuecomment-1", [("o", "n", 6)]),
        ("http://127.0.0.1:99/o/n/issues/7", [("o", "n", 7)]),
        ("a#8 &#9; ##10 #x #11a /#12", []),
        ("`#1` ```\n#2\n``` <!-- #3 --> ~~~\n#4", []),
    ],
)
def test_references_are_found_where_github_links_them(text: str, found: list[tuple[str, str, int]]) -> None:
    assert references(text, OWN) == [Reference(*one) for one in found]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("@octocat, hi @Hubot!", ["octocat", "hubot"]),
        ("mail me@octocat.org @acme/team `@code` @-x @a--b", []),
        ("(@a) @b.", ["a", "b"]),
    ],
)
def test_mentions_are_logins_after_an_at_sign(text: str, found: list[str]) -> None:
    assert mentions(text) == found


@pytest.mark.parametrize(
    "keyword", ["close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"]
)
def test_every_keyword_closes(keyword: str) -> None:
    for written in (keyword, keyword.upper(), keyword.title(), f"{keyword}:"):
        assert closing_references(f"This {written} #7 for good", OWN) == [Reference("acme", "widgets", 7)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("fixes #1, fixes #2, and #3", [1, 2]),
        ("prefixes #1", []),
        ("fixes#1", []),
        ("fixing #1, fixe #2", []),
        ("`fixes #1`", []),
        ("fixes #1 closes #1", [1]),
        ("Resolves https://github.com/acme/widgets/issues/5", [5]),
        ("", []),
    ],
)
def test_only_keywords_before_a_reference_close(text: str, found: list[int]) -> None:
    assert [one.number for one in closing_references(text, OWN)] == found


def test_another_repository_is_closed_by_its_name() -> None:
    assert closing_references("Fixes octo/cat#3", OWN) == [Reference("octo", "cat", 3)]


@given(st.text(alphabet="#@`~<!->fixes GH1/a:.\n", max_size=300))
def test_no_text_is_too_odd_and_what_closes_is_also_referenced(text: str) -> None:
    mentions(text)

    assert set(closing_references(text, OWN)) <= set(references(text, OWN))


@pytest.mark.parametrize("piece", ["`", "```", "<!--", "@a", "#1 ", "a/", "fixes ", "~~~\n", "https://a/b/c/", "-"])
def test_long_texts_of_one_piece_are_read_in_no_time(piece: str) -> None:
    text = piece * (65536 // len(piece))

    assert len(references(text, OWN)) <= 1
    assert len(mentions(text)) <= 1
    assert closing_references(text, OWN) == []
