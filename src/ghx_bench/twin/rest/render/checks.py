"""Statuses and check runs."""

from ghx_bench.twin.queries import workflow_runs
from ghx_bench.twin.queries.apps import app_of_bot
from ghx_bench.twin.reply import JsonObject
from ghx_bench.twin.rest.render.apps import app
from ghx_bench.twin.rest.render.pulls import minimal_pull
from ghx_bench.twin.rest.render.users import avatar, simple_user
from ghx_bench.twin.rest.render.view import View
from ghx_bench.twin.state.records import CheckRun, Pull, Status, User


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
    origin, made = workflow_runs.origin(view.world, run), app_of_bot(view.world, run.creator_id)
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
            "annotations_count": 0,
            "annotations_url": f"{url}/annotations",
        },
        "check_suite": {"id": origin.run.id} if origin else None,
        "app": _actions(view) if origin else made and app(view, made),
        "pull_requests": [minimal_pull(view, pull) for pull in pulls],
    }


def _actions(view: View) -> JsonObject:
    """Render the app that reports jobs, and its owner; both are on GitHub and in no world."""
    born = "2018-07-30T09:30:17Z"
    owner = User(id=9919, login="github", type="Organization", created_at=born, updated_at=born)
    return {
        "id": 15368,
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
