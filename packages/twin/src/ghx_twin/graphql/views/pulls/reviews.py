"""Reviews, threads and the comments in them."""

from typing import Any, ClassVar

from ghx_twin.graphql import git_lookup
from ghx_twin.graphql.views.base import Linked, RecordView
from ghx_twin.graphql.views.issues.comments import Remark
from ghx_twin.queries import permissions
from ghx_twin.queries.pulls import reviews
from ghx_twin.queries.repositories import comparison
from ghx_twin.state.records import Issue, Pull, Repository, Review, ReviewComment, Thread


class OnPull:
    """A mixin for what belongs to a pull request; a subclass says to which."""

    __slots__ = ()
    context: Any

    @property
    def pull(self) -> Pull:
        """Return the pull request."""
        raise NotImplementedError

    @property
    def home(self) -> Repository:
        """Return the repository it is in."""
        return self.context.home(self.pull.repository_id)

    @property
    def issue(self) -> Issue:
        """Return what the pull request shares with issues."""
        identity = self.pull.issue_id
        return self.context.once((Issue, identity), lambda: self.context.database.get(Issue, identity))

    @property
    def is_locked(self) -> bool:
        """Return whether the conversation was locked."""
        return self.issue.locked

    def pull_request(self) -> Any:
        """Return the pull request."""
        return self.context.view_of(self.pull)

    def repository(self) -> Any:
        """Return the repository it is in."""
        return self.context.view_of(self.home)

    def _pull(self, identity: int) -> Pull:
        return self.context.once((Pull, identity), lambda: self.context.database.get(Pull, identity))

    def _page(self, anchor: str) -> str:
        return f"/{self.context.full_name(self.home)}/pull/{self.issue.number}#{anchor}"

    def _commit(self, sha: str) -> Any:
        return self.context.view_of(git_lookup.commit_at(self.context, self.home, sha))


class PullRequestReviewView(OnPull, Remark, Linked, RecordView[Review]):
    """A review."""

    typename: ClassVar[str] = "PullRequestReview"
    sources: ClassVar = {"subject": Review}
    __slots__ = ()

    @property
    def written(self) -> Review:
        """Return the record with author, body and times."""
        return self.subject

    @property
    def pull(self) -> Pull:
        """Return the pull request."""
        return self._pull(self.subject.pull_id)

    def author_can_push_to_repository(self) -> bool:
        """Return whether the author's opinion counts for a merge."""
        author = self.context.user(self.subject.author_id)
        if author is None:
            return False
        return permissions.at_least(permissions.user_role(self.context.world, author, self.home), "write")

    def comments(self) -> list[ReviewComment]:
        """Return the comments that came with it."""
        return self.context.database.all(ReviewComment, review_id=self.subject.id)

    def commit(self) -> Any:
        """Return the commit that was reviewed."""
        return self._commit(self.subject.commit_sha)

    def published_at(self) -> str | None:
        """Return when it was submitted."""
        return self.subject.submitted_at

    def resource_path(self) -> str:
        """Return the path of its page."""
        return self._page(f"pullrequestreview-{self.subject.id}")

    def viewer_can_delete(self) -> bool:
        """Return whether the viewer may throw it away: only what is not submitted yet."""
        return self.subject.state == "PENDING" and self.viewer_did_author()


class PullRequestReviewThreadView(OnPull, RecordView[Thread]):
    """A conversation on lines of a diff."""

    typename: ClassVar[str] = "PullRequestReviewThread"
    sources: ClassVar = {"subject": Thread}
    __slots__ = ()

    @property
    def pull(self) -> Pull:
        """Return the pull request."""
        return self._pull(self.subject.pull_id)

    def comments(self, skip: int | None = None) -> list[ReviewComment]:
        """Return what was said, oldest first."""
        visible_comments = reviews.visible_comments(self.context.world, self.context.viewer, self.subject)
        return visible_comments[max(0, skip or 0) :]

    def diff_side(self) -> str:
        """Return the side of the diff it is on."""
        return self.subject.side

    def start_diff_side(self) -> str | None:
        """Return the side of the diff it begins on."""
        return self.subject.start_side

    def start_line(self) -> int | None:
        """Return the line it begins on, which is its only one where there is one; REST has null there."""
        return self.subject.line if self.subject.start_line is None else self.subject.start_line

    def original_start_line(self) -> int | None:
        """Return the line it began on when it was written, which is its only one where there is one."""
        begun = self.subject.original_start_line
        return self.subject.original_line if begun is None else begun

    def is_collapsed(self) -> bool:
        """Return whether it is shown folded."""
        return self.is_resolved() or self.subject.outdated

    def is_outdated(self) -> bool:
        """Return whether the lines it is about have changed since."""
        return self.subject.outdated

    def is_resolved(self) -> bool:
        """Return whether it was settled."""
        return self.subject.resolved_by_id is not None

    def resolved_by(self) -> Any:
        """Return who settled it."""
        user = self.context.user(self.subject.resolved_by_id)
        return self.context.view_of(user) if user and user.type == "User" else None

    def subject_type(self) -> str:
        """Return whether it is about lines or a whole file."""
        return self.subject.subject_type.upper()

    def viewer_can_reply(self) -> bool:
        """Return whether the viewer may answer."""
        return not self.home.archived and (not self.is_locked or self.context.may(self.home, "write"))

    def viewer_can_resolve(self) -> bool:
        """Return whether the viewer may settle it."""
        return not self.is_resolved() and self._may_settle()

    def viewer_can_unresolve(self) -> bool:
        """Return whether the viewer may open it again."""
        return self.is_resolved() and self._may_settle()

    def _may_settle(self) -> bool:
        return self.context.may(self.home, "write") or self.issue.author_id == self.context.viewer.id


class PullRequestReviewCommentView(OnPull, Remark, Linked, RecordView[ReviewComment]):
    """A comment in a thread."""

    typename: ClassVar[str] = "PullRequestReviewComment"
    sources: ClassVar = {"subject": ReviewComment, "thread": Thread}
    __slots__ = ()

    @property
    def written(self) -> ReviewComment:
        """Return the record with author, body and times."""
        return self.subject

    @property
    def thread(self) -> Thread:
        """Return the thread it is in."""
        identity = self.subject.thread_id
        thread = self.context.once((Thread, identity), lambda: self.context.database.get(Thread, identity))
        assert thread is not None  # noqa: S101 - a comment goes with its thread
        return thread

    @property
    def pull(self) -> Pull:
        """Return the pull request."""
        return self._pull(self.thread.pull_id)

    def commit(self) -> Any:
        """Return the commit it stands on now."""
        return self._commit(self.thread.commit_sha)

    def original_commit(self) -> Any:
        """Return the commit it was written on."""
        return self._commit(self.thread.original_commit_sha)

    def drafted_at(self) -> str:
        """Return when it was first written."""
        return self.subject.created_at

    def published_at(self) -> str | None:
        """Return when its review was submitted."""
        return self._review.submitted_at if self._review else None

    def position(self) -> int | None:
        """Return how far below the first hunk it stands now."""
        return comparison.position(self.context.world, self.pull, self.thread)

    def original_position(self) -> int:
        """Return how far below the first hunk it was written."""
        return self.thread.original_position or 1

    def pull_request_review(self) -> Any:
        """Return the review it came with."""
        return self.context.view_of(self._review)

    def reply_to(self) -> Any:
        """Return what it answers."""
        return self.context.view_of(self.context.database.get(ReviewComment, self.subject.in_reply_to_id))

    def resource_path(self) -> str:
        """Return the path of its page."""
        return self._page(f"discussion_r{self.subject.id}")

    def state(self) -> str:
        """Return whether others can read it."""
        return "PENDING" if self._review and self._review.state == "PENDING" else "SUBMITTED"

    def subject_type(self) -> str:
        """Return whether it is about lines or a whole file."""
        return self.thread.subject_type.upper()

    @property
    def _review(self) -> Review | None:
        identity = self.subject.review_id
        return self.context.once((Review, identity), lambda: self.context.database.get(Review, identity))
