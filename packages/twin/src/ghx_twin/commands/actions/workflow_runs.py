"""Runs of workflows: started, re-run, cancelled, deleted.

Where a workflow has a script, `actions.progress` plays its runs. Else, as where no runner is online, the jobs of an
attempt stay queued until a client reports how they ended (`checks.update_check_run`, which is
`PATCH .../check-runs/{id}` for Apps).
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from ghx_twin.commands import cascade, kernel, texts
from ghx_twin.commands.actions import checks, starting
from ghx_twin.commands.pulls import merges
from ghx_twin.queries import permissions
from ghx_twin.queries.actions import job_plans, workflow_runs
from ghx_twin.refusals import ConflictRefusal, ForbiddenRefusal, InvalidRefusal
from ghx_twin.state.records import (
    Annotation,
    Artifact,
    CheckRun,
    Record,
    Repository,
    RunAttempt,
    Step,
    Workflow,
    WorkflowRun,
)
from ghx_twin.world import Act

RUNNING = "This workflow is already running"
NOT_RETRIED = "This workflow run cannot be retried"
_OLD_JOB = "Only jobs from the current attempt can be re-run"
_COMPLETED = "Cannot cancel a workflow run that is completed."
_NOT_COMPLETED = "Cannot delete a workflow run that is not completed."
_LOGS_IN_USE = "Cannot delete logs of a workflow run that is not completed."


def create(
    act: Act,
    workflow: Workflow,
    *,
    sha: str,
    event: str = "push",
    branch: str | None = None,
    title: str | None = None,
    number: int | None = None,
    identity: int | None = None,
    conclusion: str | None = None,
    inputs: Mapping[str, Any] | None = None,
) -> WorkflowRun:
    """Add a run for a commit with its first attempt and no job yet; a conclusion ends it without any.

    Its title is that of the pull request or of the commit, if left out.
    """
    home = _repository_of(act, workflow)
    permissions.require(act, home, "write")
    commit = checks.commit_of(act, home, sha)
    texts.check_unicode_all({"event": event, "branch": branch, "title": title}, resource="WorkflowRun")
    if not event.strip():
        raise texts.missing("WorkflowRun", "event")
    _refuse_taken(act, workflow, number, identity)
    run = starting.insert_run(
        act, workflow, sha=commit, event=event, branch=branch, title=title, number=number, identity=identity,
        inputs=inputs,
    )  # fmt: skip
    begin_attempt(act, run, conclusion=conclusion)
    return run


def begin_attempt(act: Act, run: WorkflowRun, *, conclusion: str | None = None) -> RunAttempt:
    """Add the next attempt at a run, without jobs yet, whether or not the one before has ended."""
    home = _repository_of(act, run)
    permissions.require(act, home, "write")
    if conclusion is not None and conclusion not in checks.CONCLUSIONS:
        raise texts.invalid("WorkflowRun", "conclusion", value=conclusion)
    return starting.insert_attempt(act, run, conclusion=conclusion)


def add_job(
    act: Act,
    run: WorkflowRun,
    *,
    name: str,
    status: str | None = None,
    conclusion: str | None = None,
    details_url: str | None = None,
    title: str | None = None,
    summary: str | None = None,
    completed_at: str | None = None,
) -> CheckRun:
    """Add a job to the latest attempt; one with a conclusion is completed."""
    return checks.create_check_run(
        act, _repository_of(act, run), sha=run.head_sha, name=name, status=status, conclusion=conclusion,
        details_url=details_url, title=title, summary=summary, completed_at=completed_at,
        attempt=workflow_runs.latest_attempt(act.world, run),
    )  # fmt: skip


def rerun(act: Act, run: WorkflowRun) -> RunAttempt:
    """Re-run every job."""
    return _rerun_jobs(act, run, lambda _: True)


def rerun_failed(act: Act, run: WorkflowRun) -> RunAttempt:
    """Re-run the jobs that failed or were cancelled, and those that need them; others are copied as they ended."""
    return _rerun_jobs(act, run, lambda job: job.conclusion in workflow_runs.FAILED)


def rerun_job(act: Act, job: CheckRun) -> RunAttempt:
    """Re-run one job, and those that need it; the new attempt copies the others as they ended."""
    origin = workflow_runs.origin(act.world, job)
    if origin is None:
        raise ForbiddenRefusal(NOT_RETRIED)
    permissions.require(act, _repository_of(act, origin.run), "write")
    if workflow_runs.latest_attempt(act.world, origin.run) != origin.attempt:
        raise ForbiddenRefusal(_OLD_JOB)
    return _rerun_jobs(act, origin.run, lambda each: each.id == job.id)


def cancel(act: Act, run: WorkflowRun) -> None:
    """Cancel a run: its jobs that have not ended are cancelled."""
    permissions.require(act, _repository_of(act, run), "write")
    attempt = workflow_runs.latest_attempt(act.world, run)
    if attempt.status == "completed":
        raise ConflictRefusal(_COMPLETED)
    jobs = workflow_runs.jobs(act.world, attempt)
    for job in jobs:
        if job.status != "completed":
            act.database.update(job, status="completed", conclusion="cancelled", completed_at=act.now)
            _end_steps(act, job)
    if jobs:
        checks.update_attempt(act, attempt.id)
    else:
        act.database.update(attempt, status="completed", conclusion="cancelled", updated_at=act.now)


def delete(act: Act, run: WorkflowRun) -> None:
    """Delete a run that has ended, with its jobs."""
    permissions.require(act, _repository_of(act, run), "write")
    if workflow_runs.latest_attempt(act.world, run).status != "completed":
        raise ForbiddenRefusal(_NOT_COMPLETED)
    cascade.delete_all(act.database, (*cascade.under_run(act.database, run), run))
    cascade.clear_links_to_run(act.database, run)
    merges.attempt_auto_merges(act, run.repository_id, run.head_sha)


def delete_logs(act: Act, run: WorkflowRun) -> None:
    """Delete the logs of all attempts at a run that has ended."""
    permissions.require(act, _repository_of(act, run), "write")
    if workflow_runs.latest_attempt(act.world, run).status != "completed":
        raise ForbiddenRefusal(_LOGS_IN_USE)
    for attempt in act.database.all(RunAttempt, run_id=run.id):
        act.database.update(attempt, logs="deleted")


def delete_artifact(act: Act, artifact: Artifact) -> None:
    """Delete an artifact."""
    permissions.require(act, _repository_of(act, artifact), "write")
    act.database.delete(kernel.reload(act, artifact))


def _end_steps(act: Act, job: CheckRun) -> None:
    """End the steps of a cancelled job: the one that was under way is cancelled, those after it are skipped."""
    for step in workflow_runs.steps(act.world, job):
        if step.status != "completed":
            ending = "cancelled" if step.status == "in_progress" else "skipped"
            act.database.update(step, status="completed", conclusion=ending, completed_at=act.now)


def _rerun_jobs(act: Act, run: WorkflowRun, is_wanted: Callable[[CheckRun], bool]) -> RunAttempt:
    current = kernel.reload(act, run)
    permissions.require(act, _repository_of(act, current), "write")
    latest = workflow_runs.latest_attempt(act.world, current)
    if latest.status != "completed":
        raise ForbiddenRefusal(RUNNING)
    jobs = workflow_runs.jobs(act.world, latest)
    selection = job_plans.with_dependents(act.world, current, {job.name for job in jobs if is_wanted(job)})
    if not selection:
        raise ForbiddenRefusal(NOT_RETRIED)
    attempt = begin_attempt(act, current)
    for job in jobs:
        if job.name in selection:
            _queue_job(act, attempt, job)
        else:
            _copy_job(act, attempt, job)
    checks.update_attempt(act, attempt.id)
    return attempt


def _copy_job(act: Act, attempt: RunAttempt, job: CheckRun) -> None:
    copy = act.database.insert(CheckRun, **{**_values(job), "attempt_id": attempt.id})
    for step in act.database.all(Step, order="number", job_id=job.id):
        act.database.insert(Step, **{**_values(step), "job_id": copy.id})
    for annotation in act.database.all(Annotation, check_run_id=job.id):
        act.database.insert(Annotation, **{**_values(annotation), "check_run_id": copy.id})


def _values(record: Record) -> dict[str, Any]:
    return {name: value for name, value in asdict(record).items() if name != "id"}


def _queue_job(act: Act, attempt: RunAttempt, job: CheckRun) -> None:
    act.database.insert(
        CheckRun,
        repository_id=job.repository_id,
        head_sha=job.head_sha,
        name=job.name,
        status="queued",
        attempt_id=attempt.id,
        started_at=act.now,
    )


def _repository_of(act: Act, record: Artifact | Workflow | WorkflowRun) -> Repository:
    repository = act.database.get(Repository, record.repository_id)
    assert repository is not None  # noqa: S101 - workflows, runs and artifacts go with their repository
    return repository


def _refuse_taken(act: Act, workflow: Workflow, number: int | None, identity: int | None) -> None:
    if number is not None and act.database.count(WorkflowRun, workflow_id=workflow.id, number=number):
        raise InvalidRefusal(f"run {number} of {workflow.name} is there already; give it another number")
    if identity is not None and act.database.get(WorkflowRun, identity):
        raise InvalidRefusal(f"a workflow run with the id {identity} is there already; give it another id")
