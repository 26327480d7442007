"""Releases as drafts and as published ones, which have a tag in git."""

import re
from dataclasses import fields, replace

from ghx_twin.commands import cascade, kernel
from ghx_twin.commands.kernel import UNSET, Unset
from ghx_twin.commands.repositories import refs
from ghx_twin.commands.texts import already_exists, check_length, check_unicode
from ghx_twin.git.objects import RefUpdate
from ghx_twin.queries import lookup
from ghx_twin.queries.permissions import require
from ghx_twin.queries.repositories.releases import tag_commit
from ghx_twin.refusals import FieldError, InvalidRefusal
from ghx_twin.state.records import Release, Repository
from ghx_twin.world import Act

LONGEST_BODY = 125_000
LONGEST_NAME = 255
_SHA = re.compile(r"[0-9a-f]{40}")
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
    release = act.database.insert(
        Release,
        repository_id=repository.id,
        tag_name=tag_name,
        target_commitish=target,
        name=_check_text(name, LONGEST_NAME, "name"),
        body=_check_text(body, LONGEST_BODY, "body"),
        draft=draft,
        prerelease=prerelease,
        author_id=kernel.actor_id(act, repository),
        created_at=_commit_date(act, repository, sha),
        published_at=None if draft else act.now,
        updated_at=act.now,
    )
    if not draft:
        _make_tag(act, repository, release, sha)
    return _choose_latest(act, release, make_latest or "true")


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
    fields = {
        "tag_name": tag_name,
        "target_commitish": target_commitish,
        "name": name if name is UNSET else _check_text(name, LONGEST_NAME, "name"),
        "body": body if body is UNSET else _check_text(body, LONGEST_BODY, "body"),
        "draft": draft,
        "prerelease": prerelease,
    }
    wanted = replace(current, **{field: value for field, value in fields.items() if value is not UNSET})
    if make_latest == "true" and (wanted.draft or wanted.prerelease):
        raise InvalidRefusal(errors=(_NOT_LATEST,))
    if _place(wanted) != _place(current):
        sha = _find_commit(act, repository, wanted.tag_name, wanted.target_commitish, draft=wanted.draft)
        wanted = replace(wanted, created_at=_commit_date(act, repository, sha))
        if not wanted.draft:
            _make_tag(act, repository, wanted, sha)
    if wanted.draft != current.draft:
        wanted = replace(wanted, published_at=None if wanted.draft else act.now)
    # What is new to everybody becomes the latest release unless it is asked not to.
    is_new = not _can_be_latest(current) and _can_be_latest(wanted)
    return _choose_latest(act, _store(act, current, wanted), make_latest or ("true" if is_new else None))


def delete(act: Act, release: Release) -> None:
    """Delete a release and its files; its tag stays."""
    current = kernel.reload(act, release)
    require(act, lookup.repository_of(act.world, current), "write")
    cascade.delete_all(act.database, cascade.under_release(act.database, current))
    act.database.delete(current)


def _place(release: Release) -> tuple[str, str, bool]:
    return release.tag_name, release.target_commitish, release.draft


def _can_be_latest(release: Release) -> bool:
    return not release.draft and not release.prerelease


def _store(act: Act, current: Release, release: Release) -> Release:
    pairs = {field.name: getattr(release, field.name) for field in fields(release)}
    changes = {field: value for field, value in pairs.items() if value != getattr(current, field)}
    return kernel.touch(act, current, **changes) if changes else current


def _make_tag(act: Act, repository: Repository, release: Release, sha: str) -> None:
    """Make the tag of a release where there is none; refuse one that another release has."""
    published = act.database.all(Release, repository_id=repository.id, tag_name=release.tag_name, draft=False)
    if any(one.id != release.id for one in published):
        raise already_exists("Release", "tag_name")
    if tag_commit(act.world, repository, release.tag_name) is None:
        refs.push(act, repository, [RefUpdate(f"refs/tags/{release.tag_name}", None, sha)])


def _choose_latest(act: Act, release: Release, make_latest: str | None) -> Release:
    """Make a release the latest one or not, leave that to the dates of all (`legacy`), or leave it as it is (None)."""
    can_be = _can_be_latest(release)
    if can_be and make_latest in {"true", "legacy"}:
        for other in act.database.all(Release, repository_id=release.repository_id, is_latest=True):
            if other.id != release.id:
                act.database.update(other, is_latest=False)
    is_latest = can_be and (release.is_latest if make_latest is None else make_latest == "true")
    return release if release.is_latest == is_latest else act.database.update(release, is_latest=is_latest)


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
    # A branch or a whole sha: GitHub takes no other ref here, and no shortened one.
    branch = git.ref(f"refs/heads/{target.removeprefix('refs/heads/')}")
    at = branch or (git.resolve(target, repository.default_branch) if _SHA.fullmatch(target) else None)
    if at is None:
        raise InvalidRefusal(errors=(_NO_TARGET,) if tagged or draft else (_NOT_VALID, _NEEDS_TAG, _NO_TARGET))
    return tagged or at


def _commit_date(act: Act, repository: Repository, sha: str) -> str:
    commit = act.git(repository).commit(sha)
    return act.now if commit is None else commit.committer.utc


def _check_text(text: str | None, longest: int, field: str) -> str | None:
    if text is None:
        return None
    return check_length(check_unicode(text, resource="Release", field=field), longest, resource="Release", field=field)
