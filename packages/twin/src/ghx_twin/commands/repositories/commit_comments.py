"""Comments on commits."""

from ghx_twin.commands import kernel, texts
from ghx_twin.queries import lookup
from ghx_twin.queries.permissions import require
from ghx_twin.state.records import CommitComment, Repository
from ghx_twin.world import Act

_RESOURCE = "CommitComment"


def create(
    act: Act,
    repository: Repository,
    *,
    sha: str,
    body: str,
    path: str | None = None,
    position: int | None = None,
    line: int | None = None,
) -> CommitComment:
    """Add a comment to a commit, or to a line of a file that it changes."""
    require(act, repository, "read")
    return act.database.insert(
        CommitComment,
        repository_id=repository.id,
        commit_sha=sha,
        author_id=kernel.actor_id(act, repository),
        body=texts.check_comment(body, resource=_RESOURCE),
        path=None if path is None else texts.check_unicode(path, resource=_RESOURCE, field="path"),
        position=position,
        line=line,
        created_at=act.now,
        updated_at=act.now,
    )


def update(act: Act, comment: CommitComment, body: str) -> CommitComment:
    """Change the text of a comment; its author and writers may."""
    current = kernel.reload(act, comment)
    _require_author_or_writer(act, current)
    written = texts.check_comment(body, resource=_RESOURCE)
    return current if written == current.body else kernel.touch(act, current, body=written)


def delete(act: Act, comment: CommitComment) -> None:
    """Delete a comment; its author and writers may."""
    current = kernel.reload(act, comment)
    _require_author_or_writer(act, current)
    act.database.delete(current)


def _require_author_or_writer(act: Act, comment: CommitComment) -> None:
    is_author = act.viewer is not None and act.viewer.id == comment.author_id
    require(act, lookup.repository_of(act.world, comment), "read" if is_author else "write")
