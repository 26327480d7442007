"""Measures any agent on any task; knows nothing of GitHub."""

from ghx_profiler.config import ProfileConfig, load_config
from ghx_profiler.contracts import (
    Analyzer,
    Collector,
    Executor,
    Judge,
    Lifecycle,
    ModeResolver,
    NoLifecycle,
    Scorer,
    Session,
    SessionProvider,
    SessionRequest,
    ToolClassifier,
    Worker,
    Workers,
    WorkerSpec,
)
from ghx_profiler.events import Event, Observer
from ghx_profiler.evidence import Answer, Evidence, Mode, Stage
from ghx_profiler.plan.blocks import Block, Message, PlacedCell, Receive
from ghx_profiler.plan.cell import Arm, Cell, Matrix
from ghx_profiler.profile import ModeTable, Profile
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.activity import ObservedChange, ObservedRequest, SessionActivity
from ghx_profiler.records.analysis import AnalysisResult, SessionAnalysisBundle
from ghx_profiler.records.causes import (
    AgentError,
    Cause,
    EnvironmentFailure,
    MeasurementError,
    ModelProviderError,
    ReplayDivergedError,
    TransientError,
)
from ghx_profiler.records.metrics import (
    Cost,
    CustomMetric,
    Timing,
    TimingSegment,
    TokenUsage,
    ToolCallRecord,
    ToolCallSummary,
)
from ghx_profiler.records.model_call_summary import ModelCallSummary
from ghx_profiler.records.model_calls import ModelCall, ReplayedCall, RequestAnatomy
from ghx_profiler.records.row import Attempt, ProfileRow
from ghx_profiler.records.score import CheckpointDetail, Judgement, PartialScoreError, Score
from ghx_profiler.records.trace import (
    ErrorEvent,
    NamedCause,
    ReasoningEvent,
    ReportedFigures,
    SessionTrace,
    TextOutputEvent,
    ToolCallEvent,
    TraceEvent,
    TraceSummary,
    Turn,
    TurnBoundaryEvent,
)
from ghx_profiler.runner.deadlines import Limits
from ghx_profiler.runner.instruments import Backoff, Instruments
from ghx_profiler.scenario import BaseScenario, ScenarioLoader, ScenarioSets
from ghx_profiler.scorers import AnswerScorer
from ghx_profiler.store.rows import read_rows
from ghx_profiler.suite import SuiteResult, run_profile_suite

__all__ = [
    "AgentError",
    "AnalysisResult",
    "Analyzer",
    "Answer",
    "AnswerScorer",
    "Arm",
    "Attempt",
    "Backoff",
    "BaseScenario",
    "Block",
    "Cause",
    "Cell",
    "CheckpointDetail",
    "Collector",
    "Cost",
    "CustomMetric",
    "EnvironmentFailure",
    "ErrorEvent",
    "Event",
    "Evidence",
    "Executor",
    "Instruments",
    "Judge",
    "Judgement",
    "Lifecycle",
    "Limits",
    "Matrix",
    "MeasurementError",
    "Message",
    "Mode",
    "ModeResolver",
    "ModeTable",
    "ModelCall",
    "ModelCallSummary",
    "ModelProviderError",
    "NamedCause",
    "NoLifecycle",
    "ObservedChange",
    "ObservedRequest",
    "Observer",
    "PartialScoreError",
    "PlacedCell",
    "Profile",
    "ProfileConfig",
    "ProfileRow",
    "ReasoningEvent",
    "Receive",
    "ReplayDivergedError",
    "ReplayedCall",
    "ReportedFigures",
    "RequestAnatomy",
    "ScenarioLoader",
    "ScenarioSets",
    "Score",
    "Scorer",
    "Session",
    "SessionActivity",
    "SessionAnalysisBundle",
    "SessionProvider",
    "SessionRequest",
    "SessionTrace",
    "Stage",
    "SuiteResult",
    "TextOutputEvent",
    "Timing",
    "TimingSegment",
    "TokenUsage",
    "ToolCallEvent",
    "ToolCallRecord",
    "ToolCallSummary",
    "ToolClassifier",
    "TraceEvent",
    "TraceRecorder",
    "TraceSummary",
    "TransientError",
    "Turn",
    "TurnBoundaryEvent",
    "Worker",
    "WorkerSpec",
    "Workers",
    "load_config",
    "read_rows",
    "run_profile_suite",
]
