"""Every analyzer holds the contract, finds what the prior art finds in real sessions, and survives any session."""

import json
from pathlib import Path
from typing import Any

import pytest
from analyzed_sessions import analyzed, bash, plain, said, session, thought, tool, trace_of, trouble
from hypothesis import given
from hypothesis import strategies as st

from ghx_profiler import SessionAnalysisBundle, SessionTrace
from ghx_profiler.analyzers import (
    DEFAULT_ANALYZERS,
    POST_HOC_ANALYZERS,
    EfficiencyAnalyzer,
    ErrorAnalyzer,
    HallucinatedCommandAnalyzer,
    ReasoningAnalyzer,
    StrategyAnalyzer,
    ToolPatternAnalyzer,
    inline_analyzers,
    post_hoc_analyzers,
)
from ghx_profiler.records.analysis import NumberFinding, RatioFinding
from ghx_profiler.shell import Command, resolve_command
from ghx_profiler.testing import AnalyzerContract, sample_evidence, unknown_evidence

ALL = (*DEFAULT_ANALYZERS, *POST_HOC_ANALYZERS)
NEW = {"desire_paths"}
"""What the prior art has no analyzer for."""


class TestReasoning(AnalyzerContract):
    make_analyzer = staticmethod(ReasoningAnalyzer)


class TestToolPattern(AnalyzerContract):
    make_analyzer = staticmethod(ToolPatternAnalyzer)


class TestError(AnalyzerContract):
    make_analyzer = staticmethod(ErrorAnalyzer)


class TestEfficiency(AnalyzerContract):
    make_analyzer = staticmethod(EfficiencyAnalyzer)


class TestDesirePaths(AnalyzerContract):
    make_analyzer = staticmethod(HallucinatedCommandAnalyzer)


class TestStrategy(AnalyzerContract):
    make_analyzer = staticmethod(StrategyAnalyzer)


def test_strategy_comes_after_the_run_and_the_others_with_each_session() -> None:
    names = ["reasoning", "tool-pattern", "error", "efficiency", "desire_paths"]
    assert [each.name for each in DEFAULT_ANALYZERS] == names
    assert [each.name for each in POST_HOC_ANALYZERS] == ["strategy"]


@pytest.mark.parametrize("analyzer", ALL, ids=lambda each: each.name)
def test_without_a_trace_there_is_nothing_to_analyze(analyzer: Any) -> None:
    with pytest.raises(ValueError, match="no trace"):
        analyzer.analyze(unknown_evidence())


events = st.one_of(
    st.builds(bash, st.text(max_size=30), st.text(max_size=30) | st.none(), success=st.none() | st.booleans()),
    st.builds(tool, st.sampled_from(["read", "edit"]), st.sampled_from(["a", "b", None]), success=st.booleans()),
    st.builds(thought, st.text(max_size=30), st.none() | st.integers(0, 100)),
    st.builds(said, st.text(max_size=30), st.none() | st.integers(0, 100)),
    st.builds(trouble, st.text(max_size=30)),
)


@given(st.lists(st.lists(events, max_size=5), max_size=5), st.booleans())
def test_whatever_happens_in_a_session_its_findings_are_finite_and_shares_are_shares(
    turns: list[list[Any]], tells_turns: bool
) -> None:
    trace = session(*turns) if tells_turns else trace_of(*(event for turn in turns for event in turn))

    for analyzer in ALL:
        for finding in analyzer.analyze(sample_evidence(trace=trace)).findings.values():
            if isinstance(finding, NumberFinding):
                assert finding.value is None or finding.value >= 0
            if isinstance(finding, RatioFinding):
                assert finding.value is None or 0 <= finding.value <= 1


def resolve(command: Command) -> str:
    """Name the typed operations of one program, as a consumer that knows it would."""
    if command.program == "ghx" and command.arguments[:1] == ("run",):
        return f"ghx:{command.arguments[1]}"
    return resolve_command(command)


# What differs on purpose: the prior art saw no failure in the three calls of `baseline` that got a 404, and counted
# every call that follows one of the same tool as going back.
DIFFERENT = {
    "baseline": {
        "failed_then_retried": [["gh api", "3"]],
        "errors_encountered": 3,
        "error_types": [["not_found", "3"]],
        "recovery_patterns": [["retry", "3"]],
        "error_cascades": 1,
        "wasted_turns_from_errors": 1,
        "productive_turns": 4,
        "wasted_turns": 1,
        "turn_efficiency": 0.8,
        "backtracking_events": 3,
        "optimality_notes": ["3 of 8 tool calls failed", "3 tool calls in a row made no progress"],
    },
    "ghx": {"backtracking_events": 0},
    "mcp": {"backtracking_events": 0},
}


@pytest.mark.parametrize("mode", DIFFERENT)
def test_real_sessions_give_the_findings_of_the_prior_art_but_for_what_it_missed(older_tools: Path, mode: str) -> None:
    trace = SessionTrace.model_validate_json((older_tools / "sessions" / f"{mode}-iter-0.json").read_text())
    text = (older_tools / "analysis" / f"{mode}-iter-0-analysis.json").read_text()
    theirs = SessionAnalysisBundle.model_validate_json(text).results

    assert theirs.keys() == {each.name for each in ALL} - NEW
    for analyzer in (*inline_analyzers(resolve), *post_hoc_analyzers(resolve)):
        if analyzer.name in NEW:
            continue
        expected = {key: plain(finding) for key, finding in theirs[analyzer.name].findings.items()}
        changes = {key: value for key, value in DIFFERENT[mode].items() if key in expected}
        findings = analyzed(analyzer, trace)
        assert {key: findings[key] for key in expected} == expected | changes


@pytest.mark.parametrize("mode", ["baseline", "ghx", "mcp"])
def test_findings_have_the_shapes_and_labels_of_the_prior_art(older_tools: Path, mode: str) -> None:
    trace = SessionTrace.model_validate_json((older_tools / "sessions" / f"{mode}-iter-0.json").read_text())
    theirs = json.loads((older_tools / "analysis" / f"{mode}-iter-0-analysis.json").read_text())["results"]

    for analyzer in (each for each in ALL if each.name not in NEW):
        ours = analyzer.analyze(sample_evidence(trace=trace)).to_wire()["findings"]
        for key, finding in theirs[analyzer.name]["findings"].items():
            values = {"value", "values", "rows"}
            assert {k: v for k, v in ours[key].items() if k not in values} == {
                k: v for k, v in finding.items() if k not in values
            }
