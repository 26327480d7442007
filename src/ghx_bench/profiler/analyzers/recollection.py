"""Evidence of a session that is over, rebuilt from what it left on disk."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from pydantic import JsonValue, ValidationError

from ghx_bench.profiler.cell import Cell
from ghx_bench.profiler.evidence import Answer, CompletionReason, Evidence, Mode, Stage
from ghx_bench.profiler.metrics import Cost, Timing
from ghx_bench.profiler.row import ProfileRow
from ghx_bench.profiler.runner.toolcalls import summarise_tool_calls
from ghx_bench.profiler.scenario import BaseScenario
from ghx_bench.profiler.score import Score
from ghx_bench.profiler.trace import SessionTrace, TextOutputEvent

_NOT_RECORDED = "(not recorded)"


def recorded_scenarios(snapshots: Iterable[Mapping[str, JsonValue]]) -> dict[str, BaseScenario]:
    """Return the scenarios of a run by id, as far as every scenario has them.

    What a consumer adds to its own kind of scenario is left out: without that kind nobody can say what it means. A
    snapshot that is no scenario is left out as a whole.
    """
    keys = {key for name, field in BaseScenario.model_fields.items() for key in (name, field.alias or name)}
    found: dict[str, BaseScenario] = {}
    for snapshot in snapshots:
        try:
            scenario = BaseScenario.model_validate({key: snapshot[key] for key in keys & snapshot.keys()})
        except ValidationError:
            continue
        found[scenario.id] = scenario
    return found


def unrecorded_scenario(scenario_id: str) -> BaseScenario:
    """Return what stands for a scenario of which at most the name is known."""
    name = scenario_id or _NOT_RECORDED
    return BaseScenario(id=name, name=name, description=_NOT_RECORDED, prompt=_NOT_RECORDED, timeout_ms=1)


def recollect(
    cell: Cell, trace: SessionTrace, *, row: ProfileRow | None = None, scenario: BaseScenario | None = None
) -> Evidence[BaseScenario]:
    """Return what is known of a session from its trace and, where there is one, the row that it left.

    A row that speaks of another session is not asked: its numbers are not those of this trace.
    """
    row = row if row is not None and row.session_id == trace.session_id else None
    scenario = scenario or unrecorded_scenario(cell.scenario_id)
    reason = _reason(trace) if row is None else row.completion_reason
    known: dict[str, Any] = _told_by_trace(trace) if row is None else _told_by_row(row)
    return Evidence(
        cell=cell,
        scenario=scenario,
        mode=Mode(name=cell.mode, facts=_facts(row, "mode")),
        stage=Stage(scenario=scenario, facts=_facts(row, "stage")),
        completion_reason=reason,
        answer=_answer(trace, reason),
        trace=trace,
        **known,
    )


def _told_by_row(row: ProfileRow) -> dict[str, Any]:
    score = None
    if row.success is not None and row.output_valid is not None:
        score = Score(success=row.success, checkpoints=row.checkpoint_details, output_valid=row.output_valid)
    return {
        "tokens": row.tokens,
        "timing": row.timing,
        "tool_calls": row.tool_calls,
        "cost": row.cost,
        "score": score,
    }


def _told_by_trace(trace: SessionTrace) -> dict[str, Any]:
    cost = trace.summary.total_cost_usd
    return {
        "tokens": trace.summary.total_tokens,
        "timing": Timing(wall_ms=trace.summary.total_duration),
        "tool_calls": summarise_tool_calls(trace, lambda call: call.name),
        "cost": Cost() if cost is None else Cost(total_usd=cost, source="reported"),
    }


def _reason(trace: SessionTrace) -> CompletionReason:
    """Return how a session seems to have ended: an agent that stops by itself has the last word."""
    return "stop" if trace.events and isinstance(trace.events[-1], TextOutputEvent) else "error"


def _answer(trace: SessionTrace, reason: CompletionReason) -> Answer | None:
    if reason not in {"stop", "tool_limit"}:
        return None
    last = next((event.content for event in reversed(trace.events) if isinstance(event, TextOutputEvent)), "")
    return Answer(text=last, reason="tool_limit" if reason == "tool_limit" else "stop")


def _facts(row: ProfileRow | None, kind: str) -> Mapping[str, JsonValue]:
    facts = row.extensions.get(kind) if row else None
    return cast("Mapping[str, JsonValue]", facts) if isinstance(facts, dict) else {}
