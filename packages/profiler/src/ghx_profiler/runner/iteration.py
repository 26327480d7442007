"""One iteration: a cell is measured, again where that is worth it, and ends as one outcome."""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Generic

import anyio
from anyio import to_thread

from ghx_profiler.evidence import EndedSession, Evidence, Mode, Stage
from ghx_profiler.plan.cell import Cell
from ghx_profiler.records.activity import SessionActivity
from ghx_profiler.records.causes import (
    Cause,
    EnvironmentFailure,
    OverranError,
    cause_of,
    describe_error,
    is_transient,
    requested_pause_s,
)
from ghx_profiler.records.outcome import Completed, Failed, Outcome, attempt_of, interrupted_attempt
from ghx_profiler.records.row import Attempt
from ghx_profiler.records.score import Score
from ghx_profiler.runner.conversation import Conversation
from ghx_profiler.runner.deadlines import Phases, Suspensions, set_deadline
from ghx_profiler.runner.instruments import Instruments
from ghx_profiler.runner.plugins import plugin_call, require, run_analyzers, run_collectors
from ghx_profiler.runner.redaction import Redaction
from ghx_profiler.scenario import S
from ghx_profiler.session_limits import Allowance, SessionLimits

ReportRetry = Callable[[Attempt, float], Awaitable[None]]
"""Called with a failed attempt and the pause before the next one."""


@dataclass(slots=True, kw_only=True)
class Task(Generic[S]):
    """A cell with what it takes to measure it, and how far that has come.

    The last three are for reporting the spending of an interrupted cell.
    """

    cell: Cell
    scenario: S
    mode: Mode
    instruments: Instruments[S]
    suspensions: Suspensions = field(default_factory=Suspensions)
    session_limits: SessionLimits = field(default_factory=SessionLimits)
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    conversation: Conversation[S] | None = None
    started_at: datetime | None = None

    def list_attempts(self) -> tuple[Attempt, ...]:
        """Return the attempts so far, with the one that goes on."""
        if self.conversation is None or self.started_at is None:
            return tuple(self.attempts)
        going_on = interrupted_attempt(self.conversation.evidence(), len(self.attempts) + 1, self.started_at)
        return (*self.attempts, going_on)


async def iterate(task: Task[S], *, retries: int, report_retry: ReportRetry) -> Outcome:
    """Measure a cell, again after transient failures, and return the last outcome; `task.attempts` has them all."""
    # Seeded by the cell: pauses differ between cells, which then do not all come back at once, and are reproducible.
    jitter = random.Random(str(task.cell))  # noqa: S311 - jitter, not a secret
    attempts = task.attempts
    retries += sum(each.is_of_machine for each in attempts)  # on other machines before
    while True:
        outcome = await measure(task)
        attempts.append(attempt_of(outcome, len(attempts) + 1))
        task.conversation = None  # what it spent is on its attempt now, and must not be counted again
        if not isinstance(outcome, Failed) or not outcome.may_work_next_time or len(attempts) > retries:
            return outcome
        pause_s = task.instruments.backoff.pause_s(len(attempts), jitter.random())
        # Never less than the service requested: an earlier call prolongs a rate limit.
        pause_s = max(pause_s, requested_pause_s(outcome.error))
        await report_retry(attempts[-1], pause_s)
        await anyio.sleep(pause_s)


async def measure(task: Task[S]) -> Outcome:
    """Run the scenario once and return what happened.

    Returns `Completed` if the agent had its turn, right or wrong; `Failed` if something stopped us from finding out.
    Either carries whatever evidence there was: what the agent spent is never forgotten.
    """
    task.started_at = started_at = task.instruments.clock.now()
    limits, phases = task.instruments.limits, Phases(task.instruments.clock)
    outcome: Outcome | None = None
    error: Exception | None = None
    with anyio.CancelScope() as scope:
        phases.enter("stage")
        set_deadline(scope, limits.setup_s)
        lifecycle = task.instruments.lifecycle
        async with plugin_call(scope) as staging, lifecycle.cell(task.cell, task.scenario, task.mode) as stage:
            set_deadline(scope)
            try:
                require(stage, Stage, "Lifecycle.cell()")  # pyright: ignore[reportUnknownArgumentType] - it may be anything
                outcome = await _measure_on(stage, task, phases, started_at)
            finally:
                # Shielded: Ctrl-C must not skip clearing away what this cell works in, here as after the session.
                set_deadline(scope, limits.cleanup_s, shielded=True)
        error = staging.error
    if scope.cancelled_caught:
        error = OverranError("preparing" if outcome is None else "clearing away", "the stage")
    if outcome is None:
        return _without_outcome(task, started_at, error)
    # A failing clean-up is noted next to the result and does not replace it.
    return outcome if error is None else outcome.with_problem("cleanup", error)


def _without_outcome(task: Task[Any], started_at: datetime, error: Exception | None) -> Failed:
    """Return that the stage gave way, with all that the session had done by then."""
    error = error or EnvironmentFailure("the lifecycle swallowed what went wrong in the cell's scope")
    cause = cause_of(error, otherwise=Cause.ENVIRONMENT)
    conversation = task.conversation
    secrets = task.instruments.secrets_of(task.mode)
    return Failed(
        cell=task.cell,
        started_at=started_at,
        cause=cause,
        error=error,
        evidence=conversation.evidence() if conversation else None,
        redaction=conversation.redaction if conversation else Redaction.of(secrets),
    )


async def _measure_on(stage: Stage[S], task: Task[S], phases: Phases, started_at: datetime) -> Outcome:
    """Hold the session and score it inside its stage: checkpoints read the world the agent left behind."""
    conversation = Conversation(
        cell=task.cell,
        mode=task.mode,
        stage=stage,
        instruments=task.instruments,
        phases=phases,
        suspensions=task.suspensions,
        allowance=Allowance(limits=task.session_limits, folders=_folders_of(stage)),
    )
    task.conversation = conversation
    await conversation.hold()
    await conversation.check_tools()
    evidence = conversation.evidence()
    result = await _score(conversation, evidence)
    evidence = replace(evidence, timing=conversation.timing(), score=result if isinstance(result, Score) else None)
    cell = task.cell
    outcome: Outcome
    match result:
        case Score():
            cause = conversation.cause
            outcome = Completed(cell=cell, started_at=started_at, evidence=evidence, score=result, cause=cause)
            tampered = conversation.changed_tools if conversation.has_tampered else None
            details = tampered or conversation.allowance.broken or conversation.blocked
            if details is not None:
                outcome = replace(outcome, cut_short_by=describe_error(details))
            elif conversation.trace is not None and conversation.trace.cause is not None:
                outcome = replace(outcome, cut_short_by=conversation.trace.cause.message)
        case ScoringFailure(cause=cause, error=error):
            outcome = Failed(cell=cell, started_at=started_at, evidence=evidence, cause=cause, error=error)
            if conversation.changed_tools not in (None, error):
                outcome = outcome.with_problem("tools", conversation.changed_tools)
    outcome = replace(outcome, redaction=conversation.redaction)
    for where, problem in conversation.problems:
        outcome = outcome.with_problem(where, problem)
    outcome = run_collectors(outcome, evidence, task.instruments.collectors)
    outcome = run_analyzers(outcome, evidence, task.instruments.analyzers)
    return outcome if cell.is_canary else await _keep(await _observe(outcome, evidence), evidence)


async def _observe(outcome: Outcome, evidence: Evidence[Any]) -> Outcome:
    """Return the outcome with the changes and requests of the session, without its secrets."""
    observe = evidence.stage.observe
    if observe is None:
        return outcome
    async with plugin_call() as observing:
        # In a thread: comparing two worlds takes a while, and other cells wait for this loop.
        observed = await to_thread.run_sync(observe)
        if observed is not None:
            activity = require(observed, SessionActivity, "Stage.observe()")
            session_id = evidence.trace.session_id if evidence.trace else ""
            identified = activity.model_copy(update={"session_id": session_id})
            outcome = replace(outcome, activity=outcome.redaction.record(identified, keeping=("sessionId",)))
    return outcome if observing.error is None else outcome.with_problem("activity", observing.error)


async def _keep(outcome: Outcome, evidence: Evidence[Any]) -> Outcome:
    """Have the stage save the session's world; a failure is noted next to the result."""
    keep = evidence.stage.keep
    if keep is None:
        return outcome
    success = isinstance(outcome, Completed) and outcome.success
    async with plugin_call() as keeping:
        await to_thread.run_sync(keep, EndedSession(evidence=evidence, success=success, redact=outcome.redaction.text))
    return outcome if keeping.error is None else outcome.with_problem("world", keeping.error)


def _folders_of(stage: Stage[Any]) -> tuple[Path, ...]:
    """Return the folders of a session's files, as far as its stage has them."""
    environment_folders = (Path(stage.environment[name]) for name in _OWN_FOLDERS if stage.environment.get(name))
    own = (each for each in (stage.own_folder, stage.directory) if each is not None)
    # Resolved now: later, a folder that is a link was made one by the agent, and may lead anywhere.
    return tuple(dict.fromkeys(each.resolve() for each in (*own, *environment_folders)))


_OWN_FOLDERS = ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringFailure:
    """The reason without a score, and its cause."""

    cause: Cause
    error: Exception


async def _score(conversation: Conversation[S], evidence: Evidence[S]) -> Score | ScoringFailure:
    """Return the score, or what was in the way of one; a session that broke down is not scored."""
    broke = conversation.failure
    if broke is not None:
        unnamed = Cause.MODEL_PROVIDER if is_transient(broke) else Cause.BENCH
        if conversation.prompted_at is not None:
            return ScoringFailure(cause=cause_of(broke, otherwise=unnamed), error=broke)
        # The agent was not prompted yet: a program that does not start is not its failure.
        cause = cause_of(broke, otherwise=Cause.ENVIRONMENT)
        return ScoringFailure(cause=Cause.ENVIRONMENT if cause.is_the_agents_own else cause, error=broke)
    instruments, phases = conversation.instruments, conversation.phases
    phases.enter("score")
    scores: list[Score] = []
    async with plugin_call() as scoring:
        with anyio.fail_after(instruments.limits.scoring_s):
            scores.append(require(await instruments.scorer.score(evidence), Score, "Scorer.score()"))
    phases.leave()
    # Without a score, trace and spend are kept, and the verdict is unknown.
    return ScoringFailure(cause=Cause.SCORER, error=scoring.error) if scoring.error else scores[0]
