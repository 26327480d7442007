"""What `run --dry-run` says beyond its cells: how long, how dear, and what could be shown."""

import json
from pathlib import Path
from typing import Any

import pytest
from answering_agent import ANSWERING_AGENT
from bench_command import write_files
from report_runs import a_row, write_run

from ghx_bench.cli.main import run
from ghx_bench.cli.running.run import _list  # pyright: ignore[reportPrivateUsage] - what 300 scenarios look like
from ghx_profiler.records.metrics import Timing

CONFIG = """
provider: {id: ./mine.py:Answering, options: {words: done}}
modes: [baseline, ghx]
scenarios: {ids: [issue-triage-001, pr-draft-to-ready-001]}
execution: {repetitions: 3, max_concurrency: 2}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_files(tmp_path, {"mine.py": ANSWERING_AGENT, "eval.config.yaml": CONFIG})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def earlier_rows(**known: Any) -> list[Any]:
    rows = [
        a_row(mode, scenario, provider="answering", model="none")
        for mode in ("baseline", "ghx")
        for scenario in ("issue-triage-001", "pr-draft-to-ready-001")
    ]
    return [row.model_copy(update={"timing": Timing(wall_ms=60_000), "attempts": (), **known}) for row in rows]


@pytest.mark.slow
def test_earlier_runs_tell_how_long_it_takes_and_what_it_takes_to_show_an_effect(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(project / "results" / "earlier", earlier_rows(success=False), run_id="earlier")

    assert run(["run", "--dry-run"]) == 0

    said = capsys.readouterr().out
    assert "estimate: 12 cells take 6 min" in said
    assert "(2 arms, 2 at a time; a cell takes 60 s" in said
    assert "with these arms and scenarios (0 % of earlier sessions; with a chance of 80 %):" in said
    assert run(["run", "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["estimate"]["hours"] == pytest.approx(0.1)
    needed = [each["repetitions"] for each in told["effects"]]
    assert needed == sorted(needed, reverse=True)
    assert all(each["hours"] == pytest.approx(each["repetitions"] / 30) for each in told["effects"])
    one = ("--mode", "baseline", "--scenario", "issue-triage-001", "--repetitions", "1")
    assert run(["run", "--dry-run", *one]) == 0
    assert "estimate: 1 cell takes 1 min" in capsys.readouterr().out


@pytest.mark.slow
def test_without_earlier_runs_the_price_of_the_model_and_a_stated_guess_are_taken(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", "--dry-run", "--model", "anthropic/claude-sonnet-4-5"]) == 0
    assert "by a guess: sessions of a minute" in capsys.readouterr().out

    assert run(["run", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "estimate: none, no earlier run has such sessions" in said
    assert "(70 % assumed; with a chance of 80 %):" in said


def test_controls_have_no_estimate(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "--dry-run", "--agent", "nop"]) == 0

    assert "estimate" not in capsys.readouterr().out


def test_three_hundred_scenarios_stand_in_columns_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    names = [f"scenario-{number:03}" for number in range(300)]

    first, *lines = _list(names).splitlines()

    assert first == "300:"
    assert len(lines) == 60 - 10
    assert all(len(line) <= 100 for line in lines)
    assert sorted(name for line in lines for name in line.split()) == names
    assert _list(names[:3]) == "scenario-000, scenario-001, scenario-002"
