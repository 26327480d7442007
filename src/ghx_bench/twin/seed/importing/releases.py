"""Imports releases with their smaller files, and comments on commits."""

import base64
from collections.abc import Iterator
from itertools import islice

from ghx_bench.twin.seed.document import SeedCommitComment
from ghx_bench.twin.seed.importing.accounts import People
from ghx_bench.twin.seed.importing.github import GitHubReader, Json, RefusedError
from ghx_bench.twin.seed.releases import SeedAsset, SeedRelease

_LARGEST_ASSET = 1024 * 1024  # a seed is read whole, and no agent reads a build
_SAME = (
    "tag_name", "target_commitish", "name", "body", "draft", "prerelease", "created_at", "published_at",
)  # fmt: skip


def import_releases(github: GitHubReader, people: People, repository: str, most: int | None) -> tuple[SeedRelease, ...]:
    """Return the newest releases, oldest first."""
    path = f"/repos/{repository}/releases"
    listed = [] if most == 0 else list(islice(github.pages(path), most))
    latest = _find_latest(github, path) if listed else None
    return tuple(
        SeedRelease.model_validate(
            {
                **{name: each[name] for name in _SAME},
                "make_latest": each["id"] == latest,
                "author": people.login(each["author"]),
                "assets": tuple(_assets(github, people, path, each)),
                "updated_at": each.get("updated_at"),
            }
        )
        for each in sorted(listed, key=lambda each: int(each["id"]))
    )


def import_commit_comments(github: GitHubReader, people: People, repository: str) -> Iterator[SeedCommitComment]:
    """Yield all comments on commits, oldest first."""
    for each in github.pages_if_shown("comments on commits", f"/repos/{repository}/comments"):
        yield SeedCommitComment.model_validate(
            {
                **{name: each[name] for name in ("body", "path", "position", "line", "updated_at")},
                "commit": each["commit_id"],
                "author": people.writer(each["user"], each.get("author_association")),
                "at": each["created_at"],
            }
        )


def _find_latest(github: GitHubReader, path: str) -> int | None:
    try:
        return int(github.get(f"{path}/latest")["id"])
    except RefusedError:  # there are drafts and prereleases alone
        return None


def _assets(github: GitHubReader, people: People, path: str, release: Json) -> Iterator[SeedAsset]:
    for asset in release["assets"]:
        if asset["size"] > _LARGEST_ASSET or asset["state"] != "uploaded":
            github.skip(f"the file {asset['name']} of {release['tag_name']} ({asset['size']:,} bytes)")
            continue
        content = github.download(f"{path}/assets/{asset['id']}", accept="application/octet-stream")
        try:
            text, encoding = content.decode(), "utf-8"
        except UnicodeDecodeError:
            text, encoding = base64.b64encode(content).decode(), "base64"
        yield SeedAsset.model_validate(
            {
                **{name: asset[name] for name in ("name", "content_type", "label", "updated_at")},
                "content": text,
                "encoding": encoding,
                "uploader": people.login(asset["uploader"]),
                "at": asset["created_at"],
            }
        )
