"""What pull requests are made of, and the whole of them."""

from collections.abc import Sequence
from typing import Any, ClassVar

from ghx_bench.twin.graphql.subjects import AutoMerge, PullCommit, PullFile
from ghx_bench.twin.graphql.views.base import Linked, RecordView, View
from ghx_bench.twin.graphql.views.pulls import PullCore
from ghx_bench.twin.nodes import NodeId
from ghx_bench.twin.queries import pulls
from ghx_bench.twin.state.records import Comment, Issue, Pull, Review, ReviewRequest, Team, Thread

_CHANGES = {"added": "ADDED", "removed": "DELETED", "modified": "MODIFIED", "renamed": "RENAMED", "copied": "COPIED"}


class PullRequestView(PullCore):
    """A pull request with its reviews."""

    typename: ClassVar[str] = "PullRequest"
    __slots__ = ()

    def review_decision(self) -> str | None:
        """Return what the reviews add up to."""
        return pulls.review_decision(self.context.world, self.subject)

    def review_requests(self) -> list[ReviewRequest]:
        """Return who was asked to review it."""
        return self.context.database.all(ReviewRequest, pull_id=self.subject.id)

    def review_threads(self) -> list[Thread]:
        """Return the conversations on its lines."""
        return pulls.visible_threads(self.context.world, self.context.viewer, self.subject)

    def reviews(self, author: str | None = None, states: Sequence[str] | None = None) -> list[Review]:
        """Return its reviews."""
        found = pulls.visible_reviews(self.context.world, self.context.viewer, self.subject)
        found = [one for one in found if not states or one.state in states]
        return [one for one in found if author is None or self._login(one).lower() == author.lower()]

    def latest_reviews(self) -> list[Review]:
        """Return the last review of each who was not asked again since."""
        asked = {one.user_id for one in self.review_requests()}
        found = pulls.latest_reviews(self.context.world, self.subject)
        return [one for one in found if one.author_id not in asked]

    def latest_opinionated_reviews(self, writers_only: bool | None = None) -> list[Review]:
        """Return the approvals and requests for changes that still stand."""
        return pulls.latest_opinions(self.context.world, self.subject, writers_only=bool(writers_only))

    def total_comments_count(self) -> int:
        """Return how many comments there are, those on lines too."""
        comments = self.context.database.count(Comment, issue_id=self.issue.id)
        world, viewer = self.context.world, self.context.viewer
        return comments + sum(len(pulls.visible_comments(world, viewer, one)) for one in self.review_threads())

    def viewer_latest_review(self) -> Any:
        """Return the viewer's last review."""
        own = [one for one in self.reviews() if one.author_id == self.context.viewer.id]
        return self.context.show(own[-1] if own else None)

    def viewer_latest_review_request(self) -> Any:
        """Return the request that the viewer has not answered."""
        return self.context.show(
            next((one for one in self.review_requests() if one.user_id == self.context.viewer.id), None)
        )

    def _writers(self) -> list[int]:
        return [*super()._writers(), *(one.author_id for one in self.reviews())]

    def _login(self, review: Review) -> str:
        author = self.context.user(review.author_id)
        return author.login if author else ""


class ReviewRequestView(RecordView[ReviewRequest]):
    """Someone who was asked to review."""

    typename: ClassVar[str] = "ReviewRequest"
    __slots__ = ()

    def as_code_owner(self) -> bool:
        """Tell whether a CODEOWNERS file asked: never here."""
        return False

    def pull_request(self) -> Any:
        """Return what to review."""
        return self.context.show(self.context.database.get(Pull, self.subject.pull_id))

    def requested_reviewer(self) -> Any:
        """Return the user or team."""
        team = self.context.database.get(Team, self.subject.team_id)
        return self.context.show(team or self.context.user(self.subject.user_id))


class PullRequestCommitView(Linked, View[PullCommit]):
    """A commit as part of a pull request."""

    typename: ClassVar[str] = "PullRequestCommit"
    __slots__ = ()

    def id(self) -> str:
        """Return the global id: that of the pull request with the start of the sha."""
        return str(NodeId("PURC", self.subject.pull.id, int(self.subject.commit.sha[:8], 16)))

    def commit(self) -> Any:
        """Return the commit."""
        return self.context.show(self.subject.commit)

    def pull_request(self) -> Any:
        """Return the pull request."""
        return self.context.show(self.subject.pull)

    def resource_path(self) -> str:
        """Return the path of its page."""
        issue = self.context.database.get(Issue, self.subject.pull.issue_id)
        home = self.context.full_name(self.subject.commit.repository)
        return f"/{home}/pull/{issue.number if issue else 0}/commits/{self.subject.commit.sha}"


class PullRequestFileView(View[PullFile]):
    """A file that a pull request changes."""

    typename: ClassVar[str] = "PullRequestChangedFile"
    __slots__ = ()

    def additions(self) -> int:
        """Return how many lines are added."""
        return self.subject.file.additions

    def deletions(self) -> int:
        """Return how many lines are removed."""
        return self.subject.file.deletions

    def path(self) -> str:
        """Return the path of the file."""
        return self.subject.file.path

    def change_type(self) -> str:
        """Return what happens to it."""
        return _CHANGES.get(self.subject.file.status, "CHANGED")


class AutoMergeRequestView(View[AutoMerge]):
    """The standing request to merge a pull request."""

    typename: ClassVar[str] = "AutoMergeRequest"
    __slots__ = ()

    def author_email(self) -> None:
        """Return the address for the commit, where one was chosen: never here."""
        return

    def commit_body(self) -> Any:
        """Return what the commit will say."""
        return self._asked("commit_message")

    def commit_headline(self) -> Any:
        """Return what the commit will be called."""
        return self._asked("commit_title")

    def enabled_at(self) -> Any:
        """Return when it was asked for."""
        return self._asked("enabled_at")

    def enabled_by(self) -> Any:
        """Return who asked."""
        return self.context.show(self.context.user(self._asked("enabled_by_id")))

    def merge_method(self) -> str:
        """Return how it will be merged."""
        return str(self._asked("merge_method")).upper()

    def pull_request(self) -> Any:
        """Return the pull request."""
        return self.context.show(self.subject.pull)

    def _asked(self, name: str) -> Any:
        return (self.subject.pull.auto_merge or {}).get(name)
