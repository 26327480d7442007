"""Issues."""

from collections.abc import Iterable
from typing import Any, ClassVar

from ghx_bench.twin.graphql.subjects import Subissues
from ghx_bench.twin.graphql.timeline import Timeline, timeline
from ghx_bench.twin.graphql.views.base import Linked, RecordView, View
from ghx_bench.twin.graphql.views.conversations import Conversation
from ghx_bench.twin.nodes import NodeId
from ghx_bench.twin.queries import pulls
from ghx_bench.twin.queries.issue_types import IssueType, find_issue_type
from ghx_bench.twin.state.records import Dependency, Issue, Pull


class IssueView(Conversation, Linked, RecordView[Issue]):
    """An issue."""

    typename: ClassVar[str] = "Issue"
    sources: ClassVar = {"subject": Issue}
    __slots__ = ()

    @property
    def issue(self) -> Issue:
        """Return the shared record."""
        return self.subject

    def resource_path(self) -> str:
        """Return the path of its page."""
        return f"/{self.context.full_name(self.home)}/issues/{self.subject.number}"

    def body_resource_path(self) -> str:
        """Return the path of its text."""
        return f"{self.resource_path()}#issue-{self.subject.id}"

    def body_url(self) -> str:
        """Return the address of its text."""
        return f"{self.url()}#issue-{self.subject.id}"

    def state(self) -> str:
        """Return whether it is over."""
        return self.subject.state.upper()

    def state_reason(self, enable_duplicate: bool | None = None) -> str | None:
        """Return why it is in this state; DUPLICATE only for clients that ask for it, as on GitHub."""
        reason = self.subject.state_reason
        if reason == "duplicate" and not enable_duplicate:
            return "NOT_PLANNED"
        return reason.upper() if reason else None

    def is_pinned(self) -> bool:
        """Return whether it is on top of the list."""
        return self.subject.pinned

    def issue_type(self) -> Any:
        """Return its type."""
        found = find_issue_type(self.context.world, self.home, self.subject.issue_type)
        return self.context.view_of(found) if found else None

    def linked_branches(self) -> list[object]:
        """Return the branches made for it: a world has none yet."""
        return []

    def blocked_by(self) -> list[Issue]:
        """Return what it waits for."""
        found = self.context.database.all(Dependency, issue_id=self.subject.id)
        return self._visible(one.blocking_id for one in found)

    def blocking(self) -> list[Issue]:
        """Return what waits for it."""
        found = self.context.database.all(Dependency, blocking_id=self.subject.id)
        return self._visible(one.issue_id for one in found)

    def parent(self) -> Any:
        """Return the issue this one is part of."""
        found = self.context.database.get(Issue, self.subject.parent_id)
        return self.context.view_of(found) if found and self._is_visible(found) else None

    def sub_issues(self) -> list[Issue]:
        """Return its parts."""
        found = self.context.database.all(Issue, parent_id=self.subject.id)
        return [one for one in found if self._is_visible(one)]

    def sub_issues_summary(self) -> "SubIssuesSummaryView":
        """Return how many of its parts are done."""
        return SubIssuesSummaryView(self.context, Subissues(tuple(self.sub_issues())))

    def closed_by_pull_requests_references(self, include_closed_prs: bool | None = None) -> list[Pull]:
        """Return the pull requests that close it when they are merged."""
        closing = pulls.closing_pulls(self.context.world, self.subject, self.context.viewer)
        return closing if include_closed_prs else [one for one in closing if not self._is_given_up(one)]

    def timeline_items(self, **chosen: Any) -> Timeline:
        """Return what happened to it."""
        return timeline(self.context, self.subject, None, **chosen)

    def viewer_can_delete(self) -> bool:
        """Return whether the viewer may delete it."""
        return self.context.may(self.home, "admin")

    def _visible(self, ids: Iterable[int]) -> list[Issue]:
        found = (self.context.database.get(Issue, id_) for id_ in ids)
        return [one for one in found if one is not None and self._is_visible(one)]

    def _is_visible(self, issue: Issue) -> bool:
        return self.context.visible(self.context.repository(issue.repository_id)) is not None

    def _is_given_up(self, pull: Pull) -> bool:
        issue = self.context.database.get(Issue, pull.issue_id)
        return pull.merged_at is None and issue is not None and issue.state == "closed"


class IssueTypeView(View[IssueType]):
    """A type that issues can have."""

    typename: ClassVar[str] = "IssueType"
    sources: ClassVar = {"subject": IssueType}
    __slots__ = ()

    def id(self) -> str:
        """Return its global id."""
        return str(NodeId("IT", self.subject.organization_id, self.subject.number))

    def is_enabled(self) -> bool:
        """Return whether issues can be given it."""
        return True


class SubIssuesSummaryView(View[Subissues]):
    """How many parts of an issue are done."""

    typename: ClassVar[str] = "SubIssuesSummary"
    __slots__ = ()

    def total(self) -> int:
        """Return how many parts there are."""
        return len(self.subject.issues)

    def completed(self) -> int:
        """Return how many are done."""
        return sum(one.state == "closed" for one in self.subject.issues)

    def percent_completed(self) -> int:
        """Return how much is done."""
        return 100 * self.completed() // self.total() if self.subject.issues else 0
