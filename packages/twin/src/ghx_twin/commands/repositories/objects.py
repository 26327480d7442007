"""Git objects written one by one, for tools that build commits themselves."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ghx_twin.commands import kernel
from ghx_twin.commands.repositories import contents
from ghx_twin.commands.repositories.contents import check_path
from ghx_twin.git.errors import GitError
from ghx_twin.git.objects import AnnotatedTag, Commit, Signature, TreeChange
from ghx_twin.queries import lookup, permissions
from ghx_twin.refusals import ConflictRefusal, InvalidRefusal
from ghx_twin.state.records import Repository
from ghx_twin.world import Act

_SHA = re.compile(r"[0-9a-f]{40}")
_BAD_STATE = "GitRPC::BadObjectState"
_NEEDS_WRITE = "Must have push access to repository"
_MODES = {"100644": "blob", "100755": "blob", "120000": "blob", "040000": "tree", "160000": "commit"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntry:
    """One entry of a tree to write: an object by its sha, or the content of a file; neither removes the path."""

    path: str
    mode: str = "100644"
    type: str | None = None
    sha: str | None = None
    content: bytes | None = None


def create_blob(act: Act, repository: Repository, content: bytes) -> str:
    """Write a blob."""
    permissions.require(act, repository, "write", _NEEDS_WRITE)
    _require_history(act, repository)
    return act.git(repository).write_blob(content)


def create_tree(act: Act, repository: Repository, *, entries: Sequence[NewEntry], base: str | None = None) -> str:
    """Write a tree of entries, over a base (a tree or a commit) where one is given."""
    permissions.require(act, repository, "write", _NEEDS_WRITE)
    _require_history(act, repository)
    git = act.git(repository)
    if base is not None and git.kind(base) not in {"tree", "commit"}:
        raise InvalidRefusal("base_tree is not a valid tree oid")
    if not entries:
        raise InvalidRefusal("Invalid tree info")
    changes = [_change(act, repository, entry) for entry in entries]
    for change in changes:
        contents.require_workflow_scope(act, repository, change.path, change.sha)
    if base is None:
        changes = [change for change in changes if change.sha is not None]
    try:
        return git.write_tree(base, changes)
    except GitError as error:
        raise InvalidRefusal(_BAD_STATE) from error


def create_commit(
    act: Act,
    repository: Repository,
    *,
    message: str,
    tree: str,
    parents: Sequence[str] = (),
    author: Signature | None = None,
    committer: Signature | None = None,
) -> Commit:
    """Write a commit; no branch moves."""
    permissions.require(act, repository, "write", _NEEDS_WRITE)
    _require_history(act, repository)
    git = act.git(repository)
    if not _SHA.fullmatch(tree):
        raise InvalidRefusal("The tree parameter must be exactly 40 characters and contain only [0-9a-f].")
    if git.kind(tree) != "tree":
        raise InvalidRefusal("Tree SHA does not exist")
    if any(git.kind(parent) != "commit" for parent in parents):
        raise InvalidRefusal("Parent SHA does not exist or is not a commit object")
    own = kernel.user_signature(lookup.user_by_id(act.world, kernel.actor_id(act, repository)), act.now)
    written_by = author or own
    try:
        sha = git.write_commit(
            tree=tree, parents=parents, message=message, author=written_by, committer=committer or written_by
        )
    except GitError as error:
        raise InvalidRefusal(str(error)) from error
    commit = git.commit(sha)
    assert commit is not None  # noqa: S101 - just written
    return commit


def create_tag(
    act: Act,
    repository: Repository,
    *,
    name: str,
    target: str,
    message: str,
    tagger: Signature | None = None,
) -> AnnotatedTag:
    """Write an annotated tag; its ref is created separately."""
    permissions.require(act, repository, "write", _NEEDS_WRITE)
    git = act.git(repository)
    if not git.is_ref_name(f"refs/tags/{name}"):
        raise InvalidRefusal(f"{name} is not a valid tag name.")
    if git.kind(target) is None:
        raise InvalidRefusal("Object does not exist")
    own = kernel.user_signature(lookup.user_by_id(act.world, kernel.actor_id(act, repository)), act.now)
    try:
        tag = git.tag(git.write_tag(name=name, target=target, message=message, tagger=tagger or own))
    except GitError as error:
        raise InvalidRefusal(str(error)) from error
    assert tag is not None  # noqa: S101 - just written
    return tag


def _change(act: Act, repository: Repository, entry: NewEntry) -> TreeChange:
    check_path(entry.path, "tree.path")
    git = act.git(repository)
    if _MODES.get(entry.mode) is None:
        raise InvalidRefusal("Must supply a valid tree.mode")
    if entry.type is not None and entry.type != _MODES[entry.mode]:
        raise InvalidRefusal("tree.type Must be a valid type for its tree.mode")
    if entry.content is not None:
        return TreeChange(path=entry.path, mode=entry.mode, sha=git.write_blob(entry.content))
    if entry.sha is not None and entry.mode != "160000" and git.kind(entry.sha) != _MODES[entry.mode]:
        raise InvalidRefusal(f"tree.sha {entry.sha} is not a valid {_MODES[entry.mode]}")
    if entry.sha is not None and entry.mode == "160000":  # a commit of another repository, so that its name is all
        if not _SHA.fullmatch(entry.sha):
            raise InvalidRefusal(f"tree.sha {entry.sha} is not a valid commit")
        if not entry.sha.strip("0"):
            raise InvalidRefusal(_BAD_STATE)
    return TreeChange(path=entry.path, mode=entry.mode, sha=entry.sha)


def _require_history(act: Act, repository: Repository) -> None:
    """Refuse objects in a repository without any commit, as GitHub does."""
    if act.viewer is not None and not act.git(repository).refs("refs/heads/"):
        raise ConflictRefusal("Git Repository is empty.")
