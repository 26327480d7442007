import json
from pathlib import Path

import pytest
from older_tools import MEDIANS, METRICS
from stats_rows import row, rows_of

from ghx_profiler.errors import UnknownNameError
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.stats import (
    AnalysisPlan,
    ModeSummary,
    compare_all_modes,
    observe,
    summarize_metric,
    summarize_modes,
    summarize_success,
)

PLAN = AnalysisPlan(resamples=999)


@pytest.fixture(scope="module")
def published(older_tools: Path) -> list[ProfileRow]:
    lines = (older_tools / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    return [ProfileRow.model_validate_json(line) for line in lines]


@pytest.mark.parametrize("mode", ["baseline", "mcp", "ghx"])
def test_the_published_medians_come_out_exactly(published: list[ProfileRow], older_tools: Path, mode: str) -> None:
    summary = summarize_modes(published, PLAN)[mode]

    assert [summary.metrics[name].p50 for name in METRICS] == MEDIANS[older_tools][mode]
    assert (summary.success.k, summary.success.n) == (5, 5)


def test_the_published_rows_show_what_they_can_and_no_more(published: list[ProfileRow]) -> None:
    result = {(each.a, each.b, each.metric): each for each in compare_all_modes(published, PLAN)}

    latency = result["ghx", "baseline", "latency_wall_ms"]
    assert latency.verdict == "better"
    assert latency.intention_to_treat.population.verdict == "not estimable"
    assert result["ghx", "baseline", "success"].verdict == "not estimable"
    assert result["ghx", "baseline", "cost_total_usd"].verdict == "not estimable"


def test_medians_pool_all_rows_with_a_known_value_and_count_the_others() -> None:
    rows = [
        *rows_of({"a": {"s1": [1.0, 2.0], "s2": [30.0]}}),
        row("a", "s2", 1, success=None, cause="environment", error="no world", sessionId=""),
        row("a", "s2", 2, success=False, error="boom", sessionId="", latency_wall_ms=0),
        row("a", "s2", 3),
    ]

    result = summarize_metric(rows, "a", "latency_wall_ms")

    assert (result.n, result.p50, result.scenarios, result.left_out) == (3, 2.0, 2, 3)
    assert result.left_out_causes == {"environment": 1, "failed, cause not recorded": 1, "not recorded": 1}


def test_what_an_unmeasured_row_spent_is_no_part_of_the_medians_and_is_counted() -> None:
    rows = [
        *rows_of({"a": {"s1": [30.0, 40.0, 50.0]}}),
        *(row("a", "s1", 5 + n, success=None, cause="bench", error="x", latency_wall_ms=1.0) for n in range(9)),
    ]

    result = summarize_metric(rows, "a", "latency_wall_ms")

    assert (result.n, result.p50, result.left_out_causes) == (3, 40, {"bench": 9})


def test_no_interval_of_an_amount_goes_below_zero_or_of_a_rate_of_errors_above_one() -> None:
    rows = [
        row("a", f"s{n}", 0, latency_wall_ms=value, metric_balance=value - 50, toolCalls={"errorRate": rate})
        for n, (value, rate) in enumerate([(1, 1.0), (2, 0.8), (400, 1.0)])
    ]

    latency, balance, errors = (
        summarize_metric(rows, "a", metric).mean_interval
        for metric in ("latency_wall_ms", "balance", "tool_calls_error_rate")
    )

    assert (latency.low, errors.high) == (0, 1)
    assert balance.low < -50


def test_success_is_counted_by_intention_to_treat_and_per_protocol() -> None:
    rows = [
        row("a", "s1", 0),
        row("a", "s1", 1, success=False),
        row("a", "s2", 0, success=False, cause="agent_timeout", error="too slow"),
        row("a", "s2", 1, success=None, cause="model_provider", error="503"),
    ]

    result = summarize_success(rows, "a")

    assert (result.k, result.n, result.left_out) == (1, 4, 0)
    assert (result.per_protocol.k, result.per_protocol.n) == (1, 3)
    assert result.per_protocol.left_out_causes == {"model_provider": 1}
    assert result.low < 0.25 < result.high
    assert result.clustered.low < result.low


def test_a_summary_is_json_in_camel_case_without_nan_and_reads_back() -> None:
    rows = [
        *rows_of({"a": {"s1": [1.0, 2.0], "s2": [3.0, 5.0]}, "b": {"s1": [2.0]}}),
        row("b", "s2", 0, success=False),
    ]

    for summary in summarize_modes(rows, PLAN).values():
        text = json.dumps(summary.to_wire(), allow_nan=False)
        written = json.loads(text)
        assert {"k", "n", "low", "high", "perProtocol"} <= written["success"].keys()
        assert {"n", "leftOut", "p50", "p90", "mean"} <= written["metrics"]["latency_wall_ms"].keys()
        assert ModeSummary.model_validate_json(text) == summary


def test_rows_are_read_once_and_can_be_used_again() -> None:
    rows = observe(iter(rows_of({"a": {"s1": [1.0, 2.0]}, "b": {"s1": [3.0]}})))

    assert observe(rows) is rows
    assert summarize_modes(rows, PLAN) == summarize_modes(rows, PLAN)
    assert rows.metric_names[0] == "success"


def test_no_rows_have_no_modes_and_an_unknown_mode_is_refused() -> None:
    assert summarize_modes([], PLAN) == {}
    assert compare_all_modes([], PLAN) == ()
    with pytest.raises(UnknownNameError, match="no mode 'x'"):
        summarize_metric([], "x", "tokens_active")


def test_a_number_that_is_not_finite_is_unknown() -> None:
    rows = [row("a", "s1", 0, metric_grade=float("inf")), row("a", "s1", 1, metric_grade=2.0)]

    result = summarize_metric(rows, "a", "grade")

    assert (result.n, result.mean, result.left_out) == (1, 2.0, 1)
