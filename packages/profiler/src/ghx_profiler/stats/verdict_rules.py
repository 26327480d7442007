"""Verdicts from p-values and intervals: one word, a sentence with the evidence, and notes on limits."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from ghx_profiler.plan.cell import Arm
from ghx_profiler.records.metric_table import METRICS
from ghx_profiler.stats.methods.curves import Curve
from ghx_profiler.stats.methods.scales import (
    ReductionScale,
    format_change,
    format_direction,
    format_natural,
    format_natural_span,
    format_reduction,
    format_span,
    is_amount,
)
from ghx_profiler.stats.observations import SUCCESS, Observations, mark_compared_rows, unmeasured_rows
from ghx_profiler.stats.pairs import PairedSample
from ghx_profiler.stats.plan import PLACES, AnalysisPlan, Target
from ghx_profiler.stats.result_records import (
    FAMILY_NAMES,
    Adjustment,
    AnalysisSet,
    PairedAnalysis,
    RawDifference,
    TargetResult,
    Unit,
    Verdict,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is compared, and by which plan."""

    a: Arm
    b: Arm
    metric: str
    plan: AnalysisPlan
    stratum: str = "agent"
    """Pairing factors in addition to scenario and model."""

    @property
    def more_is_better(self) -> bool:
        """Whether the better mode is the one with more."""
        return self.metric in self.plan.higher_is_better

    @property
    def has_direction(self) -> bool:
        """Whether one of the two ways is the better one: not so for which tools were called, of all there are."""
        entry = METRICS.find(self.metric)
        return self.more_is_better or entry is None or entry.better != "neither"


def decide(question: Question, curve: Curve, p_adjusted: float, equivalence_adjusted: float | None) -> Verdict:
    """Return the word. A difference that was shown comes before equivalence: it excludes 0, however small it is."""
    alpha = question.plan.alpha
    if p_adjusted <= alpha:
        a_is_lower = curve.estimate > 0
        if not question.has_direction:
            return "lower" if a_is_lower else "higher"
        return "better" if a_is_lower != question.more_is_better else "worse"
    if equivalence_adjusted is not None and equivalence_adjusted <= alpha:
        return "equivalent"
    return "inconclusive"


def describe(question: Question, result: TargetResult, unit: Unit, adjustment: Adjustment, *, aside: str = "") -> str:
    """Return the verdict as a sentence, with its target and its numbers; `aside` is added to the numbers."""
    place, metric, name = PLACES[result.target], question.metric, METRICS.label(question.metric)
    evidence = f"{_evidence(metric, result, unit, adjustment)}{aside}"
    match result.verdict:
        case "better" | "worse":
            return (
                f"{question.a} is {result.verdict} than {question.b} {place}: {name} is "
                f"{_change(metric, result, unit)} ({evidence}).{_but_small(question, result, unit)}"
            )
        case "lower" | "higher":
            return (
                f"{name} of {question.a} is {result.verdict} than that of {question.b} {place}: "
                f"{_change(metric, result, unit)} ({evidence}).{_but_small(question, result, unit)}"
            )
        case "equivalent":
            margin = format_reduction(question.plan.margin_pct, unit)
            return (
                f"{question.a} and {question.b} are equivalent {place}: {name} differs by less than the "
                f"planned margin of {margin} ({_evidence_of_equivalence(result, unit, adjustment)}{aside})."
            )
        case "inconclusive":
            return (
                f"No difference between {question.a} and {question.b} in {name} could be shown {place} "
                f"({_change(metric, result, unit)}; {evidence}). {_describe_detectable(question, result, unit)}"
            )
        case "not estimable":
            return explain_no_verdict(metric, [(question.a, question.b)], result)
        case _:
            assert_never(result.verdict)


def explain_no_verdict(metric: str, pairs: Iterable[tuple[object, object]], result: TargetResult) -> str:
    """Return the sentence that nothing can be concluded about a metric of these pairs of modes, and why."""
    between, place = ", ".join(f"{a} and {b}" for a, b in pairs), PLACES[result.target]
    return f"Nothing can be concluded about {METRICS.label(metric)} between {between} {place}: {result.reason}."


def _change(metric: str, result: TargetResult, unit: Unit) -> str:
    if result.reduction_pct is not None:
        return format_change(result.reduction_pct, unit)
    if result.raw is None:
        return ""
    return format_direction(result.raw.reduction, format_natural(metric, abs(result.raw.reduction)))


def _evidence(metric: str, result: TargetResult, unit: Unit, adjustment: Adjustment) -> str:
    bounds = _interval(result.low, result.high, result.confidence, unit, falls=(result.reduction_pct or 0) > 0)
    if result.reduction_pct is None and result.raw is not None:
        bounds = _raw_interval(metric, result.raw, result.confidence)
    return f"{bounds}; {_p(result.p)}{_describe_adjustment(result.p_adjusted, adjustment)}"


def _raw_interval(metric: str, raw: RawDifference, confidence: float) -> str:
    label = _label(confidence)
    if raw.low is None or raw.high is None:
        return f"{label} without bounds"
    return f"{label} {format_natural_span(metric, raw.low, raw.high, falls=raw.reduction > 0)}"


def _evidence_of_equivalence(result: TargetResult, unit: Unit, adjustment: Adjustment) -> str:
    equivalence = result.equivalence
    bounds = _interval(
        equivalence.low, equivalence.high, equivalence.confidence, unit, falls=(result.reduction_pct or 0) > 0
    )
    return f"{bounds}; of equivalence {_p(equivalence.p)}{_describe_adjustment(equivalence.p_adjusted, adjustment)}"


def _describe_adjustment(p: float | None, adjustment: Adjustment) -> str:
    return "" if adjustment == "none" else f", after {FAMILY_NAMES[adjustment]} {_p(p)}"


def _interval(low: float | None, high: float | None, confidence: float, unit: Unit, *, falls: bool) -> str:
    """Return the interval in the direction of the sentence that it stands in."""
    if low is None or high is None:
        return f"{_label(confidence)} without bounds"
    return f"{_label(confidence)} {format_span(low, high, unit, falls=falls)}"


def _label(confidence: float) -> str:
    return f"{100 * confidence:.3g} % interval"


def _but_small(question: Question, result: TargetResult, unit: Unit) -> str:
    if result.equivalence.p_adjusted is None or result.equivalence.p_adjusted > question.plan.alpha:
        return ""
    return f" It is smaller than the planned margin of {format_reduction(question.plan.margin_pct, unit)}."


def _describe_detectable(question: Question, result: TargetResult, unit: Unit) -> str:
    if result.mde is not None:
        smallest = format_reduction(result.mde, unit)
    elif result.raw is not None and result.raw.mde is not None and result.reason is None:
        smallest = format_natural(question.metric, result.raw.mde)
    else:
        return result.reason or "The smallest effect it could have shown cannot be told."
    return f"With a chance of {100 * question.plan.power:.3g} % this sample would have shown a reduction of {smallest}."


def _p(p: float | None) -> str:
    if p is None:
        return "p unknown"
    return f"p = {p:.2g}" if p >= _SMALLEST_SHOWN else f"p < {_SMALLEST_SHOWN:.4f}"


_SMALLEST_SHOWN = 0.0001


def notes_before(
    question: Question, observations: Observations, sample: PairedSample, reductions: ReductionScale
) -> tuple[str, ...]:
    """Return the notes that the rows themselves call for."""
    notes = (
        _note_direction(question),
        _note_raw_scale(question, sample, reductions),
        _note_censored(question, observations, sample),
        _note_failures(question, observations, sample),
        *_note_shared_weights(question, sample),
    )
    return tuple(note for note in notes if note)


def notes_after(target: Target, headline: PairedAnalysis, others: Iterable[PairedAnalysis]) -> tuple[str, ...]:
    """Return the notes on where the verdict depends on a choice of rows."""
    verdict = headline.of(target).verdict
    return tuple(
        f"{_OTHER_ROWS[each.analysis_set]}, the verdict is: {each.of(target).verdict}"
        for each in others
        if each.of(target).verdict != verdict
    )


_OTHER_ROWS: dict[AnalysisSet, str] = {
    "intention-to-treat": "over all attempts, with what rows spent that could not be measured",
    "per-protocol": "per protocol, without rows that could not be measured",
    "both-succeeded": "among rows that succeeded",
}


def _note_direction(question: Question) -> str:
    metric = question.metric
    if question.more_is_better or metric == SUCCESS or is_amount(metric):
        return ""
    return f"of {metric} less is taken to be better; name it under higher_is_better in the plan if more is"


def _note_raw_scale(question: Question, sample: PairedSample, reductions: ReductionScale) -> str:
    if sample.scale == "log" or reductions.is_rate or not sample.blocks:
        return ""
    base = "per cent are of B's mean" if reductions.has_percent else "B's mean is not above 0, so there are no per cent"
    return f"{METRICS.label(question.metric)} is not above 0 everywhere: raw differences instead of logs; {base}"


def _note_censored(question: Question, observations: Observations, sample: PairedSample) -> str:
    entry = METRICS.find(question.metric)
    if entry is None or entry.unit != "ms":
        return ""
    counted = observations.timed_out & mark_compared_rows(observations, question.a, question.b, question.metric, sample)
    counts = [
        f"{count} of {arm}"
        for arm in (question.a, question.b)
        if (count := int(np.count_nonzero(counted & observations.arm.are(arm))))
    ]
    return (
        f"rows stopped by the timeout enter with the time they had, a lower bound: {', '.join(counts)}"
        if counts
        else ""
    )


def _note_failures(question: Question, observations: Observations, sample: PairedSample) -> str:
    if question.metric != SUCCESS:
        return ""
    unmeasured = unmeasured_rows(observations, question.a, question.b, sample)
    counts = [f"{count} of {arm}" for arm, count in unmeasured.items() if count]
    if not counts:
        return ""
    return f"rows that could not be measured count as failures here and are left out per protocol: {', '.join(counts)}"


def _note_shared_weights(question: Question, sample: PairedSample) -> Iterator[str]:
    for what, names in (
        (f"{question.stratum}s", {block.agent for block in sample.blocks}),
        ("models", {block.model for block in sample.blocks}),
    ):
        if len(names) > 1:
            yield f"{what} weigh the same within a scenario: {', '.join(sorted(names))}"
