"""The record of one session: thoughts, calls and messages of the agent, with times."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from ghx_base.wire import OMITTABLE, Count, ForeignModel, Number, TaggedModel
from ghx_profiler.records.causes import Cause
from ghx_profiler.records.metrics import CustomMetric, TokenUsage
from ghx_profiler.records.model_calls import ModelCall


class ReasoningEvent(TaggedModel):
    """The agent thought aloud."""

    type: Literal["reasoning"] = "reasoning"  # pyright: ignore[reportIncompatibleVariableOverride] - narrowed, and frozen
    content: str
    duration_ms: Number | None = None
    token_count: Count | None = None


class ToolCallEvent(TaggedModel):
    """The agent called a tool and got an answer, or did not."""

    type: Literal["tool_call"] = "tool_call"  # pyright: ignore[reportIncompatibleVariableOverride] - narrowed, and frozen
    name: str
    input: JsonValue = None
    output: JsonValue = None
    duration_ms: Number | None = None
    success: bool | None = None
    error: Annotated[str | None, OMITTABLE] = None
    call_id: Annotated[str | None, OMITTABLE] = None
    """What the model, or else the agent, calls this one call."""
    unfinished: Annotated[bool, OMITTABLE] = False
    """Whether it was still going on when the session ended: its time is the time until then."""


class TextOutputEvent(TaggedModel):
    """A message of the agent to the user."""

    type: Literal["text_output"] = "text_output"  # pyright: ignore[reportIncompatibleVariableOverride] - narrowed, and frozen
    content: str
    token_count: Count | None = None


class TurnBoundaryEvent(TaggedModel):
    """A turn began."""

    type: Literal["turn_boundary"] = "turn_boundary"  # pyright: ignore[reportIncompatibleVariableOverride] - narrowed, and frozen
    turn_number: int
    timestamp: str | None = None


class ErrorEvent(TaggedModel):
    """Something went wrong outside any tool call."""

    type: Literal["error"] = "error"  # pyright: ignore[reportIncompatibleVariableOverride] - narrowed, and frozen
    message: str
    recoverable: bool | None = None


TraceEvent = Annotated[
    ReasoningEvent | ToolCallEvent | TextOutputEvent | TurnBoundaryEvent | ErrorEvent, Field(discriminator="type")
]
"""One event of a session, distinguished by `type`."""


class Turn(ForeignModel):
    """One step of the agent: what it did between two of its model calls."""

    number: int
    events: tuple[TraceEvent, ...] = ()
    start_timestamp: str | None = None
    end_timestamp: str | None = None
    duration_ms: Number | None = None


class TraceSummary(ForeignModel):
    """The totals of a session; `total_cost_usd` only where the agent reports a cost of its own."""

    total_turns: Count | None = None
    total_tool_calls: Count | None = None
    total_tokens: TokenUsage = TokenUsage()
    total_duration: Number | None = None
    total_cost_usd: Annotated[Number | None, OMITTABLE] = None


class ReportedFigures(ForeignModel):
    """The agent's own figures, if something else has measured the same."""

    tokens: TokenUsage = TokenUsage()
    turns: Count | None = None
    tool_calls: Count | None = None
    cost_usd: Number | None = None


class NamedCause(ForeignModel):
    """Why a session could not come to its end, in the words of the session itself.

    One that is not the agent's own, such as a model service that was down, leaves the cell unmeasured, also where the
    agent ended its turn as if nothing had happened, or ran out of time meanwhile.
    """

    kind: Cause
    message: str
    may_work_next_time: bool = False
    """Whether another attempt is worth it, within the scenario's `allowedRetries`."""
    retry_after_s: Number | None = None


class SessionTrace(ForeignModel):
    """Everything one session did, in order, and by turn; and additional data for the row."""

    session_id: str
    events: tuple[TraceEvent, ...] = ()
    turns: tuple[Turn, ...] = ()
    summary: TraceSummary = TraceSummary()
    prompt: Annotated[str | None, OMITTABLE] = None
    """The prompt as it was sent; the bench records it."""
    answer: Annotated[str | None, OMITTABLE] = None
    """What the agent answered in the end, as it was scored; the bench writes it down."""
    instructions: Annotated[str | None, OMITTABLE] = None
    """The additional instructions of the mode."""
    facts: Annotated[dict[str, JsonValue], OMITTABLE] = Field(default={})
    """Versions and the like, for the row under `extensions.agent`."""
    metrics: Annotated[tuple[CustomMetric, ...], OMITTABLE] = ()
    """The session's own numbers, for the row in addition to those of collectors."""
    model_calls: Annotated[tuple[ModelCall, ...], OMITTABLE] = ()
    """Its calls of a model, where a meter saw them; the bench then fills in turns, tokens and tool calls from these, as
    `metered_trace` says."""
    cause: Annotated[NamedCause | None, OMITTABLE] = None
    """Why it could not come to its end, where the session knows."""
    sources: Annotated[dict[str, str], OMITTABLE] = Field(default={})
    """Where numbers come from, by their key on the row, where that is not the agent: `meter`, `script`."""
    reported: Annotated[ReportedFigures | None, OMITTABLE] = None
    """The agent's own figures, where those of the summary are the meter's."""

    @property
    def tool_calls(self) -> tuple[ToolCallEvent, ...]:
        """The tool calls, in order."""
        return tuple(event for event in self.events if isinstance(event, ToolCallEvent))
