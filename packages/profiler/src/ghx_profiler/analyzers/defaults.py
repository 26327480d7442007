"""The default analyzers."""

from ghx_profiler.analyzers.efficiency import EfficiencyAnalyzer
from ghx_profiler.analyzers.error import ErrorAnalyzer
from ghx_profiler.analyzers.hallucinated_commands import HallucinatedCommandAnalyzer
from ghx_profiler.analyzers.reasoning import ReasoningAnalyzer
from ghx_profiler.analyzers.strategy import StrategyAnalyzer
from ghx_profiler.analyzers.tool_pattern import ToolPatternAnalyzer
from ghx_profiler.contracts import Analyzer
from ghx_profiler.scenario import BaseScenario
from ghx_profiler.shell import CommandResolver, resolve_command


def inline_analyzers(resolve: CommandResolver = resolve_command) -> tuple[Analyzer[BaseScenario], ...]:
    """Return the analyzers for every session as it ends, which name commands with this resolver."""
    return (
        ReasoningAnalyzer(resolve),
        ToolPatternAnalyzer(resolve),
        ErrorAnalyzer(resolve),
        EfficiencyAnalyzer(resolve),
        HallucinatedCommandAnalyzer(resolve),
    )


def post_hoc_analyzers(resolve: CommandResolver = resolve_command) -> tuple[Analyzer[BaseScenario], ...]:
    """Return the analyzers for sessions that are over."""
    return (StrategyAnalyzer(resolve),)


DEFAULT_ANALYZERS = inline_analyzers()
POST_HOC_ANALYZERS = post_hoc_analyzers()
