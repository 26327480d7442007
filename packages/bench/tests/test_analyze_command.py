"""`ghx-bench analyze` as a user meets it."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from report_runs import a_row, made_up_rows, write_run

from ghx_bench.cli.main import run
from ghx_profiler.interchange import AgentInfo, to_atif
from ghx_profiler.records.analysis import SessionAnalysisBundle
from ghx_profiler.store.directory import RunDirectory
from ghx_profiler.testing import sample_trace

ANALYZERS = {"reasoning", "tool-pattern", "error", "efficiency", "desire_paths", "strategy", "purity"}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def traces(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(sample_trace(session_id=name).to_bytes())
    return folder


def content_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def bundle_at(path: Path) -> SessionAnalysisBundle:
    return SessionAnalysisBundle.model_validate_json(path.read_bytes())


def findings_in_report(folder: Path) -> str:
    assert run(["report", str(folder), "--format", "markdown", "--sessions", "none"]) == 0
    return (folder / "report" / "analysis.md").read_text()


def test_the_sessions_of_a_run_are_analyzed_into_it_and_shown_in_a_table(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [a_row("ghx"), a_row("baseline")]
    write_run(here / "run", rows)
    sessions = content_of(here / "run" / "sessions")

    assert run(["analyze", "run"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["session", "errors", "turns"]
    assert [line.split()[:2] for line in lines[1:3]] == [
        ["opencode/vendor%2Fmodel-1/ghx/pr-reply-001/0", "2"],
        ["opencode/vendor%2Fmodel-1/baseline/pr-reply-001/0", "2"],
    ]
    assert lines[-1] == "2 sessions analyzed: run/analysis"
    bundle = bundle_at(RunDirectory(here / "run").analysis(rows[0].cell))
    assert set(bundle.results) == ANALYZERS
    assert (bundle.model, bundle.mode, bundle.scenario_id) == ("vendor/model-1", "ghx", "pr-reply-001")
    assert content_of(here / "run" / "sessions") == sessions


def test_findings_of_the_older_layout_are_taken_up_for_names_and_for_analyzers_of_others(here: Path) -> None:
    traces(here / "sessions", "ghx-iter-0.json")
    older = {
        "sessionId": "ghx-iter-0.json",
        "scenarioId": "pr-reply-001",
        "mode": "ghx",
        "model": "vendor/model-1",
        "results": {"mine": {"analyzer": "mine", "findings": {}, "summary": "kept"}},
    }
    (here / "analysis").mkdir()
    (here / "analysis" / "ghx-iter-0-analysis.json").write_text(json.dumps(older))

    assert run(["analyze", "--sessions", "sessions", "--output-dir", "out"]) == 0

    bundle = bundle_at(here / "out" / "ghx-iter-0.json")
    assert (bundle.scenario_id, bundle.mode, bundle.model) == ("pr-reply-001", "ghx", "vendor/model-1")
    assert set(bundle.results) == {*ANALYZERS, "mine"}


def test_findings_of_the_older_layout_that_cannot_be_read_are_named(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    traces(here / "sessions", "ghx-iter-0.json")
    (here / "analysis").mkdir()
    (here / "analysis" / "ghx-iter-0-analysis.json").write_text("{}")

    assert run(["analyze", "--sessions", "sessions"]) == 2

    complaint = capsys.readouterr().err
    assert "analysis/ghx-iter-0-analysis.json: holds no findings" in complaint
    assert complaint.count("\n") == 1
    assert set(bundle_at(here / "analysis" / "ghx-iter-0.json").results) == ANALYZERS


def test_findings_of_another_session_are_not_taken_up(here: Path) -> None:
    traces(here / "sessions", "ghx-iter-0.json")
    (here / "analysis").mkdir()
    older = {"sessionId": "other", "scenarioId": "wrong", "mode": "ghx", "model": "", "results": {}}
    (here / "analysis" / "ghx-iter-0-analysis.json").write_text(json.dumps(older))

    assert run(["analyze", "--sessions", "sessions"]) == 0

    assert bundle_at(here / "analysis" / "ghx-iter-0.json").scenario_id == ""


@pytest.mark.slow
def test_a_report_shows_what_was_found_afterwards(here: Path) -> None:
    write_run(here / "run", [a_row("ghx"), a_row("baseline")])
    assert "wasted turns" not in findings_in_report(here / "run")

    assert run(["analyze", "run"]) == 0

    assert "wasted turns" in findings_in_report(here / "run")


def test_findings_of_analyzers_of_the_users_own_stay(here: Path) -> None:
    row = a_row("ghx")
    write_run(here / "run", [row])
    path = RunDirectory(here / "run").analysis(row.cell)
    own = json.loads(path.read_bytes())
    own["results"]["politeness"] = {"analyzer": "politeness", "findings": {}, "summary": "polite"}
    path.write_text(json.dumps(own))

    assert run(["analyze", "run"]) == 0

    assert set(bundle_at(path).results) == {*ANALYZERS, "politeness"}
    assert bundle_at(path).results["politeness"].summary == "polite"


def test_a_session_without_a_row_is_analyzed_too(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(here / "run", [a_row("ghx")])
    traces(here / "run" / "sessions", "opencode/vendor%2Fmodel-1/mcp/pr-reply-001/7.json")

    assert run(["analyze", "run", "--json"]) == 0

    interrupted = json.loads(capsys.readouterr().out)["sessions"][1]
    assert (interrupted["model"], interrupted["mode"], interrupted["iteration"]) == ("vendor/model-1", "mcp", 7)


def test_any_folder_of_traces_can_be_analyzed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    traces(here / "old", "baseline-iter-3.json", "pr-001/ghx-iter-0.json", "whatever.json")

    assert run(["analyze", "--sessions", "old", "--out", "found", "--json"]) == 0

    told = json.loads(capsys.readouterr().out)
    assert (told["directory"], told["analyzed"], told["problems"]) == ("found", 3, [])
    assert [(each["scenarioId"], each["mode"], each["iteration"]) for each in told["sessions"]] == [
        ("", "baseline", 3),
        ("", "", 0),
        ("pr-001", "ghx", 0),
    ]
    assert told["sessions"][0]["findings"]["errors_encountered"] == 2
    assert bundle_at(here / "found" / "pr-001" / "ghx-iter-0.json").session_id == "pr-001/ghx-iter-0.json"


def test_what_cannot_be_read_is_one_line_each_and_the_others_are_analyzed(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    traces(here / "old", "a.json", "z.json")
    (here / "old" / "b.json").write_text('{"sessionId": "torn')
    (here / "old" / "c.json").write_bytes(b"\xff\xfe")
    (here / "old" / "d.json").write_text('{"events": []}')
    (here / "old" / "e.json").symlink_to("nowhere.json")

    assert run(["analyze", "--sessions", "old"]) == 2

    printed = capsys.readouterr()
    assert [line.split(":")[1].strip() for line in printed.err.splitlines()] == [f"old/{name}.json" for name in "bcde"]
    assert "/sessionId" in printed.err
    assert printed.out.splitlines()[-1] == "2 sessions analyzed, 4 could not be: analysis"
    assert sorted(path.name for path in (here / "analysis").iterdir()) == ["a.json", "z.json"]


def test_a_damaged_row_or_record_costs_no_session(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(here / "run", [a_row("ghx"), a_row("baseline")])
    (here / "run" / "run.json").write_text("{}")
    rows = (here / "run" / "rows.jsonl").read_text().splitlines()
    (here / "run" / "rows.jsonl").write_text(f"{rows[0]}\n{{}}\n{rows[1]}\n")

    assert run(["analyze", "run"]) == 2

    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1] == "2 sessions analyzed, 2 could not be: run/analysis"
    assert printed.err.count("\n") == 2
    assert "run/rows.jsonl" in printed.err


def test_a_file_in_the_way_that_holds_no_findings_is_never_overwritten(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    traces(here / "old", "a.json", "b.json")
    traces(here / "other", "a.json")
    before = (here / "other" / "a.json").read_bytes()

    assert run(["analyze", "--sessions", "old", "--out", "other"]) == 2

    assert (here / "other" / "a.json").read_bytes() == before
    assert bundle_at(here / "other" / "b.json")
    assert "other/a.json: a file that holds no findings is in the way" in capsys.readouterr().err


def test_a_row_that_names_a_place_outside_leads_nowhere(here: Path) -> None:
    traces(here, "secret/0.json")
    write_run(here / "run", [a_row("ghx")])
    evil = a_row("..", "../../../secret")
    with (here / "run" / "rows.jsonl").open("ab") as file:
        file.write(evil.to_bytes() + b"\n")
    before = content_of(here / "secret")

    assert run(["analyze", "run"]) == 0

    assert content_of(here / "secret") == before


def test_of_many_sessions_the_table_shows_those_with_most_errors(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    traces(here / "old", *(f"{number:03d}.json" for number in range(60)))
    (here / "old" / "055.json").write_text('{"sessionId": "quiet", "events": []}')
    (here / "old" / "059.json").write_bytes(
        json.dumps({"sessionId": "bad", "events": [{"type": "error", "message": "lost"}] * 9}).encode()
    )

    assert run(["analyze", "--sessions", "old"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:41]] == [*(f"{number:03d}" for number in range(39)), "059"]
    assert lines[-1] == "60 sessions analyzed (shown: the 40 with the most errors): analysis"


def test_progress_is_shown_on_a_terminal_and_nowhere_else(here: Path) -> None:
    traces(here / "old", "a.json", "b.json")
    command = [sys.executable, "-m", "ghx_bench.cli.main", "analyze", "--sessions", "old"]
    ours, theirs = pty.openpty()
    environment: dict[str, str] = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}

    shown = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, check=True, env=environment)
    os.close(theirs)
    drawn = os.read(ours, 65_536)
    os.close(ours)
    quiet = subprocess.run(command, capture_output=True, check=True)

    assert b"analyzing" in drawn
    assert quiet.stderr == b""
    assert shown.stdout == quiet.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name either a run directory or, with --sessions"),
        (["run", "--sessions", "old"], "name either a run directory or, with --sessions"),
        (["nowhere"], "nowhere: not a run directory"),
        (["young"], "young: the run has no sessions yet"),
        (["bare"], "bare: not a run directory, it holds no run.json; with --sessions bare/sessions its traces"),
        (["old"], "old: not a run directory, it holds no run.json; with --sessions old its traces"),
        (["run/run.json"], "run/run.json: not a run directory"),
        (["--sessions", "nowhere"], "nowhere is no folder"),
        (["--sessions", "run"], "run is a run directory"),
        (["--sessions", "empty"], "empty: there are no sessions in it"),
        (["--sessions", "old", "--out", "old"], "old is among the traces"),
        (["run", "--out", "run/sessions/found"], "is among the traces"),
        (["run", "--out", "run"], "run is a run"),
        (["run", "--out", "run/run.json"], "run/run.json is a file"),
    ],
)
def test_what_goes_wrong_is_one_line(
    arguments: list[str], says: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(here / "run", made_up_rows(modes=["ghx"], scenarios=1, repetitions=2))
    write_run(here / "young", [])
    traces(here / "old", "a.json")
    traces(here / "bare" / "sessions", "a.json")
    (here / "empty").mkdir()
    before = content_of(here)

    assert run(["analyze", *arguments]) == 2

    complaint = capsys.readouterr().err
    assert says in complaint
    assert complaint.count("\n") == 1
    assert content_of(here) == before


def test_exactly_the_three_calls_that_got_404_though_flagged_a_success_are_found(here: Path, older_tools: Path) -> None:
    sessions = older_tools / "sessions"
    trace: dict[str, Any] = json.loads((sessions / "baseline-iter-0.json").read_text())
    assert all(event["success"] for event in trace["events"] if event["type"] == "tool_call")

    assert run(["analyze", "--sessions", str(sessions), "--out", "found"]) == 0

    errors = {path.stem: bundle_at(path).to_wire()["results"] for path in (here / "found").iterdir()}
    found: Any = errors["baseline-iter-0"]
    assert found["error"]["findings"]["errors_encountered"]["value"] == 3
    messages = found["error"]["findings"]["error_messages"]["rows"]
    assert [message[2:] for message in messages] == [["not_found", "HTTP 404: Not Found"]] * 3
    for quiet in ("ghx-iter-0", "mcp-iter-0"):
        other: Any = errors[quiet]
        assert other["error"]["findings"]["errors_encountered"]["value"] == 0


FINDINGS = {"sessionId": "s", "scenarioId": "pr-001", "mode": "ghx", "model": "m", "results": {}}
NO_TRACES = {
    "findings": (FINDINGS, "no trace of a session (it has none of events, turns and summary)"),
    "an id alone": ({"sessionId": "s"}, "no trace of a session (it has none of events, turns and summary)"),
    "atif": (to_atif(sample_trace(), agent=AgentInfo(name="a")), "no trace of a session (it is an ATIF trajectory)"),
    "atif of others": ({"schema_version": "ATIF-v1.4", "steps": []}, "(it is an ATIF trajectory); import it with"),
}


@pytest.mark.parametrize("kind", NO_TRACES)
def test_a_file_that_is_no_trace_is_named_and_does_not_count_as_a_session(
    kind: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, says = NO_TRACES[kind]
    traces(here / "old", "a.json")
    (here / "old" / "b.json").write_text(json.dumps(content))

    assert run(["analyze", "--sessions", "old"]) == 2

    printed = capsys.readouterr()
    assert printed.err.startswith("error: old/b.json: ")
    assert says in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out.splitlines()[-1] == "1 session analyzed, 1 could not be: analysis"
    assert not (here / "analysis" / "b.json").exists()


def test_of_a_session_that_tells_nothing_nothing_is_known(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    traces(here / "old", "told.json")
    (here / "old" / "empty.json").write_text('{"sessionId": "s", "events": [], "turns": [], "summary": {}}')
    idle = {"sessionId": "s", "events": [], "turns": [], "summary": {"totalTurns": 0, "totalToolCalls": 0}}
    (here / "old" / "idle.json").write_text(json.dumps(idle))

    assert run(["analyze", "--sessions", "old", "--json"]) == 0

    empty, idle, _ = json.loads(capsys.readouterr().out)["sessions"]
    assert set(empty["findings"].values()) == {None}
    assert all("unknown" in said and "0" not in said for said in empty["summaries"].values())
    assert [idle["findings"][name] for name in ("errors_encountered", "total_turns", "unique_tools_used")] == [0, 0, 0]
