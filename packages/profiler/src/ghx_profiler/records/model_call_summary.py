"""The model calls of one session, counted for its row."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from ghx_base.wire import OMITTABLE, Count, ForeignModel, Number
from ghx_profiler.records.metrics import CustomMetric, TokenUsage
from ghx_profiler.records.model_calls import ModelCall, ModelSettings, RequestAnatomy, usage_at_least, usage_of

_PARTS = tuple(RequestAnatomy.model_fields)


class ModelCallSummary(ForeignModel):
    """The model calls of one session, as the meter in front of the model service saw them."""

    total: Count
    side: Count
    """Calls that are not of the conversation: for titles, suggestions, memory."""
    failed: Count
    retried: Count
    """Calls that are another attempt at one that failed."""
    cut: Count
    """Calls whose answer ended before the service had reported its usage."""
    time_to_first_token_ms: Number | None = None
    """The median over the calls of the conversation that were answered."""
    side_tokens: TokenUsage = TokenUsage()
    tokens_at_least: Annotated[TokenUsage | None, OMITTABLE] = None
    """Where a call was cut, and so the tokens of the session are not known: what it used for certain."""
    models: tuple[str, ...] = ()
    """The models that answered, or were requested, in the order of their first call."""
    replayed: Annotated[dict[str, Count] | None, OMITTABLE] = None
    """Of a replay, how many calls were `exact`, equal except for a `blind_spot`, or a `divergence`."""
    settings: tuple[ModelSettings, ...] = ()
    """What the calls of the conversation set, each once."""

    def metrics(self) -> tuple[CustomMetric, ...]:
        """Return `model_calls_total`, `model_calls_side`, ..., and what is measured of them."""
        counts = ("total", "side", "failed", "retried", "cut")
        return (
            *(CustomMetric(f"model_calls_{each}", getattr(self, each), "calls") for each in counts),
            CustomMetric("time_to_first_token_ms", self.time_to_first_token_ms, "ms"),
            CustomMetric("side_tokens_total", self.side_tokens.total, "tokens"),
            CustomMetric("side_tokens_active", self.side_tokens.active, "tokens"),
        )


def summarise_model_calls(calls: Sequence[ModelCall]) -> ModelCallSummary:
    """Count the model calls of a session."""
    main, side = main_calls(calls), [call for call in calls if call.side is not None]
    waits = sorted(call.time_to_first_token_ms for call in main if call.time_to_first_token_ms is not None)
    models = (call.model_answered or call.model_asked for call in calls)
    none = TokenUsage.of(input=0, output=0, reasoning=0, cache_read=0, cache_write=0)
    summary = ModelCallSummary(
        total=len(calls),
        side=len(side),
        failed=sum(call.has_failed for call in calls),
        retried=sum(call.retry_of is not None for call in calls),
        cut=sum(call.cut for call in calls),
        time_to_first_token_ms=_median(waits),
        side_tokens=usage_of(side) if side else none,
        models=tuple(dict.fromkeys(model for model in models if model is not None)),
        settings=_distinct_settings(main),
    )
    verdicts = [call.replayed.verdict for call in calls if call.replayed is not None]
    more: dict[str, object] = {"replayed": dict(Counter(verdicts))} if verdicts else {}
    if summary.cut:
        more["tokens_at_least"] = usage_at_least(calls)
    return summary.model_copy(update=more)


def main_calls(calls: Sequence[ModelCall]) -> list[ModelCall]:
    """Return the calls of the conversation itself that were answered, if only in part."""
    return [call for call in calls if call.side is None and not call.has_failed]


def anatomy_of(calls: Sequence[ModelCall]) -> RequestAnatomy:
    """Return the bytes of all requests of a conversation by what they are for, one request after the other."""
    main = main_calls(calls)
    return RequestAnatomy(**{part: sum(getattr(call.anatomy, part) for call in main) for part in _PARTS})


def anatomy_metrics(anatomy: RequestAnatomy) -> tuple[CustomMetric, ...]:
    """Return `request_share_<part>` for each part: its share of the bytes that the model was sent."""
    parts = {part: getattr(anatomy, part) for part in _PARTS}
    whole = sum(parts.values())
    shares = {part: None if whole == 0 else size / whole for part, size in parts.items()}
    return tuple(CustomMetric(f"request_share_{part}", share, "ratio") for part, share in shares.items())


def _median(ordered: Sequence[float]) -> float | None:
    # Not by `statistics`, which loads decimals and fractions into everything that reads a row.
    middle = len(ordered) // 2
    return round((ordered[middle] + ordered[-middle - 1]) / 2, 1) if ordered else None


def _distinct_settings(calls: Sequence[ModelCall]) -> tuple[ModelSettings, ...]:
    distinct: list[ModelSettings] = []
    for call in calls:
        if call.settings not in distinct:
            distinct.append(call.settings)
    return tuple(distinct)
