"""The analyzers that are used unless a run is told otherwise, with any resolver."""

from ghx_bench.profiler.analyzers.desire_paths import DesirePathAnalyzer
from ghx_bench.profiler.analyzers.efficiency import EfficiencyAnalyzer
from ghx_bench.profiler.analyzers.error import ErrorAnalyzer
from ghx_bench.profiler.analyzers.reasoning import ReasoningAnalyzer
from ghx_bench.profiler.analyzers.strategy import StrategyAnalyzer
from ghx_bench.profiler.analyzers.tool_pattern import ToolPatternAnalyzer
from ghx_bench.profiler.contracts import Analyzer
from ghx_bench.profiler.scenario import BaseScenario
from ghx_bench.profiler.shell import CommandResolver, resolve_command


def inline_analyzers(resolve: CommandResolver = resolve_command) -> tuple[Analyzer[BaseScenario], ...]:
    """Return the analyzers for every session as it ends, which name commands with this resolver."""
    return (
        ReasoningAnalyzer(resolve),
        ToolPatternAnalyzer(resolve),
        ErrorAnalyzer(resolve),
        EfficiencyAnalyzer(resolve),
        DesirePathAnalyzer(resolve),
    )


def post_hoc_analyzers(resolve: CommandResolver = resolve_command) -> tuple[Analyzer[BaseScenario], ...]:
    """Return the analyzers for sessions that are over."""
    return (StrategyAnalyzer(resolve),)


DEFAULT_ANALYZERS = inline_analyzers()
POST_HOC_ANALYZERS = post_hoc_analyzers()
