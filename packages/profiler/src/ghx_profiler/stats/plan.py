"""The analysis plan: what a run is to show, written down before its first cell."""

from typing import Annotated, Literal, cast

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from ghx_base.documents.section import Distinct, Flag, Real, Section, SetBy, Text
from ghx_base.wire import Count
from ghx_profiler.records.metric_table import METRICS

Target = Literal["suite", "population"]
"""What a verdict is about: `suite` is "on these scenarios", `population` is "on tasks like these"."""

PLACES: dict[Target, str] = {"suite": "on these scenarios", "population": "on tasks like these"}
"""What a target is called in a sentence."""

MetricNames = Annotated[tuple[Text, ...], Distinct]
Pooled = Literal["agents", "models"]


class AnalysisPlan(Section):
    """What will be concluded and how; frozen into the run before anything is measured.

    `primary` metrics are adjusted together (Holm); all others are exploratory. Arms are compared with the reference
    arm, and agents and models are distinguished by default.
    """

    target: Target = Field(
        default="suite", description="What verdicts are about: these scenarios, or all tasks like them."
    )
    alpha: Annotated[Real, Field(gt=0, lt=0.5)] = Field(
        default=0.05, description="The accepted chance of a false alarm over all primary comparisons."
    )
    margin_pct: Annotated[Real, Field(gt=0)] = Field(
        default=10,
        description="The largest difference that counts as none: per cent for amounts, percentage points for success.",
    )
    primary: Annotated[MetricNames, Field(min_length=1)] = Field(
        default=tuple(metric.name for metric in METRICS.shown_in("plan")),
        description="The metrics that verdicts are given on; all others are exploratory.",
    )
    power: Annotated[Real, Field(ge=0.5, lt=1)] = Field(
        default=0.8, description="The chance with which the smallest detectable effect would be detected."
    )
    higher_is_better: MetricNames = Field(
        default=tuple(metric.name for metric in METRICS if metric.better == "higher"),
        description="The metrics of which more is wanted; of every other metric less is.",
    )
    reference_mode: Annotated[Text | None, SetBy("--reference-mode")] = Field(
        default=None, description="The mode that all others are held against; the first of the modes unless given."
    )
    all_pairs: Annotated[Flag, SetBy("--all-pairs", to=True)] = Field(
        default=False,
        description="Compare every two arms that differ in one thing alone, instead of each with the reference; more "
        "comparisons make each harder to show.",
    )
    pool: Annotated[tuple[Pooled, ...], Distinct, SetBy("--pool")] = Field(
        default=(),
        description="What is not told apart: agents, models or both. Their rows are then one arm, in which each weighs "
        "the same.",
        examples=[["models"]],
    )
    resamples: Annotated[Count, Field(ge=999, le=1_000_000)] = Field(
        default=9_999, description="How many shuffles and resamples the tests and intervals take."
    )

    @model_serializer(mode="wrap")
    def _leave_out_usual(self, serialize: SerializerFunctionWrapHandler) -> dict[str, object]:
        # Runs of 0.1.0 have no such keys, and are resumed only with the plan that they were started with.
        values = cast("dict[str, object]", serialize(self))
        usual = {name: AnalysisPlan.model_fields[name].default for name in ("reference_mode", "all_pairs", "pool")}
        return {key: value for key, value in values.items() if key not in usual or getattr(self, key) != usual[key]}
