"""Releases of a repository, and the files that they carry."""

from dataclasses import dataclass
from typing import ClassVar

from ghx_twin.state.records.base import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(Record):
    """A release; a draft has no tag in git yet, and several drafts may name the same one."""

    table: ClassVar[str] = "releases"
    indexed: ClassVar = (("repository_id", "tag_name"),)
    listed: ClassVar = (("repository_id", "draft", "created_at", "id"),)

    repository_id: int
    tag_name: str
    target_commitish: str  # where the tag is made: a branch or a commit
    name: str | None = None
    body: str | None = None
    draft: bool = False
    prerelease: bool = False
    is_latest: bool = False  # chosen as the latest one; of one release of a repository at most
    author_id: int
    created_at: str  # the date of its commit, as on GitHub
    published_at: str | None = None
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseAsset(Record):
    """A file of a release; its bytes are a blob of the repository, which no tree holds."""

    table: ClassVar[str] = "release_assets"
    unique: ClassVar = (("release_id", "name"),)

    release_id: int
    name: str
    label: str | None = None
    content_type: str = "application/octet-stream"
    size: int
    digest: str  # sha256:...
    blob_sha: str
    uploader_id: int
    created_at: str
    updated_at: str
