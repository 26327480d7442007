"""Sessions and findings beside rows: analyzed where nobody did, found in the older layout, named where damaged."""

import shutil
from pathlib import Path

import pytest
from report_runs import a_row, a_trace, an_analysis, made_up_rows, write_run

from ghx_profiler.records.row import ProfileRow
from ghx_profiler.reports import generate_report
from ghx_profiler.reports.data.side_files import SideFiles
from ghx_profiler.reports.report import ReportResult
from ghx_profiler.store.directory import RunDirectory

pytestmark = pytest.mark.slow

NOW = "2026-04-01T12:00:00.000Z"


def reported(out: Path, *runs: Path, results: tuple[Path, ...] = ()) -> ReportResult:
    return generate_report(
        runs, results=results, generated_at=NOW, output_dir=out, formats=["html", "markdown"], sessions="all"
    )


def findings_in(out: Path) -> str:
    return (out / "analysis.md").read_text().replace("\\", "")


def older_layout(folder: Path, rows: list[ProfileRow], *, below: str = "", analysis: bool = True) -> Path:
    """Write rows with files named as the older packages name them."""
    folder.mkdir()
    (folder / "rows.jsonl").write_bytes(b"".join(row.to_bytes() + b"\n" for row in rows))
    for row in rows:
        place = f"{row.scenario_id}/" if below else ""
        stem = f"{row.mode}-iter-{row.iteration}"
        write(folder / "sessions" / f"{place}{stem}.json", a_trace(row).to_bytes())
        if analysis:
            write(folder / "analysis" / f"{place}{stem}-analysis.json", an_analysis(row).to_bytes())
    return folder / "rows.jsonl"


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def test_sessions_that_nobody_analyzed_are_analyzed_for_the_report_and_the_run_stays_as_it_is(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [a_row("ghx"), a_row("baseline")])
    shutil.rmtree(run / "analysis")

    reported(tmp_path / "out", run)

    assert "ghx 1" in findings_in(tmp_path / "out")
    assert "wasted turns" in findings_in(tmp_path / "out")
    assert not (run / "analysis").exists()


def test_of_too_many_sessions_none_is_analyzed_and_the_command_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ghx_profiler.reports.data.side_files.MOST_ANALYZED", 3)
    run = write_run(tmp_path / "run", made_up_rows(modes=["ghx"], scenarios=2, repetitions=4))
    shutil.rmtree(run / "analysis")

    made = reported(tmp_path / "out", run)

    assert f"ghx-bench analyze {run}" in findings_in(tmp_path / "out")
    assert f"ghx-bench analyze {run}" in (tmp_path / "out" / "index.html").read_text()
    assert any(f"ghx-bench analyze {run}" in note for note in made.notes)


def test_rows_without_sessions_say_that_there_is_nothing_to_analyze(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(a_row().to_bytes() + b"\n")

    reported(tmp_path / "out", results=(tmp_path / "rows.jsonl",))

    assert "No session lies beside the rows" in findings_in(tmp_path / "out")


@pytest.mark.parametrize("below", ["", "scenario"])
def test_sessions_of_the_older_layout_are_found_and_examined_anew(below: str, tmp_path: Path) -> None:
    rows = [a_row("ghx"), a_row("baseline")]
    path = older_layout(tmp_path / "old", rows, below=below)

    reported(tmp_path / "out", results=(path,))

    assert "baseline 1, ghx 1" in findings_in(tmp_path / "out")
    assert "| error: errors encountered | 2 errors (n 1) | 2 errors (n 1) |" in findings_in(tmp_path / "out")
    assert "strategy: backtracking events" not in findings_in(tmp_path / "out")  # what others call strategy
    assert "TypeScript" not in findings_in(tmp_path / "out")
    pages = list((tmp_path / "out" / "sessions").rglob("0.html"))
    assert ["Turn 2" in page.read_text() for page in pages] == [True, True]


def test_what_only_others_analyzers_found_is_kept_beside_ours(tmp_path: Path) -> None:
    path = older_layout(tmp_path / "old", [a_row("ghx")])
    stored = tmp_path / "old" / "analysis" / "ghx-iter-0-analysis.json"
    stored.write_bytes(stored.read_bytes().replace(b'"strategy":', b'"theirs":'))

    reported(tmp_path / "out", results=(path,))

    assert "theirs: backtracking events | 1 events (n 1)" in findings_in(tmp_path / "out")
    assert "strategy: strategy summary" in findings_in(tmp_path / "out")


def test_findings_of_others_stand_for_sessions_without_a_trace_and_are_said_to_be_theirs(tmp_path: Path) -> None:
    path = older_layout(tmp_path / "old", [a_row("ghx"), a_row("baseline")])
    (tmp_path / "old" / "sessions" / "baseline-iter-0.json").unlink()

    reported(tmp_path / "out", results=(path,))

    found = findings_in(tmp_path / "out")
    assert "strategy: backtracking events | 4 events (n 1) | unknown" in found
    assert "the analyzers of the TypeScript packages wrote down is counted instead: 1 of baseline." in found


def test_findings_that_analyze_left_beside_rows_are_taken_as_they_are(tmp_path: Path) -> None:
    path = older_layout(tmp_path / "old", [a_row("ghx")])
    write(tmp_path / "old" / "analysis" / "ghx-iter-0.json", an_analysis(a_row("ghx"), says="ours").to_bytes())

    reported(tmp_path / "out", results=(path,))

    assert "strategy: strategy summary | ours 1/1" in findings_in(tmp_path / "out")
    assert "errors encountered" not in findings_in(tmp_path / "out")


def test_too_many_sessions_are_no_matter_once_they_are_analyzed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ghx_profiler.reports.data.side_files.MOST_ANALYZED", 3)
    run = write_run(tmp_path / "run", [a_row("ghx", iteration=number) for number in range(8)])

    made = reported(tmp_path / "out", run)

    assert not [note for note in made.notes if "analyze" in note]


def test_a_file_of_the_older_layout_belongs_to_the_row_of_its_session_alone(tmp_path: Path) -> None:
    path = older_layout(tmp_path / "old", [a_row("ghx", "one")])
    other = a_row("ghx", "two")
    path.write_bytes(path.read_bytes() + other.to_bytes() + b"\n")
    files = SideFiles(RunDirectory(tmp_path / "old"), is_a_run=False)

    assert files.trace(a_row("ghx", "one")) == a_trace(a_row("ghx", "one"))
    assert files.trace(other) is None
    assert files.stored_findings(other) is files.new_findings(other, {}) is None


def test_damaged_findings_are_named_and_their_session_is_analyzed_anew(tmp_path: Path) -> None:
    path = older_layout(tmp_path / "old", [a_row("ghx")])
    damaged = tmp_path / "old" / "analysis" / "ghx-iter-0-analysis.json"
    damaged.write_text("{")

    made = reported(tmp_path / "out", results=(path,))

    assert any(str(damaged) in note for note in made.notes)
    assert "wasted turns" in findings_in(tmp_path / "out")


def test_a_damaged_session_is_named_and_its_page_says_so(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [a_row("ghx"), a_row("baseline")])
    damaged = RunDirectory(run).session(a_row("ghx").cell)
    damaged.write_text('{"sessionId": 7')

    made = reported(tmp_path / "out", run)

    assert [note for note in made.notes if str(damaged) in note]
    (page,) = (tmp_path / "out" / "sessions").rglob("ghx/*/0.html")
    assert "could not be read" in page.read_text()


def test_names_in_rows_lead_nowhere_else(tmp_path: Path) -> None:
    write(tmp_path / "secret-iter-0.json", a_trace(a_row()).to_bytes())
    (tmp_path / "run" / "sessions").mkdir(parents=True)
    files = SideFiles(RunDirectory(tmp_path / "run"), is_a_run=False)

    assert files.trace(a_row("../../secret", sessionId=a_row().session_id)) is None
    assert files.trace(a_row("secret", "../..", sessionId=a_row().session_id)) is None


def test_sessions_of_the_prior_art_are_examined_by_our_analyzers(older_tools: Path, tmp_path: Path) -> None:
    reported(tmp_path / "out", results=(older_tools / "rows.jsonl",))

    assert "baseline 1, ghx 1, mcp 1" in findings_in(tmp_path / "out")
    assert "| error: errors encountered | 3 errors (n 1)" in findings_in(tmp_path / "out")
