"""The profiler's own analyzers: they find in a session's trace how the agent worked."""

from ghx_profiler.analyzers.defaults import (
    DEFAULT_ANALYZERS,
    POST_HOC_ANALYZERS,
    inline_analyzers,
    post_hoc_analyzers,
)
from ghx_profiler.analyzers.efficiency import EfficiencyAnalyzer
from ghx_profiler.analyzers.error import ErrorAnalyzer
from ghx_profiler.analyzers.hallucinated_commands import HallucinatedCommandAnalyzer
from ghx_profiler.analyzers.metering import MeteringAnalyzer, ModelReplayAnalyzer, RefusedHostsAnalyzer
from ghx_profiler.analyzers.reasoning import ReasoningAnalyzer
from ghx_profiler.analyzers.recovery import Recovery
from ghx_profiler.analyzers.strategy import StrategyAnalyzer
from ghx_profiler.analyzers.tool_pattern import ToolPatternAnalyzer

__all__ = [
    "DEFAULT_ANALYZERS",
    "POST_HOC_ANALYZERS",
    "EfficiencyAnalyzer",
    "ErrorAnalyzer",
    "HallucinatedCommandAnalyzer",
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
