"""Model traffic of a run, recorded and replayed: the same work without a model, or the first difference in words."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from bench_command import fork_ghx_bench, rows_of, run_in
from traffic_project import REAL_KEY, calls_in, change_title, record_run, write_project

from ghx_bench.cli.main import run as run_command
from ghx_bench.cli.running.forecast import SessionTally
from ghx_profiler.records.causes import Cause
from ghx_profiler.records.row import ProfileRow


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project whose run in `recorded` has its model traffic; its model is gone."""
    folder = tmp_path_factory.mktemp("project")
    record_run(folder)
    return folder


@pytest.fixture
def project(recorded: Path, tmp_path: Path) -> Path:
    return shutil.copytree(recorded, tmp_path / "project", ignore=shutil.ignore_patterns("tmp"))


def iteration_of(row: ProfileRow) -> int:
    return row.iteration


@pytest.mark.process
def test_what_was_recorded_lies_beside_the_traces_and_holds_no_secret(recorded: Path) -> None:
    rows = rows_of(recorded / "recorded")
    files = [recorded / "recorded/sessions/tiny/scripted-1/baseline/mine-001" / f"{n}.model.jsonl" for n in (0, 1)]

    assert [row.success for row in rows] == [True, True]
    for file in files:
        head, *exchanges = map(json.loads, file.read_text().splitlines())
        assert head["version"] == 1
        assert [each["status"] for each in exchanges] == [200, 200, 200]
        shown = json.loads(exchanges[1]["requestBody"])["messages"][-1]["content"]
        assert shown.splitlines()[1].startswith("*** *** /")
        assert REAL_KEY not in file.read_text()


@pytest.mark.process
def test_a_replay_does_the_same_work_without_a_model_a_key_or_a_cost(project: Path) -> None:
    # No key, no --yes, no model at the address: only the run is named.
    done = fork_ghx_bench(project, "run", "--replay-model", "recorded")

    assert done.returncode == 0, done.stderr
    assert "estimate" not in done.stderr
    before, after = (sorted(rows_of(run), key=iteration_of) for run in (project / "recorded", run_in(project)))
    assert [row.success for row in after] == [True, True]
    assert calls_in(run_in(project)) == calls_in(project / "recorded")
    for one, other in zip(before, after, strict=True):
        assert (one.checkpoint_details, one.tokens) == (other.checkpoint_details, other.tokens)
        assert other.cost.total_usd == 0
        assert other.model_calls is not None
        assert other.model_calls.replayed == {"exact": 2, "blind_spot": 1}
    record = json.loads((run_in(project) / "run.json").read_text())
    run_id = json.loads((project / "recorded" / "run.json").read_text())["runId"]
    assert record["agents"][0]["controlKind"] == "replay"
    assert record["provenance"][0]["ingredients"]["model traffic of run"] == run_id
    assert after[0].extensions["agent"]["replayedRun"] == run_id
    assert SessionTally(after).costs == {}  # what a replay cost tells nothing
    shown = fork_ghx_bench(project, "show", str(run_in(project)), "baseline/mine-001/0").stdout
    assert "finding of model_replay: model calls replayed: 2 exact, 1 blind spot" in shown
    page = (run_in(project) / "report" / "report.md").read_text()
    assert "A control run: it makes recorded calls again" in page


@pytest.mark.process
def test_a_title_that_has_changed_is_a_divergence_by_name(project: Path) -> None:
    change_title(project)

    done = fork_ghx_bench(project, "run", "--replay-model", "recorded", "--repetitions", "1")

    assert done.returncode == 3, done.stderr
    (row,) = rows_of(run_in(project))
    assert row.cause == Cause.REPLAY_DIVERGED
    assert (row.error_code, row.traceback) == ("REPLAY_DIVERGED", None)
    assert "half a minute" in (row.error or "")
    assert "ten seconds" in (row.error or "")
    assert row.model_calls is not None
    assert row.model_calls.replayed == {"exact": 1, "divergence": 3}  # the agent tried three times
    assert len(row.tool_calls.records) == 1
    shown = fork_ghx_bench(project, "show", str(run_in(project)), "baseline/mine-001/0").stdout
    assert "model calls replayed: 1 exact, 3 divergence; call 2: the recording has" in shown
    page = (run_in(project) / "report" / "report.md").read_text()
    assert "none of its 1 row could be measured \\(1 replay diverged\\)" in page


@pytest.mark.process
def test_a_cell_without_a_recording_fails_by_name_and_starts_no_agent(project: Path) -> None:
    done = fork_ghx_bench(project, "run", "--replay-model", "recorded", "--repetitions", "3", "--no-report")

    assert done.returncode == 3, done.stderr
    rows = {row.iteration: row for row in rows_of(run_in(project))}
    assert (rows[0].success, rows[1].success) == (True, True)
    assert rows[2].cause == Cause.ENVIRONMENT
    name = "sessions/tiny/scripted-1/baseline/mine-001/2"
    assert f"cannot be replayed: no model traffic of session '{name}' in recorded" in (rows[2].error or "")


@pytest.mark.process
def test_a_replay_that_was_interrupted_is_resumed_as_one(project: Path) -> None:
    fork_ghx_bench(project, "run", "--replay-model", "recorded", "--no-report")
    rows = run_in(project) / "rows.jsonl"
    rows.write_text(rows.read_text().splitlines(keepends=True)[0])

    done = fork_ghx_bench(project, "resume", str(run_in(project)), "--no-report")

    assert done.returncode == 0, done.stderr
    assert all(row.model_calls and row.model_calls.replayed for row in rows_of(run_in(project)))
    shutil.move(project / "recorded", project / "elsewhere")
    lost = fork_ghx_bench(project, "resume", str(run_in(project)))
    assert lost.returncode == 2
    assert "it was made with recorded, which is not here" in lost.stderr


@pytest.fixture
def in_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(project)
    return project


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "changes", "told"),
    [
        (["--replay-model", "nowhere"], {}, "--replay-model: nowhere is not the folder of a run"),
        (["--replay-model", "recorded", "--record-model"], {}, "what is replayed was recorded already"),
        (
            ["--record-model"],
            {"agents": ["my_agent.py:Mine"]},
            "--record-model: agent my_agent.py:Mine: its model calls do not go through the meter",
        ),
    ],
)
def test_what_cannot_be_recorded_or_replayed_is_refused_in_a_line(
    words: list[str], changes: dict[str, Any], told: str, in_project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if changes:
        write_project(in_project, "http://127.0.0.1:9", **changes)
    Path("my_agent.py").write_text("class Mine:\n    name = 'mine'\n    def session(self, request): ...\n")

    code = run_command(["run", "--dry-run", *words])

    printed = capsys.readouterr().err
    assert code == 2
    assert told in printed
    assert "Traceback" not in printed


@pytest.mark.process
@pytest.mark.usefixtures("in_project")
def test_a_run_without_recordings_cannot_be_replayed(capsys: pytest.CaptureFixture[str]) -> None:
    for file in Path("recorded").rglob("*.model.jsonl"):
        file.unlink()

    code = run_command(["run", "--dry-run", "--replay-model", "recorded"])

    assert code == 2
    assert "--replay-model: recorded holds no model traffic; record it with --record-model" in capsys.readouterr().err
