"""A report that is made again where one lies: its own old files go, those of others stay."""

from pathlib import Path

import pytest
from report_runs import a_row, made_up_rows, write_run

from ghx_profiler.errors import BadRowsError
from ghx_profiler.reports import generate_report
from ghx_profiler.reports.folder import LIST

pytestmark = pytest.mark.slow

NOW = "2026-04-01T12:00:00.000Z"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", made_up_rows(modes=["baseline", "ghx"], scenarios=2, repetitions=3))


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_pages_and_charts_that_a_new_report_does_not_have_go(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    generate_report([run], generated_at=NOW, output_dir=out, sessions="all")
    assert len(list((out / "sessions").rglob("*/*.html"))) == 12

    rows = (run / "rows.jsonl").read_bytes().splitlines(keepends=True)
    (run / "rows.jsonl").write_bytes(b"".join(line for line in rows if b'"mode":"ghx"' in line))
    generate_report([run], generated_at=NOW, output_dir=out, sessions="all")
    generate_report([run], generated_at=NOW, output_dir=tmp_path / "fresh", sessions="all")

    assert files_in(out) == files_in(tmp_path / "fresh")
    assert not (out / "sessions" / "vendor%2Fmodel-1" / "baseline").exists()
    assert not (out / "charts" / "forest-amounts.svg").exists()


def test_files_of_others_stay(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    foreign = [out / "notes.md", out / "sessions" / "mine.html", out / "charts" / "mine.svg", out / "data" / "mine.csv"]
    for path in foreign:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    generate_report([run], generated_at=NOW, output_dir=out, sessions="all")
    generate_report([run], generated_at=NOW, output_dir=out, sessions="none")

    assert [path.read_text() for path in foreign] == ["mine"] * 4
    assert {str(path.relative_to(out)) for path in (out / "sessions").rglob("*")} == {"sessions/mine.html"}


def test_what_was_not_asked_for_this_time_stays(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    generate_report([run], generated_at=NOW, output_dir=out, formats=["html"])
    pages = files_in(out)
    generate_report([run], generated_at=NOW, output_dir=out, formats=["data"])

    assert pages < files_in(out)
    generate_report([run], generated_at=NOW, output_dir=out, formats=["html"], sessions="none")
    assert not (out / "sessions").exists()


def test_a_report_that_failed_half_way_leaves_nothing_that_the_next_does_not_clear(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with (run / "rows.jsonl").open("ab") as file:
        file.write(a_row("ghx", "scenario-000", success=None).to_bytes() + b"\n")
    with pytest.raises(BadRowsError):
        generate_report([run], generated_at=NOW, output_dir=out, sessions="all")

    write_run(run, made_up_rows(modes=["ghx"], scenarios=1, repetitions=1))
    generate_report([run], generated_at=NOW, output_dir=out, sessions="all")

    assert len(list((out / "sessions").rglob("*/*.html"))) == 1


@pytest.mark.parametrize("entry", ["../victim.html", "sessions/../../victim.html", "/{victim}", "link/victim.html"])
def test_a_list_that_names_files_elsewhere_removes_nothing(run: Path, tmp_path: Path, entry: str) -> None:
    out, victim = tmp_path / "out", tmp_path / "victim.html"
    victim.write_text("mine")
    out.mkdir()
    (out / "sessions").symlink_to(tmp_path)
    (out / LIST).write_text(entry.replace("/{victim}", str(victim)).replace("link/", "sessions/") + "\n")

    generate_report([run], generated_at=NOW, output_dir=out, formats=["html"], sessions="none")

    assert victim.read_text() == "mine"


def test_the_list_has_every_file_and_no_other(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    generate_report([run], generated_at=NOW, output_dir=out, sessions="all")

    assert set((out / LIST).read_text().splitlines()) == files_in(out) - {LIST}
