"""Comments on commits."""

from ghx_twin.commands.repositories import commit_comments
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.reply import Reply, created, json_reply, no_content
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.pagination import list_reply
from ghx_twin.rest.render.repositories import commits as render
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import CommitComment
from ghx_twin.state.rows import Rows


def list_repository_comments(request: RestRequest) -> Reply:
    """List commit comments for a repository."""
    return _list(request, "WHERE repository_id = ?", (from_path.repository(request).id,))


def list_comments(request: RestRequest) -> Reply:
    """List commit comments."""
    home = from_path.repository(request)
    sha = from_path.commit(request, home, request.text("commit_sha"))
    return _list(request, "WHERE repository_id = ? AND commit_sha = ?", (home.id, sha))


def create_comment(request: RestRequest) -> Reply:
    """Create a commit comment."""
    home, body = from_path.repository(request), request.body()
    sha = from_path.commit(request, home, request.text("commit_sha"))
    text, path = body.required_text("body"), body.text("path")
    position, line = body.integer("position"), body.integer("line")
    with request.acting() as act:
        record = commit_comments.create(act, home, sha=sha, body=text, path=path, position=position, line=line)
    commit_comment = render.commit_comment(request.view, record)
    return created(commit_comment, commit_comment["url"])


def get_comment(request: RestRequest) -> Reply:
    """Get a commit comment."""
    return json_reply(render.commit_comment(request.view, _comment(request)))


def update_comment(request: RestRequest) -> Reply:
    """Update a commit comment."""
    comment, text = _comment(request), request.body().required_text("body")
    with request.acting() as act:
        changed = commit_comments.update(act, comment, text)
    return json_reply(render.commit_comment(request.view, changed))


def delete_comment(request: RestRequest) -> Reply:
    """Delete a commit comment."""
    comment = _comment(request)
    with request.acting() as act:
        commit_comments.delete(act, comment)
    return no_content()


def _comment(request: RestRequest) -> CommitComment:
    home, identity = from_path.repository(request), request.number("comment_id")
    commit_comment = request.world.database.get(CommitComment, identity)
    if commit_comment is None or commit_comment.repository_id != home.id:
        raise NotFoundRefusal(f"Could not resolve to a CommitComment with the id of {identity}.")
    return commit_comment


def _list(request: RestRequest, where: str, values: tuple[object, ...]) -> Reply:
    rows = Rows(request.world.database, CommitComment, f"{where} ORDER BY id", values)
    return list_reply(request, rows, lambda one: render.commit_comment(request.view, one))
