"""The page of one session: everything that happened, failures marked."""

import re
from pathlib import Path
from typing import Any

import pytest
from report_runs import a_row, a_trace, write_run

from ghx_base.files.atomic_files import write_file
from ghx_profiler.plan.cell import Arm
from ghx_profiler.records.activity import SessionActivity
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.records.trace import SessionTrace
from ghx_profiler.reports import generate_report
from ghx_profiler.reports.render.session_files import file_name, page_path
from ghx_profiler.reports.render.session_page import RecordedSession, Ways, session_page
from ghx_profiler.store.directory import RunDirectory

pytestmark = pytest.mark.slow

WAYS = Ways(home="../index.html")
FAILED = {"id": "replied", "description": "Every thread has a reply", "passed": False, "expected": 3, "actual": [1]}


def page_of(row: ProfileRow, **known: Any) -> str:
    return session_page(RecordedSession(row=row, arm=Arm(mode=row.mode), **known), WAYS)


def test_turns_reasoning_calls_and_texts_are_shown_in_order() -> None:
    row = a_row()
    text = page_of(row, trace=a_trace(row, says="thinking"))

    assert text.index("Turn 1, 1.2 s") < text.index("gh pr view 7") < text.index("Turn 2")
    assert text.index("gh api graphql") < text.rindex("thinking")
    assert "<script" not in text


def test_a_failed_call_and_an_error_are_marked_and_open() -> None:
    row = a_row()
    text = page_of(row, trace=a_trace(row))

    assert text.count('class="event failed"') == 2
    assert text.count("<details open>") == 1


def test_a_failed_checkpoint_shows_what_was_expected_and_what_was_there() -> None:
    text = page_of(a_row(success=False, checkpointDetails=[FAILED]))

    assert 'class="event failed"' in text
    assert "<dt>expected</dt><dd><pre>3</pre>" in text
    assert (
        text.index("1 of 1 checkpoint failed") < text.index("<dt>actual</dt>") < text.index("No session was recorded")
    )
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
    assert "was told" not in page_of(a_row())


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
    text = page_of(a_row(tokens={}, cost={}, agentTurns=None))

    assert text.count("<dd>unknown</dd>") == 3


def test_a_long_output_is_cut_and_says_so() -> None:
    row = a_row()
    text = page_of(row, trace=a_trace(row, says="x" * 30_000))

    assert text.count("[10,000 more characters in the file of the session]") == 4


def test_paths_stay_below_sessions_whatever_the_row_names() -> None:
    for name in ("..", "../../x", "/etc/passwd", ".hidden", "a\x00b", "", "x" * 500, "\ud800"):
        path = Path(page_path("sessions", [name, name, "0"], taken=set()))
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


def an_activity(row: ProfileRow) -> SessionActivity:
    asked = {"surface": "rest", "method": "PATCH", "operation": "o", "durationMs": 1.5, "requestBytes": 10}
    seen = {"path": "/repos/o/r/issues/7", "failed": False, "changed": True, "responseBytes": 20, "status": 200}
    return SessionActivity.model_validate(
        {
            "sessionId": row.session_id,
            "changes": [
                {"change": "changed", "what": "issues.state", "name": "o/r#7", "before": "open", "after": "closed"},
                {"change": "created", "what": "comments", "name": "o/r#7 comment 1", "after": {"body": "Done."}},
            ],
            "requests": [
                {"at": "2026-03-03T16:00:01.000Z", **asked, **seen},
                {"at": "2026-03-03T16:00:09.000Z", **asked, **seen, "status": 404, "failed": True},
            ],
            "requestsLeftOut": 3,
        }
    )


def timed_trace(row: ProfileRow) -> SessionTrace:
    trace = a_trace(row)
    starts = ("2026-03-03T16:00:00.000Z", "2026-03-03T16:00:05.000Z")
    turns = [turn.model_copy(update={"start_timestamp": at}) for turn, at in zip(trace.turns, starts, strict=True)]
    return trace.model_copy(update={"turns": tuple(turns)})


def test_what_a_session_changed_and_asked_for_stands_beside_its_turns() -> None:
    row = a_row()
    text = page_of(row, trace=timed_trace(row), activity=an_activity(row))

    assert "issues.state <span>o/r#7</span><br><del>open</del> <ins>closed</ins>" in text
    assert "2 requests, 1 failed, 2 changed something." in text
    assert "3 more requests not kept." in text
    second = text.index('id="requests-2"')
    assert text.index('id="requests-1"') < text.index(">200</span>") < second < text.index(">404</span>")


def test_requests_stand_together_where_turns_do_not_say_when_they_began() -> None:
    row = a_row()
    text = page_of(row, trace=a_trace(row), activity=an_activity(row))

    assert "requests-1" not in text
    assert text.count("/repos/o/r/issues/7") == 2


def test_activity_of_another_session_does_not_belong_to_rows_alone(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [a_row()])
    directory = RunDirectory(run)
    write_file(directory.activity(a_row().cell), an_activity(a_row(sessionId="other")).to_bytes())
    of_run = generate_report([run], formats=["html"])
    directory.record.unlink()
    of_rows = generate_report(results=[directory.rows], formats=["html"], output_dir=tmp_path / "report")

    shown = ["API journal" in next(made.directory.rglob("0.html")).read_text() for made in (of_run, of_rows)]
    assert shown == [True, False]


def test_damaged_activity_is_named_and_costs_nothing_else(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [a_row()])
    write_file(RunDirectory(run).activity(a_row().cell), b"{")

    made = generate_report([run], formats=["html"])

    assert any("activity" in note for note in made.notes)
    assert "Turn 1" in next(made.directory.rglob("0.html")).read_text()


def test_tokens_of_a_turn_are_shown_with_what_its_request_was_made_of() -> None:
    row = a_row()
    usage = {"input": 1000, "output": 50, "cacheRead": 200, "total": 1250}
    call = {"wire": "anthropic", "startedAt": "2026-03-03T16:00:00Z", "usage": usage}
    anatomy = {"instructions": 100, "toolSchemas": 600, "conversation": 300, "toolResults": 0}
    calls = [{"number": number, **call, "anatomy": anatomy} for number in (1, 2)]
    side = {"number": 3, **call, "side": "no_tools"}
    trace = SessionTrace.model_validate({**a_trace(row).to_wire(), "modelCalls": [*calls, side]})

    text = page_of(row, trace=trace)

    assert text.count("tokens 1,250: 1,000 in, 200 from cache, 50 out") == 2
    assert "request of 1,000 bytes: instructions 10 %, tool schemas 60 %, conversation 30 %" in text
    assert "1 model call beside the conversation, 1,250 tokens" in text


def test_names_of_files_need_no_quoting_and_stay_apart() -> None:
    assert file_name("openai/gpt-5") == "openai~gpt-5"
    assert file_name("issue-answer-001") == "issue-answer-001"
    names = ["a/b", "a~b", "a-b", "a b", "a%2Fb", "ä b", "a//b", "", "/", ".", "..", "~", "x" * 300, "x" * 301]
    written = [file_name(name) for name in names]
    assert len(set(written)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._~-]*", each) for each in written)


def links_of(page: Path) -> dict[str, Path]:
    found = re.findall(r'<a href="([^"#]+)">([^<]+)</a>', page.read_text())
    return {text: (page.parent / way).resolve() for way, text in found}


def test_pages_lead_to_their_neighbours_the_list_and_the_same_scenario_elsewhere(tmp_path: Path) -> None:
    rows = [a_row("baseline"), a_row("ghx", success=False), a_row("ghx", "other")]
    made = generate_report([write_run(tmp_path / "run", rows)], formats=["html"])
    first, second, third = (
        made.directory / "sessions/vendor~model-1" / place
        for place in ("baseline/pr-reply-001/0.html", "ghx/pr-reply-001/0.html", "ghx/other/0.html")
    )

    links = links_of(second)

    assert (links["Previous"], links["Next"]) == (first, third)
    assert links["All sessions"] == made.directory / "sessions/index.html"
    assert links["baseline #0"] == first
    assert links["Side by side"] == made.directory / "side-by-side/pr-reply-001.html"
    assert "Previous" not in links_of(first)
    assert not {"Next", "Side by side"} & links_of(third).keys()
    assert all(path.is_file() for page in made.directory.rglob("0.html") for path in links_of(page).values())
