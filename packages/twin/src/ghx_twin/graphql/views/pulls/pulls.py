"""Pull requests: what they are and where they stand."""

from collections.abc import Sequence
from typing import Any, ClassVar

from ghx_twin.graphql import git_lookup
from ghx_twin.graphql.subjects import AutoMerge, PullCommit, PullFile, RollupSubject
from ghx_twin.graphql.timeline import Timeline, timeline
from ghx_twin.graphql.views.base import Linked, RecordView, View
from ghx_twin.graphql.views.issues.conversations import Conversation
from ghx_twin.nodes import NodeId
from ghx_twin.queries.actions import checks
from ghx_twin.queries.pulls import mergeability, pulls, reviews
from ghx_twin.queries.repositories import comparison
from ghx_twin.state.records import Comment, Issue, Pull, Repository, Review, ReviewRequest, Team, Thread

_CHANGES = {"added": "ADDED", "removed": "DELETED", "modified": "MODIFIED", "renamed": "RENAMED", "copied": "COPIED"}


class PullRequestView(Conversation, Linked, RecordView[Pull]):
    """A pull request."""

    typename: ClassVar[str] = "PullRequest"
    sources: ClassVar = {"subject": Pull, "issue": Issue}
    __slots__ = ()

    @property
    def issue(self) -> Issue:
        """Return the shared record."""
        identity = self.subject.issue_id
        issue = self.context.once((Issue, identity), lambda: self.context.database.get(Issue, identity))
        assert issue is not None  # noqa: S101 - a pull request has its issue
        return issue

    def resource_path(self) -> str:
        """Return the path of its page."""
        return f"/{self.context.full_name(self.home)}/pull/{self.issue.number}"

    def permalink(self) -> str:
        """Return the address of its page."""
        return self.url()

    def checks_resource_path(self) -> str:
        """Return the path of its checks."""
        return f"{self.resource_path()}/checks"

    def checks_url(self) -> str:
        """Return the address of its checks."""
        return f"{self.url()}/checks"

    def state(self) -> str:
        """Return whether it is open, closed or merged."""
        return "MERGED" if self.subject.merged_at else self.issue.state.upper()

    def is_draft(self) -> bool:
        """Return whether it is still being worked on."""
        return self.subject.draft

    def merged(self) -> bool:
        """Return whether it was merged."""
        return self.subject.merged_at is not None

    def merged_by(self) -> Any:
        """Return who merged it."""
        return self.context.view_of(self.context.user(self.subject.merged_by_id))

    def merge_commit(self) -> Any:
        """Return what the merge made."""
        return self._commit(self.subject.merge_commit_sha) if self.subject.merged_at else None

    def potential_merge_commit(self) -> Any:
        """Return what a merge would make."""
        return self._commit(comparison.trial_merge_commit(self.context.world, self.subject))

    def mergeable(self) -> str:
        """Return whether git can merge it."""
        key = ("mergeable", self.subject.id)
        return self.context.once(key, lambda: mergeability.mergeable(self.context.world, self.subject))

    def can_be_rebased(self) -> bool:
        """Return whether it can be rebased onto its base."""
        return self.mergeable() == "MERGEABLE"

    def merge_state_status(self) -> str:
        """Return what a merge would meet."""
        return mergeability.merge_state(self.context.world, self.subject)

    def is_in_merge_queue(self) -> bool:
        """Return whether it waits in a merge queue: a world has none."""
        return False

    def is_merge_queue_enabled(self) -> bool:
        """Return whether its base has a merge queue: a world has none."""
        return False

    def auto_merge_request(self) -> Any:
        """Return the standing request to merge it."""
        return self.context.view_of(AutoMerge(self.subject)) if self.subject.auto_merge else None

    def additions(self) -> int:
        """Return how many lines it adds."""
        return sum(file.additions for file in self._files())

    def deletions(self) -> int:
        """Return how many lines it removes."""
        return sum(file.deletions for file in self._files())

    def changed_files(self) -> int:
        """Return how many files it changes."""
        return len(self._files())

    def files(self) -> list[PullFile]:
        """Return the files it changes."""
        return [PullFile(file) for file in self._files()]

    def commits(self) -> list[PullCommit]:
        """Return the commits it adds, oldest first."""
        pull_commits = git_lookup.pull_commits(self.context, self.subject)
        return [
            PullCommit(self.subject, one) for one in git_lookup.known_commits(self.context, self.home, pull_commits)
        ]

    def base_ref(self) -> Any:
        """Return the branch it goes into."""
        return self.context.view_of(git_lookup.ref(self.context, self.home, f"refs/heads/{self.subject.base_ref}"))

    def base_ref_name(self) -> str:
        """Return the name of the branch it goes into."""
        return self.subject.base_ref

    def base_ref_oid(self) -> str:
        """Return the tip of the branch it goes into."""
        return comparison.base_tip(self.context.world, self.subject)

    def base_repository(self) -> Any:
        """Return the repository it goes into."""
        return self.context.view_of(self.home)

    def head_ref(self) -> Any:
        """Return the branch it comes from; None once that is gone."""
        return self.context.view_of(git_lookup.ref(self.context, self._head, f"refs/heads/{self.subject.head_ref}"))

    def head_ref_name(self) -> str:
        """Return the name of the branch it comes from."""
        return self.subject.head_ref

    def head_ref_oid(self) -> str:
        """Return the tip of the branch it comes from."""
        return self.subject.head_sha

    def head_repository(self) -> Any:
        """Return the repository it comes from; None once that is gone."""
        return self.context.view_of(self._head)

    def head_repository_owner(self) -> Any:
        """Return whose repository it comes from."""
        return self.context.view_of(self.context.owner(self._head)) if self._head else None

    def is_cross_repository(self) -> bool:
        """Return whether it comes from a fork."""
        return self.subject.head_repository_id != self.subject.repository_id

    def closing_issues_references(self) -> list[Issue]:
        """Return the issues that its merge closes."""
        return pulls.closing_issues(self.context.world, self.subject, self.context.viewer)

    def status_check_rollup(self) -> Any:
        """Return what checks and statuses of its head add up to."""
        rollup = checks.rollup(self.context.world, self.home, self.subject.head_sha)
        return self.context.view_of(RollupSubject(self.home, self.subject.head_sha, rollup)) if rollup else None

    def timeline_items(self, **chosen: Any) -> Timeline:
        """Return what happened to it."""
        return timeline(self.context, self.issue, self.subject, **chosen)

    def viewer_can_delete_head_ref(self) -> bool:
        """Return whether the viewer may delete the branch it comes from."""
        head = self._head
        return bool(head and self.closed() and self.context.may(head, "write") and self.head_ref())

    def viewer_can_disable_auto_merge(self) -> bool:
        """Return whether the viewer may take the standing request back."""
        return self.subject.auto_merge is not None and not self.closed() and self._may_push()

    def viewer_can_enable_auto_merge(self) -> bool:
        """Return whether the viewer may ask to merge it later."""
        is_applicable = self.home.allow_auto_merge and self.subject.auto_merge is None and not self.closed()
        return is_applicable and self._may_push()

    def viewer_can_update_branch(self) -> bool:
        """Return whether the viewer may bring it up to date with its base."""
        head = self._head
        return bool(head and not self.closed() and self.context.may(head, "write"))

    def review_decision(self) -> str | None:
        """Return what the reviews add up to."""
        return reviews.review_decision(self.context.world, self.subject)

    def review_requests(self) -> list[ReviewRequest]:
        """Return who was asked to review it."""
        return self.context.database.all(ReviewRequest, pull_id=self.subject.id)

    def review_threads(self) -> list[Thread]:
        """Return the conversations on its lines."""
        return reviews.visible_threads(self.context.world, self.context.viewer, self.subject)

    def reviews(self, author: str | None = None, states: Sequence[str] | None = None) -> list[Review]:
        """Return its reviews."""
        visible_reviews = reviews.visible_reviews(self.context.world, self.context.viewer, self.subject)
        visible_reviews = [one for one in visible_reviews if not states or one.state in states]
        if author is None:
            return visible_reviews
        by_author = (self.context.user(one.author_id) for one in visible_reviews)
        return [
            one
            for one, user in zip(visible_reviews, by_author, strict=True)
            if user and user.login.lower() == author.lower()
        ]

    def latest_reviews(self) -> list[Review]:
        """Return the last review of each who was not asked again since."""
        user_ids = {one.user_id for one in self.review_requests()}
        latest_reviews = reviews.latest_reviews(self.context.world, self.subject)
        return [one for one in latest_reviews if one.author_id not in user_ids]

    def latest_opinionated_reviews(self, writers_only: bool | None = None) -> list[Review]:
        """Return the approvals and requests for changes that still stand."""
        return reviews.latest_opinions(self.context.world, self.subject, writers_only=bool(writers_only))

    def total_comments_count(self) -> int:
        """Return how many comments there are, those on lines too."""
        comments = self.context.database.count(Comment, issue_id=self.issue.id)
        world, viewer = self.context.world, self.context.viewer
        return comments + sum(len(reviews.visible_comments(world, viewer, one)) for one in self.review_threads())

    def viewer_latest_review(self) -> Any:
        """Return the viewer's last review."""
        own = [one for one in self.reviews() if one.author_id == self.context.viewer.id]
        return self.context.view_of(own[-1] if own else None)

    def viewer_latest_review_request(self) -> Any:
        """Return the request that the viewer has not answered."""
        return self.context.view_of(
            next((one for one in self.review_requests() if one.user_id == self.context.viewer.id), None)
        )

    def _writers(self) -> list[int]:
        return [*super()._writers(), *(one.author_id for one in self.reviews())]

    @property
    def _head(self) -> Repository | None:
        return self.context.visible(self.context.repository(self.subject.head_repository_id))

    def _commit(self, sha: str | None) -> Any:
        return self.context.view_of(git_lookup.commit_at(self.context, self.home, sha))

    def _files(self) -> Sequence[Any]:
        key = ("files", self.subject.id)
        return self.context.once(key, lambda: comparison.files(self.context.world, self.subject))

    def _may_push(self) -> bool:
        return self.context.may(self.home, "write")


class ReviewRequestView(RecordView[ReviewRequest]):
    """A request to a user or a team to review."""

    typename: ClassVar[str] = "ReviewRequest"
    __slots__ = ()

    def as_code_owner(self) -> bool:
        """Return whether a CODEOWNERS file asked: never here."""
        return False

    def pull_request(self) -> Any:
        """Return what to review."""
        return self.context.view_of(self.context.database.get(Pull, self.subject.pull_id))

    def requested_reviewer(self) -> Any:
        """Return the user or team."""
        team = self.context.database.get(Team, self.subject.team_id)
        return self.context.view_of(team or self.context.user(self.subject.user_id))


class PullRequestCommitView(Linked, View[PullCommit]):
    """A commit as part of a pull request."""

    typename: ClassVar[str] = "PullRequestCommit"
    __slots__ = ()

    def id(self) -> str:
        """Return the global id: that of the pull request with the start of the sha."""
        return str(NodeId("PURC", self.subject.pull.id, int(self.subject.commit.sha[:8], 16)))

    def commit(self) -> Any:
        """Return the commit."""
        return self.context.view_of(self.subject.commit)

    def pull_request(self) -> Any:
        """Return the pull request."""
        return self.context.view_of(self.subject.pull)

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
        return self._setting("commit_message")

    def commit_headline(self) -> Any:
        """Return what the commit will be called."""
        return self._setting("commit_title")

    def enabled_at(self) -> Any:
        """Return when it was requested."""
        return self._setting("enabled_at")

    def enabled_by(self) -> Any:
        """Return who asked."""
        return self.context.view_of(self.context.user(self._setting("enabled_by_id")))

    def merge_method(self) -> str:
        """Return how it will be merged."""
        return str(self._setting("merge_method")).upper()

    def pull_request(self) -> Any:
        """Return the pull request."""
        return self.context.view_of(self.subject.pull)

    def _setting(self, name: str) -> Any:
        return (self.subject.pull.auto_merge or {}).get(name)
