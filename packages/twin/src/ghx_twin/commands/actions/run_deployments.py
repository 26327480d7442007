"""Deployments that jobs make: reviewed while these wait for an environment, and said to go as the jobs go."""

from collections.abc import Sequence

from ghx_twin.commands.actions import checks, deployments
from ghx_twin.commands.texts import check_unicode, invalid
from ghx_twin.queries import lookup
from ghx_twin.queries.actions import workflow_runs
from ghx_twin.queries.actions.environment_gates import gate_of, may_review, waiting_jobs
from ghx_twin.queries.permissions import require
from ghx_twin.refusals import ForbiddenRefusal, InvalidRefusal
from ghx_twin.state.records import CheckRun, Deployment, DeploymentReview, Environment, WorkflowRun
from ghx_twin.world import Act

_STATES = ("approved", "rejected")


def review(act: Act, run: WorkflowRun, environment_ids: Sequence[int], *, state: str, comment: str) -> list[Deployment]:
    """Approve or reject that waiting jobs of a run go on to some environments; return their deployments."""
    home = lookup.repository_by_id(act.world, act.viewer, run.repository_id)
    require(act, home, "read")
    if state not in _STATES:
        raise invalid("Deployment", "state", value=state)
    check_unicode(comment, resource="Deployment", field="comment")
    waiting = waiting_jobs(act.world, run)
    places = {environment.id: environment for _, environment in waiting}
    if not environment_ids or any(identity not in places for identity in environment_ids):
        raise InvalidRefusal("Environments must be pending review by you, and belong to this workflow run.")
    viewer = act.viewer
    for identity in environment_ids:
        if viewer is not None and not viewer.unrestricted and not may_review(act.world, viewer, run, places[identity]):
            raise ForbiddenRefusal(f"You are not allowed to review deployments to {places[identity].name}.")
    reviews: list[Deployment] = []
    for identity in dict.fromkeys(environment_ids):
        act.database.insert(
            DeploymentReview,
            repository_id=home.id,
            run_id=run.id,
            environment_id=identity,
            user_id=viewer.id if viewer else lookup.default_actor(act.world, home).id,
            state=state,
            comment=comment,
            created_at=act.now,
        )
        jobs = [job for job, environment in waiting if environment.id == identity]
        reviews.append(_apply_review(act, run, places[identity], jobs, is_approved=state == "approved"))
    return reviews


def report_job(act: Act, job: CheckRun, environment: str | None) -> None:
    """Report how the deployment of a job goes, where its workflow file names an environment."""
    origin = workflow_runs.origin(act.world, job) if environment else None
    gate = gate_of(act.world, origin.run, origin.attempt, environment) if origin else None
    if origin is None or gate is None:
        return
    current = act.database.get(CheckRun, job.id) or job
    if current.status != "completed":
        state = "in_progress"
    else:
        state = "success" if current.conclusion == "success" else "failure"
    _report(act, origin.run, gate.environment, state)


def _apply_review(
    act: Act, run: WorkflowRun, environment: Environment, jobs: Sequence[CheckRun], *, is_approved: bool
) -> Deployment:
    for job in jobs:
        if not is_approved:
            act.database.update(job, status="completed", conclusion="failure", completed_at=act.now)
        elif environment.wait_timer == 0:  # else it goes on waiting for the timer
            act.database.update(job, status="queued", started_at=act.now)
        checks.update_attempt(act, job.attempt_id)
    return _report(act, run, environment, "queued" if is_approved else "failure")


def _report(act: Act, run: WorkflowRun, environment: Environment, state: str) -> Deployment:
    home = lookup.repository_by_id(act.world, None, run.repository_id)
    attempt = workflow_runs.latest_attempt(act.world, run)
    known = act.database.all(Deployment, run_id=run.id, environment=environment.name)
    deployment = next((one for one in known if one.created_at >= attempt.started_at), None)
    if deployment is None:
        deployment = act.database.insert(
            Deployment,
            repository_id=home.id,
            run_id=run.id,
            sha=run.head_sha,
            ref=run.head_branch or run.head_sha,
            environment=environment.name,
            payload={},
            production_environment=environment.name == "production",
            creator_id=attempt.actor_id,
            created_at=act.now,
            updated_at=act.now,
        )
    # No matter who approved the deployment: as on GitHub, it is by the user who started the run, and so is how it goes.
    deployments.add_status(act, deployment, environment.name, creator_id=attempt.actor_id, state=state)
    return deployment
