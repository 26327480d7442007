"""Where the tokens of a session went."""

import json
from collections.abc import Iterable, Mapping
from typing import cast

from ghx_profiler.analyzers.finding_shapes import UNKNOWN, table
from ghx_profiler.analyzers.session_view import Call, SessionView
from ghx_profiler.records.analysis import TableFinding
from ghx_profiler.records.trace import ReasoningEvent, TextOutputEvent

_LARGEST = 5
_PARTS = {
    "tool definitions": "toolDefinitions",
    "tool requests": "toolRequests",
    "tool results": "toolResults",
    "reasoning": "reasoning",
    "text": "text",
}


def token_breakdown(view: SessionView) -> TableFinding:
    """Return tokens by purpose, as far as reported, and the characters of each part.

    A recorder with more details can write `tokenBreakdown` into its summary: an object with any of
    `toolDefinitions`, `toolRequests`, `toolResults`, `reasoning` and `text`. Without it the reasoning tokens are those
    of the session, and the text tokens those of the texts, if each reports its own. Nothing is estimated.
    """
    counts, characters = _reported_counts(view), _characters(view)
    rows = [(part, counts.get(key, UNKNOWN), characters.get(key, UNKNOWN)) for part, key in _PARTS.items()]
    return table(("part", "tokens", "characters"), rows)


def largest_results(view: SessionView) -> TableFinding:
    """Return the longest answers of tools."""
    by_size = sorted(view.calls, key=result_characters, reverse=True)
    rows = [(call.label, call.request_hash, result_characters(call)) for call in by_size[:_LARGEST]]
    return table(("tool", "input_hash", "characters"), (row for row in rows if row[2]))


def result_characters(call: Call) -> int:
    """Return how long the answer to a call is, in characters."""
    return _length(call.event.output)


def _reported_counts(view: SessionView) -> dict[str, int]:
    summary = view.trace.summary
    extra = (summary.model_extra or {}).get("tokenBreakdown")
    breakdown = cast("Mapping[str, object]", extra) if isinstance(extra, dict) else dict[str, object]()
    reasoning = [each for each in view.events if isinstance(each, ReasoningEvent)]
    texts = [each for each in view.events if isinstance(each, TextOutputEvent)]
    spent = summary.total_tokens.reasoning
    counts = {"reasoning": _sum_of(reasoning) if spent is None else spent, "text": _sum_of(texts)}
    known = {key: count for key, count in counts.items() if count is not None}
    return known | {key: count for key, count in breakdown.items() if isinstance(count, int)}


def _sum_of(events: Iterable[ReasoningEvent] | Iterable[TextOutputEvent]) -> int | None:
    counts = [event.token_count for event in events]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) and known else None


def _characters(view: SessionView) -> dict[str, int]:
    if not view.has_content:
        return {}
    events = list(view.events)
    return {
        "toolRequests": sum(_length(call.event.input) for call in view.calls),
        "toolResults": sum(map(result_characters, view.calls)),
        "reasoning": sum(len(each.content) for each in events if isinstance(each, ReasoningEvent)),
        "text": sum(len(each.content) for each in events if isinstance(each, TextOutputEvent)),
    }


def _length(value: object) -> int:
    if value is None:
        return 0
    return len(value) if isinstance(value, str) else len(json.dumps(value, ensure_ascii=False))
