"""What a reader must know before believing a comparison."""

import numpy as np

from ghx_bench.profiler.stats.observations import SUCCESS, Observations
from ghx_bench.profiler.stats.pairs import PairedSample
from ghx_bench.profiler.stats.plan import Target
from ghx_bench.profiler.stats.records import PairedAnalysis
from ghx_bench.profiler.stats.scales import Reading
from ghx_bench.profiler.stats.verdicts import Question

_LESS_IS_BETTER = ("tokens_", "latency_", "tool_calls_", "cost_", "agent_turns")


def notes_before(
    question: Question, observations: Observations, sample: PairedSample, reading: Reading
) -> tuple[str, ...]:
    """Say what the rows themselves call for."""
    notes = (
        _direction(question),
        _raw_scale(question, sample, reading),
        _censored(question, observations),
        _counted_as_failures(question, observations),
        _several_models(sample),
    )
    return tuple(note for note in notes if note)


def notes_after(target: Target, treated: PairedAnalysis, protocol: PairedAnalysis) -> tuple[str, ...]:
    """Say where the verdict depends on a choice of rows."""
    verdict, other = treated.of(target).verdict, protocol.of(target).verdict
    if verdict == other:
        return ()
    return (f"per protocol, without rows that could not be measured, the verdict is: {other}",)


def _direction(question: Question) -> str:
    metric = question.metric
    if question.more_is_better or metric == SUCCESS or metric.startswith(_LESS_IS_BETTER):
        return ""
    return f"of {metric} less is taken to be better; name it under higher_is_better in the plan if more is"


def _raw_scale(question: Question, sample: PairedSample, reading: Reading) -> str:
    if sample.scale == "log" or reading.is_rate or not sample.blocks:
        return ""
    base = "per cent are of B's mean" if reading.has_percent else "B's mean is not above 0, so there are no per cent"
    return f"{question.metric} is not above 0 everywhere: raw differences instead of logs; {base}"


def _censored(question: Question, observations: Observations) -> str:
    if not question.metric.startswith("latency_"):
        return ""
    counts = [
        f"{count} of {mode}"
        for mode in (question.a, question.b)
        if (count := int(np.count_nonzero(observations.timed_out & observations.mode.are(mode))))
    ]
    return (
        f"rows stopped by the timeout enter with the time they had, a lower bound: {', '.join(counts)}"
        if counts
        else ""
    )


def _counted_as_failures(question: Question, observations: Observations) -> str:
    if question.metric != SUCCESS:
        return ""
    counts = [
        f"{count} of {mode}"
        for mode in (question.a, question.b)
        if (count := int(np.count_nonzero(observations.mode.are(mode) & ~observations.was_measured)))
    ]
    if not counts:
        return ""
    return f"rows that could not be measured count as failures here and are left out per protocol: {', '.join(counts)}"


def _several_models(sample: PairedSample) -> str:
    models = sorted({block.model for block in sample.blocks})
    return f"models weigh the same within a scenario: {', '.join(models)}" if len(models) > 1 else ""
