"""The logs of jobs and runs, which are downloaded from signed addresses."""

from ghx_twin.commands.actions import workflow_runs as commands
from ghx_twin.queries.actions import workflow_runs
from ghx_twin.queries.permissions import NEEDS_ADMIN
from ghx_twin.refusals import ForbiddenRefusal, GoneRefusal, NotFoundRefusal
from ghx_twin.reply import Reply, no_content
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import CheckRun, RunAttempt, WorkflowRun

_EXPIRED = "Server Error"  # what GitHub says, with 410


def download_job_logs(request: RestRequest) -> Reply:
    """Download job logs for a workflow run."""
    job = workflow_runs.job(request.world, from_path.repository(request), request.number("job_id"))
    origin = workflow_runs.origin(request.world, job)
    assert origin is not None  # noqa: S101 - else it would be no job
    _check_logs(request, origin.attempt, [job])
    return request.redirect_to_download(f"/actions/jobs/{job.id}/logs")


def download_run_logs(request: RestRequest) -> Reply:
    """Download workflow run logs."""
    run = _run(request)
    return _download_attempt_logs(request, run, workflow_runs.latest_attempt(request.world, run))


def download_attempt_logs(request: RestRequest) -> Reply:
    """Download workflow run attempt logs."""
    run = _run(request)
    attempt = workflow_runs.attempt(request.world, run, request.number("attempt_number"))
    return _download_attempt_logs(request, run, attempt)


def delete_run_logs(request: RestRequest) -> Reply:
    """Delete workflow run logs."""
    run = _run(request)
    with request.acting() as act:
        commands.delete_logs(act, run)
    return no_content()


def _run(request: RestRequest) -> WorkflowRun:
    return workflow_runs.run(request.world, from_path.repository(request), request.number("run_id"))


def _download_attempt_logs(request: RestRequest, run: WorkflowRun, attempt: RunAttempt) -> Reply:
    _check_logs(request, attempt, workflow_runs.jobs(request.world, attempt))
    return request.redirect_to_download(f"/actions/runs/{run.id}/attempts/{attempt.number}/logs")


def _check_logs(request: RestRequest, attempt: RunAttempt, jobs: list[CheckRun]) -> None:
    """Refuse logs that are gone, and those of jobs that go on or never ran, which GitHub does not have."""
    if request.viewer.is_anonymous:  # also of public repositories, whose logs all users may read
        raise ForbiddenRefusal(NEEDS_ADMIN)
    if attempt.logs == "expired":
        raise GoneRefusal(_EXPIRED)
    has_ended = all(job.status == "completed" for job in jobs)
    if attempt.logs == "deleted" or not has_ended or not workflow_runs.have_steps(request.world, jobs):
        raise NotFoundRefusal("Could not resolve to logs: there are none, or not yet.")
