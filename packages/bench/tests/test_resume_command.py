"""Runs that are taken up again: killed, interrupted, elsewhere, changed, or replayed."""

import json
import os
import signal
from collections import Counter
from pathlib import Path

import pytest
from answering_agent import ANSWERING_AGENT
from bench_command import fork_ghx_bench, left_in, rows_of, run_in, start, wait_for_rows, write_files
from labelling_project import PROJECT
from report_runs import a_row, write_run

from ghx_base.files.scratch import PREFIX
from ghx_bench.cli.main import run
from ghx_bench.project.config import EvalConfig
from ghx_profiler.config import ProfileConfig

ONE_CELL = ("--mode", "baseline", "--scenario", "issue-triage-001", "--repetitions", "1", "--skip-warmup")


def test_a_killed_run_is_resumed_where_it_was(tmp_path: Path) -> None:
    flags = ("--mode", "baseline", "--scenario-set", "quick", "--repetitions", "3", "--skip-warmup")
    process = start(tmp_path, "run", *flags)
    wait_for_rows(tmp_path, process, 2)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    before = [row.cell for row in rows_of(run_in(tmp_path))]
    assert left_in(tmp_path)

    done = fork_ghx_bench(tmp_path, "resume", str(run_in(tmp_path)))

    assert done.returncode == 0, done.stderr
    after = Counter(row.cell for row in rows_of(run_in(tmp_path)))
    assert 2 <= len(before) < 6
    assert (len(after), set(after.values())) == (6, {1})
    assert "6 cells measured" in done.stdout
    assert [name for name in left_in(tmp_path) if name.startswith(PREFIX)] == []
    assert (run_in(tmp_path) / "report" / "index.html").is_file()


AGENTS = """
agents:
  - reference
  - id: ./lazy.py:Answering
    name: lazy
    options: {words: nothing}
models: [one, two]
modes: [baseline, ghx]
scenarios: {ids: [issue-triage-001]}
execution: {repetitions: 2, warmup: false}
"""


@pytest.mark.nightly
def test_a_killed_run_of_two_agents_two_models_and_two_modes_has_every_cell_once_in_the_end(tmp_path: Path) -> None:
    write_files(tmp_path, {"eval.config.yaml": AGENTS, "lazy.py": ANSWERING_AGENT})
    process = start(tmp_path, "run")
    wait_for_rows(tmp_path, process, 3)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    before = len(rows_of(run_in(tmp_path)))

    done = fork_ghx_bench(tmp_path, "resume", str(run_in(tmp_path)))

    assert done.returncode == 0, done.stderr
    rows = rows_of(run_in(tmp_path))
    cells = Counter(row.cell for row in rows)
    assert 3 <= before < 16
    assert (len(cells), set(cells.values())) == (16, {1})
    assert len({cell.arm for cell in cells}) == 8
    assert {row.agent: row.success for row in rows} == {"reference": True, "lazy": False}


def test_an_interrupted_run_cleans_up_and_says_how_to_go_on(tmp_path: Path) -> None:
    flags = ("--mode", "baseline", "--scenario-set", "quick", "--repetitions", "20", "--max-concurrency", "2")
    process = start(tmp_path, "run", *flags, "--skip-warmup")
    wait_for_rows(tmp_path, process, 1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()

    directory = run_in(tmp_path).relative_to(tmp_path)
    assert process.returncode == 130, errors
    assert f"go on with: ghx-bench resume {directory}" in errors
    assert "Traceback" not in errors
    assert left_in(tmp_path) == []
    assert 1 <= len(rows_of(run_in(tmp_path))) < 40


def test_a_run_of_a_profile_is_not_taken_for_an_evaluation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    config = ProfileConfig(modes=("one",)).model_dump(mode="json")
    write_run(tmp_path / "my run", [a_row("one")], provider="mine", config=config)

    assert run(["resume", "my run"]) == 2

    err = capsys.readouterr().err
    assert "my run: this run was made by a profile; resume it with its file" in err
    assert "`ghx-bench resume 'my run' --profile FILE`" in err
    assert len(err.splitlines()) == 1


def test_a_run_is_resumed_where_its_project_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    config = EvalConfig(modes=("baseline",), scenario_dirs=(Path("scenarios"),)).model_dump(mode="json")
    write_run(tmp_path / "run", [a_row("baseline")], provider="reference", config=config)

    assert run(["resume", "run"]) == 2

    err = capsys.readouterr().err
    assert "run: it was made with scenarios, which is not here; resume it in the folder where it was started" in err
    assert len(err.splitlines()) == 1


@pytest.mark.slow
def test_a_run_is_resumed_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project, elsewhere, moved = tmp_path / "project", tmp_path / "elsewhere", tmp_path / "moved"
    write_files(project, PROJECT)
    elsewhere.mkdir()
    monkeypatch.chdir(project)
    assert run(["run", "--agent", "nop", "--mode", "told", "--repetitions", "2", "--no-report"]) == 0
    directory = run_in(project)
    rows = directory / "rows.jsonl"
    first = rows.read_text().splitlines(keepends=True)[0]

    rows.write_text(first)
    monkeypatch.chdir(elsewhere)
    arguments = ["resume", f"../project/results/{directory.name}", "--json", "--log-json", "log.jsonl"]
    assert run(arguments) == 0
    out, err = capsys.readouterr()
    assert json.loads(out.splitlines()[-1])["measured"] == 2
    assert f"note: this run was started in {project}, and goes on there" in err
    assert [each.name for each in elsewhere.iterdir()] == ["log.jsonl"]

    rows.write_text(first)
    project.rename(moved)
    assert run(["resume", str(moved / "results" / directory.name)]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert f"which is not here; nor is it in {project}, where it was started; resume it in the folder where" in said[0]
    monkeypatch.chdir(moved)
    assert run(["resume", f"results/{directory.name}", "--no-report"]) == 0


@pytest.mark.process
def test_a_run_is_replayed_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["run", *ONE_CELL, "--no-report"]) == 0
    recorded = run_in(tmp_path).rename(tmp_path / "recorded")
    capsys.readouterr()

    assert run(["run", "--replay", recorded.name, *ONE_CELL, "--no-report", "--json"]) == 0

    assert json.loads(capsys.readouterr().out)["modes"]["baseline"]["successes"] == 1
    (row,) = rows_of(run_in(tmp_path))
    assert row.provider == "replay"


@pytest.mark.slow
def test_a_scenario_that_was_changed_since_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(write_files(tmp_path, PROJECT))
    assert run(["run", "--agent", "nop", "--mode", "told", "--no-report"]) == 0
    scenario = tmp_path / "scenarios" / "mine-001.yaml"
    scenario.write_text(scenario.read_text().replace("name: Label it", "name: Label it well"))
    capsys.readouterr()

    assert run(["resume", str(run_in(tmp_path))]) == 2

    assert "another plan (different: scenarios: mine-001 (name))" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["evaluation", "profile"])
def test_a_run_of_0_1_0_is_shown_if_it_is_complete_and_refused_where_cells_are_missing(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    made = EvalConfig(modes=("one",)) if kind == "evaluation" else ProfileConfig(modes=("one",))
    write_run(
        tmp_path / "old", [a_row("one", iteration=number) for number in range(2)], config=made.model_dump(mode="json")
    )
    record = json.loads((tmp_path / "old" / "run.json").read_text())
    del record["agents"], record["matrix"]["agents"]
    written = json.dumps({**record, "version": 1})
    (tmp_path / "old" / "run.json").write_text(written)

    assert run(["resume", "old", "--no-report", "--json"]) == 0

    shown = json.loads(capsys.readouterr().out)
    assert (shown["total"], shown["measured"], shown["modes"]["one"]["successes"]) == (2, 2, 2)
    assert (tmp_path / "old" / "run.json").read_text() == written, "what is only shown stays as it is"

    assert run(["resume", "old", "--no-report", "--json", "--log-json", "log.jsonl"]) == 0

    assert "note: --log-json: nothing of old is left to measure, and nothing is logged" in capsys.readouterr().err

    lines = (tmp_path / "old" / "rows.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "old" / "rows.jsonl").write_text(lines[0])

    assert run(["resume", "old"]) == 2
    err = capsys.readouterr().err
    assert "old: this run was started by an older ghx-bench (0.1.0), which orders cells otherwise; finish it" in err
    assert len(err.splitlines()) == 1


@pytest.mark.slow
def test_notes_about_settings_are_for_those_who_wrote_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "eval.config.yaml").write_text("modes: [baseline]\noutput: {log_level: info}\n")
    assert run(["run", "--agent", "nop", *ONE_CELL, "--no-report"]) == 0
    assert "note: output.log_level is not used" in capsys.readouterr().err

    assert run(["resume", str(run_in(tmp_path)), "--no-report"]) == 0

    assert "note: " not in capsys.readouterr().err
