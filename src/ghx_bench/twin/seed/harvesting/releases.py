"""Harvests releases and their files."""

import base64
from collections.abc import Iterator

from ghx_bench.twin.queries import lookup
from ghx_bench.twin.seed.releases import SeedAsset, SeedRelease
from ghx_bench.twin.state.records import Release, ReleaseAsset, Repository
from ghx_bench.twin.world import World

_SAME = (
    "tag_name", "target_commitish", "name", "body", "draft", "prerelease", "created_at", "published_at", "updated_at",
)  # fmt: skip


def harvest_releases(world: World, repository: Repository) -> Iterator[SeedRelease]:
    """Yield the releases of a repository, oldest first."""
    for release in world.database.all(Release, repository_id=repository.id):
        yield SeedRelease.model_validate(
            {
                **{name: getattr(release, name) for name in _SAME},
                "make_latest": release.is_latest,
                "author": lookup.user_by_id(world, release.author_id).login,
                "assets": tuple(
                    _asset(world, repository, each) for each in world.database.all(ReleaseAsset, release_id=release.id)
                ),
            }
        )


def _asset(world: World, repository: Repository, asset: ReleaseAsset) -> SeedAsset:
    content = world.git(repository).blob(asset.blob_sha) or b""
    try:
        text, encoding = content.decode(), "utf-8"
    except UnicodeDecodeError:
        text, encoding = base64.b64encode(content).decode(), "base64"
    return SeedAsset.model_validate(
        {
            **{name: getattr(asset, name) for name in ("name", "content_type", "label", "updated_at")},
            "content": text,
            "encoding": encoding,
            "uploader": lookup.user_by_id(world, asset.uploader_id).login,
            "at": asset.created_at,
        }
    )
