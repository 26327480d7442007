"""The tool calls of a session, counted for its row."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator

from ghx_bench.profiler.contracts import ToolClassifier
from ghx_bench.profiler.metrics import ToolCallRecord, ToolCallSummary
from ghx_bench.profiler.trace import SessionTrace, ToolCallEvent


def summarise_tool_calls(trace: SessionTrace | None, classify: ToolClassifier) -> ToolCallSummary:
    """Count the tool calls of a session, by category and by what became of them.

    Without a trace nothing is known. A call that does not tell whether it succeeded is counted and left out of
    `failed`, `retried` and `error_rate`; where no call tells, these are not known. What `classify` raises is raised.
    """
    if trace is None:
        return ToolCallSummary()
    calls = trace.tool_calls
    fates = [has_succeeded(call) for call in calls]
    records = tuple(_record_of(call, classify(call)) for call in calls)
    # An agent may tell how many calls it made without telling which.
    total = max(len(calls), trace.summary.total_tool_calls or 0)
    known, failed = len(fates) - fates.count(None), fates.count(False)
    nobody_tells = total > 0 and known == 0
    return ToolCallSummary(
        total=total,
        by_category=dict(Counter(record.category for record in records)),
        failed=None if nobody_tells else failed,
        retried=None if nobody_tells else sum(_are_retries(calls)),
        error_rate=None if nobody_tells else failed / max(known, 1),
        records=records,
    )


def has_succeeded(call: ToolCallEvent) -> bool | None:
    """Say what the call tells of itself: an error is a failure, also where `success` was left open."""
    if call.success is None and call.error is not None:
        return False
    return call.success


def _record_of(call: ToolCallEvent, category: str) -> ToolCallRecord:
    record = ToolCallRecord(
        name=call.name, category=category, success=has_succeeded(call), duration_ms=call.duration_ms
    )
    return record if call.error is None else record.model_copy(update={"error": call.error})


def _are_retries(calls: Iterable[ToolCallEvent]) -> Iterator[bool]:
    """Yield for each call whether it repeats one that failed, and has not succeeded since."""
    failed: set[str] = set()
    for call in calls:
        # As JSON, because Python takes `true` and `1` for the same.
        request = json.dumps([call.name, call.input], sort_keys=True)
        yield request in failed
        match has_succeeded(call):
            case False:
                failed.add(request)
            case True:
                failed.discard(request)
            case None:
                pass
