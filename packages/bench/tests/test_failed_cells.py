"""What a run leaves unsolved is named after it, with reasons, and so is what comes next."""

import json
from pathlib import Path
from typing import Any

import pytest
from report_runs import a_row, write_run

from ghx_bench.cli.running.measuring import conclude, show_result
from ghx_profiler.progress.failed_cells import FailedCells
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.store.record import read_record
from ghx_profiler.suite import SuiteResult

UNMET: dict[str, Any] = {
    "success": False,
    "checkpointDetails": [
        {"id": "labelled", "description": "It has the label", "passed": False},
        {"id": "open", "description": "It is open", "passed": True},
    ],
}
UNMEASURED: dict[str, Any] = {"success": None, "error": "HTTP 503\nfrom the model", "cause": "model_provider"}


def result_of(folder: Path, rows: list[ProfileRow], **changes: Any) -> SuiteResult:
    run = write_run(folder, rows, **changes)
    measured = sum(row.was_measured for row in rows)
    return SuiteResult(run_id="r", directory=run, total=len(rows), measured=measured)


def test_cells_that_were_not_solved_are_named_with_their_reasons(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        *(a_row("ghx", iteration=number, **UNMET) for number in range(3)),
        a_row("mcp"),
        a_row("mcp", iteration=1, sessionId="", **UNMEASURED),
    ]

    code = show_result(result_of(tmp_path / "run", rows), as_json=False)

    lines = capsys.readouterr().out.splitlines()
    assert code == 3
    assert lines[lines.index("not solved: 4 cells") :] == [
        "not solved: 4 cells",
        "  error  mcp/pr-reply-001/1            HTTP 503 from the model",
        "  wrong  ghx/pr-reply-001/0  3 times   not met: labelled",
        f"next: ghx-bench show {tmp_path / 'run'} mcp/pr-reply-001/1",
    ]


def test_in_json_they_stand_beside_the_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [a_row(mode, iteration=number) for mode in ("ghx", "mcp") for number in range(2)]
    rows[0] = a_row("ghx", **UNMET)

    show_result(result_of(tmp_path / "run", rows), as_json=True, report=conclude)

    told = json.loads(capsys.readouterr().out)
    assert told["notSolved"] == [
        {"cell": "ghx/pr-reply-001/0", "verdict": "wrong", "reason": "not met: labelled", "cells": 1}
    ]
    assert told["verdict"]


def test_after_a_run_its_verdict_is_said_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [a_row(mode, f"s-{number}") for mode in ("ghx", "mcp") for number in range(3)]

    show_result(result_of(tmp_path / "run", rows), as_json=False, report=conclude)

    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("verdict: ")]
    assert len(said) == 1
    assert "ghx" in said[0]
    assert "not solved" not in said[0]


def test_a_control_that_is_to_fail_has_not_failed(tmp_path: Path) -> None:
    wrong, unmeasured = a_row(provider="nop", **UNMET), a_row(provider="nop", iteration=1, **UNMEASURED)
    record = read_record(write_run(tmp_path, [wrong], provider="nop") / "run.json")
    failures = FailedCells(record)

    failures.add(wrong)
    assert not failures

    failures.add(unmeasured)
    assert [line.split()[0] for line in failures.lines()] == ["not", "error"]


def test_of_very_many_a_few_are_named_and_all_are_counted(tmp_path: Path) -> None:
    rows = [a_row("ghx", f"s-{number}", **UNMET) for number in range(1_234)]
    failures = FailedCells(read_record(write_run(tmp_path, rows[:1]) / "run.json"))

    for row in rows:
        failures.add(row)

    first, *named, last = failures.lines()
    assert first == "not solved: 1,234 cells"
    assert len(named) == 10
    assert last == "  and 1,224 more cells"
