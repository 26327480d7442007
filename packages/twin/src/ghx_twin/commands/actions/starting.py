"""Runs that are set off: by pushes, by pull requests, and as commands ask for them.

Only workflows with a script run by themselves. Those of any other world are listed, and nothing starts: a seed that
says nothing about runs must not find any among the differences.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ghx_twin.commands import kernel
from ghx_twin.git.objects import FileDiff, RefUpdate
from ghx_twin.git.repository import GitRepository
from ghx_twin.queries import lookup
from ghx_twin.queries.actions.triggers import SKIPPED, fits_pull, fits_push
from ghx_twin.queries.actions.workflow_files import (
    JobDefinition,
    WorkflowFile,
    WorkflowFileError,
    fill_expressions,
    read_workflow_file,
)
from ghx_twin.queries.pulls.mergeability import mergeable
from ghx_twin.queries.repositories.comparison import files
from ghx_twin.state.changes import AutomaticEvent
from ghx_twin.state.records import CheckRun, Issue, Pull, Repository, RunAttempt, Workflow, WorkflowRun
from ghx_twin.world import Act

_BRANCHES, _PULLS = "refs/heads/", "refs/pull/"


def start_for_push(act: Act, repository: Repository, updates: Sequence[RefUpdate]) -> None:
    """Start the runs that the workflow files at pushed commits ask for."""
    workflows, git = _scripted(act, repository), act.git(repository)
    for update in updates if workflows else ():
        if update.new is None or update.new == update.old or update.ref.startswith(_PULLS):
            continue
        commit = git.resolve(update.new, repository.default_branch)
        if commit is not None:  # a tag may point at anything
            for workflow in workflows:
                _start_for_ref(act, repository, workflow, RefUpdate(update.ref, update.old, commit))


def start_for_pull(act: Act, pull: Pull, action: str) -> None:
    """Start the runs that the workflow files at the head of a pull request ask for when `action` happens to it."""
    repository = lookup.repository_of(act.world, pull)
    git, event, workflows = act.git(repository), "pull_request", _scripted(act, repository)
    if workflows and mergeable(act.world, pull) == "CONFLICTING":
        return  # GitHub runs these on the trial merge, and there is none
    for workflow in workflows:
        file = _read_file(git, pull.head_sha, workflow)
        if not isinstance(file, WorkflowFile):
            continue
        trigger = file.triggers.get(event)
        if trigger is None or _asks_to_skip(git, pull.head_sha):
            continue
        if fits_pull(trigger, action, pull.base_ref, lambda: _paths(files(act.world, pull))):
            _start(act, workflow, file, sha=pull.head_sha, event=event, branch=pull.head_ref)


def insert_run(
    act: Act,
    workflow: Workflow,
    *,
    sha: str,
    event: str,
    branch: str | None = None,
    title: str | None = None,
    number: int | None = None,
    identity: int | None = None,
    inputs: Mapping[str, Any] | None = None,
) -> WorkflowRun:
    """Add a run without any attempt, without a permission check."""
    home = lookup.repository_by_id(act.world, None, workflow.repository_id)
    newest = act.database.all(WorkflowRun, order="number DESC", limit=1, workflow_id=workflow.id)
    return act.database.insert(
        WorkflowRun,
        **({} if identity is None else {"id": identity}),
        repository_id=home.id,
        workflow_id=workflow.id,
        number=number or 1 + max((one.number for one in newest), default=0),
        event=event,
        head_branch=branch,
        head_sha=sha,
        title=title or _title(act, workflow, sha, event),
        actor_id=kernel.actor_id(act, home),
        inputs=None if inputs is None else dict(inputs),
        created_at=act.now,
    )


def insert_attempt(act: Act, run: WorkflowRun, *, conclusion: str | None = None) -> RunAttempt:
    """Add the next attempt at a run, without jobs yet, without a permission check; a conclusion ends it."""
    home = lookup.repository_by_id(act.world, None, run.repository_id)
    return act.database.insert(
        RunAttempt,
        run_id=run.id,
        number=1 + act.database.count(RunAttempt, run_id=run.id),
        status="completed" if conclusion else "queued",
        conclusion=conclusion,
        actor_id=kernel.actor_id(act, home),
        started_at=act.now,
        updated_at=act.now,
    )


def queue_jobs(act: Act, run: WorkflowRun, attempt: RunAttempt, jobs: Sequence[JobDefinition]) -> None:
    """Add the jobs of an attempt, in the order of the file; each begins once those that it needs have ended."""
    for job in jobs:
        act.database.insert(
            CheckRun,
            repository_id=run.repository_id,
            head_sha=run.head_sha,
            name=job.name,
            status="queued",
            attempt_id=attempt.id,
            started_at=attempt.started_at,
        )


def run_title(file: WorkflowFile, values: Mapping[str, object]) -> str | None:
    """Return the title that a workflow file gives to a run, where it gives any."""
    return fill_expressions(file.run_name, values) if file.run_name else None


def _start_for_ref(act: Act, repository: Repository, workflow: Workflow, update: RefUpdate) -> None:
    git, sha, event = act.git(repository), update.new or "", "push"
    file = _read_file(git, sha, workflow)
    branch = update.ref.split("/", 2)[2]
    if isinstance(file, WorkflowFileError):
        # As on GitHub, a file that cannot be run fails at once, without any job: no check of its jobs turns green.
        _start(act, workflow, None, sha=sha, event=event, branch=branch)
        return
    trigger = file.triggers.get(event) if file else None
    if file is None or trigger is None or _asks_to_skip(git, sha):
        return
    if fits_push(trigger, update.ref, lambda: _pushed_paths(git, repository, update)):
        _start(act, workflow, file, sha=sha, event=event, branch=branch)


def _start(act: Act, workflow: Workflow, file: WorkflowFile | None, *, sha: str, event: str, branch: str) -> None:
    actor = lookup.user_by_id(
        act.world, kernel.actor_id(act, lookup.repository_by_id(act.world, None, workflow.repository_id))
    )
    values = {
        "github.actor": actor.login, "github.event_name": event, "github.ref_name": branch, "github.sha": sha,
    }  # fmt: skip
    # Not the actor's doing in a difference: who may push has asked for no run.
    with act.database.attributed(AutomaticEvent.RUN_START):
        title = run_title(file, values) if file else workflow.path
        run = insert_run(act, workflow, sha=sha, event=event, branch=branch, title=title)
        attempt = insert_attempt(act, run, conclusion=None if file else "startup_failure")
        queue_jobs(act, run, attempt, file.jobs if file else ())


def _scripted(act: Act, repository: Repository) -> list[Workflow]:
    workflows = act.database.all(Workflow, repository_id=repository.id, state="active")
    return [workflow for workflow in workflows if workflow.script is not None]


def _read_file(git: GitRepository, sha: str, workflow: Workflow) -> WorkflowFile | WorkflowFileError | None:
    try:
        return read_workflow_file(git, sha, workflow.path)
    except WorkflowFileError as error:
        return error


def _asks_to_skip(git: GitRepository, sha: str) -> bool:
    commit = git.commit(sha)
    return commit is not None and SKIPPED.search(commit.message) is not None


def _pushed_paths(git: GitRepository, repository: Repository, update: RefUpdate) -> list[str]:
    new = update.new or ""
    if update.old is not None and git.kind(update.old) == "commit":
        return _paths(git.diff(update.old, new, from_merge_base=False))
    default = git.ref(f"{_BRANCHES}{repository.default_branch}")
    # A new branch is compared with where it left the default one.
    is_related = default is not None and default != new and git.merge_base(default, new) is not None
    return _paths(git.diff(default if is_related else None, new))


def _paths(changed: Sequence[FileDiff]) -> list[str]:
    return [path for file in changed for path in (file.path, file.previous_path) if path is not None]


def _title(act: Act, workflow: Workflow, sha: str, event: str) -> str:
    if event == "workflow_dispatch":
        return workflow.name
    if event.startswith("pull_request"):
        pull = act.database.one(Pull, repository_id=workflow.repository_id, head_sha=sha)
        issue = act.database.get(Issue, pull.issue_id) if pull else None
        if issue:
            return issue.title
    home = lookup.repository_by_id(act.world, None, workflow.repository_id)
    commit = act.git(home).commit(sha)
    lines = commit.message.splitlines() if commit else []
    return lines[0] if lines else sha
