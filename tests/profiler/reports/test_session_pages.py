"""The page of one session: everything that happened, failures marked."""

import re
from pathlib import Path
from typing import Any

import pytest
from report_runs import a_row, a_trace, write_run

from ghx_bench.profiler.cell import Arm
from ghx_bench.profiler.reports import generate_report
from ghx_bench.profiler.reports.render.session_page import session_page, session_path

pytestmark = pytest.mark.slow

PATH = "sessions/m/ghx/pr-reply-001/0.html"
FAILED = {"id": "replied", "description": "Every thread has a reply", "passed": False, "expected": 3, "actual": [1]}


def test_turns_reasoning_calls_and_texts_are_shown_in_order() -> None:
    row = a_row()
    text = session_page(row, a_trace(row, says="thinking"), arm=Arm(mode=row.mode), path=PATH)

    assert text.index("Turn 1, 1.2 s") < text.index("gh pr view 7") < text.index("Turn 2")
    assert text.index("gh api graphql") < text.rindex("thinking")
    assert "<script" not in text


def test_a_failed_call_and_an_error_are_marked_and_open() -> None:
    row = a_row()
    text = session_page(row, a_trace(row), arm=Arm(mode=row.mode), path=PATH)

    assert text.count('class="event failed"') == 2
    assert text.count("<details open>") == 1


def test_a_failed_checkpoint_shows_what_was_expected_and_what_was_there() -> None:
    text = session_page(a_row(success=False, checkpointDetails=[FAILED]), None, arm=Arm(mode="ghx"), path=PATH)

    assert 'class="event failed"' in text
    assert "<summary>expected</summary><pre>3</pre>" in text
    assert "No session was recorded for this row." in text


def test_the_page_tells_the_prompt_with_its_variables_filled_in_and_the_instructions(tmp_path: Path) -> None:
    stage = {"bindings": {"pr_number": 7, "repo": "o/r", "labels": ["a"]}}
    told: dict[str, Any] = {
        "id": "pr-reply-001",
        "name": "Reply",
        "description": "d",
        "prompt": "Answer {{ pr_number }} in {{repo}} with {{labels}}, ${{ github.ref }} and {{nobody}}.",
        "timeoutMs": 1,
    }
    details = {"ghx": {"instructions": "Use <ghx> only."}}
    run = write_run(tmp_path / "run", [a_row(extensions={"stage": stage})], scenarios=(told,), mode_details=details)

    made = generate_report([run], formats=["html"])

    (page,) = (made.directory / "sessions").rglob("0.html")
    text = page.read_text()
    assert "Answer 7 in o/r with [&quot;a&quot;], ${{ github.ref }} and {{nobody}}." in text
    assert "Use &lt;ghx&gt; only." in text
    assert text.index("Answer 7") < text.index("Turn 1")


def test_of_what_the_agent_was_told_nothing_is_said_where_nothing_is_known() -> None:
    assert "was told" not in session_page(a_row(), None, arm=Arm(mode="ghx"), path=PATH)


@pytest.mark.parametrize("several", [False, True])
def test_every_page_of_a_session_leads_back_to_the_report(several: bool, tmp_path: Path) -> None:
    runs = [write_run(tmp_path / "one", [a_row()])]
    if several:
        runs.append(write_run(tmp_path / "two", [a_row(runId="run_2")], run_id="run_2"))

    made = generate_report(runs, formats=["html"], output_dir=tmp_path / "report")

    pages = sorted((made.directory / "sessions").rglob("*.html"))
    assert len(pages) == 2 + several
    for page in pages:
        (way,) = re.findall(r'<nav aria-label="Report"><a href="([^"]+)">', page.read_text())
        assert (page.parent / way).resolve() == (made.directory / "index.html").resolve()


def test_numbers_that_are_not_known_are_called_unknown() -> None:
    text = session_page(a_row(tokens={}, cost={}, agentTurns=None), None, arm=Arm(mode="ghx"), path=PATH)

    assert text.count("<td>unknown</td>") == 3


def test_a_long_output_is_cut_and_says_so() -> None:
    row = a_row()
    text = session_page(row, a_trace(row, says="x" * 30_000), arm=Arm(mode=row.mode), path=PATH)

    assert text.count("[10,000 more characters in the file of the session]") == 4


def test_paths_stay_below_sessions_whatever_the_row_names() -> None:
    for name in ("..", "../../x", "/etc/passwd", ".hidden", "a\x00b", "", "x" * 500, "\ud800"):
        path = Path(session_path(a_row(name, name, model=name or "m"), below=[name], taken=set()))
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
