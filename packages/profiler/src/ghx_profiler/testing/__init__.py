"""Contract suites: what every implementation of an extension point must hold, ready to run against yours."""

from ghx_profiler.testing.executors import ExecutorContract
from ghx_profiler.testing.loaders import ScenarioLoaderContract
from ghx_profiler.testing.readers import AnalyzerContract, CollectorContract
from ghx_profiler.testing.samples import (
    sample_cell,
    sample_evidence,
    sample_scenario,
    sample_trace,
    stopped_evidence,
    unknown_evidence,
)
from ghx_profiler.testing.scorer_contract import JudgeContract, ScorerContract
from ghx_profiler.testing.session_contract import SessionProviderContract
from ghx_profiler.testing.stages import LifecycleContract, ModeResolverContract

__all__ = [
    "AnalyzerContract",
    "CollectorContract",
    "ExecutorContract",
    "JudgeContract",
    "LifecycleContract",
    "ModeResolverContract",
    "ScenarioLoaderContract",
    "ScorerContract",
    "SessionProviderContract",
    "sample_cell",
    "sample_evidence",
    "sample_scenario",
    "sample_trace",
    "stopped_evidence",
    "unknown_evidence",
]
