"""The table of metrics: one entry says all there is to say about a metric."""

from datetime import UTC, datetime

import pytest

from ghx_base.clock import timestamp
from ghx_bench.scoring.github_metrics import EVAL_METRICS
from ghx_profiler.records.metric_table import METRICS, Metric
from ghx_profiler.records.metrics import (
    Cost,
    CostSource,
    CustomMetric,
    Timing,
    TimingSegment,
    TokenUsage,
    ToolCallSummary,
)
from ghx_profiler.records.outcome import Completed, RowContext, row_of
from ghx_profiler.records.row import Attempt
from ghx_profiler.records.score import Score
from ghx_profiler.reports.wording import amount
from ghx_profiler.testing import sample_evidence


def test_a_record_and_the_table_agree_on_every_unit() -> None:
    segment = TimingSegment(label="mine", start_ms=0, end_ms=1)
    records = (TokenUsage(), Timing(segments=(segment,)), Cost(), ToolCallSummary(by_category={"x": 1}))
    sources = {metric.name: metric.unit for record in records for metric in record.metrics()}

    assert {name: entry.unit for name in sources if (entry := METRICS.find(name)) is not None} == sources


def test_an_entry_of_another_package_is_found_shown_and_defined_like_any_other() -> None:
    table = METRICS.with_entries(
        [Metric(name="pages_<kind>", label="pages", unit="pages", definition="pages read", positions={"glance": 2})]
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


@pytest.mark.parametrize(("cost", "source"), [("reported", "agent"), ("computed", "prices")])
def test_a_row_says_where_its_numbers_come_from(cost: CostSource, source: str) -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    evidence = sample_evidence(
        tokens=TokenUsage.of(input=1, output=2), timing=Timing(wall_ms=3), cost=Cost(total_usd=0.1, source=cost)
    )
    outcome = Completed(cell=evidence.cell, started_at=now, evidence=evidence, score=Score(success=True))
    context = RowContext(run_id="run", agent_version=None, start_order=0)

    row = row_of(outcome, [Attempt(number=1, started_at=timestamp(now))], now, context)

    sources = {"timing": "bench", "tokens": "agent", "toolCalls": "agent", "agentTurns": "agent", "cost": source}
    assert {key: row.sources[key] for key in sources} == sources


def test_every_place_has_an_order_without_ties() -> None:
    for place in ("plan", "glance", "session", "terminal"):
        positions = [metric.positions[place] for metric in EVAL_METRICS.shown_in(place)]
        assert positions == sorted(set(positions)) != []


def test_an_evaluation_shows_its_requests_in_the_terminal_before_the_cost() -> None:
    shown = [metric.name for metric in EVAL_METRICS.shown_in("terminal")]

    assert shown[-2:] == ["api_calls", "cost_total_usd"]
