"""Statuses and check runs of a commit, and what they add up to."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from ghx_twin.queries.actions.workflow_runs import latest_attempts
from ghx_twin.state.records import CheckRun, Repository, Status, WorkflowRun
from ghx_twin.world import World

State = Literal["ERROR", "FAILURE", "PENDING", "EXPECTED", "SUCCESS"]

_PASSED = frozenset({"success", "neutral", "skipped"})
_WORST_FIRST: tuple[State, ...] = ("ERROR", "FAILURE", "PENDING", "EXPECTED", "SUCCESS")
_STATES: dict[str, State] = {"error": "ERROR", "failure": "FAILURE", "pending": "PENDING", "success": "SUCCESS"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollup:
    """The newest status of each context and the newest check run of each name, and what they add up to."""

    state: State
    statuses: tuple[Status, ...]
    check_runs: tuple[CheckRun, ...]

    @property
    def contexts(self) -> tuple[CheckRun | Status, ...]:
        """Return both kinds, check runs first, each oldest first."""
        return (*self.check_runs, *self.statuses)


def rollup(world: World, repository: Repository, sha: str) -> Rollup | None:
    """Return the sum of what was reported on a commit; None where nothing was."""
    statuses, runs = latest_statuses(world, repository, sha), latest_check_runs(world, repository, sha)
    states: set[State] = {state_of(context) for context in (*statuses, *runs)}
    if not states:
        return None
    return Rollup(state=_worst(states), statuses=tuple(statuses), check_runs=tuple(runs))


def latest_statuses(world: World, repository: Repository, sha: str) -> list[Status]:
    """Return the newest status of each context, oldest context first."""
    statuses = {status.context: status for status in world.database.all(Status, repository_id=repository.id, sha=sha)}
    return list(statuses.values())


def latest_check_runs(world: World, repository: Repository, sha: str) -> list[CheckRun]:
    """Return the newest check run of each name, oldest name first; of jobs, those of the latest attempts."""
    check_runs = world.database.all(CheckRun, repository_id=repository.id, head_sha=sha)
    if all(one.attempt_id is None for one in check_runs):
        return list({one.name: one for one in check_runs}.values())
    runs = world.database.all(WorkflowRun, repository_id=repository.id, head_sha=sha)
    latest = {attempt.id: attempt.run_id for attempt in latest_attempts(world, runs).values()}
    origins = {run.id: (run.workflow_id, run.event) for run in runs}
    # By workflow and event too: a workflow that runs for a push and for a pull request has two jobs of one name.
    counting = [one for one in check_runs if one.attempt_id is None or one.attempt_id in latest]
    return list({(origins.get(latest.get(one.attempt_id or 0, 0)), one.name): one for one in counting}.values())


def combined_state(statuses: list[Status]) -> Literal["failure", "pending", "success"]:
    """Return REST's combined status of a commit; without any report it is pending."""
    states = {status.state for status in statuses}
    if states & {"error", "failure"}:
        return "failure"
    return "pending" if "pending" in states or not states else "success"


def state_of(context: CheckRun | Status) -> State:
    """Return the state of one status or check run, in the terms of statuses."""
    if isinstance(context, Status):
        return _STATES[context.state]
    if context.status != "completed":
        return "PENDING"
    return "SUCCESS" if context.conclusion in _PASSED else "FAILURE"


def state_of_required(world: World, repository: Repository, sha: str, name: str) -> State:
    """Return the state of a required check; EXPECTED while nothing was reported under its name."""
    reported = rollup(world, repository, sha)
    contexts = [c for c in (reported.contexts if reported else ()) if name_of(c) == name]
    states: set[State] = {state_of(context) for context in contexts}
    return _worst(states) if states else "EXPECTED"


def name_of(context: CheckRun | Status) -> str:
    """Return the name by which branch protection requires a status or check run."""
    return context.context if isinstance(context, Status) else context.name


def _worst(states: Collection[State]) -> State:
    return next(state for state in _WORST_FIRST if state in states)
