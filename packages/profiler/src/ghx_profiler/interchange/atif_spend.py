"""Tokens and money between our records and ATIF's, whose prompt tokens include what caches served."""

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import JsonValue

from ghx_base.wire import JsonObject, Number
from ghx_profiler.interchange.trajectory import AtifFinalMetrics, AtifStep, AtifTrajectory, without_none
from ghx_profiler.records.metrics import Cost, TokenUsage


def prompt_tokens(usage: TokenUsage) -> int | None:
    """Return all input tokens, cached or not; ours count cached ones separately."""
    return None if usage.input is None else usage.input + (usage.cache_read or 0) + (usage.cache_write or 0)


def completion_tokens(usage: TokenUsage) -> int | None:
    """Return all output tokens, thoughts included; ours count those separately."""
    return None if usage.output is None else usage.output + (usage.reasoning or 0)


def final_metrics(usage: TokenUsage, *, reported_usd: Number | None, cost: Cost | None, steps: int) -> JsonObject:
    """Return the totals of a session as ATIF has them; a cost from a price table is marked as such."""
    usd, source = reported_usd, "agent"
    if usd is None and cost is not None:
        usd, source = cost.total_usd, cost.source or "computed"
    extra = without_none(
        reasoning_tokens=usage.reasoning,
        cache_write_tokens=usage.cache_write,
        total_tokens=usage.total,
        active_tokens=usage.active,
        cost_source=None if usd is None else source,
    )
    return without_none(
        total_prompt_tokens=prompt_tokens(usage),
        total_completion_tokens=completion_tokens(usage),
        total_cached_tokens=usage.cache_read,
        total_cost_usd=usd,
        total_steps=steps,
        extra=extra or None,
    )


def usage_of(trajectory: AtifTrajectory) -> TokenUsage:
    """Return the tokens of a session: from its totals, or added up from its steps where it has none."""
    totals = trajectory.final_metrics or AtifFinalMetrics()
    counts = (totals.total_prompt_tokens, totals.total_completion_tokens, totals.total_cached_tokens)
    if not trajectory.ours and all(count is None for count in counts):
        totals = _added_up(trajectory.steps)
    parts = _parts(totals)
    if trajectory.ours:
        # Sums are exported as well; a missing one was unknown.
        fields = totals.fields
        return TokenUsage(**parts, total=_count(fields, "total_tokens"), active=_count(fields, "active_tokens"))
    return TokenUsage.of(**parts)


def reported_cost_of(trajectory: AtifTrajectory) -> Number | None:
    """Return the cost that the agent itself reported; a computed cost does not count."""
    totals = trajectory.final_metrics
    if totals is None or totals.fields.get("cost_source", "agent") != "agent":
        return None
    return totals.total_cost_usd


def _parts(totals: AtifFinalMetrics) -> dict[str, Any]:
    reasoning, cache_write = _count(totals.fields, "reasoning_tokens"), _count(totals.fields, "cache_write_tokens")
    cached = totals.total_cached_tokens
    return {
        "input": _without(totals.total_prompt_tokens, cached, cache_write),
        "output": _without(totals.total_completion_tokens, reasoning),
        "reasoning": reasoning,
        "cache_read": cached,
        "cache_write": cache_write,
    }


def _without(whole: int | None, *parts: int | None) -> int | None:
    """Subtract parts from a total; a total smaller than its parts gives nothing."""
    if whole is None:
        return None
    left = whole - sum(part or 0 for part in parts)
    return left if left >= 0 else None


def _added_up(steps: Sequence[AtifStep]) -> AtifFinalMetrics:
    """Add up the steps in which a model spoke; a number that one of them does not report is unknown."""
    spoken = [
        step for step in steps if step.source == "agent" and step.llm_call_count != 0 and not step.is_copied_context
    ]
    metrics = [step.metrics for step in spoken if step.metrics is not None]
    if not metrics or len(metrics) < len(spoken):
        return AtifFinalMetrics()
    extra: JsonObject = without_none(
        reasoning_tokens=_sum(_count(each.fields, "reasoning_tokens") for each in metrics),
        cache_write_tokens=_sum(_count(each.fields, "cache_write_tokens") for each in metrics),
    )
    return AtifFinalMetrics(
        total_prompt_tokens=_sum(each.prompt_tokens for each in metrics),
        total_completion_tokens=_sum(each.completion_tokens for each in metrics),
        total_cached_tokens=_sum(each.cached_tokens for each in metrics),
        extra=extra,
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    total = 0
    for count in counts:
        if count is None:
            return None
        total += count
    return total


def _count(fields: JsonObject, name: str) -> int | None:
    value: JsonValue = fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
