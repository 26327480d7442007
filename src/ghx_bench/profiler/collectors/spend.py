"""What a session spent: tokens, time, money and tool calls, each read off its record on the evidence."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ghx_bench.profiler.contracts import Collector
from ghx_bench.profiler.evidence import Evidence
from ghx_bench.profiler.metrics import CustomMetric
from ghx_bench.profiler.scenario import BaseScenario


@dataclass(frozen=True, slots=True)
class TokenCollector:
    """Tokens by category: `tokens_input`, `tokens_active`, ..."""

    def collect(self, evidence: Evidence[Any]) -> Iterable[CustomMetric]:
        """Return the tokens of the session."""
        return evidence.tokens.metrics()


@dataclass(frozen=True, slots=True)
class LatencyCollector:
    """Time from the prompt to the end, `latency_wall_ms`, and of each labelled stretch."""

    def collect(self, evidence: Evidence[Any]) -> Iterable[CustomMetric]:
        """Return the durations of the session."""
        return evidence.timing.metrics()


@dataclass(frozen=True, slots=True)
class CostCollector:
    """Money: `cost_total_usd` and its parts."""

    def collect(self, evidence: Evidence[Any]) -> Iterable[CustomMetric]:
        """Return what the session cost."""
        return evidence.cost.metrics()


@dataclass(frozen=True, slots=True)
class ToolCallCollector:
    """Tool calls: `tool_calls_total`, `tool_calls_failed`, ..., and by category."""

    def collect(self, evidence: Evidence[Any]) -> Iterable[CustomMetric]:
        """Return the counted tool calls of the session."""
        return evidence.tool_calls.metrics()


DEFAULT_COLLECTORS: tuple[Collector[BaseScenario], ...] = (
    TokenCollector(),
    LatencyCollector(),
    CostCollector(),
    ToolCallCollector(),
)
"""What every run collects unless it is told otherwise."""
