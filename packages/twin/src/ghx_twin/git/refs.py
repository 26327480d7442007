"""Refs: their names and targets, and the commits that an expression means."""

import re
from typing import cast

import pygit2

from ghx_twin.git.errors import GitRefError
from ghx_twin.git.objects import AnyObject, decode_text

SHA = re.compile(r"[0-9a-f]{40}")
_SHORT_SHA = re.compile(r"[0-9a-f]{4,39}")
_STEPS = re.compile(r"(?P<start>[^~^]*)(?P<steps>([~^]\d{0,6})*)")
_STEP = re.compile(r"([~^])(\d*)")


def is_ref_name(name: str) -> bool:
    """Return whether git allows a full name."""
    try:
        return "\0" not in name and pygit2.reference_is_valid_name(name)
    except UnicodeEncodeError:  # half a surrogate pair
        return False


def branch_ref(branch: str) -> str:
    """Return the full name of a branch."""
    name = f"refs/heads/{branch}"
    if not is_ref_name(name):
        raise GitRefError(f"{branch!r} is no name a branch can have")
    return name


def list_refs(repository: pygit2.Repository, prefix: str) -> dict[str, str]:
    """Return the refs whose full name starts with `prefix`, by name."""
    refs: dict[str, str] = {}
    for reference in repository.references.iterator():
        name = decode_text(reference.raw_name)
        if name.startswith(prefix) and isinstance(reference.target, pygit2.Oid):
            refs[name] = str(reference.target)
    return dict(sorted(refs.items()))


def read_ref(repository: pygit2.Repository, name: str) -> str | None:
    """Return the target of a ref."""
    if not is_ref_name(name):
        return None
    try:
        target = repository.lookup_reference(name).resolve().target
    except (KeyError, ValueError, OSError, pygit2.GitError):
        return None
    return str(target)


def write_ref(repository: pygit2.Repository, name: str, sha: str | None) -> None:
    """Create, move or delete a ref; the caller has checked its name and target."""
    try:
        if sha is None:
            repository.references.delete(name)
        else:
            repository.create_reference_direct(name, pygit2.Oid(hex=sha), True)
    except (OSError, ValueError, KeyError, pygit2.GitError) as error:
        raise GitRefError(f"{name} cannot be written: {error}") from None


def get_object(repository: pygit2.Repository, sha: str) -> AnyObject | None:
    """Return the object with this sha."""
    return cast("AnyObject | None", repository.get(sha)) if SHA.fullmatch(sha) else None


def peel_to_commit(git_object: AnyObject | None) -> pygit2.Commit | None:
    """Return the commit that an object is or, through annotated tags, names."""
    while isinstance(git_object, pygit2.Tag):
        git_object = cast("AnyObject", git_object.get_object())
    return git_object if isinstance(git_object, pygit2.Commit) else None


def resolve_commit(repository: pygit2.Repository, expression: str, default_branch: str) -> pygit2.Commit | None:
    """Return the commit that an expression means."""
    parsed = _STEPS.fullmatch(expression)
    commit = None if parsed is None else _find_commit(repository, parsed["start"], default_branch)
    for kind, number in _STEP.findall(parsed["steps"] if parsed else ""):
        commit = None if commit is None else _step(commit, kind, int(number or 1))
    return commit


def _find_commit(repository: pygit2.Repository, name: str, default_branch: str) -> pygit2.Commit | None:
    if (git_object := get_object(repository, name)) is not None:
        return peel_to_commit(git_object)
    if name == "HEAD":
        return _commit_at(repository, f"refs/heads/{default_branch}")
    if name.startswith("refs/"):
        return _commit_at(repository, name)
    for prefix in ("refs/heads/", "refs/tags/", "refs/"):
        if (commit := _commit_at(repository, prefix + name)) is not None:
            return commit
    return _expand_sha(repository, name) if _SHORT_SHA.fullmatch(name) else None


def _commit_at(repository: pygit2.Repository, ref: str) -> pygit2.Commit | None:
    sha = read_ref(repository, ref)
    return None if sha is None else peel_to_commit(get_object(repository, sha))


def _expand_sha(repository: pygit2.Repository, start: str) -> pygit2.Commit | None:
    try:
        return peel_to_commit(get_object(repository, str(repository.expand_id(start))))
    except (KeyError, ValueError, pygit2.GitError):  # nothing starts like this, or several things do
        return None


def _step(commit: pygit2.Commit, kind: str, number: int) -> pygit2.Commit | None:
    if kind == "^":
        return commit if number == 0 else next(iter(commit.parents[number - 1 : number]), None)
    for _ in range(number):
        if not commit.parents:
            return None
        commit = commit.parents[0]
    return commit
