"""What one session spent: tokens, time, tool calls, money. `None` is "not known", never zero."""

from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field

from ghx_base.wire import OMITTABLE, Count, ForeignModel, Number


@dataclass(frozen=True, slots=True)
class CustomMetric:
    """One named number that a collector read off the evidence; `None` where it is not known."""

    name: str
    value: Number | None
    unit: str = ""


class TokenUsage(ForeignModel):
    """Tokens of one session by category.

    `input` excludes what came from or went into a cache, `output` excludes `reasoning` if the agent reports them
    apart. `active` is everything that was not served from a cache.
    """

    input: Count | None = None
    output: Count | None = None
    reasoning: Count | None = None
    cache_read: Count | None = None
    cache_write: Count | None = None
    total: Count | None = None
    active: Count | None = None

    @classmethod
    def of(
        cls,
        *,
        input: int | None = None,  # noqa: A002 - the wire's own word
        output: int | None = None,
        reasoning: int | None = None,
        cache_read: int | None = None,
        cache_write: int | None = None,
    ) -> Self:
        """Add up the parts that an agent reports.

        The total needs at least `input` and `output`; an unreported part counts as contained in these two.
        `active` also needs `cache_read`: without it what a cache served is not known.
        """
        total = None
        if input is not None and output is not None:
            total = input + output + sum(part or 0 for part in (reasoning, cache_read, cache_write))
        return cls(
            input=input,
            output=output,
            reasoning=reasoning,
            cache_read=cache_read,
            cache_write=cache_write,
            total=total,
            active=None if total is None or cache_read is None else total - cache_read,
        )

    def metrics(self) -> tuple[CustomMetric, ...]:
        """Return `tokens_input`, `tokens_active` and the rest."""
        parts = ("input", "output", "reasoning", "cache_read", "cache_write", "total", "active")
        return tuple(CustomMetric(f"tokens_{part}", getattr(self, part), "tokens") for part in parts)


class TimingSegment(ForeignModel):
    """One labelled stretch of an attempt, in milliseconds since it began: `stage`, `session`, `prompt`, `score`, ..."""

    label: str
    start_ms: Number
    end_ms: Number

    @property
    def duration_ms(self) -> Number:
        """How long the stretch took."""
        return self.end_ms - self.start_ms


class Timing(ForeignModel):
    """How long the agent took, from the prompt until it stopped or was stopped."""

    wall_ms: Number | None = None
    segments: tuple[TimingSegment, ...] = ()
    from_first_request_ms: Annotated[Number | None, OMITTABLE] = None
    """From the first request to the model on, where a meter saw it: without the start of the agent and its servers."""

    def metrics(self) -> tuple[CustomMetric, ...]:
        """Return `latency_wall_ms`, and `latency_<label>_ms` for each label, summed over its segments."""
        by_label: dict[str, Number] = {}
        for segment in self.segments:
            by_label[segment.label] = by_label.get(segment.label, 0) + segment.duration_ms
        if self.from_first_request_ms is not None:
            by_label["from_first_request"] = self.from_first_request_ms
        return (
            CustomMetric("latency_wall_ms", self.wall_ms, "ms"),
            *(CustomMetric(f"latency_{label}_ms", spent, "ms") for label, spent in by_label.items()),
        )


class ToolCallRecord(ForeignModel):
    """One tool call as it appears on a row: its name and outcome, without input and output."""

    name: str
    category: str
    success: bool | None = None
    duration_ms: Number | None = None
    error: Annotated[str | None, OMITTABLE] = None
    unfinished: Annotated[bool, OMITTABLE] = False
    """Whether it was still going on when the session ended."""


class ToolCallSummary(ForeignModel):
    """The tool calls of one session, counted."""

    total: Count | None = None
    by_category: dict[str, Count] = Field(default={})
    failed: Count | None = None
    retried: Count | None = None
    error_rate: Number | None = None
    records: tuple[ToolCallRecord, ...] = ()

    def metrics(self) -> tuple[CustomMetric, ...]:
        """Return `tool_calls_total`, `tool_calls_failed`, ..., and `tool_calls_category_<name>` for each category."""
        unique = None if self.total is None else len({record.name for record in self.records})
        return (
            CustomMetric("tool_calls_total", self.total, "calls"),
            CustomMetric("tool_calls_failed", self.failed, "calls"),
            CustomMetric("tool_calls_retried", self.retried, "calls"),
            CustomMetric("tool_calls_error_rate", self.error_rate, "ratio"),
            CustomMetric("tool_calls_unique", unique, "tools"),
            *(
                CustomMetric(f"tool_calls_category_{category}", calls, "calls")
                for category, calls in self.by_category.items()
            ),
        )


CostSource = Literal["reported", "computed"]


class Cost(ForeignModel):
    """US dollars of one session, and whether the agent reported them or a price table gave them."""

    total_usd: Number | None = None
    input_usd: Number | None = None
    output_usd: Number | None = None
    reasoning_usd: Number | None = None
    source: Annotated[CostSource | None, OMITTABLE] = None
    prices: Annotated[str | None, OMITTABLE] = None

    def metrics(self) -> tuple[CustomMetric, ...]:
        """Return `cost_total_usd` and its parts."""
        parts = ("total_usd", "input_usd", "output_usd", "reasoning_usd")
        return tuple(CustomMetric(f"cost_{part}", getattr(self, part), "USD") for part in parts)
