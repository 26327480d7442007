"""A cell as OpenTelemetry spans by the GenAI conventions: workflow, agent, model calls and tools, checks as events.

What is written is OTLP's JSON, which collectors and viewers read from files; nothing here sends anything.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pydantic import JsonValue

from ghx_base.wire import JsonObject, Number
from ghx_profiler.interchange.atif_spend import completion_tokens, prompt_tokens
from ghx_profiler.plan.cell import NO_MODEL
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.records.score import CheckpointDetail
from ghx_profiler.records.trace import ErrorEvent, SessionTrace, ToolCallEvent, Turn

_INTERNAL, _CLIENT = 1, 3
_FAILED = 2

SCOPE = "ghx_bench"
"""The instrumentation scope of our spans, by which an export knows its own files."""

Attribute = str | bool | int | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """From when to when; `is_estimated` if the trace lacks one of them."""

    start: int
    end: int
    is_estimated: bool = False


def to_otlp(row: ProfileRow, trace: SessionTrace | None, *, version: str = "unknown") -> JsonObject:
    """Return one cell as an OTLP export of spans; the same cell always gets the same ids.

    Without a trace it is the workflow alone, with its verdict. Texts, arguments and results are left out.
    """
    scope: JsonObject = {"name": SCOPE, "version": version}
    resource = _attributes({"service.name": "ghx-bench", "service.version": version})
    spans: list[JsonValue] = [*_spans(row, trace)]
    return {
        "resourceSpans": [
            {"resource": {"attributes": resource}, "scopeSpans": [{"scope": scope, "spans": spans}]},
        ]
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a span belongs: its trace, its own name there, and its parent's."""

    trace_id: str
    path: str = "workflow"
    parent: str | None = None

    def below(self, name: str) -> "_Place":
        return replace(self, path=f"{self.path}/{name}", parent=self.path)

    def ids(self) -> JsonObject:
        parent: JsonObject = {} if self.parent is None else {"parentSpanId": self._id(self.parent)}
        return {"traceId": self.trace_id, "spanId": self._id(self.path), **parent}

    def _id(self, path: str) -> str:
        return hashlib.sha256(f"{self.trace_id}/{path}".encode()).hexdigest()[:16]


def _spans(row: ProfileRow, trace: SessionTrace | None) -> Iterator[JsonObject]:
    cell = f"{row.run_id}\n{row.model}\n{row.mode}\n{row.scenario_id}\n{row.iteration}"
    root = _Place(trace_id=hashlib.sha256(cell.encode(errors="replace")).hexdigest()[:32])
    whole = window_of_row(row)
    yield _workflow(row, root, whole)
    if trace is None:
        return
    place = root.below("agent")
    windows = tuple(windows_of_turns(trace.turns, whole))
    yield _agent(row, trace, place, _around(windows, whole))
    if not trace.turns:
        yield from _tools(trace.tool_calls, place, whole, prefix="")
    for number, (turn, window) in enumerate(zip(trace.turns, windows, strict=True)):
        yield from _turn(row, turn, place, window, prefix=f"turn-{number}-")


def _around(windows: Sequence[Window], whole: Window) -> Window:
    """Return the stretch that holds all turns."""
    if not windows:
        return replace(whole, is_estimated=True)
    return Window(
        start=min(each.start for each in windows),
        end=max(each.end for each in windows),
        is_estimated=any(each.is_estimated for each in windows),
    )


def _workflow(row: ProfileRow, place: _Place, window: Window) -> JsonObject:
    row = row.upgraded()
    facts: dict[str, Attribute] = {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": row.scenario_id,
        "ghx_bench.run.id": row.run_id,
        "ghx_bench.scenario.id": row.scenario_id,
        "ghx_bench.mode": row.mode,
        "ghx_bench.model": row.model,
        "ghx_bench.iteration": row.iteration,
        "ghx_bench.success": row.success,
        "ghx_bench.completion_reason": row.completion_reason,
        "ghx_bench.cost.usd": _float(row.cost.total_usd),
    }
    failure = None if row.error is None else str(row.cause or row.error_code or "_OTHER")
    return _span(
        f"invoke_workflow {row.scenario_id}",
        place,
        window,
        facts,
        failure=failure,
        message=row.error,
        events=[_evaluation(each, window.end) for each in row.checkpoint_details],
    )


def _evaluation(check: CheckpointDetail, moment: int) -> JsonObject:
    facts: dict[str, Attribute] = {
        "gen_ai.evaluation.name": check.id,
        "gen_ai.evaluation.score.value": float(check.passed),
        "gen_ai.evaluation.score.label": "pass" if check.passed else "fail",
        "gen_ai.evaluation.explanation": check.description,
        "error.type": None if check.error is None else "_OTHER",
    }
    return _event("gen_ai.evaluation.result", moment, facts)


def _agent(row: ProfileRow, trace: SessionTrace, place: _Place, window: Window) -> JsonObject:
    usage = row.tokens
    facts: dict[str, Attribute] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": _provider(row),
        "gen_ai.agent.name": row.agent_name,
        "gen_ai.request.model": _model(row),
        "gen_ai.conversation.id": trace.session_id or None,
        "gen_ai.usage.input_tokens": prompt_tokens(usage),
        "gen_ai.usage.output_tokens": completion_tokens(usage),
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning,
    }
    troubles = [
        _event("exception", window.end, {"exception.message": event.message})
        for event in trace.events
        if isinstance(event, ErrorEvent)
    ]
    return _span(f"invoke_agent {row.agent_name}", place, window, facts, events=troubles)


def _turn(row: ProfileRow, turn: Turn, agent: _Place, window: Window, *, prefix: str) -> Iterator[JsonObject]:
    """Yield the model call of a turn and the tools it led to, as siblings below the agent."""
    calls = [event for event in turn.events if isinstance(event, ToolCallEvent)]
    first = next(iter(windows_of_calls(calls, window)), None)
    if (model := _model(row)) is not None:
        facts: dict[str, Attribute] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _provider(row),
            "gen_ai.request.model": model,
            "ghx_bench.turn": turn.number,
        }
        spoken = window if first is None else Window(start=window.start, end=first.start, is_estimated=True)
        yield _span(f"chat {model}", agent.below(f"{prefix}chat"), spoken, facts, kind=_CLIENT)
    yield from _tools(calls, agent, window, prefix=prefix)


def _tools(calls: Sequence[ToolCallEvent], agent: _Place, window: Window, *, prefix: str) -> Iterator[JsonObject]:
    for number, (call, when) in enumerate(zip(calls, windows_of_calls(calls, window), strict=True)):
        facts: dict[str, Attribute] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "ghx_bench.tool.duration_ms": _float(call.duration_ms),
            "ghx_bench.tool.success": call.success,
        }
        where = agent.below(f"{prefix}tool-{number}")
        failure = "tool_error" if call.success is False else None
        yield _span(f"execute_tool {call.name}", where, when, facts, failure=failure, message=call.error)


def _model(row: ProfileRow) -> str | None:
    return None if row.model == NO_MODEL else row.model


def _provider(row: ProfileRow) -> str:
    """Return the provider of the model from `vendor/model`; otherwise the agent."""
    vendor, slash, _ = row.model.partition("/")
    return vendor if slash and vendor else row.provider


def _float(number: Number | None) -> float | None:
    """Return a number always as a float, for backends that fix types; `None` for non-numbers such as NaN."""
    return float(number) if number is not None and math.isfinite(number) else None


def _span(
    name: str,
    place: _Place,
    window: Window,
    facts: dict[str, Attribute],
    *,
    kind: int = _INTERNAL,
    failure: str | None = None,
    message: str | None = None,
    events: Sequence[JsonObject] = (),
) -> JsonObject:
    marked = {**facts, "error.type": failure, "ghx_bench.time.is_estimated": window.is_estimated or None}
    span: JsonObject = {
        **place.ids(),
        "name": name,
        "kind": kind,
        "startTimeUnixNano": str(window.start),
        "endTimeUnixNano": str(window.end),
        "attributes": _attributes(marked),
    }
    if events:
        span["events"] = [*events]
    if failure is not None:
        message_field: JsonObject = {} if message is None else {"message": message}
        span["status"] = {"code": _FAILED, **message_field}
    return span


def _event(name: str, moment: int, facts: dict[str, Attribute]) -> JsonObject:
    return {"name": name, "timeUnixNano": str(moment), "attributes": _attributes(facts)}


def _attributes(facts: dict[str, Attribute]) -> list[JsonValue]:
    return [{"key": key, "value": _value(value)} for key, value in facts.items() if value is not None]


def _value(value: str | bool | float) -> JsonObject:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}  # 64 bits are more than JSON's numbers hold
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def nanoseconds(stamp: str | None) -> int | None:
    """Return an ISO time in nanoseconds; `None` if it is missing or not a time."""
    if stamp is None:
        return None
    try:
        moment = datetime.fromisoformat(stamp)
        since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    except (ValueError, OverflowError):
        return None
    microseconds = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    return microseconds * 1_000 if microseconds >= 0 else None


def window_of_row(row: ProfileRow) -> Window:
    """Return when a cell was run; zero is OTLP's word for a time that is not known."""
    start, end = nanoseconds(row.started_at), nanoseconds(row.completed_at)
    begin = start or 0
    return Window(start=begin, end=max(begin, end or 0), is_estimated=start is None or end is None)


def windows_of_turns(turns: Sequence[Turn], whole: Window) -> Iterator[Window]:
    """Yield when each turn happened; a missing time follows from its neighbours and its duration."""
    before = whole.start
    for number, turn in enumerate(turns):
        start, end = nanoseconds(turn.start_timestamp), nanoseconds(turn.end_timestamp)
        is_estimated = start is None or end is None
        start = before if start is None else start
        if end is None:
            end = _end(turn, start, following=turns[number + 1 :], whole=whole)
        before = max(start, end)
        yield Window(start=start, end=before, is_estimated=is_estimated)


def _end(turn: Turn, start: int, *, following: Sequence[Turn], whole: Window) -> int:
    if turn.duration_ms is not None:
        return start + _duration(turn.duration_ms)
    following_start = nanoseconds(following[0].start_timestamp) if following else None
    return whole.end if following_start is None else following_start


def windows_of_calls(calls: Sequence[ToolCallEvent], turn: Window) -> tuple[Window, ...]:
    """Place tool calls one after another so that the last ends with its turn: models speak first, then tools run."""
    end = turn.end
    windows: list[Window] = []
    for call in reversed(calls):
        start = max(turn.start, end - _duration(call.duration_ms or 0))
        windows.append(Window(start=start, end=end, is_estimated=True))
        end = start
    return tuple(reversed(windows))


def _duration(milliseconds: Number) -> int:
    # Negative durations and those beyond any session are meaningless; files may also have NaN.
    if not math.isfinite(milliseconds):
        return 0
    return round(min(max(milliseconds, 0), 1e12) * 1_000_000)
