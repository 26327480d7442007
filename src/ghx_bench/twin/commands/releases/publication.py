"""Releases as drafts and as published ones, which have a tag in git."""

import re

from ghx_bench.twin.commands import cascade, kernel, refs
from ghx_bench.twin.commands.kernel import UNSET, Unset
from ghx_bench.twin.commands.texts import already_exists, check_length, check_unicode
from ghx_bench.twin.git.repository import RefUpdate
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.queries.permissions import require
from ghx_bench.twin.queries.releases import release_by_tag, tag_commit
from ghx_bench.twin.refusals import FieldError, InvalidRefusal
from ghx_bench.twin.state.records import Release, Repository
from ghx_bench.twin.world import Act

LONGEST_BODY = 125_000
LONGEST_NAME = 255
MAKE_LATEST = ("true", "false", "legacy")
_SHA = re.compile(r"[0-9a-f]{7,40}")
_NOT_VALID = FieldError(resource="Release", field="tag_name", code="custom", message="tag_name is not a valid tag")
_NOT_WELL_FORMED = FieldError(
    resource="Release", field="tag_name", code="custom", message="tag_name is not well-formed"
)
_NEEDS_TAG = FieldError(resource="Release", code="custom", message="Published releases must have a valid tag")
_NO_TARGET = FieldError(resource="Release", field="target_commitish", code="invalid")
_NOT_LATEST = FieldError(resource="Release", code="custom", message="Latest release cannot be draft or prerelease.")
_EMPTY = FieldError(resource="Release", code="custom", message="Repository is empty.")


def create(
    act: Act,
    repository: Repository,
    *,
    tag_name: str,
    target_commitish: str | None = None,
    name: str | None = None,
    body: str | None = None,
    draft: bool = False,
    prerelease: bool = False,
    make_latest: str | None = None,
) -> Release:
    """Add a release: a draft, or a published one, whose tag is made at the target where there is none yet."""
    require(act, repository, "write")
    if make_latest == "true" and prerelease and not draft:
        raise InvalidRefusal(errors=(_NOT_LATEST,))
    target = target_commitish or repository.default_branch
    sha = _find_commit(act, repository, tag_name, target, draft=draft)
    made = act.database.insert(
        Release,
        repository_id=repository.id,
        tag_name=tag_name,
        target_commitish=target,
        name=_name(name),
        body=_body(body),
        draft=True,
        prerelease=prerelease,
        author_id=kernel.actor_id(act, repository),
        created_at=_commit_date(act, repository, sha),
        updated_at=act.now,
    )
    return made if draft else _publish(act, repository, made, sha, make_latest)


def update(
    act: Act,
    release: Release,
    *,
    tag_name: str | Unset = UNSET,
    target_commitish: str | Unset = UNSET,
    name: str | Unset | None = UNSET,
    body: str | Unset | None = UNSET,
    draft: bool | Unset = UNSET,
    prerelease: bool | Unset = UNSET,
    make_latest: str | None = None,
) -> Release:
    """Change a release, publish a draft, or make a published one a draft again."""
    current = kernel.reload(act, release)
    repository = lookup.repository_of(act.world, current)
    require(act, repository, "write")
    changes: dict[str, object] = {
        "tag_name": current.tag_name if tag_name is UNSET else tag_name,
        "target_commitish": current.target_commitish if target_commitish is UNSET else target_commitish,
        "name": current.name if name is UNSET else _name(name),
        "body": current.body if body is UNSET else _body(body),
        "prerelease": current.prerelease if prerelease is UNSET else prerelease,
    }
    is_draft = current.draft if draft is UNSET else draft
    if make_latest == "true" and (is_draft or changes["prerelease"]):
        raise InvalidRefusal(errors=(_NOT_LATEST,))
    wanted, target = str(changes["tag_name"]), str(changes["target_commitish"])
    sha = None
    if (wanted, target, is_draft) != (current.tag_name, current.target_commitish, current.draft):
        sha = _find_commit(act, repository, wanted, target, draft=is_draft)
        changes["created_at"] = _commit_date(act, repository, sha)
    if is_draft and not current.draft:
        changes |= {"draft": True, "is_latest": False, "published_at": None}
    if changes["prerelease"]:
        changes["is_latest"] = False
    was_promoted = current.prerelease and not changes["prerelease"]
    if any(getattr(current, field) != value for field, value in changes.items()):
        current = kernel.touch(act, current, **changes)
    if is_draft:
        return current
    if sha is not None:
        return _publish(act, repository, current, sha, make_latest)
    return _choose_latest(act, current, make_latest or ("true" if was_promoted else None))


def delete(act: Act, release: Release) -> None:
    """Delete a release and its files; its tag stays."""
    current = kernel.reload(act, release)
    require(act, lookup.repository_of(act.world, current), "write")
    cascade.delete_all(act.database, cascade.under_release(act.database, current))
    act.database.delete(current)


def _publish(act: Act, repository: Repository, release: Release, sha: str, make_latest: str | None) -> Release:
    """Give a release its tag; a draft becomes public with it, and the latest unless it is asked not to."""
    taken = release_by_tag(act.world, repository, release.tag_name)
    if taken is not None and taken.id != release.id:
        raise already_exists("Release", "tag_name")
    if tag_commit(act.world, repository, release.tag_name) is None:
        refs.push(act, repository, [RefUpdate(f"refs/tags/{release.tag_name}", None, sha)])
    if not release.draft:
        return _choose_latest(act, release, make_latest)
    published = kernel.touch(act, release, draft=False, published_at=act.now)
    return _choose_latest(act, published, make_latest or "true")


def _choose_latest(act: Act, release: Release, make_latest: str | None) -> Release:
    """Make a release the latest one, or leave that to the dates of all (`legacy`)."""
    if make_latest in {None, "false"} or release.prerelease:
        return act.database.update(release, is_latest=False) if make_latest == "false" else release
    for other in act.database.all(Release, repository_id=release.repository_id, is_latest=True):
        if other.id != release.id or make_latest == "legacy":
            act.database.update(other, is_latest=False)
    current = kernel.reload(act, release)
    return current if make_latest == "legacy" or current.is_latest else act.database.update(current, is_latest=True)


def _find_commit(act: Act, repository: Repository, tag_name: str, target: str, *, draft: bool) -> str:
    """Return the commit of a release: what its tag names, else the branch or commit it is to be made at."""
    git = act.git(repository)
    if not git.refs("refs/heads/"):
        raise InvalidRefusal(errors=(_EMPTY,))
    if not git.is_ref_name(f"refs/tags/{tag_name}") or tag_name.startswith("-"):
        blank = FieldError(resource="Release", field="tag_name", code="missing_field")
        first = _NOT_VALID if tag_name else blank
        raise InvalidRefusal(errors=(_NOT_WELL_FORMED,) if draft else (first, _NOT_WELL_FORMED, _NEEDS_TAG))
    tagged = tag_commit(act.world, repository, tag_name)
    # A branch or a commit: GitHub takes no other ref here.
    branch = git.ref(f"refs/heads/{target.removeprefix('refs/heads/')}")
    at = branch or (git.resolve(target, repository.default_branch) if _SHA.fullmatch(target) else None)
    if at is None:
        raise InvalidRefusal(errors=(_NO_TARGET,) if tagged or draft else (_NOT_VALID, _NEEDS_TAG, _NO_TARGET))
    return tagged or at


def _commit_date(act: Act, repository: Repository, sha: str) -> str:
    commit = act.git(repository).commit(sha)
    return act.now if commit is None else commit.committer.utc


def _name(name: str | None) -> str | None:
    if name is None:
        return None
    checked = check_unicode(name, resource="Release", field="name")
    return check_length(checked, LONGEST_NAME, resource="Release", field="name")


def _body(body: str | None) -> str | None:
    if body is None:
        return None
    checked = check_unicode(body, resource="Release", field="body")
    return check_length(checked, LONGEST_BODY, resource="Release", field="body")
