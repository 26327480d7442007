"""Evidence of sessions that never took place, for testing scorers, collectors, analyzers and judges."""

from datetime import UTC, datetime
from typing import Any

from pydantic import JsonValue

from ghx_base.clock import timestamp
from ghx_profiler.evidence import Answer, Evidence, Mode, Stage
from ghx_profiler.plan.cell import Cell
from ghx_profiler.records.metrics import Cost, Timing, TimingSegment, TokenUsage
from ghx_profiler.records.score import CheckpointDetail, Score
from ghx_profiler.records.trace import (
    ErrorEvent,
    ReasoningEvent,
    SessionTrace,
    TextOutputEvent,
    ToolCallEvent,
    TraceEvent,
    TraceSummary,
    Turn,
    TurnBoundaryEvent,
)
from ghx_profiler.runner.toolcalls import summarise_tool_calls
from ghx_profiler.scenario import BaseScenario

_NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def sample_scenario(**changes: Any) -> BaseScenario:
    """Return a small scenario; any field can be given."""
    fields: dict[str, Any] = {
        "id": "sample-scenario-001",
        "name": "Sample",
        "description": "A task that asks for little.",
        "prompt": "Say hello.",
        "timeout_ms": 60_000,
        **changes,
    }
    return BaseScenario(**fields)


def sample_cell(**changes: Any) -> Cell:
    """Return a cell; any field can be given."""
    fields: dict[str, Any] = {
        "agent": "sample-agent",
        "model": "sample/model",
        "mode": "sample-mode",
        "scenario_id": "sample-scenario-001",
        "iteration": 0,
        **changes,
    }
    return Cell(**fields)


def sample_trace(*, turns: int = 3, session_id: str = "sample-session") -> SessionTrace:
    """Return the trace of an agent that fails, tries again and answers, in `turns` turns; 0 gives an empty trace."""
    groups = [_turn_events(number, is_last=number == turns - 1) for number in range(turns)]
    stamp = timestamp(_NOON)
    events: list[TraceEvent] = []
    for number, group in enumerate(groups):
        events += [TurnBoundaryEvent(turn_number=number, timestamp=stamp), *group]
    return SessionTrace(
        session_id=session_id,
        events=tuple(events),
        turns=tuple(
            Turn(number=number, events=group, start_timestamp=stamp, end_timestamp=stamp, duration_ms=0)
            for number, group in enumerate(groups)
        ),
        summary=TraceSummary(
            total_turns=turns,
            total_tool_calls=sum(isinstance(event, ToolCallEvent) for event in events),
            total_tokens=TokenUsage.of(input=1_000 * turns, output=100 * turns, reasoning=10 * turns, cache_read=0),
            total_duration=0,
        ),
    ).with_all_keys()


def sample_evidence(**changes: Any) -> Evidence[Any]:
    """Return evidence of a session that went well and of which all is known; any field can be given.

    What is not given is made to agree with what is: the stage with the scenario, tokens and tool calls with the trace.
    """
    scenario = changes.get("scenario") or sample_scenario()
    trace: SessionTrace | None = changes["trace"] if "trace" in changes else sample_trace()
    fields: dict[str, Any] = {
        "cell": sample_cell(scenario_id=scenario.id),
        "scenario": scenario,
        "mode": Mode(name="sample-mode"),
        "stage": Stage(scenario=scenario),
        "completion_reason": "stop",
        "answer": Answer(text="Hello."),
        "trace": trace,
        "tokens": trace.summary.total_tokens if trace else TokenUsage(),
        "timing": Timing(wall_ms=1_500, segments=(TimingSegment(label="prompt", start_ms=0, end_ms=1_500),)),
        "tool_calls": summarise_tool_calls(trace, lambda call: call.name),
        "cost": Cost(total_usd=0.01, source="reported"),
        "score": Score.of((CheckpointDetail(id="said-hello", description="It said hello.", passed=True),)),
        **changes,
    }
    return Evidence(**fields)


def stopped_evidence(**changes: Any) -> Evidence[Any]:
    """Return evidence of a session that was stopped at its deadline, before the agent answered."""
    return sample_evidence(**{"completion_reason": "timeout", "answer": None, "score": None, **changes})


def unknown_evidence(**changes: Any) -> Evidence[Any]:
    """Return evidence of a session of which nothing is known but that it broke down."""
    nothing: dict[str, Any] = {
        "completion_reason": "error",
        "answer": None,
        "trace": None,
        "timing": Timing(),
        "cost": Cost(),
        "score": None,
    }
    return sample_evidence(**nothing | changes)


def _turn_events(number: int, *, is_last: bool) -> tuple[TraceEvent, ...]:
    thought = ReasoningEvent(content=f"Step {number}: look again.", duration_ms=5, token_count=10)
    if is_last:
        return (thought, TextOutputEvent(content="Hello.", token_count=2))
    request: JsonValue = {"command": "cat greeting.txt"}
    if number == 0:
        failed = ToolCallEvent(
            name="bash", input=request, output="cat: greeting.txt: No such file", duration_ms=3, success=False
        )
        return (thought, failed, ErrorEvent(message="lost the connection", recoverable=True))
    return (thought, ToolCallEvent(name="bash", input=request, output="Hello.", duration_ms=3, success=True))
