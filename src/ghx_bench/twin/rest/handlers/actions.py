"""Workflows, their runs and jobs."""

from collections.abc import Callable
from typing import Any

from ghx_bench.twin.commands import workflow_runs as commands
from ghx_bench.twin.commands import workflows
from ghx_bench.twin.commands.checks import RUN_STATUSES
from ghx_bench.twin.queries import workflow_runs
from ghx_bench.twin.queries.search.matching import compile_time
from ghx_bench.twin.queries.workflow_runs import Origin
from ghx_bench.twin.rest.answer import NO_CONTENT, Answer, JsonObject
from ghx_bench.twin.rest.handlers import located
from ghx_bench.twin.rest.pagination import page_of
from ghx_bench.twin.rest.render import workflows as render
from ghx_bench.twin.rest.request import RestRequest
from ghx_bench.twin.state.records import CheckRun, RunAttempt, Workflow, WorkflowRun
from ghx_bench.twin.world import Act


def list_workflows(request: RestRequest) -> Answer:
    """List repository workflows."""
    found = request.world.database.all(Workflow, repository_id=located.repository(request).id)
    return _counted(request, "workflows", found, lambda one: render.workflow(request.view, one))


def get_workflow(request: RestRequest) -> Answer:
    """Get a workflow."""
    return Answer(body=render.workflow(request.view, _workflow(request)))


def enable_workflow(request: RestRequest) -> Answer:
    """Enable a workflow."""
    return _switched(request, on=True)


def disable_workflow(request: RestRequest) -> Answer:
    """Disable a workflow."""
    return _switched(request, on=False)


def list_runs(request: RestRequest) -> Answer:
    """List workflow runs for a repository."""
    return _listed_runs(request, repository_id=located.repository(request).id)


def list_workflow_runs(request: RestRequest) -> Answer:
    """List workflow runs for a workflow."""
    return _listed_runs(request, workflow_id=_workflow(request).id)


def get_run(request: RestRequest) -> Answer:
    """Get a workflow run."""
    run = _run(request)
    return Answer(body=_rendered(request, run, workflow_runs.latest_attempt(request.world, run)))


def delete_run(request: RestRequest) -> Answer:
    """Delete a workflow run."""
    _changed(request, commands.delete)
    return NO_CONTENT


def get_attempt(request: RestRequest) -> Answer:
    """Get a workflow run attempt."""
    run = _run(request)
    return Answer(body=_rendered(request, run, _attempt(request, run)))


def list_jobs(request: RestRequest) -> Answer:
    """List jobs for a workflow run."""
    run, database = _run(request), request.world.database
    attempts = database.all(RunAttempt, order="number", run_id=run.id)
    chosen = attempts if request.query.get("filter") == "all" else attempts[-1:]
    return _listed_jobs(request, run, chosen)


def list_attempt_jobs(request: RestRequest) -> Answer:
    """List jobs for a workflow run attempt."""
    run = _run(request)
    return _listed_jobs(request, run, [_attempt(request, run)])


def list_artifacts(request: RestRequest) -> Answer:
    """List workflow run artifacts: nothing runs here, so there are none."""
    _run(request)
    return _counted(request, "artifacts", list[Any](), lambda each: each)


def rerun(request: RestRequest) -> Answer:
    """Re-run a workflow."""
    return _changed(request, commands.rerun)


def rerun_failed_jobs(request: RestRequest) -> Answer:
    """Re-run failed jobs from a workflow run."""
    return _changed(request, commands.rerun_failed)


def cancel(request: RestRequest) -> Answer:
    """Cancel a workflow run."""
    return _changed(request, commands.cancel, status=202)


def get_job(request: RestRequest) -> Answer:
    """Get a job for a workflow run."""
    job = _job(request)
    origin = workflow_runs.origin(request.world, job)
    assert origin is not None  # noqa: S101 - else it would be no job
    return Answer(body=render.job(request.view, job, origin))


def rerun_job(request: RestRequest) -> Answer:
    """Re-run a job from a workflow run."""
    job = _job(request)
    request.body().flag("enable_debug_logging")
    with request.acting() as act:
        commands.rerun_job(act, job)
    return Answer(status=201, body={})


def _changed(request: RestRequest, command: Callable[[Act, WorkflowRun], object], *, status: int = 201) -> Answer:
    run = _run(request)
    request.body().flag("enable_debug_logging")
    with request.acting() as act:
        command(act, run)
    return Answer(status=status, body={})


def _switched(request: RestRequest, *, on: bool) -> Answer:
    found = _workflow(request)
    with request.acting() as act:
        workflows.set_enabled(act, found, on=on)
    return NO_CONTENT


def _workflow(request: RestRequest) -> Workflow:
    return workflow_runs.workflow(request.world, located.repository(request), request.text("workflow_id"))


def _run(request: RestRequest) -> WorkflowRun:
    return workflow_runs.run(request.world, located.repository(request), request.number("run_id"))


def _attempt(request: RestRequest, run: WorkflowRun) -> RunAttempt:
    return workflow_runs.attempt(request.world, run, request.number("attempt_number"))


def _job(request: RestRequest) -> CheckRun:
    return workflow_runs.job(request.world, located.repository(request), request.number("job_id"))


def _listed_runs(request: RestRequest, **where: int) -> Answer:
    named = {"branch": "head_branch", "event": "event", "head_sha": "head_sha", "check_suite_id": "id"}
    equals: dict[str, Any] = {column: request.query[name] for name, column in named.items() if request.query.get(name)}
    runs = request.world.database.all(WorkflowRun, order="id DESC", **where, **equals)
    attempts = workflow_runs.latest_attempts(request.world, runs)
    is_wanted = _question(request)
    chosen = [one for one in runs if is_wanted(one, attempts[one.id])]
    return _counted(request, "workflow_runs", chosen, lambda one: _rendered(request, one, attempts[one.id]))


def _question(request: RestRequest) -> Callable[[WorkflowRun, RunAttempt], bool]:
    """Return whether a run is what the query asks for beyond what columns hold."""
    query, world = request.query, request.world
    status, actor = query.get("status"), query.get("actor", "").lower().removesuffix("[bot]")
    created = compile_time(query["created"], world.database.now()) if query.get("created") else None

    def is_wanted(run: WorkflowRun, attempt: RunAttempt) -> bool:
        if status and status != (attempt.status if status in RUN_STATUSES else attempt.conclusion):
            return False
        if actor and request.view.user(run.actor_id).login.lower() != actor:
            return False
        return created is None or created(run.created_at)

    return is_wanted


def _rendered(request: RestRequest, run: WorkflowRun, attempt: RunAttempt) -> JsonObject:
    with_pulls = request.query.get("exclude_pull_requests") != "true"
    return render.run(request.view, run, attempt, with_pulls=with_pulls)


def _listed_jobs(request: RestRequest, run: WorkflowRun, attempts: list[RunAttempt]) -> Answer:
    origins = [Origin(run, attempt) for attempt in attempts]
    jobs = [(job, origin) for origin in origins for job in workflow_runs.jobs(request.world, origin.attempt)]
    return _counted(request, "jobs", jobs, lambda one: render.job(request.view, *one))


def _counted(request: RestRequest, name: str, found: list[Any], shown: Callable[[Any], JsonObject]) -> Answer:
    page, headers = page_of(request, found)
    return Answer(body={"total_count": len(found), name: [shown(one) for one in page]}, headers=headers)
