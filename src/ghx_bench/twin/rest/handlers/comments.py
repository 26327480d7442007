"""Comments in the conversation of an issue or pull request."""

from ghx_bench.twin.commands import comments
from ghx_bench.twin.rest.answer import NO_CONTENT, Answer, created
from ghx_bench.twin.rest.handlers import located
from ghx_bench.twin.rest.handlers.ordering import Keys, ordered
from ghx_bench.twin.rest.pagination import listed
from ghx_bench.twin.rest.render import issues as render
from ghx_bench.twin.rest.request import RestRequest
from ghx_bench.twin.rest.timestamps import parsed_time
from ghx_bench.twin.state.records import Comment


def list_comments(request: RestRequest) -> Answer:
    """List issue comments."""
    found = request.world.database.all(Comment, issue_id=located.issue(request).id)
    return listed(request, _recent(request, found), lambda one: render.comment(request.view, one))


def list_repository_comments(request: RestRequest) -> Answer:
    """List issue comments for a repository."""
    found = request.world.database.select(
        Comment,
        "JOIN issues ON issues.id = comments.issue_id WHERE issues.repository_id = ? ORDER BY comments.id",
        (located.repository(request).id,),
    )
    keys: Keys[Comment] = {"created": lambda one: one.created_at, "updated": lambda one: one.updated_at}
    chosen = ordered(request, _recent(request, found), keys, "created", "asc")
    return listed(request, chosen, lambda one: render.comment(request.view, one))


def create_comment(request: RestRequest) -> Answer:
    """Create an issue comment."""
    issue, text = located.issue(request), request.body().required_text("body")
    with request.acting() as act:
        made = comments.create(act, issue, text)
    shown = render.comment(request.view, made)
    return created(shown, shown["url"])


def get_comment(request: RestRequest) -> Answer:
    """Get an issue comment."""
    return Answer(body=render.comment(request.view, located.comment(request)))


def update_comment(request: RestRequest) -> Answer:
    """Update an issue comment."""
    found, text = located.comment(request), request.body().required_text("body")
    with request.acting() as act:
        changed = comments.update(act, found, text)
    return Answer(body=render.comment(request.view, changed))


def delete_comment(request: RestRequest) -> Answer:
    """Delete an issue comment."""
    found = located.comment(request)
    with request.acting() as act:
        comments.delete(act, found)
    return NO_CONTENT


def _recent(request: RestRequest, found: list[Comment]) -> list[Comment]:
    since = parsed_time(request.query.get("since"))
    return [one for one in found if since is None or one.updated_at >= since]
