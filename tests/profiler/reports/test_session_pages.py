"""The page of one session: everything that happened, failures marked."""

from pathlib import Path
from typing import Any

import pytest
from report_runs import a_row, a_trace, write_run

from ghx_bench.profiler.reports import generate_report
from ghx_bench.profiler.reports.sessions import session_page, session_path

FAILED = {"id": "replied", "description": "Every thread has a reply", "passed": False, "expected": 3, "actual": [1]}


def test_turns_reasoning_calls_and_texts_are_shown_in_order() -> None:
    row = a_row()
    text = session_page(row, a_trace(row, says="thinking"), mode=row.mode)

    assert text.index("Turn 1, 1,200 ms") < text.index("gh pr view 7") < text.index("Turn 2")
    assert text.index("gh api graphql") < text.rindex("thinking")
    assert "<script" not in text


def test_a_failed_call_and_an_error_are_marked_and_open() -> None:
    row = a_row()
    text = session_page(row, a_trace(row), mode=row.mode)

    assert text.count('class="event failed"') == 2
    assert text.count("<details open>") == 1


def test_a_failed_checkpoint_shows_what_was_expected_and_what_was_there() -> None:
    text = session_page(a_row(success=False, checkpointDetails=[FAILED]), None, mode="ghx")

    assert 'class="event failed"' in text
    assert "<summary>expected</summary><pre>3</pre>" in text
    assert "No session was recorded for this row." in text


def test_numbers_that_are_not_known_are_called_unknown() -> None:
    text = session_page(a_row(tokens={}, cost={}, agentTurns=None), None, mode="ghx")

    assert text.count("<td>unknown</td>") == 3


def test_a_long_output_is_cut_and_says_so() -> None:
    row = a_row()
    text = session_page(row, a_trace(row, says="x" * 30_000), mode=row.mode)

    assert text.count("[10,000 more characters in the session's file]") == 4


def test_paths_stay_below_sessions_whatever_the_row_names() -> None:
    for name in ("..", "../../x", "/etc/passwd", ".hidden", "a\x00b", "", "x" * 500, "\ud800"):
        path = Path(session_path(a_row(name, name, model=name or "m"), below=name))
        assert path.parts[0] == "sessions"
        assert ".." not in path.parts
        assert not any(part.startswith(".") for part in path.parts)
        assert all(len(part) <= 160 for part in path.parts)


@pytest.mark.parametrize(
    ("choice", "says"), [("all", "2 of 3 rows have no session"), ("failures", "1 of 2 rows with a page has no session")]
)
def test_rows_without_a_session_are_counted(choice: Any, says: str, tmp_path: Path) -> None:
    rows = [a_row(), a_row(iteration=1, sessionId=""), a_row(iteration=2, sessionId="", success=False)]
    run = write_run(tmp_path / "run", rows)

    made = generate_report([run], sessions=choice, formats=["html"])

    assert says in (made.directory / "index.html").read_text()
    assert made.pages == (3 if choice == "all" else 2)


def test_a_report_in_which_every_row_has_a_session_does_not_count_them(tmp_path: Path) -> None:
    made = generate_report([write_run(tmp_path / "run", [a_row()])], sessions="all", formats=["html"])

    assert "no session" not in (made.directory / "index.html").read_text()
