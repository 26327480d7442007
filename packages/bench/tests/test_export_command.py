"""`ghx-bench export` as a user meets it."""

import json
from pathlib import Path
from typing import Any

import pytest
from report_runs import a_row, a_trace, write_run

from ghx_bench.cli.main import run
from ghx_profiler.interchange import from_atif
from ghx_profiler.store.directory import RunDirectory

ROWS = [a_row("ghx"), a_row("mcp"), a_row("mcp", iteration=1, sessionId="", error="HTTP 503", cause="model_provider")]
SCENARIOS: Any = ({"id": "pr-reply-001", "prompt": "Reply to every thread."},)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "run", ROWS, scenarios=SCENARIOS)
    return tmp_path


def content_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_session_becomes_a_trajectory(
    here: Path, trajectory_model: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", "run", "--format", "atif"]) == 0

    told = capsys.readouterr()
    assert told.out == "2 sessions: run/export/atif\n"
    assert told.err == "note: 1 of 3 rows has no session\n"
    files = sorted((here / "run" / "export" / "atif").rglob("*.json"))
    assert [str(path.relative_to(here)) for path in files] == [
        "run/export/atif/opencode/vendor%2Fmodel-1/ghx/pr-reply-001/0.json",
        "run/export/atif/opencode/vendor%2Fmodel-1/mcp/pr-reply-001/0.json",
    ]
    document = json.loads(files[0].read_bytes())
    trajectory_model.model_validate(document)
    assert document["steps"][0]["message"] == "Reply to every thread."
    assert from_atif(document) == a_trace(ROWS[0])


def test_every_row_becomes_a_line_of_spans(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "run", "--format", "otlp", "--output-dir", "there"]) == 0

    assert capsys.readouterr().out == "2 sessions: there\n"
    assert [path.name for path in (here / "there").iterdir()] == ["spans.jsonl"]
    lines = [json.loads(line) for line in (here / "there" / "spans.jsonl").read_text().splitlines()]
    scopes = [line["resourceSpans"][0]["scopeSpans"][0] for line in lines]
    assert [scope["spans"][0]["name"] for scope in scopes] == ["invoke_workflow pr-reply-001"] * 3
    assert {scope["scope"]["version"] for scope in scopes} == {"0.1.0"}


@pytest.mark.parametrize(("format_", "files"), [("atif", 1), ("otlp", 1)])
def test_damaged_sessions_are_named_and_the_others_are_written(
    format_: str, files: int, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = RunDirectory(here / "run").session(ROWS[0].cell)
    damaged.write_text("{")

    assert run(["export", "run", "--format", format_]) == 2

    told = capsys.readouterr()
    (error, note) = told.err.splitlines()
    assert error.startswith(f"error: {damaged.relative_to(here)}: does not hold a session")
    assert note == "note: 1 of 3 rows has no session"
    assert told.out == f"1 session: run/export/{format_}\n"
    assert len([path for path in (here / "run" / "export" / format_).rglob("*") if path.is_file()]) == files


def test_a_run_with_damaged_sessions_alone_names_them(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (here / "run" / "sessions").rglob("*.json"):
        path.write_text("{")

    assert run(["export", "run", "--format", "atif"]) == 2

    assert capsys.readouterr().err.count("does not hold a session") == 2


def test_a_damaged_run_leaves_the_last_export_as_it_was(here: Path) -> None:
    assert run(["export", "run", "--format", "otlp"]) == 0
    before = (here / "run" / "export" / "otlp" / "spans.jsonl").read_bytes()
    with (here / "run" / "rows.jsonl").open("a") as rows:
        rows.write("{}\n")

    assert run(["export", "run", "--format", "otlp"]) == 2

    (left,) = (here / "run" / "export" / "otlp").iterdir()
    assert left.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "run"),
        (["run"], "--format"),
        (["run", "--format", "csv"], "--format"),
        (["nowhere", "--format", "atif"], "nowhere: not a run directory"),
        (["run", "--format", "atif", "--out", "run"], "run: this is a run"),
        (["run", "--format", "atif", "--out", "run/sessions"], "run/sessions: here the run keeps its sessions"),
        (["run", "--format", "otlp", "--out", "run/sessions/x"], "run/sessions/x: here the run keeps its sessions"),
        (["run", "--format", "atif", "--out", "run/analysis"], "run/analysis: here the run keeps its analysis"),
        (["run", "--format", "atif", "--out", "link"], "link: here the run keeps its sessions"),
        (["run/rows.jsonl", "--format", "atif"], "run/rows.jsonl: this is a file of rows; name the run directory"),
        (["run", "--format", "atif", "--out", "run/run.json"], "run/run.json: Not a directory"),
        (["run", "--format", "otlp", "--out", "run/run.json"], "run/run.json: File exists"),
        (["empty", "--format", "atif"], "empty: it has no rows yet"),
        (["empty", "--format", "otlp"], "empty: it has no rows yet"),
        (["silent", "--format", "atif"], "silent: none of its rows has a session"),
    ],
)
def test_what_goes_wrong_is_one_line(
    arguments: list[str], says: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(here / "empty", [])
    write_run(here / "silent", [a_row(sessionId="")])
    (here / "link").symlink_to("run/sessions")
    before = content_of(here)

    assert run(["export", *arguments]) == 2

    complaint = capsys.readouterr().err
    assert says in complaint
    assert complaint.count("\n") == 1
    assert content_of(here) == before


@pytest.mark.parametrize("format_", ["atif", "otlp"])
def test_an_export_can_be_made_again_over_the_last(format_: str, here: Path) -> None:
    assert run(["export", "run", "--format", format_, "--out", "there"]) == 0
    before = content_of(here / "there")

    assert run(["export", "run", "--format", format_, "--out", "there"]) == 0

    assert content_of(here / "there") == before


FOREIGN = {
    "a trace": a_trace(ROWS[1]).to_bytes(),
    "a trajectory of another tool": b'{"schema_version": "ATIF-v1.4", "steps": [], "extra": {}}',
    "something else": b"my notes",
    "nothing": b"",
    "no text": b"\xff\xfe",
}


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize(
    ("format_", "name"), [("atif", "opencode/vendor%2Fmodel-1/mcp/pr-reply-001/0.json"), ("otlp", "spans.jsonl")]
)
def test_a_file_that_no_export_wrote_is_named_and_nothing_is_written(
    format_: str, name: str, kind: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = here / "there" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(FOREIGN[kind])
    before = content_of(here)

    assert run(["export", "run", "--format", format_, "--out", "there"]) == 2

    complaint = capsys.readouterr().err
    assert f"there/{name}: no export wrote this file, and this one would overwrite it" in complaint
    assert complaint.count("\n") == 1
    assert content_of(here) == before


def test_a_link_to_a_trace_is_not_written_through(here: Path) -> None:
    trace = RunDirectory(here / "run").session(ROWS[0].cell)
    path = here / "there" / "opencode" / "vendor%2Fmodel-1" / "ghx" / "pr-reply-001" / "0.json"
    path.parent.mkdir(parents=True)
    path.symlink_to(trace)
    before = trace.read_bytes()

    assert run(["export", "run", "--format", "atif", "--out", "there"]) == 2

    assert trace.read_bytes() == before


def test_a_file_in_the_place_of_a_row_without_a_session_is_in_nobodys_way(here: Path) -> None:
    path = here / "there" / "opencode" / "vendor%2Fmodel-1" / "mcp" / "pr-reply-001" / "1.json"
    path.parent.mkdir(parents=True)
    path.write_text("my notes")

    assert run(["export", "run", "--format", "atif", "--out", "there"]) == 0

    assert path.read_text() == "my notes"


def test_the_prompt_of_an_older_session_is_filled_in_from_its_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bound = a_row("ghx", extensions={"stage": {"bindings": {"number": 7}}})
    write_run(tmp_path / "run", [bound], scenarios=({"id": "pr-reply-001", "prompt": "Reply to #{{number}}."},))

    assert run(["export", "run", "--format", "atif"]) == 0

    [file] = (tmp_path / "run" / "export" / "atif").rglob("*.json")
    assert json.loads(file.read_bytes())["steps"][0]["message"] == "Reply to #7."
