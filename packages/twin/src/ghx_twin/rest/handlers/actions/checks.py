"""Statuses and check runs of commits."""

from typing import Any

from ghx_twin.commands import texts
from ghx_twin.commands.actions import checks
from ghx_twin.commands.kernel import UNSET
from ghx_twin.queries.actions.checks import combined_state, latest_check_runs, latest_statuses
from ghx_twin.refusals import ForbiddenRefusal, InvalidRefusal, NotFoundRefusal, NotImplementedRefusal
from ghx_twin.reply import Reply, created, json_reply
from ghx_twin.rest.body import Body
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.pagination import list_reply, page_of
from ghx_twin.rest.render.actions import checks as render
from ghx_twin.rest.render.repositories.repositories import bare_repository
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import Annotation, CheckRun, Status

_STATUSES = ("queued", "in_progress", "completed", "waiting", "requested", "pending")
# Without `stale`, which the description of requests lists: GitHub alone sets it, and its responses do not have it.
_CONCLUSIONS = ("action_required", "cancelled", "failure", "neutral", "success", "skipped", "timed_out")
_LEVELS = ("notice", "warning", "failure")
_MOST_ANNOTATIONS = 50  # in one request
_ACTIONS = "github-actions"


def list_statuses(request: RestRequest) -> Reply:
    """List commit statuses for a reference."""
    home = from_path.repository_with_commits(request)
    sha = from_path.commit(request, home, request.text("ref"))
    status = request.world.database.all(Status, repository_id=home.id, sha=sha, order="id DESC")
    return list_reply(request, status, lambda one: render.status(request.view, one))


def get_combined_status(request: RestRequest) -> Reply:
    """Get the combined status for a specific reference."""
    home = from_path.repository_with_commits(request)
    sha = from_path.commit(request, home, request.text("ref"))
    statuses = latest_statuses(request.world, home, sha)
    content, headers = page_of(request, statuses)
    url = request.view.api(home, f"/commits/{sha}")
    body = {
        "state": combined_state(statuses),
        "statuses": [render.simple_status(request.view, one) for one in content],
        "sha": sha,
        "total_count": len(statuses),
        "repository": bare_repository(request.view, home),
        "commit_url": url,
        "url": f"{url}/status",
    }
    return json_reply(body, headers=headers)


def create_status(request: RestRequest) -> Reply:
    """Create a commit status."""
    home, body = from_path.repository(request), request.body()
    body.require("state")
    state = body.required_text("state")
    with request.acting() as act:
        status = checks.create_status(
            act,
            home,
            sha=request.text("sha"),
            state=state,
            context=body.text("context") or "default",
            description=body.text("description"),
            target_url=body.text("target_url"),
        )
    content = render.status(request.view, status)
    return created(content, content["url"])


def list_check_runs(request: RestRequest) -> Reply:
    """List check runs for a Git reference."""
    home, query = from_path.repository(request), request.query
    sha = from_path.commit(request, home, request.text("ref"))
    check_runs = (
        request.world.database.all(CheckRun, repository_id=home.id, head_sha=sha)
        if query.get("filter") == "all"
        else latest_check_runs(request.world, home, sha)
    )
    name, status = query.get("check_name"), query.get("status")
    chosen = [one for one in check_runs if name in {None, one.name} and status in {None, one.status}]
    content, headers = page_of(request, chosen)
    runs = [render.check_run(request.view, one) for one in content]
    return json_reply({"total_count": len(chosen), "check_runs": runs}, headers=headers)


def create_check_run(request: RestRequest) -> Reply:
    """Create a check run."""
    home = from_path.repository(request)
    _require_app(request)
    body = request.body()
    body.require("name", "head_sha")
    title, summary, annotations = _output(body)
    with request.acting() as act:
        record = checks.create_check_run(
            act,
            home,
            sha=body.required_text("head_sha"),
            name=body.required_text("name"),
            status=body.choice("status", _STATUSES),
            conclusion=body.choice("conclusion", _CONCLUSIONS),
            details_url=body.text("details_url"),
            started_at=body.text("started_at"),
            completed_at=body.text("completed_at"),
            title=title,
            summary=summary,
        )
        for annotation in annotations:
            checks.add_annotation(act, record, **annotation)
    content = render.check_run(request.view, record)
    return created(content, content["url"])


def get_check_run(request: RestRequest) -> Reply:
    """Get a check run."""
    return json_reply(render.check_run(request.view, _check_run(request)))


def update_check_run(request: RestRequest) -> Reply:
    """Update a check run."""
    check_run = _check_run(request)
    _require_app(request, check_run)
    body = request.body()
    given = {name: body.text(name) for name in ("name", "details_url", "started_at", "completed_at")}
    title, summary, annotations = _output(body)
    changes: dict[str, Any] = {
        **given,
        "status": body.choice("status", _STATUSES),
        "conclusion": body.choice("conclusion", _CONCLUSIONS),
        "title": title,
        "summary": summary,
    }
    with request.acting() as act:
        changed = checks.update_check_run(
            act, check_run, **{name: UNSET if value is None else value for name, value in changes.items()}
        )
        for annotation in annotations:  # those that are there stay, as on GitHub
            checks.add_annotation(act, changed, **annotation)
    return json_reply(render.check_run(request.view, changed))


def list_annotations(request: RestRequest) -> Reply:
    """List check run annotations."""
    run = _check_run(request)
    annotations = request.world.database.all(Annotation, check_run_id=run.id)
    return list_reply(request, annotations, lambda one: render.annotation(request.view, run, one))


def _check_run(request: RestRequest) -> CheckRun:
    home, identity = from_path.repository(request), request.number("check_run_id")
    check_run = request.world.database.get(CheckRun, identity)
    if check_run is None or check_run.repository_id != home.id:
        raise NotFoundRefusal(f"Could not resolve to a CheckRun with the id of {identity}.")
    return check_run


def _require_app(request: RestRequest, check_run: CheckRun | None = None) -> None:
    """Refuse people's tokens, and for a check run of another App those of this one; jobs are of GitHub Actions."""
    # As on GitHub; and a failed check that an agent could edit would be no proof of its repair.
    if request.viewer.unrestricted:
        return
    account = request.viewer.user
    if account.type != "Bot":
        raise ForbiddenRefusal("You must authenticate via a GitHub App.")
    if check_run is None:
        return
    is_own = check_run.creator_id == account.id
    if check_run.attempt_id is not None:
        is_own = account.login.removesuffix("[bot]") == _ACTIONS
    if not is_own:
        identity = request.viewer.app.app_id if request.viewer.app else account.id
        raise ForbiddenRefusal(
            f"Invalid app_id `{identity}` - check run can only be modified by the GitHub App that created it."
        )


def _output(body: Body) -> tuple[str | None, str | None, list[dict[str, Any]]]:
    """Return title, summary and annotations of what a tool reports."""
    output = body.nested("output")
    if output is None:
        return None, None, []
    if output.text("text"):
        # Refused and not dropped: it would be missing when a client reads it back.
        raise NotImplementedRefusal("The twin's check runs have a title and a summary, no text.")
    objects = output.objects("annotations")
    if len(objects) > _MOST_ANNOTATIONS:
        raise InvalidRefusal(
            f"Invalid request.\n\nNo more than {_MOST_ANNOTATIONS} items are allowed; {len(objects)} were supplied."
        )
    return output.text("title"), output.text("summary"), [_annotation(each) for each in objects]


def _annotation(body: Body) -> dict[str, Any]:
    needed = ("path", "start_line", "end_line", "annotation_level", "message")
    body.require(*needed)
    values = {
        **{name: body.text(name) for name in ("path", "message", "title", "raw_details")},
        **{name: body.integer(name) for name in ("start_line", "end_line", "start_column", "end_column")},
        "annotation_level": body.choice("annotation_level", _LEVELS),
    }
    for name in needed:
        if values[name] is None:
            raise texts.missing("CheckAnnotation", name)
    return values
