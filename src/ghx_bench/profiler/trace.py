"""The record of one session: what the agent thought, called, said, and when."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from ghx_bench._base.wire import OMITTABLE, Count, ForeignModel, Number, TaggedModel
from ghx_bench.profiler.metrics import TokenUsage


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
    """The agent said something to the user."""

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
"""One thing that happened in a session, told apart by `type`."""


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


class SessionTrace(ForeignModel):
    """Everything one session did, in order, and by turn."""

    session_id: str
    events: tuple[TraceEvent, ...] = ()
    turns: tuple[Turn, ...] = ()
    summary: TraceSummary = TraceSummary()
    prompt: Annotated[str | None, OMITTABLE] = None
    """What the agent was asked, as it was sent; the bench writes it down."""
    instructions: Annotated[str | None, OMITTABLE] = None
    """What its mode told the agent beside that."""

    @property
    def tool_calls(self) -> tuple[ToolCallEvent, ...]:
        """The tool calls, in order."""
        return tuple(event for event in self.events if isinstance(event, ToolCallEvent))
