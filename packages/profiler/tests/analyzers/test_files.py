"""Sessions on disk: evidence rebuilt from them, one at a time."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_runs import a_row, a_trace, write_run

from ghx_base.problems import Problem
from ghx_profiler.analyzers.files import (
    AnalyzedSession,
    SessionFile,
    analyze_sessions,
    recollect,
    recorded_scenarios,
    sessions_of_run,
)
from ghx_profiler.evidence import Evidence
from ghx_profiler.records.analysis import AnalysisResult
from ghx_profiler.testing import sample_cell, sample_scenario, sample_trace

SNAPSHOT = {**sample_scenario(id="pr-reply-001", prompt="Reply.").to_wire(), "assertions": {"checkpoints": []}}


class Witness:
    """An analyzer that keeps what it is shown."""

    name = "witness"

    def __init__(self) -> None:
        self.seen: list[Evidence[Any]] = []

    def analyze(self, evidence: Evidence[Any]) -> AnalysisResult:
        self.seen.append(evidence)
        return AnalysisResult(analyzer=self.name, findings={})


class Broken:
    """An analyzer that cannot stand one mode."""

    name = "broken"

    def analyze(self, evidence: Evidence[Any]) -> AnalysisResult:
        if evidence.cell.mode == "mcp":
            raise RuntimeError("not this one")
        return AnalysisResult(analyzer=self.name, findings={})


def test_evidence_has_what_the_row_and_the_record_tell(tmp_path: Path) -> None:
    row = a_row("ghx", extensions={"mode": {"server": "1.2"}, "stage": {"seed": 4}})
    folder = write_run(tmp_path / "run", [row], scenarios=(SNAPSHOT,))
    witness = Witness()

    list(analyze_sessions(sessions_of_run(folder), tmp_path / "out", [witness]))

    (evidence,) = witness.seen
    assert evidence.cell == row.cell
    assert (evidence.scenario.id, evidence.scenario.prompt) == ("pr-reply-001", "Reply.")
    assert (evidence.tokens, evidence.cost, evidence.tool_calls) == (row.tokens, row.cost, row.tool_calls)
    assert (evidence.mode.facts, evidence.stage.facts) == ({"server": "1.2"}, {"seed": 4})
    assert evidence.score is not None
    assert evidence.score.checkpoints == row.checkpoint_details


def test_a_row_of_another_session_is_not_asked() -> None:
    trace = sample_trace(session_id="mine")

    evidence = recollect(sample_cell(), trace, row=a_row(sessionId="another"))

    assert evidence.tokens == trace.summary.total_tokens
    assert evidence.score is None
    assert evidence.answer is not None
    assert evidence.answer.text == "Hello."


def test_a_session_that_ends_without_a_word_has_no_answer() -> None:
    row = a_row()

    evidence = recollect(row.cell, a_trace(row))

    assert (evidence.completion_reason, evidence.answer) == ("error", None)
    assert evidence.scenario.id == row.scenario_id


def test_a_scenario_is_read_by_the_keys_that_every_scenario_has() -> None:
    scenarios = recorded_scenarios([SNAPSHOT, {"id": "half"}])

    assert set(scenarios) == {"pr-reply-001"}
    assert scenarios["pr-reply-001"].timeout_ms == 60_000


def test_sessions_are_read_one_at_a_time(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", [a_row("ghx", iteration=number) for number in range(3)])
    witness = Witness()
    analyzed: Iterator[AnalyzedSession | Problem] = analyze_sessions(sessions_of_run(folder), tmp_path / "o", [witness])

    for number in range(1, 4):
        next(analyzed)
        assert len(witness.seen) == number


def test_an_analyzer_that_breaks_costs_one_session(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", [a_row("mcp"), a_row("ghx")])

    first, second = analyze_sessions(sessions_of_run(folder), tmp_path / "out", [Broken()])

    assert isinstance(first, Problem)
    assert "not this one" in str(first)
    assert isinstance(second, AnalyzedSession)


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"[" * 100_000, b'{"sessionId": 1}'])
def test_what_is_no_trace_is_a_problem_of_one_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    session = SessionFile(path=path, place=PurePosixPath("a.json"), cell=sample_cell())

    (problem,) = analyze_sessions([session], tmp_path / "out")

    assert isinstance(problem, Problem)
    assert str(problem).startswith(f"{path}: no trace of a session")
    assert "\n" not in str(problem)
    assert not (tmp_path / "out").exists()


NAMES = st.sampled_from(["..", ".", "", "/", "/etc", "a/b", "../..", "name"]) | st.text(max_size=8)


@given(agent=NAMES, mode=NAMES, scenario=NAMES, model=NAMES)
def test_no_row_leads_out_of_the_folder_of_sessions(agent: str, mode: str, scenario: str, model: str) -> None:
    place = sample_cell(agent=agent, mode=mode, scenario_id=scenario, model=model).path

    assert not place.is_absolute()
    assert len(place.parts) == 5
    assert not {"..", "."} & set(place.parts)
