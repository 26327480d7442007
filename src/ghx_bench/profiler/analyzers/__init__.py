"""Analyzers that come with the profiler: what a session's trace tells of how the agent worked."""

from ghx_bench.profiler.analyzers.defaults import (
    DEFAULT_ANALYZERS,
    POST_HOC_ANALYZERS,
    inline_analyzers,
    post_hoc_analyzers,
)
from ghx_bench.profiler.analyzers.desire_paths import DesirePathAnalyzer
from ghx_bench.profiler.analyzers.efficiency import EfficiencyAnalyzer
from ghx_bench.profiler.analyzers.error import ErrorAnalyzer
from ghx_bench.profiler.analyzers.metering import MeteringAnalyzer
from ghx_bench.profiler.analyzers.model_replay_findings import ModelReplayAnalyzer
from ghx_bench.profiler.analyzers.reasoning import ReasoningAnalyzer
from ghx_bench.profiler.analyzers.recovery import Recovery
from ghx_bench.profiler.analyzers.refused_hosts import RefusedHostsAnalyzer
from ghx_bench.profiler.analyzers.strategy import StrategyAnalyzer
from ghx_bench.profiler.analyzers.tool_pattern import ToolPatternAnalyzer

__all__ = [
    "DEFAULT_ANALYZERS",
    "POST_HOC_ANALYZERS",
    "DesirePathAnalyzer",
    "EfficiencyAnalyzer",
    "ErrorAnalyzer",
    "MeteringAnalyzer",
    "ModelReplayAnalyzer",
    "ReasoningAnalyzer",
    "Recovery",
    "RefusedHostsAnalyzer",
    "StrategyAnalyzer",
    "ToolPatternAnalyzer",
    "inline_analyzers",
    "post_hoc_analyzers",
]
