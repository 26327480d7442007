"""Rows and runs of older versions, read as those of the newest."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from profiler_fakes import config, profile
from report_runs import a_row, a_trace, write_run

from ghx_profiler.analyzers.files import SessionFile, sessions_of_run
from ghx_profiler.errors import RunMismatchError
from ghx_profiler.records.row import ROW_VERSION, ProfileRow
from ghx_profiler.reports import generate_report
from ghx_profiler.store.directory import RunDirectory
from ghx_profiler.store.record import read_record
from ghx_profiler.store.rows import read_rows

ZEROS = {"input": 0, "output": 0, "reasoning": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0, "active": 0}


def typescript_row(**changes: Any) -> dict[str, Any]:
    """Return a row as the TypeScript packages write it: without a version, and with zeros for what is not known."""
    row = a_row(**changes).to_wire()
    del row["version"]
    return row


def read_one(path: Path, row: dict[str, Any]) -> ProfileRow:
    path.write_text(json.dumps(row) + "\n")
    [read] = read_rows(path)
    return read


def test_a_row_of_the_typescript_packages_is_read_as_one_of_the_newest_version(tmp_path: Path) -> None:
    row = typescript_row()

    read = read_one(tmp_path / "rows.jsonl", row)

    assert (read.version, read.agent, read.cell.agent) == (ROW_VERSION, "opencode", "opencode")
    assert (read.agent_version, read.machine, read.provenance_id, read.purity, read.token_anatomy) == (None,) * 5
    assert read.known_metrics["tokens_active"] == 9_800
    assert ProfileRow.model_validate(row).to_wire() == row, "as it was written, it stays reachable"


@pytest.mark.parametrize("gone", [{"sessionId": ""}, {"timing": {"wallMs": 0, "segments": []}}])
def test_zeros_of_an_iteration_that_never_had_a_session_become_null(gone: dict[str, Any], tmp_path: Path) -> None:
    failed = {"tokens": ZEROS, "agentTurns": 0, "error": "seeding failed", "completionReason": "error", **gone}

    read = read_one(tmp_path / "rows.jsonl", typescript_row(**failed))

    assert read.known_metrics == {}
    assert (read.tokens.total, read.timing.wall_ms, read.tool_calls.total, read.cost.total_usd) == (None,) * 4
    assert read.agent_turns is None


def test_a_cost_of_nothing_for_tokens_that_were_spent_becomes_null(tmp_path: Path) -> None:
    free = {"totalUsd": 0, "inputUsd": 0, "outputUsd": 0, "reasoningUsd": 0}

    read = read_one(tmp_path / "rows.jsonl", typescript_row(cost=free))

    assert read.cost.total_usd is None
    assert not any(name.startswith("cost") for name in read.known_metrics)
    assert read.known_metrics["tokens_active"] == 9_800


def test_who_stopped_an_old_row_is_told_by_its_end(tmp_path: Path) -> None:
    read = read_one(tmp_path / "rows.jsonl", typescript_row(completionReason="timeout", error="Timeout after 9000ms"))

    assert (read.cause, read.was_measured) == ("agent_timeout", True)


def test_a_row_of_version_1_loses_the_numbers_that_it_has_twice_and_no_other(tmp_path: Path) -> None:
    repeated = {"tokens_active": 9_800, "latency_wall_ms": 30_000, "agent_turns": 3, "tool_calls_total": 7}
    row = a_row(metrics={**repeated, "words": 12, "tool_calls_category_mcp": 0}).to_wire()

    read = read_one(tmp_path / "rows.jsonl", row)

    assert read.metrics == {"tool_calls_total": 7, "words": 12, "tool_calls_category_mcp": 0}
    assert read.known_metrics == ProfileRow.model_validate(row).known_metrics
    assert read.version == ROW_VERSION


def test_a_row_of_version_1_may_cost_nothing(tmp_path: Path) -> None:
    assert read_one(tmp_path / "rows.jsonl", a_row(cost={"totalUsd": 0}).to_wire()).cost.total_usd == 0


def test_rows_of_the_older_packages_are_upgraded_once(older_tools: Path) -> None:
    for row in read_rows(older_tools / "rows.jsonl"):
        assert row.version == ROW_VERSION
        assert row.upgraded() is row


def run_of_version_1(folder: Path, *, provider: str = "opencode") -> Path:
    """Write a run as 0.1.0 did: one agent, which is in the record by its name and in no path."""
    rows = [a_row(iteration=number, provider=provider) for number in range(2)]
    write_run(folder, rows, provider=provider)
    record = json.loads((folder / "run.json").read_text())
    del record["agents"], record["matrix"]["agents"]
    (folder / "run.json").write_text(json.dumps({**record, "version": 1}))
    directory = RunDirectory(folder)
    for row in rows:
        for kind, path in (("sessions", directory.session(row.cell)), ("analysis", directory.analysis(row.cell))):
            older = folder / kind / "vendor%2Fmodel-1" / row.mode / row.scenario_id / path.name
            older.parent.mkdir(parents=True, exist_ok=True)
            path.rename(older)
    return folder


def test_the_sessions_of_a_run_of_version_1_are_found(tmp_path: Path) -> None:
    run = run_of_version_1(tmp_path / "run")

    session_files = [session for session in sessions_of_run(run) if isinstance(session, SessionFile)]

    assert [(session.cell.agent, session.row is not None) for session in session_files] == [("opencode", True)] * 2
    made = generate_report([run], generated_at="2026-04-01T12:00:00Z", output_dir=tmp_path / "out", sessions="all")
    assert made.rows == 2
    pages = [path.read_text() for path in (tmp_path / "out" / "sessions").rglob("*/0.html")]
    assert any(a_trace(a_row()).tool_calls[0].name in page for page in pages)


def test_a_run_of_version_1_is_not_resumed_and_one_line_says_what_to_do(tmp_path: Path) -> None:
    run = run_of_version_1(tmp_path / "run")

    with pytest.raises(
        RunMismatchError, match=r"started by an older ghx-bench \(0\.1\.0\).*finish it with that one"
    ) as said:
        anyio.run(lambda: profile().run(config(tmp_path), resume=run))

    assert "\n" not in str(said.value)


@pytest.mark.parametrize(("provider", "controls"), [("reference", {"reference": "solution"}), ("opencode", {})])
def test_the_record_of_version_1_knows_its_controls_by_name(
    provider: str, controls: dict[str, str], tmp_path: Path
) -> None:
    record = read_record(run_of_version_1(tmp_path / "run", provider=provider) / "run.json")

    assert record.control_agents == controls
    assert record.matrix.agents == (provider,)
