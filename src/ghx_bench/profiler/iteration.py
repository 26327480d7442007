"""One iteration: a cell is measured, again where that is worth it, and ends as one outcome."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Generic

import anyio

from ghx_bench.profiler.analysis import AnalysisResult
from ghx_bench.profiler.causes import (
    Cause,
    EnvironmentFailure,
    OverranError,
    cause_of,
    describe_error,
    is_transient,
    pause_asked_for_s,
)
from ghx_bench.profiler.cell import Cell
from ghx_bench.profiler.conversation import Conversation, Interrupted
from ghx_bench.profiler.evidence import Evidence, Mode, Stage
from ghx_bench.profiler.instruments import Instruments
from ghx_bench.profiler.metrics import CustomMetric, Timing
from ghx_bench.profiler.outcome import Completed, Failed, Outcome, attempt_of
from ghx_bench.profiler.phases import Phases, allow
from ghx_bench.profiler.row import Attempt
from ghx_bench.profiler.scenario import S
from ghx_bench.profiler.score import Score

Retrying = Callable[[int, str, float], None]
"""Told of a failed attempt: its number, the error in words, and the pause before the next one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Generic[S]):
    """A cell with what it takes to measure it."""

    cell: Cell
    scenario: S
    mode: Mode
    instruments: Instruments[S]


def _ignore(_evidence: Evidence[Any]) -> None:
    """Forget an interrupted session."""


async def iterate(
    task: Task[S], *, retries: int, retrying: Retrying, interrupted: Interrupted = _ignore
) -> tuple[Outcome, tuple[Attempt, ...]]:
    """Measure a cell, again after transient failures, and return the last outcome with all attempts."""
    dice = random.Random(str(task.cell))  # noqa: S311 - jitter, not a secret
    attempts: list[Attempt] = []
    while True:
        outcome = await measure(task, interrupted)
        attempts.append(attempt_of(outcome, len(attempts) + 1))
        if not isinstance(outcome, Failed) or not outcome.may_work_next_time or len(attempts) > retries:
            return outcome, tuple(attempts)
        pause_s = task.instruments.backoff.pause_s(len(attempts), dice.random())
        pause_s = max(pause_s, pause_asked_for_s(outcome.error))
        retrying(len(attempts), describe_error(outcome.error), pause_s)
        await anyio.sleep(pause_s)


async def measure(task: Task[S], interrupted: Interrupted = _ignore) -> Outcome:
    """Run the scenario once and say what happened.

    Returns `Completed` if the agent had its turn, right or wrong; `Failed` if something stopped us from finding out.
    Either carries whatever evidence there was: what the agent spent is never forgotten.
    """
    started_at = task.instruments.clock.now()
    limits, phases = task.instruments.limits, Phases(task.instruments.clock)
    outcome: Outcome | None = None
    error: Exception | None = None
    with anyio.CancelScope() as scope:
        phases.enter("stage")
        allow(scope, limits.setup_s)
        try:
            async with task.instruments.lifecycle.cell(task.cell, task.scenario, task.mode) as stage:
                allow(scope)
                try:
                    outcome = await _measure_on(stage, task, phases, interrupted, started_at)
                finally:
                    allow(scope, limits.cleanup_s, shielded=True)
        except Exception as caught:  # noqa: BLE001 - cell boundary: one bad cell must not cost the rest
            error = caught
    if scope.cancelled_caught:
        error = OverranError("preparing" if outcome is None else "clearing away", "the stage")
    if outcome is None:
        error = error or EnvironmentFailure("the lifecycle left the cell's scope without yielding a stage")
        blame = cause_of(error, otherwise=Cause.ENVIRONMENT)
        return Failed(cell=task.cell, started_at=started_at, cause=blame, error=error)
    # A failing clean-up is noted beside the result, never over it.
    return outcome if error is None else outcome.with_problem("cleanup", error)


async def _measure_on(
    stage: Stage[S], task: Task[S], phases: Phases, interrupted: Interrupted, started_at: datetime
) -> Outcome:
    """Hold the session and score it inside its stage: checkpoints read the world the agent left behind."""
    conversation = Conversation(
        cell=task.cell,
        mode=task.mode,
        stage=stage,
        instruments=task.instruments,
        phases=phases,
        interrupted=interrupted,
    )
    await conversation.hold()
    evidence = conversation.evidence()
    found = await _find_out(conversation, evidence)
    timing = Timing(wall_ms=evidence.timing.wall_ms, segments=phases.segments)
    evidence = replace(evidence, timing=timing, score=found if isinstance(found, Score) else None)
    cell = task.cell
    outcome: Outcome
    match found:
        case Score():
            cause = conversation.cause
            outcome = Completed(cell=cell, started_at=started_at, evidence=evidence, score=found, cause=cause)
        case _Obstacle(cause=cause, error=error):
            outcome = Failed(cell=cell, started_at=started_at, evidence=evidence, cause=cause, error=error)
    for where, problem in conversation.problems:
        outcome = outcome.with_problem(where, problem)
    return _explain(outcome, task.instruments)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Obstacle:
    """Why there is no score, and whose fault that is."""

    cause: Cause
    error: Exception


async def _find_out(conversation: Conversation[S], evidence: Evidence[S]) -> Score | _Obstacle:
    """Let the scorer speak, unless the session broke down before the agent was done."""
    broke = conversation.error
    if broke is not None and not conversation.timed_out:
        unnamed = Cause.MODEL_PROVIDER if is_transient(broke) else Cause.BENCH
        return _Obstacle(cause=cause_of(broke, otherwise=unnamed), error=broke)
    instruments, phases = conversation.instruments, conversation.phases
    phases.enter("score")
    try:
        with anyio.fail_after(instruments.limits.scoring_s):
            return await instruments.scorer.score(evidence)
    except Exception as error:  # noqa: BLE001 - plugin call: trace and spend are kept, the verdict is unknown
        return _Obstacle(cause=Cause.SCORER, error=error)
    finally:
        phases.leave()


def _explain(outcome: Outcome, instruments: Instruments[Any]) -> Outcome:
    """Let collectors and analyzers read the evidence; what one of them raises is noted, and the others go on."""
    evidence = outcome.evidence
    if evidence is None:
        return outcome
    metrics: list[CustomMetric] = []
    analyses: list[AnalysisResult] = []
    for collector in instruments.collectors:
        try:
            metrics.extend(collector.collect(evidence))
        except Exception as error:  # noqa: BLE001 - plugin call
            outcome = outcome.with_problem(f"collector {type(collector).__name__}", error)
    for analyzer in instruments.analyzers if evidence.trace else ():
        try:
            analyses.append(analyzer.analyze(evidence))
        except Exception as error:  # noqa: BLE001 - plugin call
            outcome = outcome.with_problem(f"analyzer {analyzer.name}", error)
    return replace(outcome, metrics=tuple(metrics), analyses=tuple(analyses))
