"""Tool calls by category and requests to GitHub as numbers; what nobody saw is not zero."""

from dataclasses import dataclass, replace
from typing import Any

from ghx_bench.scoring.github_collectors import CategoryCollector, JournalCollector, eval_collectors
from ghx_bench.scoring.tool_categories import CATEGORIES, GitHubToolClassifier
from ghx_profiler.contracts import Collector
from ghx_profiler.evidence import Evidence, Stage
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.metrics import ToolCallSummary
from ghx_profiler.runner.toolcalls import summarise_tool_calls
from ghx_profiler.testing import CollectorContract, sample_evidence, sample_scenario, unknown_evidence
from ghx_twin.journal import Entry, Journal


@dataclass
class Handles:
    journal: Any
    agent: str = "bench-agent"


def entry(surface: Any = "rest", **changes: Any) -> Entry:
    fields: dict[str, Any] = {
        "at": "2026-01-01T00:00:00.000Z",
        "surface": surface,
        "actor": "bench-agent",
        "method": "GET",
        "path": "/user",
        "operation": "GET /user",
        "status": 200,
        "failed": False,
        "mutation": False,
        "duration_ms": 1.0,
        "request_bytes": 10,
        "response_bytes": 100,
        **changes,
    }
    return Entry(**fields)


def journalled(*entries: Entry) -> Evidence[Any]:
    journal = Journal()
    for each in entries:
        journal.add(each)
    return sample_evidence(stage=Stage(scenario=sample_scenario(), handles=Handles(journal)))


def collected(collector: Collector[Any], evidence: Evidence[Any]) -> dict[str, Any]:
    return {metric.name: metric.value for metric in collector.collect(evidence)}


def test_what_the_agent_asked_of_github_is_counted_in_all_and_by_surface() -> None:
    numbers = collected(
        JournalCollector(),
        journalled(
            entry(),
            entry(failed=True, status=404),
            entry("graphql", mutation=True, request_bytes=50, response_bytes=60),
            entry("git", mutation=True),
        ),
    )

    assert (numbers["api_calls"], numbers["api_errors"], numbers["api_mutations"]) == (4, 1, 2)
    assert numbers["api_bytes"] == 3 * 110 + 110
    assert (numbers["api_rest_calls"], numbers["api_graphql_calls"], numbers["api_git_calls"]) == (2, 1, 1)
    assert (numbers["api_rest_errors"], numbers["api_graphql_errors"]) == (1, 0)
    assert (numbers["api_rest_mutations"], numbers["api_git_mutations"], numbers["api_graphql_bytes"]) == (0, 1, 110)


def test_what_the_bench_asked_itself_is_not_counted() -> None:
    numbers = collected(JournalCollector(), journalled(entry(actor="bench-maintainer"), entry()))

    assert numbers["api_calls"] == 1


def test_a_session_that_asked_nothing_has_zeros_and_one_that_nobody_saw_has_none() -> None:
    asked_nothing = collected(JournalCollector(), journalled())
    unseen = sample_evidence(stage=Stage(scenario=sample_scenario(), handles=Handles(None)))

    assert set(asked_nothing.values()) == {0}
    assert set(collected(JournalCollector(), unseen).values()) == {None}
    assert set(collected(JournalCollector(), sample_evidence()).values()) == {None}


def with_calls(*calls: tuple[str, Any]) -> Evidence[Any]:
    recorder = TraceRecorder()
    for name, given in calls:
        recorder.tool_call(name, given, "fine", success=True)
    trace = recorder.trace()
    classify = GitHubToolClassifier(["github"])
    return sample_evidence(trace=trace, tool_calls=summarise_tool_calls(trace, classify))


def on_row(collector: CategoryCollector, evidence: Evidence[Any]) -> dict[str, Any]:
    """Return what a row tells of tool calls: its own record of them, and what the collector adds."""
    return {metric.name: metric.value for metric in evidence.tool_calls.metrics()} | collected(collector, evidence)


def test_every_category_has_a_number_also_where_there_was_no_such_call() -> None:
    evidence = with_calls(("bash", {"command": "gh pr view 7"}), ("bash", {"command": "gh pr list"}), ("read", {}))

    numbers = on_row(CategoryCollector(), evidence)

    counts = {category: numbers[f"tool_calls_category_{category}"] for category in CATEGORIES}
    assert counts == {"ghx": 0, "mcp": 0, "gh_cli": 2, "git": 0, "bash": 0, "file_ops": 1, "other": 0}
    assert numbers["tool_calls_total"] == 3


def test_of_calls_that_were_only_counted_nobody_knows_the_categories() -> None:
    numbers = on_row(CategoryCollector(), replace(sample_evidence(), tool_calls=ToolCallSummary(total=4)))

    assert numbers["tool_calls_total"] == 4
    assert {numbers[f"tool_calls_category_{category}"] for category in CATEGORIES} == {None}


def test_names_are_distinct_over_all_collectors_of_an_evaluation() -> None:
    evidence = journalled(entry())
    records = (evidence.tokens, evidence.timing, evidence.tool_calls, evidence.cost)
    names = [metric.name for record in records for metric in record.metrics()]
    names += [metric.name for collector in eval_collectors() for metric in collector.collect(evidence)]

    assert len(names) == len(set(names))
    assert {"tokens_total", "latency_wall_ms", "cost_total_usd", "tool_calls_total", "api_calls"} <= set(names)


def test_of_a_session_that_broke_down_nothing_is_zero() -> None:
    broken = unknown_evidence()

    assert not [m for collector in eval_collectors() for m in collector.collect(broken) if m.value == 0]


class TestJournalCollector(CollectorContract):
    def make_collector(self) -> Collector[Any]:
        return JournalCollector()

    def make_evidence(self) -> Evidence[Any]:
        return journalled(entry(), entry("git", mutation=True))


class TestCategoryCollector(CollectorContract):
    def make_collector(self) -> Collector[Any]:
        return CategoryCollector()

    def make_evidence(self) -> Evidence[Any]:
        return with_calls(("bash", {"command": "gh pr view 7"}))
