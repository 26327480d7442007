"""What metrics measure: defined in one place, and the documentation says the same."""

import re
from pathlib import Path

import pytest
from report_runs import a_row, write_run

from ghx_bench.scoring.github_collectors import SURFACES
from ghx_bench.scoring.github_metrics import EVAL_METRICS
from ghx_bench.scoring.tool_categories import CATEGORIES
from ghx_profiler.records.metric_table import METRICS
from ghx_profiler.records.metrics import Cost, Timing, TimingSegment, TokenUsage, ToolCallSummary
from ghx_profiler.reports import generate_report

pytestmark = pytest.mark.slow

DOCUMENTED = (Path(__file__).parents[3] / "docs" / "reports.md").read_text(encoding="utf-8")


def definition_of(metric: str) -> str | None:
    entry = METRICS.find(metric)
    return None if entry is None else entry.definition


def test_the_documentation_has_every_definition_and_source_word_for_word() -> None:
    lines = {each.name: f"| `{each.name}` | {each.definition} | {each.source} |\n" for each in EVAL_METRICS}

    assert [name for name, line in lines.items() if line not in DOCUMENTED] == []
    assert [each.name for each in EVAL_METRICS if not each.definition or each.source is None] == []


def test_every_metric_that_the_profiler_collects_is_defined() -> None:
    segments = [TimingSegment(label=label, start_ms=0, end_ms=1) for label in ("stage", "session", "mine")]
    records = (TokenUsage(), Timing(segments=tuple(segments)), Cost(), ToolCallSummary(by_category={"x": 1}))
    names = {"success", "agent_turns", *(metric.name for record in records for metric in record.metrics())}

    assert {name for name in names if definition_of(name) is None} == set()
    assert definition_of("latency_mine_ms") == definition_of("latency_<label>_ms")
    assert definition_of("latency_session_ms") != definition_of("latency_mine_ms")
    assert definition_of("my_own_metric") is None
    assert definition_of("latency__ms") is None


def test_what_an_evaluation_counts_is_documented() -> None:
    definitions = re.findall(r"`([\w*]+)`", DOCUMENTED.partition("## What the metrics measure")[2])

    assert {*SURFACES, *CATEGORIES} <= set(definitions)


def test_definitions_come_in_one_order_whatever_the_metrics() -> None:
    assert [
        name for name, _ in METRICS.defined(["own", "agent_turns", "latency_b_ms", "latency_wall_ms", "success"])
    ] == [
        "success",
        "latency_wall_ms",
        "latency_b_ms",
        "agent_turns",
    ]


def test_the_report_defines_the_metrics_that_it_has(tmp_path: Path) -> None:
    made = generate_report([write_run(tmp_path / "run", [a_row()])], sessions="none")

    page = (made.directory / "index.html").read_text()
    definitions = page.partition("<summary>What the metrics measure")[2].partition("</details>")[0]
    assert '<th scope="row">wall time</th><td>latency_wall_ms</td><td>from handing the prompt' in definitions
    assert "latency_stage_ms" not in definitions
    assert "| wall time | latency\\_wall\\_ms | from handing the prompt" in (made.directory / "report.md").read_text()
