"""`ghx-bench report` as a user meets it."""

import json
from pathlib import Path

import pytest
from report_runs import made_up_rows, write_run

from ghx_bench.cli.main import run

pytestmark = pytest.mark.slow


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "run", made_up_rows(modes=["baseline", "ghx"], scenarios=2, repetitions=3))
    return tmp_path


def test_a_report_goes_into_its_run_and_says_where(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "run"]) == 0

    assert capsys.readouterr().out == "12 rows, 4 session pages: run/report/index.html\n"
    assert (here / "run" / "report" / "index.html").is_file()


@pytest.mark.parametrize("flag", ["--output-dir", "--out"])
def test_rows_alone_are_reported_where_asked(here: Path, flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "--results", "run/rows.jsonl", flag, "there", "--format", "data"]) == 0

    assert (here / "there" / "data" / "summary.json").is_file()
    assert not (here / "there" / "index.html").exists()
    assert capsys.readouterr().out == "12 rows, 0 session pages: there\n"


def test_an_older_page_is_not_named_as_what_was_written(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "run"]) == 0
    (here / "run" / "report" / "index.html").touch()
    capsys.readouterr()

    assert run(["report", "run", "--format", "data"]) == 0

    assert capsys.readouterr().out == "12 rows, 0 session pages: run/report\n"


def test_the_summary_as_json_is_that_of_the_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "run", "--json", "--format", "data"]) == 0

    printed = json.loads(capsys.readouterr().out)
    assert printed.pop("directory") == "run/report"
    assert printed == json.loads((here / "run" / "report" / "data" / "summary.json").read_text())


def test_which_sessions_get_pages_can_be_chosen(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "run", "--sessions", "all", "--format", "html"]) == 0
    assert "12 session pages" in capsys.readouterr().out
    assert run(["report", "run", "--sessions", "none", "--format", "html", "--out", "other"]) == 0
    assert "0 session pages" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name a run directory"),
        (["nowhere"], "nowhere: not a run directory"),
        (["run/rows.jsonl"], "run/rows.jsonl: this is a file of rows; name it with --results"),
        (["run/run.json"], "run/run.json: this is a file; name a run directory, or a file of rows with --results"),
        (["bare"], "bare: not a run directory, it holds no run.json; name a file of rows with --results"),
        (["run", "run"], "named 2 times; a run cannot be compared with itself, name each run once"),
        (["--results", "nowhere.jsonl"], "nowhere.jsonl: no such file"),
        (["--results", "run"], "run: --results takes a file of rows"),
        (["run", "--out", "run"], "run: this is a run"),
        (["run", "--out", "run/run.json"], "run/run.json: this is a file"),
        (["run", "--sessions", "some"], "--sessions"),
        (["--results", "broken.jsonl", "--out", "x"], "broken.jsonl:1: this is not a row"),
        (["badplan"], "run.json: no plan to analyse by"),
    ],
)
def test_what_goes_wrong_is_one_line(
    arguments: list[str], says: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "broken.jsonl").write_text("{}\n{}\n")
    (here / "bare").mkdir()
    write_run(here / "badplan", [], analysis={"target": "moon"})

    assert run(["report", *arguments]) == 2

    complaint = capsys.readouterr().err
    assert says in complaint
    assert complaint.count("\n") == 1


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xff\xfe\x00", b'{"runId": "run_1", "scenarioId": "s'])
def test_a_file_without_a_whole_row_is_one_line(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.jsonl").write_bytes(content)

    assert run(["report", "--results", str(tmp_path / "rows.jsonl"), "--out", str(tmp_path / "out")]) == 2
    assert "holds no whole row" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
