"""Recorded sessions made again in a fresh world."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench_command import fork_ghx_bench, printed, rows_of, run_in, write_files
from report_runs import a_row, a_trace, write_run

from ghx_base.errors import InputError
from ghx_bench.project.user_agents import recordings_of, split_replay
from ghx_profiler.config import AgentEntry
from ghx_profiler.plan.cell import Cell
from ghx_profiler.records.trace import SessionTrace
from ghx_profiler.store.directory import RunDirectory

CELL = Cell(agent="reference", model="none", mode="baseline", scenario_id="pr-reply-threads-001", iteration=0)


def trace_of(run: Path, cell: Cell) -> SessionTrace:
    return SessionTrace.model_validate_json(RunDirectory(run).session(cell).read_bytes())


def test_a_recorded_run_is_replayed_on_a_fresh_world(reference_run: Path, tmp_path: Path) -> None:
    recorded = run_in(reference_run)
    config = f"""
modes: [baseline, ghx-mcp]
scenarios: {{ids: [pr-reply-threads-001, repo-release-notes-001]}}
execution: {{repetitions: 1, max_concurrency: 4}}
provider: {{id: replay, options: {{run: "{recorded}"}}}}
"""
    write_files(tmp_path, {"eval.config.yaml": config})

    told = printed(fork_ghx_bench(tmp_path, "run", "--no-report", "--json"))

    assert {name: mode["successes"] for name, mode in told["modes"].items()} == {"baseline": 2, "ghx-mcp": 2}
    for row in rows_of(run_in(tmp_path)):
        first, again = trace_of(recorded, replace(row.cell, agent="reference")), trace_of(run_in(tmp_path), row.cell)
        assert [(call.name, call.input) for call in again.tool_calls] == [
            (call.name, call.input) for call in first.tool_calls
        ]
        assert again.tool_calls != ()
        assert row.provider == "replay"


def test_a_recording_is_that_of_the_same_cell(reference_run: Path) -> None:
    find = recordings_of({"run": str(run_in(reference_run))})

    assert find(replace(CELL, agent="replay")) == trace_of(run_in(reference_run), CELL)
    assert find(replace(CELL, iteration=7)) is None


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "name the run whose sessions are to be replayed"),
        ({"run": 7}, "name the run whose sessions are to be replayed"),
        ({"run": "nowhere"}, "nowhere is not the folder of a run"),
    ],
)
def test_what_is_no_run_is_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        recordings_of(options)


def test_a_recording_that_cannot_be_read_is_told_with_its_file(reference_run: Path, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes((run_in(reference_run) / "run.json").read_bytes())
    path = RunDirectory(tmp_path).session(CELL)
    path.parent.mkdir(parents=True)
    path.write_text('{"sessionId": ')

    with pytest.raises(InputError, match=r"pr-reply-threads-001/0\.json: "):
        recordings_of({"run": str(tmp_path)})(CELL)


def test_a_run_of_several_agents_is_replayed_by_one_agent_for_each(tmp_path: Path) -> None:
    rows = [a_row("ghx", provider=agent, sessionId=f"ses_{agent}") for agent in ("careful", "hasty")]
    run = str(write_run(tmp_path / "run", rows))

    entries = split_replay(AgentEntry(id="replay", options={"run": run}))

    assert [(entry.name, entry.options["agent"]) for entry in entries] == [
        ("replay:careful", "careful"),
        ("replay:hasty", "hasty"),
    ]
    for row, entry in zip(rows, entries, strict=True):
        assert recordings_of(entry.options)(replace(row.cell, agent=entry.name or "")) == a_trace(row)
    assert split_replay(AgentEntry(id="nop")) == (AgentEntry(id="nop"),)
    with pytest.raises(InputError, match=r"run has no agent 'hsty', which --agent or .* did you mean 'hasty'"):
        recordings_of({"run": run, "agent": "hsty"})


def test_the_agents_of_a_run_are_replayed_apart_all_of_them_or_those_that_are_named(tmp_path: Path) -> None:
    which = ("--scenario", "issue-triage-001", "--mode", "baseline", "--repetitions", "1", "--skip-warmup")
    shown = ("--no-report", "--json")
    agents = ("--agent", "reference", "--agent", "nop")
    recorded = printed(fork_ghx_bench(tmp_path, "run", *agents, *which, *shown))["directory"]

    both = printed(fork_ghx_bench(tmp_path, "run", "--replay", recorded, *which, *shown))
    one = printed(fork_ghx_bench(tmp_path, "run", "--replay", recorded, "--agent", "nop", *which, *shown))

    assert {name: mode["successes"] for name, mode in both["modes"].items()} == {
        "replay:reference / baseline": 1,
        "replay:nop / baseline": 0,
    }
    assert {name: mode["successes"] for name, mode in one["modes"].items()} == {"baseline": 0}
    assert {row.provider for row in rows_of(Path(tmp_path, one["directory"]))} == {"replay"}
