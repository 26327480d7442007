"""Comments in the conversation of an issue or pull request."""

from ghx_twin.commands.issues import comments
from ghx_twin.reply import Reply, created, json_reply, no_content
from ghx_twin.rest.body import parse_time
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.pagination import list_reply, order_clause
from ghx_twin.rest.render.issues import issues as render
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import Comment
from ghx_twin.state.rows import Rows


def list_comments(request: RestRequest) -> Reply:
    """List issue comments."""
    return _list(request, "WHERE issue_id = ?", from_path.issue(request).id, "ORDER BY id")


def list_repository_comments(request: RestRequest) -> Reply:
    """List issue comments for a repository."""
    columns = {"created": "comments.created_at", "updated": "comments.updated_at"}
    order = order_clause(request, columns, "created", "asc", table="comments")
    place = "JOIN issues ON issues.id = comments.issue_id WHERE issues.repository_id = ?"
    return _list(request, place, from_path.repository(request).id, order)


def create_comment(request: RestRequest) -> Reply:
    """Create an issue comment."""
    issue, text = from_path.issue(request), request.body().required_text("body")
    with request.acting() as act:
        record = comments.create(act, issue, text)
    comment = render.comment(request.view, record)
    return created(comment, comment["url"])


def get_comment(request: RestRequest) -> Reply:
    """Get an issue comment."""
    return json_reply(render.comment(request.view, from_path.comment(request)))


def update_comment(request: RestRequest) -> Reply:
    """Update an issue comment."""
    comment, text = from_path.comment(request), request.body().required_text("body")
    with request.acting() as act:
        changed = comments.update(act, comment, text)
    return json_reply(render.comment(request.view, changed))


def delete_comment(request: RestRequest) -> Reply:
    """Delete an issue comment."""
    comment = from_path.comment(request)
    with request.acting() as act:
        comments.delete(act, comment)
    return no_content()


def _list(request: RestRequest, where: str, identity: int, order: str) -> Reply:
    since = parse_time(request.query.get("since"))
    recent, values = ("", (identity,)) if since is None else (" AND comments.updated_at >= ?", (identity, since))
    rows = Rows(request.world.database, Comment, f"{where}{recent} {order}", values)
    return list_reply(request, rows, lambda one: render.comment(request.view, one))
