"""The tool calls of a session, counted for its row."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator

from ghx_profiler.contracts import ToolClassifier
from ghx_profiler.failures import CallOutcome, outcome_of_call
from ghx_profiler.records.metrics import ToolCallRecord, ToolCallSummary
from ghx_profiler.records.trace import SessionTrace, ToolCallEvent


def summarise_tool_calls(trace: SessionTrace | None, classify: ToolClassifier) -> ToolCallSummary:
    """Count the tool calls of a session, by category and by outcome.

    A call failed if it is flagged, or if its output shows it. Without a trace nothing is known. A call for which
    the outcome is unknown is counted and left out of `failed`, `retried` and `error_rate`; where that is so
    of every call, these are not known. What `classify` raises is raised.
    """
    if trace is None:
        return ToolCallSummary()
    calls = [(call, outcome_of_call(call)) for call in trace.tool_calls]
    records = tuple(_record_of(call, outcome, classify(call)) for call, outcome in calls)
    # An agent may report the number of its calls without the calls.
    total = max(len(calls), trace.summary.total_tool_calls or 0)
    failures = [outcome.failed for _, outcome in calls]
    known, failed = len(failures) - failures.count(None), failures.count(True)
    is_unknown = total > 0 and known == 0
    return ToolCallSummary(
        total=total,
        by_category=dict(Counter(record.category for record in records)),
        failed=None if is_unknown else failed,
        retried=None if is_unknown else sum(_are_retries(calls)),
        error_rate=None if is_unknown else failed / max(known, 1),
        records=records,
    )


def has_succeeded(call: ToolCallEvent) -> bool | None:
    """Return whether a call succeeded, by its flag and its output; `None` if unknown."""
    return _success_of(outcome_of_call(call))


def request_of(call: ToolCallEvent) -> str:
    """Return the request to the tool, equal for equal requests."""
    # As JSON, because Python takes `true` and `1` for the same.
    return json.dumps([call.name, call.input], sort_keys=True)


def _record_of(call: ToolCallEvent, outcome: CallOutcome, category: str) -> ToolCallRecord:
    record = ToolCallRecord(
        name=call.name, category=category, success=_success_of(outcome), duration_ms=call.duration_ms
    )
    error = call.error if call.error is not None or not outcome.failed else outcome.evidence
    changes = {**({} if error is None else {"error": error}), **({"unfinished": True} if call.unfinished else {})}
    return record.model_copy(update=changes) if changes else record


def _success_of(outcome: CallOutcome) -> bool | None:
    return None if outcome.failed is None else not outcome.failed


def _are_retries(calls: Iterable[tuple[ToolCallEvent, CallOutcome]]) -> Iterator[bool]:
    """Yield for each call whether it repeats one that failed, and has not succeeded since."""
    failed: set[str] = set()
    for call, outcome in calls:
        request = request_of(call)
        yield request in failed
        match outcome.failed:
            case True:
                failed.add(request)
            case False:
                failed.discard(request)
            case None:
                pass
