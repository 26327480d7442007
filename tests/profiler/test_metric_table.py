"""The table of metrics: one entry says all there is to say about a metric."""

import pytest

from ghx_bench.eval.scoring.github_metrics import EVAL_METRICS
from ghx_bench.profiler.metric_table import METRICS, Metric
from ghx_bench.profiler.metrics import Cost, CustomMetric, Timing, TimingSegment, TokenUsage, ToolCallSummary
from ghx_bench.profiler.reports.wording import amount


def test_a_record_and_the_table_agree_on_every_unit() -> None:
    segment = TimingSegment(label="mine", start_ms=0, end_ms=1)
    records = (TokenUsage(), Timing(segments=(segment,)), Cost(), ToolCallSummary(by_category={"x": 1}))
    told = {metric.name: metric.unit for record in records for metric in record.metrics()}

    assert {name: found.unit for name in told if (found := METRICS.find(name)) is not None} == told


def test_an_entry_of_another_package_is_found_shown_and_defined_like_any_other() -> None:
    table = METRICS.with_entries(
        [Metric(name="pages_<kind>", label="pages", unit="pages", definition="pages read", shown={"glance": 2})]
    )

    assert table.label("pages_read") == "pages"
    assert list(table.defined(["pages_read", "agent_turns", "other"]))[-1] == ("pages_read", "pages read")
    assert "pages_<kind>" in {metric.name for metric in table.shown_in("glance")}
    assert METRICS.find("pages_read") is None


def test_what_a_collector_says_about_its_unit_is_written_behind_its_values() -> None:
    mine = CustomMetric("disk", 3, "MB")
    table = METRICS.with_units({mine.name: mine.unit, "tokens_active": "never asked for"})

    assert amount(mine.value, table.unit(mine.name)) == "3 MB"
    assert amount(1_200, table.unit("tokens_active")) == "1,200"


@pytest.mark.parametrize(("name", "unit"), [("mine_ms", "ms"), ("mine_usd", "USD"), ("mine", "")])
def test_a_metric_that_is_not_in_the_table_may_end_in_its_unit(name: str, unit: str) -> None:
    assert METRICS.unit(name) == unit


def test_every_place_has_an_order_without_ties() -> None:
    for place in ("plan", "glance", "session", "terminal"):
        positions = [metric.shown[place] for metric in EVAL_METRICS.shown_in(place)]
        assert positions == sorted(set(positions)) != []


def test_an_evaluation_shows_its_requests_in_the_terminal_before_the_cost() -> None:
    shown = [metric.name for metric in EVAL_METRICS.shown_in("terminal")]

    assert shown[-2:] == ["api_calls", "cost_total_usd"]
