"""Sub-issues and dependencies of issues."""

from collections.abc import Iterable

from ghx_twin.commands import issues
from ghx_twin.queries.issues import issue_relations as queries
from ghx_twin.queries.issues.issue_relations import visible_issues
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.reply import Reply, created, json_reply
from ghx_twin.rest.body import Body
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.pagination import list_reply
from ghx_twin.rest.render.issues import issues as render
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import Issue


def list_sub_issues(request: RestRequest) -> Reply:
    """List sub-issues."""
    return _list(request, queries.sub_issues_of(request.world, from_path.issue(request)))


def get_parent(request: RestRequest) -> Reply:
    """Get parent issue."""
    parent = queries.parent_of(request.world, request.viewer, from_path.issue(request))
    if parent is None:
        raise NotFoundRefusal("The issue has no parent.")
    return json_reply(render.issue(request.view, parent))


def add_sub_issue(request: RestRequest) -> Reply:
    """Add sub-issue."""
    parent, body = from_path.issue(request), request.body()
    child = _issue_from_body(request, body, "sub_issue_id")
    with request.acting() as act:
        issues.add_child(act, parent, child, replace_parent=bool(body.flag("replace_parent")))
    issue = render.issue(request.view, from_path.issue(request))
    return created(issue, issue["url"])


def remove_sub_issue(request: RestRequest) -> Reply:
    """Remove sub-issue."""
    parent, child = from_path.issue(request), _issue_from_body(request, request.body(), "sub_issue_id")
    with request.acting() as act:
        issues.remove_child(act, parent, child)
    return json_reply(render.issue(request.view, from_path.issue(request)))


def reprioritize_sub_issue(request: RestRequest) -> Reply:
    """Reprioritize sub-issue."""
    parent, body = from_path.issue(request), request.body()
    child = _issue_from_body(request, body, "sub_issue_id")
    beside = {
        word: _issue_from_body(request, body, f"{word}_id") if body.get(f"{word}_id") is not None else None
        for word in ("after", "before")
    }
    with request.acting() as act:
        issues.reprioritize_child(act, parent, child, **beside)
    return json_reply(render.issue(request.view, from_path.issue(request)))


def list_blocked_by(request: RestRequest) -> Reply:
    """List dependencies an issue is blocked by."""
    return _list(request, queries.blocking_issues(request.world, from_path.issue(request)))


def list_blocking(request: RestRequest) -> Reply:
    """List dependencies an issue is blocking."""
    return _list(request, queries.blocked_issues(request.world, from_path.issue(request)))


def add_blocked_by(request: RestRequest) -> Reply:
    """Add a dependency an issue is blocked by."""
    issue, blocking = from_path.issue(request), _issue_from_body(request, request.body(), "issue_id")
    with request.acting() as act:
        issues.add_blocking(act, issue, blocking)
    blocked = render.issue(request.view, from_path.issue(request))
    return created(blocked, blocked["url"])


def remove_blocked_by(request: RestRequest) -> Reply:
    """Remove dependency an issue is blocked by."""
    issue, blocking = from_path.issue(request), _issue_by_id(request, request.number("issue_id"))
    with request.acting() as act:
        issues.remove_blocking(act, issue, blocking)
    return json_reply(render.issue(request.view, from_path.issue(request)))


def _list(request: RestRequest, issues: Iterable[Issue]) -> Reply:
    visible = visible_issues(request.world, request.viewer, issues)
    return list_reply(request, visible, lambda one: render.issue(request.view, one))


def _issue_from_body(request: RestRequest, body: Body, name: str) -> Issue:
    """Return the issue whose database id, not its number, a field of the body gives."""
    body.require(name)
    return _issue_by_id(request, body.integer(name))


def _issue_by_id(request: RestRequest, identity: int | None) -> Issue:
    issue = request.world.database.get(Issue, identity)
    if issue is None or issue.is_pull or not visible_issues(request.world, request.viewer, [issue]):
        raise NotFoundRefusal(f"Could not resolve to an Issue with the id of {identity}.")
    return issue
