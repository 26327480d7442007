"""Files changed one at a time, each change a commit on a branch."""

from dataclasses import dataclass

from ghx_twin.commands import kernel
from ghx_twin.commands.repositories import refs
from ghx_twin.git.errors import GitError
from ghx_twin.git.objects import Commit, RefUpdate, Signature, TreeChange, TreeEntry
from ghx_twin.git.receiving import WORKFLOW_REFUSED
from ghx_twin.git.repository import GitRepository
from ghx_twin.queries import lookup, permissions
from ghx_twin.queries.actions.workflow_runs import FOLDER
from ghx_twin.queries.repositories.protections import push_obstacle
from ghx_twin.queries.rulesets import describe_violations, push_violations
from ghx_twin.refusals import ConflictRefusal, InvalidRefusal, NotFoundRefusal, PlainNotFoundRefusal
from ghx_twin.state.records import Repository
from ghx_twin.world import Act

_NEEDS_WRITE = "Must have push access to repository"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentChange:
    """A commit that wrote or removed one file."""

    commit: Commit
    entry: TreeEntry | None  # None: the file was removed
    created: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a file is to be changed: on top of which commit of which branch, and what is there now."""

    branch: str
    tip: str | None  # None: the first commit of a repository
    file: TreeEntry | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Writing:
    """A commit to be made of one change."""

    place: _Place
    change: TreeChange
    message: str
    author: Signature | None
    committer: Signature | None


def put(
    act: Act,
    repository: Repository,
    *,
    path: str,
    content: bytes,
    message: str | None = None,
    branch: str | None = None,
    sha: str | None = None,
    author: Signature | None = None,
    committer: Signature | None = None,
) -> ContentChange:
    """Write a file; to replace one, `sha` must be that of the blob there is."""
    place = _find_place(act, repository, branch, path)
    git, before = act.git(repository), place.file
    _check_sha(path, before, sha)
    blob = TreeChange(path=path, mode=before.mode if before else "100644", sha=git.write_blob(content))
    require_workflow_scope(act, repository, path, blob.sha)
    text = message if message is not None else f"{'Update' if before else 'Create'} {path}"
    written = _Writing(place=place, change=blob, message=text, author=author, committer=committer)
    commit = _commit(act, repository, written)
    return ContentChange(commit=commit, entry=git.entry(commit.sha, path), created=before is None)


def delete(
    act: Act,
    repository: Repository,
    *,
    path: str,
    sha: str | None,
    message: str | None = None,
    branch: str | None = None,
    author: Signature | None = None,
    committer: Signature | None = None,
) -> ContentChange:
    """Remove a file; `sha` must be that of the blob there is."""
    place = _find_place(act, repository, branch, path)
    if place.file is None:
        raise NotFoundRefusal(f"Could not resolve to a file at {path}.")
    _check_sha(path, place.file, sha)
    text = message if message is not None else f"Delete {path}"
    removal = TreeChange(path=path, sha=None)
    written = _Writing(place=place, change=removal, message=text, author=author, committer=committer)
    commit = _commit(act, repository, written)
    return ContentChange(commit=commit, entry=None, created=False)


def check_path(path: str, field: str = "path") -> None:
    """Refuse paths that lead out of a repository or into git's own folder; `field` is what the request calls it."""
    if path.startswith("/"):
        raise InvalidRefusal(f"{field} cannot start with a slash")
    is_text = "\0" not in path and not any("\ud800" <= character <= "\udfff" for character in path)
    if not is_text or any(part in {"", ".", ".."} or part.lower() == ".git" for part in path.split("/")):
        raise InvalidRefusal(f"{field} contains a malformed path component")


def require_workflow_scope(act: Act, repository: Repository, path: str, blob: str | None) -> None:
    """Refuse a workflow that is on no branch yet to a token without the `workflow` scope; REST says "Not Found"."""
    if act.viewer is None or act.viewer.unrestricted or blob is None or not path.startswith(FOLDER):
        return
    if act.viewer.has_scope("workflow"):
        return
    # A file that some branch has already may be carried to others, or no branch could be merged without the scope.
    git = act.git(repository)
    entries = (git.entry(tip, path) for tip in git.refs("refs/heads/").values())
    if not any(entry is not None and entry.sha == blob for entry in entries):
        raise NotFoundRefusal(WORKFLOW_REFUSED.format(path=path))


def _find_place(act: Act, repository: Repository, branch: str | None, path: str) -> _Place:
    """Return where to change a file, if the viewer may."""
    permissions.require(act, repository, "write", _NEEDS_WRITE)
    check_path(path)
    name = branch or repository.default_branch
    tip = _find_tip(act, repository, name)
    return _Place(branch=name, tip=tip, file=_find_file(act.git(repository), tip, path))


def _find_tip(act: Act, repository: Repository, branch: str) -> str | None:
    """Return the tip of a branch; None for the default branch of a repository without any commit."""
    git = act.git(repository)
    tip = git.ref(f"refs/heads/{branch}")
    if tip is None and (branch != repository.default_branch or git.refs("refs/heads/")):
        raise PlainNotFoundRefusal(f"Branch {branch} not found")
    return tip


def _find_file(git: GitRepository, tip: str | None, path: str) -> TreeEntry | None:
    parts = path.split("/")
    above = ["/".join(parts[:depth]) for depth in range(1, len(parts))] if tip else []
    if any((entry := git.entry(tip or "", folder)) and entry.type != "tree" for folder in above):
        raise InvalidRefusal(f"{path} leads through a file")
    file = git.entry(tip, path) if tip else None
    if file and file.type != "blob":
        raise InvalidRefusal(f"{path} is not a file")
    return file


def _check_sha(path: str, before: TreeEntry | None, sha: str | None) -> None:
    if before and not sha:
        raise InvalidRefusal('Invalid request.\n\n"sha" wasn\'t supplied.')
    if sha and (before is None or before.sha != sha.lower()):
        raise ConflictRefusal(f"{path} does not match {sha}")


def _commit(act: Act, repository: Repository, written: _Writing) -> Commit:
    git, user = act.git(repository), lookup.user_by_id(act.world, kernel.actor_id(act, repository))
    own, tip = kernel.user_signature(user, act.now), written.place.tip
    try:
        sha = git.write_commit(
            tree=git.write_tree(tip, [written.change]),
            parents=(tip,) if tip else (),
            message=written.message,
            author=written.author or written.committer or own,
            committer=written.committer or own,
        )
    except GitError as error:
        raise InvalidRefusal(str(error)) from error
    update = RefUpdate(f"refs/heads/{written.place.branch}", tip, sha)
    # `push` would refuse it too, with a 422: this endpoint answers a protected branch with a conflict.
    if reason := push_obstacle(act.world, act.viewer, repository, update):
        raise ConflictRefusal(f"Could not update file: {reason}")
    if violations := push_violations(act.world, act.viewer, repository, update):
        raise ConflictRefusal(describe_violations(violations))
    refs.push(act, repository, [update])
    commit = git.commit(sha)
    assert commit is not None  # noqa: S101 - just written
    return commit
