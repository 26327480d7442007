"""Plants releases and their files."""

from ghx_bench.twin.commands import releases, restoring
from ghx_bench.twin.seed.mistakes import within
from ghx_bench.twin.seed.planting.history import decode_content
from ghx_bench.twin.seed.planting.repository import PlantedRepository
from ghx_bench.twin.seed.releases import SeedAsset, SeedRelease
from ghx_bench.twin.state.records import Release


def plant_releases(repo: PlantedRepository) -> None:
    """Make the releases of a repository, with the tags that are not there yet."""
    for release in repo.seed.releases:
        with within(f"releases: {release.tag_name}"):
            _plant_release(repo, release)


def _plant_release(repo: PlantedRepository, seed: SeedRelease) -> None:
    author = seed.author or repo.steward
    same = seed.model_dump(include={"tag_name", "name", "body", "draft", "prerelease"})
    target = seed.target_commitish or repo.record.default_branch
    with repo.acting_as(author, at=seed.published_at or seed.updated_at) as act:
        if repo.seed.exported:  # the branch it was made at may be gone
            is_latest = seed.make_latest and not seed.draft
            made = restoring.add_release(act, repo.record, **same, target_commitish=target, is_latest=is_latest)
        else:
            choice = None if seed.make_latest else "false"
            made = releases.create(act, repo.current(act), **same, target_commitish=target, make_latest=choice)
    for asset in seed.assets:
        with within(f"assets: {asset.name}"):
            _plant_asset(repo, made, asset, author)
    times = {name: getattr(seed, name) for name in ("created_at", "published_at", "updated_at")}
    stated = {name: moment for name, moment in times.items() if moment is not None}
    if stated:
        with repo.world.acting(None) as act:
            act.database.update(made, **stated)


def _plant_asset(repo: PlantedRepository, release: Release, seed: SeedAsset, author: str) -> None:
    with repo.acting_as(seed.uploader or author, at=seed.at) as act:
        made = releases.upload_asset(
            act,
            release,
            content=decode_content("content", seed.content, seed.encoding),
            **seed.model_dump(include={"name", "content_type", "label"}),
        )
        if seed.updated_at is not None:
            act.database.update(made, updated_at=seed.updated_at)
