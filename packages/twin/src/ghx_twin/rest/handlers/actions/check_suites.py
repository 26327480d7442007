"""Check suites, which are the workflow runs of commits: those of other tools have none of their own here."""

from ghx_twin.queries.actions import workflow_runs
from ghx_twin.reply import Reply, json_reply
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.pagination import page_of
from ghx_twin.rest.render.actions import checks as render
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import CheckRun, RunAttempt, WorkflowRun


def list_check_suites(request: RestRequest) -> Reply:
    """List check suites for a Git reference."""
    home = from_path.repository(request)
    sha = from_path.commit(request, home, request.text("ref"))
    runs = request.world.database.all(WorkflowRun, repository_id=home.id, head_sha=sha)
    latest = workflow_runs.latest_attempts(request.world, runs)
    if name := request.query.get("check_name"):
        runs = [run for run in runs if any(job.name == name for job in _jobs(request, latest[run.id]))]
    if (app := request.query.get("app_id")) and app != str(workflow_runs.ACTIONS_APP_ID):
        runs = []
    page, headers = page_of(request, runs)
    suites = [render.check_suite(request.view, run, latest[run.id]) for run in page]
    return json_reply({"total_count": len(runs), "check_suites": suites}, headers=headers)


def get_check_suite(request: RestRequest) -> Reply:
    """Get a check suite."""
    run = _run(request)
    return json_reply(render.check_suite(request.view, run, workflow_runs.latest_attempt(request.world, run)))


def list_suite_check_runs(request: RestRequest) -> Reply:
    """List check runs in a check suite."""
    run, query = _run(request), request.query
    attempts = request.world.database.all(RunAttempt, order="number", run_id=run.id)
    chosen = attempts if query.get("filter") == "all" else attempts[-1:]
    name, status = query.get("check_name"), query.get("status")
    jobs = [job for attempt in chosen for job in _jobs(request, attempt)]
    selection = [job for job in jobs if name in {None, job.name} and status in {None, job.status}]
    page, headers = page_of(request, selection)
    check_runs = [render.check_run(request.view, job) for job in page]
    return json_reply({"total_count": len(selection), "check_runs": check_runs}, headers=headers)


def _run(request: RestRequest) -> WorkflowRun:
    return workflow_runs.run(request.world, from_path.repository(request), request.number("check_suite_id"))


def _jobs(request: RestRequest, attempt: RunAttempt) -> list[CheckRun]:
    return workflow_runs.jobs(request.world, attempt)
