"""Statuses, check runs and check suites."""

from ghx_twin.nodes import NodeId
from ghx_twin.queries.actions import workflow_runs
from ghx_twin.queries.apps import app_of_bot
from ghx_twin.reply import JsonObject
from ghx_twin.rest.render.actions.workflows import head_commit
from ghx_twin.rest.render.apps import app
from ghx_twin.rest.render.pulls.pulls import minimal_pull
from ghx_twin.rest.render.repositories.repositories import bare_repository
from ghx_twin.rest.render.users import avatar, simple_user
from ghx_twin.rest.render.view import View, quote_part
from ghx_twin.state.records import Annotation, CheckRun, Pull, RunAttempt, Status, User, WorkflowRun


def simple_status(view: View, status: Status) -> JsonObject:
    """Render a status in the combined status of a commit."""
    repository = view.repository(status.repository_id)
    return {
        "url": view.api(repository, f"/statuses/{status.sha}"),
        "avatar_url": avatar(view.user(status.creator_id)),
        "id": status.id,
        "node_id": view.node(status),
        "state": status.state,
        "description": status.description,
        "target_url": status.target_url,
        "context": status.context,
        "created_at": status.created_at,
        "updated_at": status.updated_at,
    }


def status(view: View, status: Status) -> JsonObject:
    """Render a status on its own."""
    return {**simple_status(view, status), "creator": simple_user(view, view.user(status.creator_id))}


def check_run(view: View, run: CheckRun) -> JsonObject:
    """Render a check run."""
    repository = view.repository(run.repository_id)
    url = view.api(repository, f"/check-runs/{run.id}")
    pulls = view.database.all(Pull, repository_id=repository.id, head_sha=run.head_sha)
    origin, record = workflow_runs.origin(view.world, run), app_of_bot(view.world, run.creator_id)
    page = view.html(repository, workflow_runs.job_path(origin.run, run) if origin else f"/runs/{run.id}")
    return {
        "id": run.id,
        "name": run.name,
        "node_id": view.node(run),
        "head_sha": run.head_sha,
        "external_id": "",
        "url": url,
        "html_url": page,
        "details_url": run.details_url or (page if origin else None),
        "status": run.status,
        "conclusion": run.conclusion,
        "started_at": run.started_at,
        "completed_at": run.completed_at,
        "output": {
            "title": run.title,
            "summary": run.summary,
            "text": None,
            "annotations_count": view.database.count(Annotation, check_run_id=run.id),
            "annotations_url": f"{url}/annotations",
        },
        "check_suite": {"id": origin.run.id} if origin else None,
        "app": _actions(view) if origin else record and app(view, record),
        "pull_requests": [minimal_pull(view, pull) for pull in pulls],
    }


def annotation(view: View, run: CheckRun, annotation: Annotation) -> JsonObject:
    """Render what a check run says about lines of a file."""
    home = view.repository(run.repository_id)
    fields = ("start_column", "end_column", "annotation_level", "title", "message", "raw_details")
    return {
        "path": annotation.path,
        "blob_href": view.html(home, f"/blob/{run.head_sha}/{quote_part(annotation.path, safe='/')}"),
        "start_line": annotation.start_line,
        "end_line": annotation.end_line,
        **{name: getattr(annotation, name) for name in fields},
    }


def check_suite(view: View, run: WorkflowRun, attempt: RunAttempt) -> JsonObject:
    """Render the check suite of a commit that a workflow run is."""
    home = view.repository(run.repository_id)
    pulls = view.database.all(Pull, repository_id=home.id, head_sha=run.head_sha)
    commit = view.git(home).commit(run.head_sha)
    url = view.api(home, f"/check-suites/{run.id}")
    return {
        "id": run.id,
        "node_id": str(NodeId("CS", home.id, run.id)),
        "head_branch": run.head_branch,
        "head_sha": run.head_sha,
        "status": attempt.status,
        "conclusion": attempt.conclusion,
        "url": url,
        "before": commit.parents[0] if commit and commit.parents else None,
        "after": run.head_sha,
        "pull_requests": [minimal_pull(view, pull) for pull in pulls],
        "app": _actions(view),
        "repository": bare_repository(view, home),
        "created_at": run.created_at,
        "updated_at": attempt.updated_at,
        "rerequestable": True,
        "runs_rerequestable": False,
        "latest_check_runs_count": len(workflow_runs.jobs(view.world, attempt)),
        "check_runs_url": f"{url}/check-runs",
        "head_commit": head_commit(view, home, run.head_sha),
    }


def _actions(view: View) -> JsonObject:
    """Render the app that reports jobs, and its owner; both are on GitHub and in no world."""
    born = "2018-07-30T09:30:17Z"
    owner = User(id=9919, login="github", type="Organization", created_at=born, updated_at=born)
    return {
        "id": workflow_runs.ACTIONS_APP_ID,
        "slug": "github-actions",
        "node_id": "MDM6QXBwMTUzNjg=",
        "owner": simple_user(view, owner),
        "name": "GitHub Actions",
        "description": "Automate your workflow from idea to production",
        "external_url": "https://help.github.com/en/actions",
        "html_url": f"{view.base.html}/apps/github-actions",
        "created_at": born,
        "updated_at": born,
        "permissions": {"actions": "write", "checks": "write", "contents": "write", "metadata": "read"},
        "events": [],
    }
