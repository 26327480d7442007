"""Runs by name, the newest of them, their list, and the one that was blessed."""

import json
from pathlib import Path

import pytest
from bench_command import run_in_process, write_files
from nightly import mostly_nightly
from report_runs import a_row, write_run

from ghx_bench.cli.flags import GateFlags
from ghx_bench.cli.stored.run_names import find_against, find_run
from ghx_bench.cli.verdicts.judging import judging_of
from ghx_bench.project.config import EvalConfig
from ghx_profiler.store.record import NAME_A_RUN

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


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    mostly_nightly(
        [
            ["show", "latest"],
            ["report", "latest", "--format", "data"],
            ["report", "run_2", "latest", "--format", "data"],
            ["resume", "latest", "--json"],
            ["export", "latest", "--format", "atif"],
            ["analyze", "latest"],
            ["plan", "latest", "--effect", "20"],
            ["bless", "latest"],
            ["pack", "latest", "--no-report", "--output", "run.zip"],
            ["compare", "run_2", "latest"],
            ["run", "--replay", "latest", "--dry-run"],
            ["run", "--against", "latest", "--dry-run"],
        ],
        keep=4,
    ),
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
        (["bless", "run_9"], f"run_9: not a run directory, it holds no run.json; {NAME_A_RUN}"),
        (["analyze", "run_9"], f"run_9: not a run directory, it holds no run.json; {NAME_A_RUN}"),
        (["resume", "run_9"], f"run_9: not a run directory, it holds no run.json; {NAME_A_RUN}"),
        (
            ["bless", "junk.pack.zip"],
            "junk.pack.zip: no pack, for it is no zip; name a run, or what `ghx-bench pack` made",
        ),
        (
            ["report", "junk.pack.zip"],
            "junk.pack.zip: no pack, for it is no zip; name a run, or what `ghx-bench pack` made",
        ),
        (["bless", "run_1", "--name", "a b"], "--name: 'a b' is no name; use letters, digits, '.', '_' and '-'"),
        (["compare", "mian", "run_1"], "there is no run and no baseline 'mian'; did you mean 'main'?"),
        (["run", "--against", "mian"], "there is no run and no baseline 'mian'; did you mean 'main'?"),
    ],
)
def test_what_cannot_be_blessed_or_found_is_one_line(
    words: list[str], says: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_in_process(capsys, "bless", "run_2")[0] == 0
    write_files(folder, {"junk.pack.zip": "junk"})

    assert run_in_process(capsys, *words) == (2, f"error: {says}\n")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("latest", "--name: 'latest' is the newest run wherever a run is named; choose another name"),
        ("run_1", "--name: 'run_1' is a run already, or a file: kept/run_1; choose another name"),
        ("here", "--name: 'here' is a run already, or a file: here; choose another name"),
        (
            "eval.config.yaml",
            "--name: 'eval.config.yaml' is a run already, or a file: eval.config.yaml; choose another",
        ),
    ],
)
def test_a_name_that_means_something_else_cannot_be_blessed(
    name: str, says: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(folder / "here", [a_row()], run_id="here")

    code, said = run_in_process(capsys, "bless", "run_2", "--name", name)

    assert code == 2
    assert said.startswith(f"error: {says}")
    assert not (folder / "baselines.yaml").exists()


def test_a_blessed_name_goes_before_folders_and_a_path_never_means_a_baseline(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("kept", "gold"):
        assert run_in_process(capsys, "bless", "run_2", "--name", name)[0] == 0
    for place in ("gold", "kept/gold"):
        write_run(folder / place, [a_row()], run_id="another")

    for name in ("kept", "gold"):
        assert find_run(name) == Path("kept/run_2")
        assert find_against(name, Path("kept"), Path("baselines.yaml")) == Path("kept/run_2")
    for name in ("./gold", "kept/gold", f"{folder}/gold"):
        assert find_against(name, Path("kept"), Path("baselines.yaml")) == Path(name)


def test_the_folder_of_a_baseline_is_recorded_as_a_path(folder: Path) -> None:
    write_run(folder / "gold", [a_row()], run_id="gold")
    config = EvalConfig(modes=("ghx",), against="gold")

    recorded = judging_of(config, GateFlags(), baselines=folder / "baselines.yaml")[1].against

    assert recorded == "./gold"


@pytest.mark.parametrize(
    "words",
    [
        ["show", "main"],
        ["report", "main", "run_1", "--format", "data"],
        ["report", "--label", "old=main", "--format", "data"],
        ["compare", "run_1", "main"],
        ["export", "main", "--format", "atif"],
        ["bless", "main", "--name", "other"],
    ],
)
def test_every_command_knows_blessed_runs(words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_in_process(capsys, "bless", "run_2")[0] == 0

    code, said = run_in_process(capsys, *words)

    assert code == 0, said


def test_a_run_without_a_row_for_each_cell_cannot_be_blessed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write_run(folder / "kept" / "run_3", [a_row(iteration=number) for number in range(3)], run_id="run_3")
    rows = (run / "rows.jsonl").read_bytes().splitlines(keepends=True)
    # Twice the same row is one cell.
    (run / "rows.jsonl").write_bytes(b"".join((rows[0], rows[1], rows[1])))

    code, said = run_in_process(capsys, "bless", "run_3")

    assert code == 2
    assert said.endswith("only a whole run can be a baseline, and this one has rows of 2 of 3 cells; resume it first\n")
    assert not (folder / "baselines.yaml").exists()


def test_a_pack_can_be_blessed_and_compared_with(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_in_process(capsys, "pack", "run_1", "--output", "main.pack.zip", "--no-report")[0] == 0

    blessed = run_in_process(capsys, "bless", "main.pack.zip", "--json")
    assert (blessed[0], json.loads(blessed[1].splitlines()[0])["path"]) == (0, "main.pack.zip")
    code, said = run_in_process(capsys, "compare", "main", "run_2", "--fail-on", "right")
    assert code == 0, said
    assert "0 of 1 solved, 1 before" in said


def test_cells_that_were_not_measured_are_told_of_when_a_run_is_blessed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [a_row(), a_row(iteration=1, success=None, error="HTTP 503", cause="environment")]
    write_run(folder / "kept" / "run_3", rows, run_id="run_3")

    code, said = run_in_process(capsys, "bless", "run_3")

    assert code == 0
    assert "note: 1 of 2 cells could not be measured: later runs may find this baseline unreliable\n" in said


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
