"""Sessions to analyze, written turn by turn."""

from collections.abc import Iterable
from typing import Any

from ghx_profiler.records.analysis import AnalysisResult
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.trace import (
    ErrorEvent,
    ReasoningEvent,
    SessionTrace,
    TextOutputEvent,
    ToolCallEvent,
    TraceEvent,
    TraceSummary,
    TurnBoundaryEvent,
)
from ghx_profiler.testing import sample_evidence

NOT_FOUND = '{"message":"Not Found","status":"404"}gh: Not Found (HTTP 404)\n'


def bash(command: str, output: Any = "ok", *, success: bool | None = True) -> ToolCallEvent:
    return ToolCallEvent(name="bash", input={"command": command}, output=output, success=success)


def tool(name: str, output: Any = "ok", *, success: bool | None = True, **given: Any) -> ToolCallEvent:
    return ToolCallEvent(name=name, input=given, output=output, success=success)


def thought(content: str = "Look again.", tokens: int | None = None) -> ReasoningEvent:
    return ReasoningEvent(content=content, token_count=tokens)


def said(content: str = "Done.", tokens: int | None = None) -> TextOutputEvent:
    return TextOutputEvent(content=content, token_count=tokens)


def trouble(message: str = "lost the connection") -> ErrorEvent:
    return ErrorEvent(message=message)


def session(*turns: Iterable[TraceEvent], **summary: Any) -> SessionTrace:
    """A trace with these turns."""
    events: list[TraceEvent] = []
    for number, turn in enumerate(turns):
        events += [TurnBoundaryEvent(turn_number=number), *turn]
    return trace_of(*events, **{"total_turns": len(turns), **summary})


def trace_of(*events: TraceEvent, tokens: TokenUsage | None = None, **summary: Any) -> SessionTrace:
    """A trace with these events, whether they tell turns apart or not."""
    calls = sum(isinstance(event, ToolCallEvent) for event in events)
    totals = {"total_tool_calls": calls, "total_tokens": tokens or TokenUsage(), **summary}
    return SessionTrace(session_id="s", events=events, summary=TraceSummary(**totals))


def analyzed(analyzer: Any, trace: SessionTrace) -> dict[str, Any]:
    """What an analyzer finds in a trace, each finding by its value, values or rows."""
    result: AnalysisResult = analyzer.analyze(sample_evidence(trace=trace))
    return {key: plain(finding) for key, finding in result.findings.items()}


def plain(finding: Any) -> Any:
    match finding.type:
        case "list":
            return list(finding.values)
        case "table":
            return [list(row) for row in finding.rows]
        case _:
            return finding.value
