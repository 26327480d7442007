import difflib

from hypothesis import given
from hypothesis import strategies as st

from ghx_twin.queries.pulls.hunks import find_line, find_moved_line, line_at, parse_patch

PATCH = "@@ -1,3 +1,4 @@\n one\n-two\n+zwei\n+drei\n four\n@@ -10,2 +11,1 @@ def\n ten\n-eleven"


def test_lines_are_numbered_on_their_sides_and_positions_go_on_through_later_headers() -> None:
    first, second = parse_patch(PATCH)

    assert [(line.left, line.right, line.position) for line in first.lines] == [
        (1, 1, 1),
        (2, None, 2),
        (None, 2, 3),
        (None, 3, 4),
        (3, 4, 5),
    ]
    assert [(line.left, line.right, line.position) for line in second.lines] == [(10, 11, 7), (11, None, 8)]


def test_a_comment_shows_its_hunk_from_the_header_to_the_line() -> None:
    found = find_line(parse_patch(PATCH), "RIGHT", 2)

    assert found is not None
    hunk, line = found
    assert hunk.until(line) == "@@ -1,3 +1,4 @@\n one\n-two\n+zwei"


def test_a_line_outside_every_hunk_is_not_found() -> None:
    assert find_line(parse_patch(PATCH), "RIGHT", 5) is None
    assert find_line(parse_patch(PATCH), "LEFT", 4) is None
    assert line_at(parse_patch(PATCH), 6) is None  # a header


def test_a_removed_line_that_looks_like_a_header_is_a_line() -> None:
    (hunk,) = parse_patch("@@ -1,2 +1,1 @@\n-@@ -1,1 +1,1 @@\n kept")

    assert [line.left for line in hunk.lines] == [1, 2]


def test_the_note_of_a_missing_newline_is_on_neither_side() -> None:
    (hunk,) = parse_patch("@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file")

    assert [(line.left, line.right) for line in hunk.lines] == [(1, None), (None, None), (None, 1), (None, None)]


texts = st.lists(st.sampled_from("abcdef"), max_size=25)


@given(before=texts, after=texts, context=st.integers(0, 4))
def test_a_line_is_followed_to_where_a_diff_says_it_is(before: list[str], after: list[str], context: int) -> None:
    rows = list(difflib.unified_diff(before, after, lineterm="", n=context))[2:]
    hunks = parse_patch("\n".join(rows)) if rows else ()

    kept = {}  # which lines this very diff keeps, read off its marks
    removed = set()
    for hunk in hunks:
        for line in hunk.lines:
            if line.left is not None and line.right is None:
                removed.add(line.left)
    for number in range(1, len(before) + 1):
        new = find_moved_line(hunks, number)
        assert (new is None) == (number in removed)
        if new is not None:
            assert after[new - 1] == before[number - 1]
            kept[number] = new
    assert list(kept.values()) == sorted(set(kept.values()))


@given(before=texts, after=texts)
def test_every_line_of_a_diff_is_found_by_side_and_by_position(before: list[str], after: list[str]) -> None:
    rows = list(difflib.unified_diff(before, after, lineterm=""))[2:]
    hunks = parse_patch("\n".join(rows)) if rows else ()

    for hunk in hunks:
        for line in hunk.lines:
            assert rows[line.position] == line.text
            assert line_at(hunks, line.position) == line
            if line.right is not None:
                assert find_line(hunks, "RIGHT", line.right) == (hunk, line)
                assert after[line.right - 1] == line.text[1:]
            if line.left is not None:
                assert before[line.left - 1] == line.text[1:]
