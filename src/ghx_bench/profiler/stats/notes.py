"""What a reader must know before believing a comparison."""

from collections.abc import Iterable

import numpy as np

from ghx_bench.profiler.stats.observations import SUCCESS, Observations, rows_compared, unmeasured_rows
from ghx_bench.profiler.stats.pairs import PairedSample
from ghx_bench.profiler.stats.plan import Target
from ghx_bench.profiler.stats.records import AnalysisSet, PairedAnalysis
from ghx_bench.profiler.stats.scales import Reading, is_amount
from ghx_bench.profiler.stats.verdicts import Question


def notes_before(
    question: Question, observations: Observations, sample: PairedSample, reading: Reading
) -> tuple[str, ...]:
    """Say what the rows themselves call for."""
    notes = (
        _direction(question),
        _raw_scale(question, sample, reading),
        _censored(question, observations, sample),
        _counted_as_failures(question, observations, sample),
        _several_models(sample),
    )
    return tuple(note for note in notes if note)


def notes_after(target: Target, headline: PairedAnalysis, others: Iterable[PairedAnalysis]) -> tuple[str, ...]:
    """Say where the verdict depends on a choice of rows."""
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


def _direction(question: Question) -> str:
    metric = question.metric
    if question.more_is_better or metric == SUCCESS or is_amount(metric):
        return ""
    return f"of {metric} less is taken to be better; name it under higher_is_better in the plan if more is"


def _raw_scale(question: Question, sample: PairedSample, reading: Reading) -> str:
    if sample.scale == "log" or reading.is_rate or not sample.blocks:
        return ""
    base = "per cent are of B's mean" if reading.has_percent else "B's mean is not above 0, so there are no per cent"
    return f"{question.metric} is not above 0 everywhere: raw differences instead of logs; {base}"


def _censored(question: Question, observations: Observations, sample: PairedSample) -> str:
    if not question.metric.startswith("latency_"):
        return ""
    counted = observations.timed_out & rows_compared(observations, question.metric, sample)
    counts = [
        f"{count} of {mode}"
        for mode in (question.a, question.b)
        if (count := int(np.count_nonzero(counted & observations.mode.are(mode))))
    ]
    return (
        f"rows stopped by the timeout enter with the time they had, a lower bound: {', '.join(counts)}"
        if counts
        else ""
    )


def _counted_as_failures(question: Question, observations: Observations, sample: PairedSample) -> str:
    if question.metric != SUCCESS:
        return ""
    counts = [
        f"{count} of {mode}"
        for mode in (question.a, question.b)
        if (count := unmeasured_rows(observations, sample, mode))
    ]
    if not counts:
        return ""
    return f"rows that could not be measured count as failures here and are left out per protocol: {', '.join(counts)}"


def _several_models(sample: PairedSample) -> str:
    models = sorted({block.model for block in sample.blocks})
    return f"models weigh the same within a scenario: {', '.join(models)}" if len(models) > 1 else ""
