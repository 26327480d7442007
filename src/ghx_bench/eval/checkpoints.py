"""The scorer of scenarios: every checkpoint asked of GitHub after the session, in order."""

from collections.abc import Mapping

import anyio.to_thread
from pydantic import JsonValue

from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.envelope import Envelope, Failure
from ghx_bench.capabilities.errors import ErrorCode
from ghx_bench.capabilities.execution import execute_task
from ghx_bench.eval.allowance import allowed_changes
from ghx_bench.eval.binding import BindingError
from ghx_bench.eval.collateral import as_checkpoint, collateral_damage
from ghx_bench.eval.evaluation import (
    NO_SCORERS,
    BadConditionError,
    CustomScorer,
    describe_condition,
    evaluate_condition,
)
from ghx_bench.eval.references import bind_references
from ghx_bench.eval.scenario import Checkpoint, EvalScenario
from ghx_bench.eval.staging import StageHandles
from ghx_bench.profiler.errors import UnknownNameError
from ghx_bench.profiler.evidence import Evidence
from ghx_bench.profiler.score import CheckpointDetail, PartialScoreError, Score

_ABOUT_THE_STATE = frozenset({ErrorCode.NOT_FOUND, ErrorCode.VALIDATION})
"""Errors that say something about what the agent left behind; any other says that we could not look."""


class UnreadableStateError(PartialScoreError):
    """GitHub's state could not be read, so whether the task was done is not known; it has what was found before."""

    code = "UNREADABLE_STATE"


class _ObstacleError(Exception):
    """Why a checkpoint could not be made, by no fault of the agent."""


class CheckpointScorer:
    """Asks GitHub about every checkpoint; a later one may use what an earlier one returned.

    A checkpoint that cannot be made because an earlier one returned too little has failed. One that GitHub could not
    be asked about (a broken connection, a refused token) leaves the whole cell unscored. Where the scenario says what
    the agent may change and the world is ours, whatever else it changed is one more failed checkpoint.
    """

    def __init__(self, scorers: Mapping[str, CustomScorer] = NO_SCORERS) -> None:
        self._scorers = scorers

    async def score(self, evidence: Evidence[EvalScenario]) -> Score:
        """Judge the state the agent left behind."""
        handles = _handles(evidence)
        outputs: dict[str, JsonValue] = {}
        details: list[CheckpointDetail] = []
        async with handles.observer() as client:
            for checkpoint in evidence.scenario.assertions.checkpoints:
                try:
                    details.append(await self._check(checkpoint, client, outputs))
                except _ObstacleError as error:
                    reason = f"checkpoint {checkpoint.id}: {error}"
                    raise UnreadableStateError(reason, checkpoints=tuple(details)) from error.__cause__
        return Score.of((*details, *await anyio.to_thread.run_sync(_collateral, evidence, handles)))

    async def _check(
        self, checkpoint: Checkpoint, client: GitHubClient, outputs: dict[str, JsonValue]
    ) -> CheckpointDetail:
        try:
            bound = bind_references(checkpoint, outputs)
        except BindingError as error:
            return _failed(checkpoint, str(error))
        envelope = await execute_task(client, bound.task, bound.input)
        if envelope.error is not None:
            return _refused(bound, envelope, envelope.error, depends_on_others=bound is not checkpoint)
        outputs[checkpoint.id] = envelope.data
        try:
            passed = evaluate_condition(bound.condition, envelope.data, scorers=self._scorers)
        except (BadConditionError, UnknownNameError) as error:
            raise _ObstacleError(str(error)) from error
        return CheckpointDetail(
            id=checkpoint.id,
            description=checkpoint.description,
            passed=passed,
            actual=envelope.data,
            expected=describe_condition(bound.condition),
        )


def _handles(evidence: Evidence[EvalScenario]) -> StageHandles:
    handles = evidence.stage.handles
    if not isinstance(handles, StageHandles):
        raise TypeError("checkpoints need a stage that was prepared by a lifecycle of eval.staging")
    return handles


def _failed(checkpoint: Checkpoint, reason: str) -> CheckpointDetail:
    return CheckpointDetail(
        id=checkpoint.id,
        description=checkpoint.description,
        passed=False,
        expected=describe_condition(checkpoint.condition),
        error=reason,
    )


def _refused(
    checkpoint: Checkpoint, envelope: Envelope, error: Failure, *, depends_on_others: bool
) -> CheckpointDetail:
    """Tell what is not there from what could not be looked at."""
    # An input that nobody can use is the scenario's mistake, unless it came out of what the agent left behind.
    is_mistake = envelope.meta.reason == "INPUT_VALIDATION" and not depends_on_others
    if error.code in _ABOUT_THE_STATE and not is_mistake:
        return _failed(checkpoint, f"{error.code}: {error.message}")
    raise _ObstacleError(f"{checkpoint.task}: {error.code}: {error.message}")


def _collateral(evidence: Evidence[EvalScenario], handles: StageHandles) -> tuple[CheckpointDetail, ...]:
    allowed = allowed_changes(evidence.scenario, handles.bindings.__getitem__)
    if allowed is None or handles.world is None or handles.seeded is None:
        return ()
    damage = collateral_damage(handles.seeded, handles.world, agent=handles.agent, allowed=allowed)
    return (as_checkpoint(damage),)
