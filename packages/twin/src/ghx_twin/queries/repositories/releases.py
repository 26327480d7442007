"""Releases: who sees them, which one is the latest, and what their tags point at."""

import re

from ghx_twin.queries.permissions import may
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.state.records import Release, ReleaseAsset, Repository
from ghx_twin.viewer import Viewer
from ghx_twin.world import World

_VERSION = re.compile(r"v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?")


def release(world: World, viewer: Viewer | None, repository: Repository, identity: int) -> Release:
    """Return a release by its id; a draft only to those who can push."""
    record = world.database.get(Release, identity)
    if record is None or record.repository_id != repository.id or not is_visible(world, viewer, repository, record):
        raise NotFoundRefusal(f"Could not resolve to a Release with the id of {identity}.")
    return record


def release_by_tag(world: World, repository: Repository, tag_name: str) -> Release | None:
    """Return the published release of a tag; a draft has none yet."""
    return world.database.one(Release, repository_id=repository.id, tag_name=tag_name, draft=False)


def asset(world: World, viewer: Viewer | None, repository: Repository, identity: int) -> tuple[Release, ReleaseAsset]:
    """Return a file of a release by its id, and that release."""
    release_asset = world.database.get(ReleaseAsset, identity)
    if release_asset is None:
        raise NotFoundRefusal(f"Could not resolve to a ReleaseAsset with the id of {identity}.")
    return release(world, viewer, repository, release_asset.release_id), release_asset


def is_visible(world: World, viewer: Viewer | None, repository: Repository, release: Release) -> bool:
    """Return whether a viewer of the repository may see a release: drafts are for those who can push."""
    return not release.draft or may(world, viewer, repository, "write")


def is_only_asset(world: World, repository: Repository, blob: str) -> bool:
    """Return whether a blob is stored for releases alone: on GitHub their files are no objects of a repository."""
    return bool(world.database.count(ReleaseAsset, blob_sha=blob)) and not world.git(repository).is_in_history(blob)


def latest_release(world: World, repository: Repository) -> Release | None:
    """Return the latest release: the one chosen as such, else the newest by its commit and then by its version."""
    chosen = world.database.one(Release, repository_id=repository.id, is_latest=True)
    if chosen is not None:
        return chosen
    releases = world.database.all(Release, repository_id=repository.id, draft=False, prerelease=False)
    return max(releases, key=lambda one: (one.created_at, _version(one.tag_name), one.id), default=None)


def tag_commit(world: World, repository: Repository, tag_name: str) -> str | None:
    """Return the commit that a tag names; None where there is no such tag, or it names no commit."""
    return world.git(repository).resolve(f"refs/tags/{tag_name}", repository.default_branch)


def untagged_name(release: Release) -> str:
    """Return what stands for the tag in the addresses of a release: a draft has none."""
    return f"untagged-{release.id:020x}" if release.draft else release.tag_name


def _version(tag_name: str) -> tuple[int, ...]:
    match = _VERSION.fullmatch(tag_name)
    return tuple(int(part or 0) for part in match.groups()) if match else ()
