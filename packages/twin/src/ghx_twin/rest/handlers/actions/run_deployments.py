"""Runs that wait for an environment, and who let them go on."""

from ghx_twin.commands.actions import run_deployments
from ghx_twin.queries.actions import workflow_runs
from ghx_twin.queries.actions.environment_gates import may_review, waiting_jobs
from ghx_twin.reply import JsonObject, Reply, json_reply
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.render.actions import deployments as render
from ghx_twin.rest.render.users import simple_user
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import DeploymentReview, Environment, WorkflowRun


def list_pending(request: RestRequest) -> Reply:
    """Get pending deployments for a workflow run."""
    run = _run(request)
    since = {place.id: job.started_at for job, place in reversed(waiting_jobs(request.world, run))}
    places = {place.id: place for _, place in waiting_jobs(request.world, run)}
    return json_reply([_pending(request, run, place, since[identity]) for identity, place in places.items()])


def review_pending(request: RestRequest) -> Reply:
    """Review pending deployments for a workflow run."""
    run, body = _run(request), request.body()
    body.require("environment_ids", "state", "comment")
    ids = [one for one in body.items("environment_ids") or () if isinstance(one, int)]
    state = body.choice("state", ("approved", "rejected")) or ""
    with request.acting() as act:
        review = run_deployments.review(act, run, ids, state=state, comment=body.required_text("comment"))
    return json_reply([render.deployment(request.view, one) for one in review])


def list_reviews(request: RestRequest) -> Reply:
    """Get the review history for a workflow run."""
    deployment_reviews = request.world.database.all(DeploymentReview, run_id=_run(request).id)
    return json_reply([_review(request, one) for one in deployment_reviews])


def _run(request: RestRequest) -> WorkflowRun:
    return workflow_runs.run(request.world, from_path.repository(request), request.number("run_id"))


def _pending(request: RestRequest, run: WorkflowRun, place: Environment, since: str) -> JsonObject:
    return {
        "environment": render.simple_environment(request.view, place),
        "wait_timer": place.wait_timer,
        "wait_timer_started_at": since if place.wait_timer else None,
        "current_user_can_approve": may_review(request.world, request.viewer, run, place),
        "reviewers": render.reviewers(request.view, place),
    }


def _review(request: RestRequest, review: DeploymentReview) -> JsonObject:
    place = request.world.database.get(Environment, review.environment_id)
    environments = (
        [
            {
                **render.simple_environment(request.view, place),
                "created_at": place.created_at,
                "updated_at": place.updated_at,
            }
        ]
        if place
        else []
    )
    return {
        "environments": environments,
        "state": review.state,
        "comment": review.comment,
        "user": simple_user(request.view, request.view.user(review.user_id)),
    }
