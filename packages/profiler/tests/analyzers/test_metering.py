"""The agent's own figures, held against those of the meter."""

from typing import Any

from ghx_profiler.analyzers import MeteringAnalyzer
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.analysis import TableFinding
from ghx_profiler.records.metered_trace import fill_from_model_calls
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.model_calls import ModelCall
from ghx_profiler.testing import sample_evidence


def call(number: int, total: int, **fields: Any) -> ModelCall:
    usage = TokenUsage.of(input=total - 10, output=10)
    return ModelCall(number=number, wire="anthropic", started_at="2026-03-03T00:00:00Z", usage=usage, **fields)


def rows(reported: TokenUsage, *calls: ModelCall, finding: str = "disagreements") -> tuple[tuple[str, ...], ...]:
    notes = TraceRecorder()
    notes.add_usage(reported)
    notes.model_calls.extend(calls)
    result = MeteringAnalyzer().analyze(sample_evidence(trace=fill_from_model_calls(notes.trace())))
    found = result.findings[finding]
    assert isinstance(found, TableFinding)
    return found.rows


def test_figures_that_differ_by_more_than_one_percent_are_named() -> None:
    differences = rows(TokenUsage.of(input=500, output=10), call(1, 1_000))

    assert differences == (("tokens.input", "500", "990"), ("tokens.total", "510", "1000"))


def test_a_difference_of_one_percent_and_an_agent_that_leaves_out_side_calls_are_fine() -> None:
    assert rows(TokenUsage.of(input=999, output=10), call(1, 1_000)) == ()
    assert rows(TokenUsage.of(input=990, output=10), call(1, 1_000), call(2, 300, side="no_tools")) == ()
    assert rows(TokenUsage.of(input=1_280, output=20), call(1, 1_000), call(2, 300, side="no_tools")) == ()


def test_side_calls_and_failed_calls_are_counted_by_kind() -> None:
    calls = (call(1, 50), call(2, 50, side="no_tools"), call(3, 50, error_kind="rate_limit"))

    assert rows(TokenUsage(), *calls, finding="side_calls") == (("no_tools", "1"),)
    assert rows(TokenUsage(), *calls, finding="failed_calls") == (("rate_limit", "1"),)


def test_a_session_without_model_calls_has_no_findings() -> None:
    assert MeteringAnalyzer().analyze(sample_evidence()).findings == {}
