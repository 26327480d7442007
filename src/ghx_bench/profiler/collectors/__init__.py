"""Collectors that come with the profiler: what a session spent, as named numbers."""

from ghx_bench.profiler.collectors.spend import (
    DEFAULT_COLLECTORS,
    CostCollector,
    LatencyCollector,
    TokenCollector,
    ToolCallCollector,
)

__all__ = ["DEFAULT_COLLECTORS", "CostCollector", "LatencyCollector", "TokenCollector", "ToolCallCollector"]
