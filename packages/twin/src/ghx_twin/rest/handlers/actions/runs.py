"""Workflows, their runs and jobs."""

from collections.abc import Callable, Sequence
from typing import Any

from ghx_twin.commands.actions import approval, workflows
from ghx_twin.commands.actions import workflow_runs as commands
from ghx_twin.commands.actions.checks import RUN_STATUSES
from ghx_twin.queries.actions import workflow_runs
from ghx_twin.queries.actions.workflow_runs import Origin
from ghx_twin.queries.search.matching import compile_time
from ghx_twin.reply import JsonObject, Reply, json_reply, no_content
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.pagination import page_of
from ghx_twin.rest.render.actions import workflows as render
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import CheckRun, RunAttempt, Workflow, WorkflowRun
from ghx_twin.state.rows import Rows
from ghx_twin.world import Act

_LATEST = (
    "(SELECT {column} FROM run_attempts WHERE run_id = workflow_runs.id AND number = "
    "(SELECT max(number) FROM run_attempts WHERE run_id = workflow_runs.id)) = ?"
)


def list_workflows(request: RestRequest) -> Reply:
    """List repository workflows."""
    records = request.world.database.all(Workflow, repository_id=from_path.repository(request).id)
    return _list_counted(request, "workflows", records, lambda one: render.workflow(request.view, one))


def get_workflow(request: RestRequest) -> Reply:
    """Get a workflow."""
    return json_reply(render.workflow(request.view, _workflow(request)))


def enable_workflow(request: RestRequest) -> Reply:
    """Enable a workflow."""
    return _switch(request, on=True)


def disable_workflow(request: RestRequest) -> Reply:
    """Disable a workflow."""
    return _switch(request, on=False)


def list_runs(request: RestRequest) -> Reply:
    """List workflow runs for a repository."""
    return _list_runs(request, repository_id=from_path.repository(request).id)


def list_workflow_runs(request: RestRequest) -> Reply:
    """List workflow runs for a workflow."""
    return _list_runs(request, workflow_id=_workflow(request).id)


def get_run(request: RestRequest) -> Reply:
    """Get a workflow run."""
    run = _run(request)
    return json_reply(_render_run(request, run, workflow_runs.latest_attempt(request.world, run)))


def delete_run(request: RestRequest) -> Reply:
    """Delete a workflow run."""
    _run_command(request, commands.delete)
    return no_content()


def get_attempt(request: RestRequest) -> Reply:
    """Get a workflow run attempt."""
    run = _run(request)
    return json_reply(_render_run(request, run, _attempt(request, run)))


def list_jobs(request: RestRequest) -> Reply:
    """List jobs for a workflow run."""
    run, database = _run(request), request.world.database
    attempts = database.all(RunAttempt, order="number", run_id=run.id)
    chosen = attempts if request.query.get("filter") == "all" else attempts[-1:]
    return _list_jobs(request, run, chosen)


def list_attempt_jobs(request: RestRequest) -> Reply:
    """List jobs for a workflow run attempt."""
    run = _run(request)
    return _list_jobs(request, run, [_attempt(request, run)])


def rerun(request: RestRequest) -> Reply:
    """Re-run a workflow."""
    return _run_command(request, commands.rerun)


def rerun_failed_jobs(request: RestRequest) -> Reply:
    """Re-run failed jobs from a workflow run."""
    return _run_command(request, commands.rerun_failed)


def cancel(request: RestRequest) -> Reply:
    """Cancel a workflow run."""
    return _run_command(request, commands.cancel, status=202)


def force_cancel(request: RestRequest) -> Reply:
    """Force cancel a workflow run: here no condition of a job can hold up a cancellation."""
    return _run_command(request, commands.cancel, status=202)


def approve(request: RestRequest) -> Reply:
    """Approve a workflow run for a fork pull request."""
    return _run_command(request, approval.approve)


def get_timing(request: RestRequest) -> Reply:
    """Get workflow run usage."""
    return json_reply(render.timing(workflow_runs.latest_attempt(request.world, _run(request))))


def get_job(request: RestRequest) -> Reply:
    """Get a job for a workflow run."""
    job = _job(request)
    origin = workflow_runs.origin(request.world, job)
    assert origin is not None  # noqa: S101 - else it would be no job
    return json_reply(render.job(request.view, job, origin))


def rerun_job(request: RestRequest) -> Reply:
    """Re-run a job from a workflow run."""
    job = _job(request)
    request.body().flag("enable_debug_logging")  # without effect here; a wrong type is refused all the same
    with request.acting() as act:
        commands.rerun_job(act, job)
    return json_reply({}, status=201)


def _run_command(request: RestRequest, command: Callable[[Act, WorkflowRun], object], *, status: int = 201) -> Reply:
    run = _run(request)
    request.body().flag("enable_debug_logging")
    with request.acting() as act:
        command(act, run)
    return json_reply({}, status=status)


def _switch(request: RestRequest, *, on: bool) -> Reply:
    workflow = _workflow(request)
    with request.acting() as act:
        workflows.set_enabled(act, workflow, on=on)
    return no_content()


def _workflow(request: RestRequest) -> Workflow:
    return workflow_runs.workflow(request.world, from_path.repository(request), request.text("workflow_id"))


def _run(request: RestRequest) -> WorkflowRun:
    return workflow_runs.run(request.world, from_path.repository(request), request.number("run_id"))


def _attempt(request: RestRequest, run: WorkflowRun) -> RunAttempt:
    return workflow_runs.attempt(request.world, run, request.number("attempt_number"))


def _job(request: RestRequest) -> CheckRun:
    return workflow_runs.job(request.world, from_path.repository(request), request.number("job_id"))


def _list_runs(request: RestRequest, **where: int) -> Reply:
    columns = {"branch": "head_branch", "event": "event", "head_sha": "head_sha", "check_suite_id": "id"}
    filters = {column: request.query[name] for name, column in columns.items() if request.query.get(name)}
    conditions = [f"{column} = ?" for column in (*where, *filters)]
    values: list[object] = [*where.values(), *filters.values()]
    if status := request.query.get("status"):
        conditions.append(_LATEST.format(column="status" if status in RUN_STATUSES else "conclusion"))
        values.append(status)
    if actor := request.query.get("actor", "").lower().removesuffix("[bot]"):
        conditions.append("actor_id = (SELECT id FROM users WHERE login = ?)")
        values.append(actor)
    database = request.world.database
    runs: Sequence[WorkflowRun] = Rows(
        database, WorkflowRun, f"WHERE {' AND '.join(conditions)} ORDER BY id DESC", values
    )
    if created := request.query.get("created"):  # a range as in searches, which is compared in Python
        is_wanted = compile_time(created, database.now())
        runs = [one for one in runs if is_wanted(one.created_at)]
    page, headers = page_of(request, runs)
    attempts = workflow_runs.latest_attempts(request.world, page)
    entries = [_render_run(request, one, attempts[one.id]) for one in page]
    return json_reply({"total_count": len(runs), "workflow_runs": entries}, headers=headers)


def _render_run(request: RestRequest, run: WorkflowRun, attempt: RunAttempt) -> JsonObject:
    with_pulls = request.query.get("exclude_pull_requests") != "true"
    return render.run(request.view, run, attempt, with_pulls=with_pulls)


def _list_jobs(request: RestRequest, run: WorkflowRun, attempts: list[RunAttempt]) -> Reply:
    origins = [Origin(run, attempt) for attempt in attempts]
    jobs = [(job, origin) for origin in origins for job in workflow_runs.jobs(request.world, origin.attempt)]
    return _list_counted(request, "jobs", jobs, lambda one: render.job(request.view, *one))


def _list_counted(
    request: RestRequest, name: str, records: list[Any], render_record: Callable[[Any], JsonObject]
) -> Reply:
    page, headers = page_of(request, records)
    return json_reply({"total_count": len(records), name: [render_record(one) for one in page]}, headers=headers)
