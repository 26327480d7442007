"""How an attempt at a cell ended: `Completed` or `Failed`, and the row that is made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Self

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from ghx_base.clock import timestamp
from ghx_profiler.evidence import Evidence
from ghx_profiler.plan.cell import Cell
from ghx_profiler.records.activity import SessionActivity
from ghx_profiler.records.analysis import AnalysisResult
from ghx_profiler.records.causes import (
    Cause,
    describe_error,
    describe_raised,
    error_code,
    format_traceback,
    is_transient,
)
from ghx_profiler.records.metric_table import METRICS
from ghx_profiler.records.metrics import Cost, CustomMetric, Timing, TokenUsage, ToolCallSummary
from ghx_profiler.records.model_call_summary import anatomy_of, main_calls, summarise_model_calls
from ghx_profiler.records.model_calls import usage_at_least, usage_estimated
from ghx_profiler.records.row import ROW_VERSION, Attempt, Incident, ProfileRow
from ghx_profiler.records.score import PartialScoreError, Safety, Score
from ghx_profiler.records.trace import SessionTrace
from ghx_profiler.runner.pricing import cost_at_least_usd, cost_estimated_usd
from ghx_profiler.runner.redaction import Redaction


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ended:
    cell: Cell
    started_at: datetime
    metrics: tuple[CustomMetric, ...] = ()
    analyses: tuple[AnalysisResult, ...] = ()
    activity: SessionActivity | None = None
    problems: tuple[Incident, ...] = ()
    redaction: Redaction = field(default_factory=Redaction)
    """Removes the session's secrets from its row and from the errors of its attempts."""

    def with_problem(self, where: str, error: BaseException) -> Self:
        """Record an error that did not affect the result."""
        problem = Incident(where=where, code=error_code(error), message=describe_error(error))
        return replace(self, problems=(*self.problems, problem))


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed(_Ended):
    """The agent's answer was scored; `cause` is set if the agent cut the session short itself."""

    evidence: Evidence[Any]
    score: Score
    cause: Cause | None = None
    cut_short_by: str = ""
    """What else is known of that fault, in words."""

    @property
    def success(self) -> bool:
        """Whether the task was done, within the time and budget it had."""
        return self.score.success and self.cause is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed(_Ended):
    """Something stopped us from finding out; whatever evidence there was is kept."""

    cause: Cause
    error: BaseException
    evidence: Evidence[Any] | None = None

    @property
    def may_work_next_time(self) -> bool:
        """Whether another attempt, in a fresh session and stage, is worth it.

        A scorer's failure is not: the session was fine and paid for, and can be graded again.
        """
        # Retried, a scorer that cannot reach its service would have the agent paid for again and again.
        return self.cause is not Cause.SCORER and is_transient(self.error)


Outcome = Completed | Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class RowContext:
    """The fields of a row about its run."""

    run_id: str
    agent_version: str | None
    provenance_id: str | None = None
    start_order: int
    machine: str | None = None


def attempt_of(outcome: Outcome, number: int) -> Attempt:
    """Return what one attempt leaves on the row."""
    started_at = timestamp(outcome.started_at)
    attempt = Attempt(number=number, started_at=started_at, **_spend_of(outcome.evidence), **_failure_fields(outcome))
    return outcome.redaction.record(attempt, keeping=_NAMES)


def interrupted_attempt(evidence: Evidence[Any], number: int, at: datetime) -> Attempt:
    """Return what a session had spent when the run was interrupted."""
    return Attempt(number=number, started_at=timestamp(at), error="interrupted", **_spend_of(evidence))


def _spend_of(evidence: Evidence[Any] | None) -> Mapping[str, Any]:
    calls = evidence.trace.model_calls if evidence and evidence.trace else ()
    metered: dict[str, Any] = {}
    if calls:
        # One that the meter refused was never made, and costs the run none of its budget.
        model_calls = sum(call.error_kind != "budget" for call in calls)
        metered |= {"model_calls": model_calls, "turns": len(main_calls(calls))}
    if evidence is not None and any(call.cut for call in calls):
        metered["tokens_at_least"] = usage_at_least(calls)
        metered["cost_at_least_usd"] = cost_at_least_usd(calls, evidence.cell.model)
    if evidence is not None and any(call.usage_estimated is not None for call in calls):
        metered["tokens_estimated"] = usage_estimated(calls)
        metered["cost_estimated_usd"] = cost_estimated_usd(calls, evidence.cell.model)
    return {
        **metered,
        "wall_ms": evidence.timing.wall_ms if evidence else None,
        "session_id": evidence.trace.session_id if evidence and evidence.trace else "",
        "tokens": evidence.tokens if evidence else TokenUsage(),
        "cost_usd": evidence.cost.total_usd if evidence else None,
    }


def row_of(outcome: Outcome, attempts: Sequence[Attempt], completed_at: datetime, context: RowContext) -> ProfileRow:
    """Make the row of a cell from its last attempt, with all attempts on it."""
    problems: dict[str, Any] = {"problems": outcome.problems} if outcome.problems else {}
    row = ProfileRow(
        run_id=context.run_id,
        scenario_id=outcome.cell.scenario_id,
        mode=outcome.cell.mode,
        model=outcome.cell.model,
        iteration=outcome.cell.iteration,
        started_at=attempts[0].started_at,  # of the first attempt: what retries took is part of the cell
        completed_at=timestamp(completed_at),
        provider=outcome.cell.agent,
        agent=outcome.cell.agent,
        agent_version=context.agent_version,
        machine=context.machine,
        provenance_id=context.provenance_id,
        sources=_sources_of(outcome.evidence),
        metrics={metric.name: metric.value for metric in outcome.metrics},
        attempts=tuple(attempts),
        start_order=context.start_order,
        version=ROW_VERSION,
        **_session_of(outcome.evidence),
        **_verdict_of(outcome),
        **_failure_fields(outcome),
        **problems,
        traceback=format_traceback(outcome.error) if isinstance(outcome, Failed) else None,
    )
    return outcome.redaction.record(row.with_all_keys(), keeping=_NAMES)


_NAMES = (
    "runId",
    "machine",
    "scenarioId",
    "mode",
    "model",
    "provider",
    "agent",
    "agentVersion",
    "sessionId",
    "startedAt",
    "completedAt",
)
"""What a row is found by; none of it comes out of a session."""


def _session_of(evidence: Evidence[Any] | None) -> Mapping[str, Any]:
    """Return the metrics and spending of the session; all unknown without a session."""
    trace, hosts = (evidence.trace, evidence.refused_hosts) if evidence else (None, None)
    lacking, tool_use = (evidence.not_implemented, evidence.tool_use) if evidence else (None, None)
    return {
        "tokens": evidence.tokens if evidence else TokenUsage(),
        "timing": evidence.timing if evidence else Timing(),
        "tool_calls": evidence.tool_calls if evidence else ToolCallSummary(),
        "cost": evidence.cost if evidence else Cost(),
        "session_id": trace.session_id if trace else "",
        "agent_turns": trace.summary.total_turns if trace else None,
        "completion_reason": evidence.completion_reason if evidence else "error",
        "extensions": _extensions_of(evidence),
        **({"refused_hosts": dict(hosts)} if hosts is not None else {}),
        **({"not_implemented": dict(lacking)} if lacking is not None else {}),
        **({"tool_use": tool_use, "purity": tool_use.purity} if tool_use is not None else {}),
        **(_metered(trace) if trace and trace.model_calls else {}),
    }


def _metered(trace: SessionTrace) -> Mapping[str, Any]:
    calls = trace.model_calls
    return {
        "model_calls": summarise_model_calls(calls),
        "token_anatomy": anatomy_of(calls),
        "reported": trace.reported,
    }


def _sources_of(evidence: Evidence[Any] | None) -> dict[str, str]:
    """Return where the numbers of a row come from, by key: for known metrics, from the metric table."""
    if evidence is None:
        return {}
    records = {"timing": evidence.timing, "tokens": evidence.tokens, "toolCalls": evidence.tool_calls}
    known = {key: [each.name for each in record.metrics() if each.value is not None] for key, record in records.items()}
    if evidence.trace is not None:
        known["agentTurns"] = ["agent_turns"]
    entries = {key: METRICS.find(names[0]) for key, names in known.items() if names}
    sources: dict[str, str] = {key: entry.source for key, entry in entries.items() if entry and entry.source}
    if evidence.cost.source is not None:
        # Of a cost the table knows two sources, and its record which of them it was.
        sources["cost"] = "agent" if evidence.cost.source == "reported" else "prices"
    trace_sources = evidence.trace.sources if evidence.trace else {}
    # The table knows that a number may be the meter's; only the session knows whether it is.
    return {key: trace_sources.get(key, source.removesuffix(" or meter")) for key, source in sources.items()}


def _verdict_of(outcome: Outcome) -> Mapping[str, Any]:
    """Return success and checkpoints; without a score both are unknown, unless the agent itself is the cause."""
    safety: Safety | None = None
    match outcome:
        case Completed(score=score):
            success, checkpoints, output_valid = outcome.success, score.checkpoints, score.output_valid
            safety = score.safety
        case Failed(cause=cause, error=error):
            # Unknown is null: a false here would count what the bench could not find out against the agent.
            success, output_valid = False if cause.is_the_agents_own else None, None
            checkpoints = error.checkpoints if isinstance(error, PartialScoreError) else None
    return {
        "success": success,
        "checkpoints_passed": None if checkpoints is None else sum(each.passed for each in checkpoints),
        "checkpoints_total": None if checkpoints is None else len(checkpoints),
        "checkpoint_details": checkpoints or (),
        "output_valid": output_valid,
        **({} if safety is None else {"safety": safety}),
    }


def _failure_fields(outcome: Outcome) -> Mapping[str, Any]:
    match outcome:
        case Failed(cause=cause, error=error):
            return {"cause": cause, "error": describe_raised(error), "error_code": error_code(error)}
        case Completed(cause=Cause() as cause, cut_short_by=details):
            fault = _AGENTS_FAULTS.get(cause, "the agent was stopped")
            error = f"{fault.removesuffix(' and was stopped')}; {details}" if details else fault
            return {"cause": cause, "error": error, "error_code": cause.name}
        case Completed():
            return {}


_AGENTS_FAULTS = {
    Cause.AGENT_TIMEOUT: "the agent did not finish within the scenario's timeoutMs and was stopped",
    Cause.AGENT_BUDGET: "the agent used up its budget of tool calls before it finished",
    Cause.AGENT_SPEND: "the agent used up what a session may spend and was stopped",
    Cause.AGENT_LIMIT: "the session used more than it may, and its processes were ended",
    Cause.AGENT_REFUSAL: "the agent refused the task",
    Cause.AGENT_TAMPERED: "the agent changed what it was given to work with",
}


def _extensions_of(evidence: Evidence[Any] | None) -> dict[str, JsonValue]:
    if evidence is None:
        return {}
    facts = {"mode": evidence.mode.facts, "stage": evidence.stage.facts, "agent": evidence.facts}
    # Facts are third-party data: values that are not JSON are written as text.
    return {name: to_jsonable_python(dict(value), fallback=str) for name, value in facts.items() if value}
