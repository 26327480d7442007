"""Runs by name, the newest of them, their list, and the one that was blessed."""

import json
from pathlib import Path

import pytest
from bench_command import run_in_process, write_files
from report_runs import a_row, write_run

from ghx_bench.eval.cli.run_names import find_run

CONFIG = "modes: [baseline]\noutput: {results_dir: kept}\n"


@pytest.fixture(autouse=True)
def is_no_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what is judged here out of the pipeline that these tests may run in."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(write_files(tmp_path, {"eval.config.yaml": CONFIG}))
    # Named against their order in time: a copied run keeps its own time.
    write_run(tmp_path / "kept" / "run_2", [a_row(success=False)], run_id="run_2", created_at="2026-03-01T16:00:00Z")
    write_run(tmp_path / "kept" / "run_1", [a_row()], run_id="run_1", created_at="2026-03-02T16:00:00Z")
    (tmp_path / "kept" / "run_0").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("latest", "kept/run_1"),
        ("run_2", "kept/run_2"),
        ("kept/run_2", "kept/run_2"),
        ("./latest", "latest"),
        ("run_9", "run_9"),
    ],
)
def test_a_run_is_named_by_its_folder_or_its_id_or_as_the_latest(name: str, found: str, folder: Path) -> None:
    assert find_run(name) == Path(found)


@pytest.mark.parametrize(
    "words",
    [
        ["show", "latest"],
        ["report", "latest", "--format", "data"],
        ["report", "run_2", "latest", "--format", "data"],
        ["resume", "latest", "--json"],
        ["export", "latest", "--format", "atif"],
        ["analyze", "latest"],
        ["plan", "latest", "--effect", "20"],
        ["bless", "latest"],
        ["compare", "run_2", "latest"],
        ["run", "--replay", "latest", "--dry-run"],
        ["run", "--against", "latest", "--dry-run"],
    ],
)
def test_every_command_knows_the_latest_run(
    words: list[str], folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, said = run_in_process(capsys, *words)

    # Whatever a command makes of this run, it has found it.
    assert "latest" not in said
    assert "no such" not in said


def test_where_there_is_no_run_the_latest_is_asked_for_in_vain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    code, said = run_in_process(capsys, "show", "latest")

    assert (code, said) == (
        2,
        "error: latest: there is no run in results; `ghx-bench run` makes one, or name a run's folder\n",
    )


def test_runs_are_listed_from_the_newest_with_what_they_were_blessed_as(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_in_process(capsys, "bless", "run_2", "--name", "main", "--by", "ann")[0] == 0

    code, said = run_in_process(capsys, "list", "runs")

    assert code == 0
    assert [line.split() for line in said.splitlines()] == [
        ["run", "began", "agent", "models", "modes", "cells", "success", "status", "labels"],
        ["run_1", "2026-03-02", "16:00", "opencode", "vendor/model-1", "ghx", "1", "1/1", "complete"],
        ["run_2", "2026-03-01", "16:00", "opencode", "vendor/model-1", "ghx", "1", "0/1", "complete", "main"],
    ]
    listed = json.loads(run_in_process(capsys, "list", "runs", "--json")[1])
    assert [(each["runId"], each["labels"], each["successes"]) for each in listed] == [
        ("run_1", [], {"opencode": {"right": 1, "of": 1}}),
        ("run_2", ["main"], {"opencode": {"right": 0, "of": 1}}),
    ]


def test_a_list_of_runs_keeps_models_apart(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [a_row(model=model, iteration=number, success=model == "a") for model in "ab" for number in range(2)]
    write_run(folder / "kept" / "run_3", rows, run_id="run_3", created_at="2026-03-03T16:00:00Z")

    said = run_in_process(capsys, "list", "runs")[1]

    assert "2/2 (a), 0/2 (b)" in said
    assert "2/4" not in said


def test_a_blessed_run_is_found_by_its_name_until_its_rows_change(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_in_process(capsys, "bless", "run_2", "--json")[0] == 0
    compared = run_in_process(capsys, "compare", "main", "run_1")
    assert compared[0] == 0, compared[1]

    with (folder / "kept" / "run_2" / "rows.jsonl").open("ab") as rows:
        rows.write(a_row(iteration=1).to_bytes() + b"\n")

    code, said = run_in_process(capsys, "compare", "main", "run_1")
    assert code == 2
    assert "its rows are not those that were blessed as 'main'" in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["bless", "run_9"], "run_9: not a run directory, it holds no run.json"),
        (["bless", "run_1", "--name", "a b"], "--name: 'a b' is no name; use letters, digits, '.', '_' and '-'"),
        (["compare", "mian", "run_1"], "there is no run and no baseline 'mian'; did you mean 'main'?"),
        (["run", "--against", "mian"], "there is no run and no baseline 'mian'; did you mean 'main'?"),
    ],
)
def test_what_cannot_be_blessed_or_found_is_one_line(
    words: list[str], says: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_in_process(capsys, "bless", "run_2")[0] == 0

    assert run_in_process(capsys, *words) == (2, f"error: {says}\n")


def test_only_a_whole_run_can_be_blessed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(folder / "kept" / "run_3", [a_row()], run_id="run_3", status="interrupted")

    code, said = run_in_process(capsys, "bless", "run_3")

    assert code == 2
    assert said.endswith("only a whole run can be a baseline, and this one is interrupted; resume it first\n")
    assert not (folder / "baselines.yaml").exists()


def test_the_file_of_baselines_is_none_that_check_complains_about(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_in_process(capsys, "bless", "run_1", "--by", "ann")[0] == 0

    assert run_in_process(capsys, "check")[0] == 0
    code, said = run_in_process(capsys, "check", "baselines.yaml")

    assert code == 2
    assert "this is the list of blessed runs, not a file that people write" in said
