"""Pull requests: what they are and where they stand."""

from collections.abc import Sequence
from typing import Any, ClassVar

from ghx_bench.twin.graphql import gitaccess
from ghx_bench.twin.graphql.subjects import AutoMerge, PullCommit, PullFile, RollupOf
from ghx_bench.twin.graphql.timeline import Timeline, timeline
from ghx_bench.twin.graphql.views.base import Linked, RecordView
from ghx_bench.twin.graphql.views.conversations import Conversation
from ghx_bench.twin.queries import checks, pulls
from ghx_bench.twin.state.records import Issue, Pull, Repository


class PullCore(Conversation, Linked, RecordView[Pull]):
    """A pull request without its reviews."""

    sources: ClassVar = {"subject": Pull, "issue": Issue}
    __slots__ = ()

    @property
    def issue(self) -> Issue:
        """Return the shared record."""
        identity = self.subject.issue_id
        found = self.context.once((Issue, identity), lambda: self.context.database.get(Issue, identity))
        assert found is not None  # noqa: S101 - a pull request has its issue
        return found

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
        """Tell whether it is still being worked on."""
        return self.subject.draft

    def merged(self) -> bool:
        """Tell whether it was merged."""
        return self.subject.merged_at is not None

    def merged_by(self) -> Any:
        """Return who merged it."""
        return self.context.show(self.context.user(self.subject.merged_by_id))

    def merge_commit(self) -> Any:
        """Return what the merge made."""
        return self._commit(self.subject.merge_commit_sha) if self.subject.merged_at else None

    def potential_merge_commit(self) -> Any:
        """Return what a merge would make."""
        return self._commit(pulls.trial_merge_commit(self.context.world, self.subject))

    def mergeable(self) -> str:
        """Return whether git can merge it."""
        key = ("mergeable", self.subject.id)
        return self.context.once(key, lambda: pulls.mergeable(self.context.world, self.subject))

    def can_be_rebased(self) -> bool:
        """Tell whether it can be rebased onto its base."""
        return self.mergeable() == "MERGEABLE"

    def merge_state_status(self) -> str:
        """Return what a merge would meet."""
        return pulls.merge_state(self.context.world, self.subject)

    def is_in_merge_queue(self) -> bool:
        """Tell whether it waits in a merge queue: a world has none."""
        return False

    def is_merge_queue_enabled(self) -> bool:
        """Tell whether its base has a merge queue: a world has none."""
        return False

    def auto_merge_request(self) -> Any:
        """Return the standing request to merge it."""
        return self.context.show(AutoMerge(self.subject)) if self.subject.auto_merge else None

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
        found = gitaccess.pull_commits(self.context, self.subject)
        return [PullCommit(self.subject, one) for one in gitaccess.known_commits(self.context, self.home, found)]

    def base_ref(self) -> Any:
        """Return the branch it goes into."""
        return self.context.show(gitaccess.ref(self.context, self.home, f"refs/heads/{self.subject.base_ref}"))

    def base_ref_name(self) -> str:
        """Return the name of the branch it goes into."""
        return self.subject.base_ref

    def base_ref_oid(self) -> str:
        """Return the tip of the branch it goes into."""
        return pulls.base_tip(self.context.world, self.subject)

    def base_repository(self) -> Any:
        """Return the repository it goes into."""
        return self.context.show(self.home)

    def head_ref(self) -> Any:
        """Return the branch it comes from; None once that is gone."""
        return self.context.show(gitaccess.ref(self.context, self._head, f"refs/heads/{self.subject.head_ref}"))

    def head_ref_name(self) -> str:
        """Return the name of the branch it comes from."""
        return self.subject.head_ref

    def head_ref_oid(self) -> str:
        """Return the tip of the branch it comes from."""
        return self.subject.head_sha

    def head_repository(self) -> Any:
        """Return the repository it comes from; None once that is gone."""
        return self.context.show(self._head)

    def head_repository_owner(self) -> Any:
        """Return whose repository it comes from."""
        return self.context.show(self.context.owner(self._head)) if self._head else None

    def is_cross_repository(self) -> bool:
        """Tell whether it comes from a fork."""
        return self.subject.head_repository_id != self.subject.repository_id

    def closing_issues_references(self) -> list[Issue]:
        """Return the issues that its merge closes."""
        return pulls.closing_issues(self.context.world, self.subject, self.context.viewer)

    def status_check_rollup(self) -> Any:
        """Return what checks and statuses of its head add up to."""
        found = checks.rollup(self.context.world, self.home, self.subject.head_sha)
        return self.context.show(RollupOf(self.home, self.subject.head_sha, found)) if found else None

    def timeline_items(self, **chosen: Any) -> Timeline:
        """Return what happened to it."""
        return timeline(self.context, self.issue, self.subject, **chosen)

    def viewer_can_delete_head_ref(self) -> bool:
        """Tell whether the viewer may delete the branch it comes from."""
        head = self._head
        return bool(head and self.closed() and self.context.may(head, "write") and self.head_ref())

    def viewer_can_disable_auto_merge(self) -> bool:
        """Tell whether the viewer may take the standing request back."""
        return self.subject.auto_merge is not None and self._may_push()

    def viewer_can_enable_auto_merge(self) -> bool:
        """Tell whether the viewer may ask to merge it later."""
        wanted = self.home.allow_auto_merge and self.subject.auto_merge is None and not self.closed()
        return wanted and self._may_push()

    def viewer_can_update_branch(self) -> bool:
        """Tell whether the viewer may bring it up to date with its base."""
        head = self._head
        return bool(head and not self.closed() and self.context.may(head, "write"))

    @property
    def _head(self) -> Repository | None:
        return self.context.visible(self.context.repository(self.subject.head_repository_id))

    def _commit(self, sha: str | None) -> Any:
        return self.context.show(gitaccess.commit_at(self.context, self.home, sha))

    def _files(self) -> Sequence[Any]:
        key = ("files", self.subject.id)
        return self.context.once(key, lambda: pulls.files(self.context.world, self.subject))

    def _may_push(self) -> bool:
        return self.context.may(self.home, "write")
