"""Releases and their files."""

from typing import Any, ClassVar
from urllib.parse import quote

from ghx_twin.graphql import git_lookup
from ghx_twin.graphql.views.base import Linked, RecordView
from ghx_twin.queries.repositories.releases import latest_release, tag_commit, untagged_name
from ghx_twin.state.records import Release, ReleaseAsset, Repository


class ReleaseView(Linked, RecordView[Release]):
    """A release of a repository."""

    typename: ClassVar[str] = "Release"
    sources: ClassVar = {"subject": Release}
    __slots__ = ()

    def author(self) -> Any:
        """Return who made it."""
        user = self.context.user(self.subject.author_id)
        return self.context.view_of(user) if user and user.type == "User" else None

    def description(self) -> str | None:
        """Return its notes."""
        return self.subject.body

    def immutable(self) -> bool:
        """Return whether nothing can change it: never here."""
        return False

    def is_draft(self) -> bool:
        """Return whether it is not published yet."""
        return self.subject.draft

    def is_latest(self) -> bool:
        """Return whether it is the latest release of its repository."""
        home = self._home
        latest = self.context.once(("latest release", home.id), lambda: latest_release(self.context.world, home))
        return latest is not None and latest.id == self.subject.id

    def is_prerelease(self) -> bool:
        """Return whether it comes before a release."""
        return self.subject.prerelease

    def release_assets(self, name: str | None = None) -> list[ReleaseAsset]:
        """Return its files."""
        release_assets = self.context.database.all(ReleaseAsset, release_id=self.subject.id)
        return [one for one in release_assets if name is None or one.name == name]

    def repository(self) -> Any:
        """Return whose release it is."""
        return self.context.view_of(self._home)

    def resource_path(self) -> str:
        """Return the path of its page."""
        return f"/{self.context.full_name(self._home)}/releases/tag/{quote(untagged_name(self.subject))}"

    def tag(self) -> Any:
        """Return its tag, where git has it."""
        name = f"refs/tags/{self.subject.tag_name}"
        return self.context.view_of(git_lookup.ref(self.context, self._home, name))

    def tag_commit(self) -> Any:
        """Return the commit that its tag names."""
        sha = tag_commit(self.context.world, self._home, self.subject.tag_name)
        return self.context.view_of(git_lookup.git_object(self.context, self._home, sha))

    @property
    def _home(self) -> Repository:
        return self.context.home(self.subject.repository_id)


class ReleaseAssetView(RecordView[ReleaseAsset]):
    """A file of a release."""

    typename: ClassVar[str] = "ReleaseAsset"
    sources: ClassVar = {"subject": ReleaseAsset}
    __slots__ = ()

    def download_count(self) -> int:
        """Return how often it was downloaded: reading changes nothing in a world."""
        return 0

    def download_url(self) -> str:
        """Return where its bytes are."""
        release = self._release
        home = self.context.full_name(self.context.home(release.repository_id))
        place = f"{quote(untagged_name(release))}/{quote(self.subject.name)}"
        return f"{self.context.base.html}/{home}/releases/download/{place}"

    def release(self) -> Any:
        """Return the release that carries it."""
        return self.context.view_of(self._release)

    def uploaded_by(self) -> Any:
        """Return who uploaded it."""
        return self.context.view_of(self.context.user(self.subject.uploader_id))

    def url(self) -> str:
        """Return where it is in the API."""
        home = self.context.full_name(self.context.home(self._release.repository_id))
        return f"{self.context.base.api}/repos/{home}/releases/assets/{self.subject.id}"

    @property
    def _release(self) -> Release:
        release = self.context.database.get(Release, self.subject.release_id)
        assert release is not None  # noqa: S101 - a file goes with its release
        return release
