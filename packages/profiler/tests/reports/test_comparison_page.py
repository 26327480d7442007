"""Sessions of one scenario side by side, and where they part."""

import re
from pathlib import Path
from typing import Any

from report_runs import a_row, write_run

from ghx_base.files.atomic_files import write_file
from ghx_profiler.records.trace import SessionTrace
from ghx_profiler.reports import generate_report
from ghx_profiler.reports.render.comparison_page import (
    ComparedSession,
    Divergence,
    comparison_page,
    find_divergence,
)
from ghx_profiler.reports.render.session_page import Ways
from ghx_profiler.store.directory import RunDirectory


def a_session(*turns: list[str], **changes: Any) -> ComparedSession:
    """Return a session whose turns make these calls; one that begins with `!` fails."""
    told = [
        {
            "number": number,
            "events": [
                {"type": "text_output", "content": f"turn {number} of {len(turns)}"},
                *(
                    {"type": "tool_call", "name": "bash", "input": call.lstrip("!"), "success": call[0] != "!"}
                    for call in calls
                ),
            ],
        }
        for number, calls in enumerate(turns)
    ]
    trace = SessionTrace.model_validate({"sessionId": "s", "turns": told})
    return ComparedSession(**{"name": "one", "outcome": "success", "way": "x.html", "trace": trace, **changes})


def test_sessions_part_with_the_first_call_that_differs() -> None:
    first = a_session(["view", "list"], ["close"])

    assert find_divergence(first, a_session(["view"], ["list"], ["close"])) is None
    assert find_divergence(first, a_session(["view", "list"], ["reopen"])) == Divergence(2, 3)
    assert find_divergence(first, a_session(["view"], ["!list"], ["close"])) == Divergence(2, 2)


def test_a_session_that_ends_early_or_goes_on_parts_there() -> None:
    first = a_session(["view"], ["close"])

    assert find_divergence(first, a_session(["view"])) == Divergence(1, 2)
    assert find_divergence(first, a_session(["view"], ["close"], ["reopen"])) == Divergence(3, 3)
    assert find_divergence(first, ComparedSession(name="none", outcome="x", way="")) == Divergence(1, 1)


def test_a_failed_check_reads_as_one_that_is_not_met() -> None:
    wrong = a_session(["view"], outcome="wrong answer", failed_checkpoints=("The issue is closed",))

    text = comparison_page("s", [a_session(["view"]), wrong], Ways(home="../index.html"))

    assert "<br>not met: The issue is closed" in text


def test_the_page_says_where_sessions_part_and_where_one_stops() -> None:
    first = a_session(["view"], ["close"], name="first")
    others = [a_session(["view"], name="early"), a_session(["view"], ["reopen"], name="other")]
    endless = a_session(*[["view"]] * 70, ["close"], name="endless")

    text = comparison_page("s", [first, *others, endless], Ways(home="../index.html"))

    assert "<strong>early</strong> makes no further call after" in text
    assert (
        '<strong>other</strong> parts from <strong>first</strong> in <a href="#turn-2">turn 2</a>, with call 2.' in text
    )
    assert "11 more turns on the pages of the sessions." in text
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(re.findall(r'id="([^"]+)"', text))


def test_the_page_has_a_column_for_each_arm_with_its_failure_and_marks_the_parting(tmp_path: Path) -> None:
    rows = [a_row("baseline"), a_row("ghx"), a_row("ghx", iteration=1, success=False)]
    run = write_run(tmp_path / "run", rows)
    trace = a_session(["gh pr view 7"], ["gh pr close 7"]).trace
    assert trace is not None
    write_file(RunDirectory(run).session(rows[2].cell), trace.model_copy(update={"session_id": "x"}).to_bytes())

    made = generate_report([run], formats=["html"])

    text = (made.directory / "side-by-side/pr-reply-001.html").read_text()
    assert text.index(">baseline #0</a>") < text.index(">ghx #1</a>")
    assert ">ghx #0</a>" not in text
    assert "<strong>ghx #1</strong> parts from <strong>baseline #0</strong>" in text
    assert text.count("parts here") == 1
    assert "<script" not in text


def test_of_one_arm_a_failure_stands_beside_a_success(tmp_path: Path) -> None:
    rows = [a_row(), a_row(iteration=1, success=False), a_row(iteration=2, success=False)]
    made = generate_report([write_run(tmp_path / "run", rows)], formats=["html"])

    text = (made.directory / "side-by-side/pr-reply-001.html").read_text()

    assert text.index(">ghx #0</a>") < text.index(">ghx #1</a>")
    assert ">ghx #2</a>" not in text
    assert "<strong>ghx #1</strong> makes the same calls as" in text


def test_a_session_alone_has_no_page_side_by_side(tmp_path: Path) -> None:
    made = generate_report([write_run(tmp_path / "run", [a_row()])], formats=["html"])

    assert not (made.directory / "side-by-side").exists()
