"""Rows are read once, and reading them writes nothing."""

from pathlib import Path

import pytest
from report_runs import a_row, glance_at, made_up_rows, write_run

from ghx_profiler.plan.cell import Arm
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.reports import generate_report
from ghx_profiler.reports.data.reading import read_sources
from ghx_profiler.reports.data.sources import open_run, open_sources
from ghx_profiler.store import rows as rows_module


def test_reading_writes_nothing_and_shows_every_row_to_its_watchers(tmp_path: Path) -> None:
    rows = list(made_up_rows(scenarios=2, repetitions=2))
    run = write_run(tmp_path / "run", rows)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    seen: list[ProfileRow] = []

    read = read_sources([open_run(run)], choice="all", watchers=[seen.append])

    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    assert seen == [row.upgraded() for row in rows]
    assert len(read.chosen) == len(read.columns.identities) == len(rows)


def test_a_report_on_rows_that_were_read_already_does_not_read_them_again(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", list(made_up_rows(scenarios=2, repetitions=2)))
    usual = generate_report([run], generated_at="now", sessions="none", output_dir=tmp_path / "usual")
    read = read_sources([open_run(run)])
    (run / "rows.jsonl").unlink()

    made = generate_report([run], generated_at="now", output_dir=tmp_path / "again", read=read)

    assert made.summary == usual.summary
    for name in ("index.html", "report.md", "data/results.csv", "data/results.json"):
        assert (made.directory / name).read_bytes() == (usual.directory / name).read_bytes()


def test_a_mode_of_one_run_is_an_arm_by_itself_and_one_of_several_runs_an_arm_of_each(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / name, [a_row("ghx", runId=name)], run_id=name) for name in ("one", "two")]

    alone, both = read_sources([open_run(runs[0])]), read_sources(open_sources(runs, []))

    assert alone.columns.observations.arm.known == (Arm(mode="ghx"),)
    assert both.columns.observations.arm.known == (Arm(mode="ghx", run="after"), Arm(mode="ghx", run="before"))


def test_a_glance_counts_each_mode_and_knows_nothing_that_no_row_tells(tmp_path: Path) -> None:
    rows = [
        a_row("b", iteration=0, timing={"wallMs": 10, "segments": []}),
        a_row("a", iteration=0, success=False),
        a_row("b", iteration=1, timing={"wallMs": 40, "segments": []}),
        a_row("b", iteration=2, success=None, error="down", cause="environment"),
    ]
    glances = glance_at(write_run(tmp_path / "run", rows), ("latency_wall_ms", "api_calls")).glances()

    assert list(glances) == ["b", "a"]  # as the run lists them
    assert (glances["b"].measured, glances["b"].successes, glances["b"].unmeasured) == (2, 2, 1)
    assert glances["b"].to_wire()["metrics"] == {
        "latency_wall_ms": {"p50": 25, "n": 2},
        "api_calls": {"p50": None, "n": 0},
    }


def test_files_of_rows_with_common_modes_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[bytes] = []
    parse = rows_module.parse_row
    files = [tmp_path / "before.jsonl", tmp_path / "after.jsonl"]
    for day, file in enumerate(files, start=1):
        rows = (a_row(runId=file.stem, iteration=each, startedAt=f"2026-03-0{day}T16:00:00Z") for each in range(4))
        file.write_bytes(b"".join(row.to_bytes() + b"\n" for row in rows))
    sources = open_sources([], files[::-1])
    monkeypatch.setattr(rows_module, "parse_row", lambda line: (parsed.append(line), parse(line))[1])

    read = read_sources(sources)

    assert len(parsed) == 8
    assert read.arrangement.is_before_and_after
    assert [identity.source for identity in read.columns.identities] == ["after"] * 4 + ["before"] * 4
    assert [str(arm) for arm in read.columns.observations.arm.known] == ["ghx @ after", "ghx @ before"]
