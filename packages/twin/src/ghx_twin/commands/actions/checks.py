"""Statuses and check runs that tools report on commits."""

from ghx_twin.commands import kernel, texts
from ghx_twin.commands.kernel import UNSET, Unset
from ghx_twin.commands.pulls import merges
from ghx_twin.queries import lookup, permissions
from ghx_twin.queries.actions import workflow_runs
from ghx_twin.refusals import FieldError, InvalidRefusal
from ghx_twin.state.records import Annotation, CheckRun, Repository, RunAttempt, Status
from ghx_twin.world import Act

STATES = ("error", "failure", "pending", "success")
RUN_STATUSES = ("queued", "in_progress", "completed", "waiting", "requested", "pending")
CONCLUSIONS = (
    "action_required",
    "cancelled",
    "failure",
    "neutral",
    "success",
    "skipped",
    "stale",
    "startup_failure",
    "timed_out",
)
_MOST_STATUSES = 1000  # of one context on one commit


def create_status(
    act: Act,
    repository: Repository,
    *,
    sha: str,
    state: str,
    context: str = "default",
    description: str | None = None,
    target_url: str | None = None,
) -> Status:
    """Report a status; the newest of a context counts."""
    permissions.require(act, repository, "write")
    commit = commit_of(act, repository, sha)
    _check_texts("Status", context=context, description=description, target_url=target_url)
    if state not in STATES:
        message = "state is not included in the list"
        raise InvalidRefusal(errors=(FieldError(resource="Status", field="state", code="custom", message=message),))
    if act.database.count(Status, repository_id=repository.id, sha=commit, context=context) >= _MOST_STATUSES:
        raise InvalidRefusal("This SHA and context has reached the maximum number of statuses.")
    status = act.database.insert(
        Status,
        repository_id=repository.id,
        sha=commit,
        context=context,
        state=state,
        description=description and texts.check_length(description, 140, resource="Status", field="description"),
        target_url=target_url,
        creator_id=kernel.actor_id(act, repository),
        created_at=act.now,
        updated_at=act.now,
    )
    merges.attempt_auto_merges(act, repository.id, commit)
    return status


def create_check_run(
    act: Act,
    repository: Repository,
    *,
    sha: str,
    name: str,
    status: str | None = None,
    conclusion: str | None = None,
    attempt: RunAttempt | None = None,
    details_url: str | None = None,
    title: str | None = None,
    summary: str | None = None,
    started_at: str | None = None,
    completed_at: str | None = None,
) -> CheckRun:
    """Report a check run, or a job of an attempt at a workflow run; one with a conclusion is completed."""
    permissions.require(act, repository, "write")
    commit = commit_of(act, repository, sha)
    if not name.strip():
        raise texts.missing("CheckRun", "name")
    _check_texts("CheckRun", name=name, details_url=details_url)
    _check_texts("CheckRun", title=title, summary=summary, started_at=started_at, completed_at=completed_at)
    now = _status(status, conclusion)
    started, completed = _moment("started_at", started_at), _moment("completed_at", completed_at)
    run = act.database.insert(
        CheckRun,
        repository_id=repository.id,
        head_sha=commit,
        name=name,
        status=now,
        conclusion=conclusion,
        attempt_id=attempt.id if attempt else None,
        creator_id=act.viewer.id if act.viewer and act.viewer.user.type == "Bot" and attempt is None else None,
        details_url=details_url,
        title=title,
        summary=summary,
        started_at=started or act.now,
        completed_at=(completed or act.now) if now == "completed" else None,
    )
    update_attempt(act, run.attempt_id)
    merges.attempt_auto_merges(act, repository.id, commit)
    return run


def update_check_run(
    act: Act,
    run: CheckRun,
    *,
    name: str | Unset = UNSET,
    status: str | Unset = UNSET,
    conclusion: str | Unset | None = UNSET,
    details_url: str | Unset | None = UNSET,
    title: str | Unset | None = UNSET,
    summary: str | Unset | None = UNSET,
    started_at: str | Unset = UNSET,
    completed_at: str | Unset = UNSET,
) -> CheckRun:
    """Change fields of a check run."""
    current = kernel.reload(act, run)
    repository = lookup.repository_by_id(act.world, act.viewer, current.repository_id)
    permissions.require(act, repository, "write")
    started = UNSET if started_at is UNSET else _moment("started_at", started_at)
    given = {"name": name, "details_url": details_url, "title": title, "summary": summary, "started_at": started}
    changes: dict[str, object] = {field: value for field, value in given.items() if value is not UNSET}
    # A status without a conclusion opens the run again; one that stays completed keeps the conclusion it has.
    if status is not UNSET or conclusion is not UNSET:
        ended = None if conclusion is UNSET else conclusion
        if conclusion is UNSET and status == "completed":
            ended = current.conclusion
        changes["status"] = _status(None if status is UNSET else status, ended)
        changes["conclusion"] = ended
        finished = act.now if completed_at is UNSET else _moment("completed_at", completed_at)
        changes["completed_at"] = finished if changes["status"] == "completed" else None
    _check_texts("CheckRun", **changes)
    changed = act.database.update(current, **changes)
    update_attempt(act, current.attempt_id)
    merges.attempt_auto_merges(act, current.repository_id, current.head_sha)
    return changed


def add_annotation(
    act: Act,
    run: CheckRun,
    *,
    path: str,
    message: str,
    annotation_level: str = "failure",
    start_line: int = 1,
    end_line: int | None = None,
    start_column: int | None = None,
    end_column: int | None = None,
    title: str | None = None,
    raw_details: str | None = None,
) -> Annotation:
    """Add what a check run says about lines of a file, without a permission check."""
    _check_texts("CheckRun", path=path, message=message, title=title, raw_details=raw_details)
    return act.database.insert(
        Annotation,
        check_run_id=run.id,
        path=path,
        start_line=start_line,
        end_line=end_line or start_line,
        start_column=start_column,
        end_column=end_column,
        annotation_level=annotation_level,
        title=title,
        message=message,
        raw_details=raw_details,
    )


def commit_of(act: Act, repository: Repository, sha: str) -> str:
    """Return the full sha of a commit that can be reported on."""
    full_sha = sha.lower()
    if act.git(repository).kind(full_sha) != "commit":
        raise InvalidRefusal(f"No commit found for SHA: {sha}")
    return full_sha


def _status(status: str | None, conclusion: str | None) -> str:
    if conclusion is not None and conclusion not in CONCLUSIONS:
        raise texts.invalid("CheckRun", "conclusion", value=conclusion)
    if status is not None and status not in RUN_STATUSES:
        raise texts.invalid("CheckRun", "status", value=status)
    if status == "completed" and conclusion is None:
        raise texts.missing("CheckRun", "conclusion")
    if conclusion is not None:
        return "completed"
    return status or "queued"


def _moment(field: str, text: str | None) -> str | None:
    return None if text is None else texts.check_time(text, resource="CheckRun", field=field)


def _check_texts(resource: str, **values: object) -> None:
    for field, value in values.items():
        if isinstance(value, str):
            texts.check_unicode(value, resource=resource, field=field)


def update_attempt(act: Act, attempt_id: int | None) -> None:
    """Sum up the jobs of an attempt after one was added or changed; for a check run that is no job, do nothing."""
    attempt = act.database.get(RunAttempt, attempt_id)
    if attempt is None:
        return
    status, conclusion = workflow_runs.sum_up_jobs(workflow_runs.jobs(act.world, attempt))
    act.database.update(attempt, status=status, conclusion=conclusion, updated_at=act.now)
