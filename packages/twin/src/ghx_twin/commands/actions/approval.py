"""Runs that wait until a maintainer has looked at who asks for them: those of forks, and of the Actions bot."""

from ghx_twin.commands import kernel
from ghx_twin.commands.actions import starting
from ghx_twin.queries import lookup, permissions
from ghx_twin.queries.actions import workflow_runs
from ghx_twin.queries.actions.workflow_files import WorkflowFileError, read_workflow_file
from ghx_twin.refusals import ForbiddenRefusal
from ghx_twin.state.records import Pull, WorkflowRun
from ghx_twin.world import Act

_NOT_WAITING = "This run is not from a fork pull request or queued by the Actions bot"
_WAITING = "action_required"
_ACTIONS = "github-actions"


def approve(act: Act, run: WorkflowRun) -> None:
    """Let a run go on that waits for approval: the jobs of its file are queued."""
    current = kernel.reload(act, run)
    home = lookup.repository_by_id(act.world, act.viewer, current.repository_id)
    permissions.require(act, home, "write")
    attempt = workflow_runs.latest_attempt(act.world, current)
    if attempt.conclusion != _WAITING or workflow_runs.jobs(act.world, attempt) or not _needs_approval(act, current):
        raise ForbiddenRefusal(_NOT_WAITING)
    begun = act.database.update(attempt, status="queued", conclusion=None, started_at=act.now, updated_at=act.now)
    path = workflow_runs.workflow_of(act.world, current).path
    try:
        file = read_workflow_file(act.git(home), current.head_sha, path)
    except WorkflowFileError:
        file = None
    starting.queue_jobs(act, current, begun, file.jobs if file else ())


def _needs_approval(act: Act, run: WorkflowRun) -> bool:
    if lookup.user_by_id(act.world, run.actor_id).login == _ACTIONS:
        return True
    pulls = act.database.all(Pull, repository_id=run.repository_id, head_sha=run.head_sha)
    return run.event.startswith("pull_request") and any(pull.head_repository_id != run.repository_id for pull in pulls)
