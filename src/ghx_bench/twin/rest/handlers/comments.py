"""Comments in the conversation of an issue or pull request."""

from ghx_bench.twin.commands import comments
from ghx_bench.twin.reply import Reply, created, json_reply, no_content
from ghx_bench.twin.rest.body import parse_time
from ghx_bench.twin.rest.handlers import from_path
from ghx_bench.twin.rest.pagination import Keys, list_reply, sort_items
from ghx_bench.twin.rest.render import issues as render
from ghx_bench.twin.rest.request import RestRequest
from ghx_bench.twin.state.records import Comment


def list_comments(request: RestRequest) -> Reply:
    """List issue comments."""
    found = request.world.database.all(Comment, issue_id=from_path.issue(request).id)
    return list_reply(request, _recent(request, found), lambda one: render.comment(request.view, one))


def list_repository_comments(request: RestRequest) -> Reply:
    """List issue comments for a repository."""
    found = request.world.database.select(
        Comment,
        "JOIN issues ON issues.id = comments.issue_id WHERE issues.repository_id = ? ORDER BY comments.id",
        (from_path.repository(request).id,),
    )
    keys: Keys[Comment] = {"created": lambda one: one.created_at, "updated": lambda one: one.updated_at}
    chosen = sort_items(request, _recent(request, found), keys, "created", "asc")
    return list_reply(request, chosen, lambda one: render.comment(request.view, one))


def create_comment(request: RestRequest) -> Reply:
    """Create an issue comment."""
    issue, text = from_path.issue(request), request.body().required_text("body")
    with request.acting() as act:
        made = comments.create(act, issue, text)
    shown = render.comment(request.view, made)
    return created(shown, shown["url"])


def get_comment(request: RestRequest) -> Reply:
    """Get an issue comment."""
    return json_reply(render.comment(request.view, from_path.comment(request)))


def update_comment(request: RestRequest) -> Reply:
    """Update an issue comment."""
    found, text = from_path.comment(request), request.body().required_text("body")
    with request.acting() as act:
        changed = comments.update(act, found, text)
    return json_reply(render.comment(request.view, changed))


def delete_comment(request: RestRequest) -> Reply:
    """Delete an issue comment."""
    found = from_path.comment(request)
    with request.acting() as act:
        comments.delete(act, found)
    return no_content()


def _recent(request: RestRequest, found: list[Comment]) -> list[Comment]:
    since = parse_time(request.query.get("since"))
    return [one for one in found if since is None or one.updated_at >= since]
