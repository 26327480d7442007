"""Jobs that wait for an environment: for a reviewer's approval, and for its wait timer."""

from dataclasses import dataclass
from typing import cast

from ghx_twin.queries import lookup
from ghx_twin.queries.actions import workflow_runs
from ghx_twin.queries.actions.job_plans import definitions
from ghx_twin.queries.repositories.protections import protection_of
from ghx_twin.queries.rulesets import rules_of
from ghx_twin.state.clock import parse_time
from ghx_twin.state.records import (
    CheckRun,
    DeploymentReview,
    Environment,
    RunAttempt,
    TeamMember,
    WorkflowRun,
)
from ghx_twin.viewer import Viewer
from ghx_twin.world import World

SECONDS_PER_MINUTE = 60


@dataclass(frozen=True, slots=True)
class Gate:
    """An environment that a job goes to; whether it takes the branch, and whether its reviewers have let the job."""

    environment: Environment
    is_allowed: bool
    is_approved: bool

    @property
    def is_open(self) -> bool:
        """Return whether a job need not wait at all."""
        return self.is_approved and self.environment.wait_timer == 0

    def opens_at(self, job: CheckRun) -> int | None:
        """Return when a waiting job may begin; None while nobody has approved it."""
        waited = self.environment.wait_timer * SECONDS_PER_MINUTE
        return parse_time(job.started_at) + waited if self.is_approved else None


def gate_of(world: World, run: WorkflowRun, attempt: RunAttempt, name: str | None) -> Gate | None:
    """Return the gate in front of a job by the name of its environment; None where the repository has none such."""
    place = world.database.one(Environment, repository_id=run.repository_id, name=name) if name else None
    if place is None:
        return None
    reviews = world.database.all(DeploymentReview, run_id=run.id, environment_id=place.id, state="approved")
    approved = not place.reviewers or any(review.created_at >= attempt.started_at for review in reviews)
    return Gate(place, _takes_branch(world, run, place), approved)


def _takes_branch(world: World, run: WorkflowRun, environment: Environment) -> bool:
    if environment.deployment_branch_policy is None:
        return True
    home, branch = lookup.repository_by_id(world, None, run.repository_id), run.head_branch or ""
    return protection_of(world, home, branch) is not None or bool(rules_of(world, home, f"refs/heads/{branch}"))


def waiting_jobs(world: World, run: WorkflowRun) -> list[tuple[CheckRun, Environment]]:
    """Return the jobs of a run that wait for an environment, each with it."""
    attempt = workflow_runs.latest_attempt(world, run)
    waiting = [job for job in workflow_runs.jobs(world, attempt) if job.status == "waiting"]
    names = {reviews.name: reviews.environment for reviews in reversed(definitions(world, run) if waiting else ())}
    gates = [(job, gate_of(world, run, attempt, names.get(job.name))) for job in waiting]
    return [(job, gate.environment) for job, gate in gates if gate is not None]


def may_review(world: World, viewer: Viewer, run: WorkflowRun, environment: Environment) -> bool:
    """Return whether a viewer is one of the reviewers of an environment, and may review this run."""
    if environment.prevent_self_review and workflow_runs.latest_attempt(world, run).actor_id == viewer.id:
        return False
    for reviewer in environment.reviewers:
        identity = cast("int", reviewer["id"])
        if reviewer["type"] == "User" and identity == viewer.id:
            return True
        if reviewer["type"] == "Team" and world.database.one(TeamMember, team_id=identity, user_id=viewer.id):
            return True
    return False
