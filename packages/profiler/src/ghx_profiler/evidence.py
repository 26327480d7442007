"""Everything known of one session: the sole input of scorers, collectors and analyzers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, Literal

from pydantic import JsonValue

from ghx_profiler.plan.cell import Cell
from ghx_profiler.records.activity import SessionActivity
from ghx_profiler.records.metrics import Cost, Timing, TokenUsage, ToolCallSummary
from ghx_profiler.records.score import Score
from ghx_profiler.records.tool_use import ToolUse
from ghx_profiler.records.trace import SessionTrace
from ghx_profiler.scenario import S_co

CompletionReason = Literal["stop", "timeout", "error", "tool_limit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """The tool set under comparison: what its sessions get on top of what every session gets."""

    name: str
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    instructions: str | None = None
    settings: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """For the provider: MCP servers, tool allow-lists, whatever it understands."""
    facts: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Written on every row of this mode under `extensions.mode`, such as a tool server's version."""
    secrets: frozenset[str] = frozenset()
    """Values that must not leave its sessions: they are taken out of traces, rows and errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage(Generic[S_co]):
    """What the lifecycle prepared for one cell."""

    scenario: S_co
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    server_environments: Mapping[str, Mapping[str, str]] = field(
        default_factory=dict[str, Mapping[str, str]], repr=False
    )
    """Variables that each MCP server of the mode gets in place of those of the environment, such as a token of its own,
    that distinguishes its requests from those of the shell."""
    directory: Path | None = None
    own_folder: Path | None = None
    """A folder for this attempt alone, with `directory` and HOME in it; all of it counts as the session's disk."""
    facts: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Written on the row under `extensions.stage`."""
    secrets: frozenset[str] = frozenset()
    """Values that must not leave the session, such as its token: they are taken out of traces, rows and errors."""
    handles: object = None
    """Live objects of the lifecycle's own that its scorers need; never written anywhere."""
    watch_model_request: Callable[[bytes], None] | None = None
    """Is shown every request of the session to a model that goes through the bench, from another thread."""
    check_tools: Callable[[], None] | None = None
    """Raises `TamperedToolsError` where the session changed its tools, and another error where they are not what they
    were for another reason; called in a thread, once the session is over and before it is scored."""
    count_refused_hosts: Callable[[], Mapping[str, int] | None] = lambda: None
    """Returns how often the session requested each blocked host, `None` if that is not observed; called
    when the session is over, and written on the row."""
    count_not_implemented: Callable[[], Mapping[str, int] | None] = lambda: None
    """Returns how often the session requested each feature that its world lacks and the real one has, `None` if that
    is not seen; called when the session is over, and written on the row."""
    measure_tool_use: Callable[[SessionTrace | None, datetime | None], ToolUse | None] = lambda _trace, _prompted: None
    """Returns the tools through which the session made its requests, `None` if that is not observed; called with
    its trace and the time of its prompt, as far as these are known, when the session is over, and written on the
    row."""
    observe: Callable[[], SessionActivity | None] | None = None
    """Returns the changes and requests of the session; called in a thread after the session was scored."""
    keep: "Callable[[EndedSession], None] | None" = None
    """Keeps what the session left behind, in the directory of the run; called in a thread and last of all, for each
    attempt at a cell: what an earlier one left is not wanted any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How the agent ended its turn by itself."""

    text: str
    reason: Literal["stop", "tool_limit", "refusal"] = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence(Generic[S_co]):
    """What happened in one session; `scenario` is the consumer's own type, as staged.

    `answer` is `None` when the agent was stopped, `trace` when it could not be exported, `score` until the scorer
    has spoken. Numbers that are not known are `None` inside their records.
    """

    cell: Cell
    scenario: S_co
    mode: Mode
    stage: Stage[S_co]
    completion_reason: CompletionReason
    answer: Answer | None = None
    trace: SessionTrace | None = None
    tokens: TokenUsage = field(default_factory=TokenUsage)
    timing: Timing = field(default_factory=Timing)
    tool_calls: ToolCallSummary = field(default_factory=ToolCallSummary)
    cost: Cost = field(default_factory=Cost)
    score: Score | None = None
    facts: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Facts that the agent and its session report: versions and the like."""
    refused_hosts: Mapping[str, int] | None = None
    """How often the session requested each blocked host; `None` if that was not observed."""
    not_implemented: Mapping[str, int] | None = None
    """How often the session requested each feature that its world lacks; `None` if that was not observed."""
    tool_use: ToolUse | None = None
    """Through which tools its requests came; `None` where that was not seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedSession:
    """A session that is over and, as far as that could be, scored."""

    evidence: Evidence[Any]
    success: bool
    """Whether it was found right."""
    redact: Callable[[str], str]
    """Returns a text without the secrets of the session."""
