"""`ghx-bench pack`: a run that somebody else opens, elsewhere."""

import zipfile
from pathlib import Path

import pytest
from bench_command import fork_ghx_bench, rows_of, run_in
from report_runs import a_row, write_run

from ghx_base.files.locks import hold_lock

pytestmark = pytest.mark.slow

ONE_CELL = ("--scenario", "issue-triage-001", "--mode", "baseline", "--repetitions", "1", "--skip-warmup")


def test_a_colleague_shows_reports_and_replays_a_pack(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    assert fork_ghx_bench(here, "run", *ONE_CELL, "--no-report").returncode == 0
    run = run_in(here)

    packed = fork_ghx_bench(here, "pack", str(run), "-o", str(there / "theirs.pack.zip"))
    assert packed.returncode == 0, packed.stderr
    # The home of the command is the folder that it works in.
    assert "taken out of run.json: 1 home path" in packed.stdout
    assert "every row is byte for byte as it was" in packed.stdout
    assert zipfile.ZipFile(there / "theirs.pack.zip").read("rows.jsonl") == (run / "rows.jsonl").read_bytes()
    assert "report/index.html" in zipfile.ZipFile(there / "theirs.pack.zip").namelist()
    assert str(here) not in zipfile.ZipFile(there / "theirs.pack.zip").read("report/index.html").decode()
    run.rename(tmp_path / "gone")

    shown = fork_ghx_bench(there, "show", "theirs.pack.zip", "baseline/issue-triage-001/0")
    assert "calls bash: " in shown.stdout, shown.stderr
    report = fork_ghx_bench(there, "report", "theirs.pack.zip", "--format", "html")
    assert "theirs-report/index.html" in report.stdout, report.stderr
    assert (there / "theirs-report" / "index.html").is_file()
    exported = fork_ghx_bench(there, "export", "theirs.pack.zip", "--format", "otlp")
    assert "1 session: theirs-export/otlp" in exported.stdout, exported.stderr
    resumed = fork_ghx_bench(there, "resume", "theirs.pack.zip")
    assert (resumed.returncode, "this is a file, not a run directory" in resumed.stderr) == (2, True), resumed.stderr
    replayed = fork_ghx_bench(there, "run", *ONE_CELL, "--no-report", "--replay", "theirs.pack.zip")
    assert replayed.returncode == 0, replayed.stderr
    (row,) = rows_of(run_in(there))
    assert row.success


def test_what_cannot_be_packed_is_said_in_one_line(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [a_row()])
    (tmp_path / "notes.txt").write_text("mine")
    bad = {
        ("elsewhere",): "is not the directory of a run with rows",
        (str(run), "-o", "."): "is a folder",
        (str(run), "-o", "notes.txt"): "is there already and is no pack",
        (str(run), "-o", "nowhere/x.zip"): "there is no folder nowhere",
    }
    for words, reason in bad.items():
        done = fork_ghx_bench(tmp_path, "pack", *words)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert reason in done.stderr
    with hold_lock(run / "run.lock"):
        assert "a process is working on this run" in fork_ghx_bench(tmp_path, "pack", str(run)).stderr
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("command", ["show", "report"])
def test_a_zip_that_is_no_pack_is_refused_in_one_line(command: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("../x", "y")

    done = fork_ghx_bench(tmp_path, command, "other.zip")

    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "not a pack" in done.stderr
