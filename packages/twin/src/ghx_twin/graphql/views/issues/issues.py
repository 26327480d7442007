"""Issues."""

from collections.abc import Iterable
from typing import Any, ClassVar

from ghx_twin.graphql import git_lookup
from ghx_twin.graphql.context import Context
from ghx_twin.graphql.subjects import RefSubject
from ghx_twin.graphql.timeline import Timeline, timeline
from ghx_twin.graphql.views.base import Linked, RecordView, View
from ghx_twin.graphql.views.issues.conversations import Conversation
from ghx_twin.queries.issues import issue_relations
from ghx_twin.queries.issues.issue_relations import DependenciesSummary, SubIssuesSummary
from ghx_twin.queries.pulls import pulls
from ghx_twin.state.records import Issue, IssueType, LinkedBranch, Pull


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

    def issue_field_values(self) -> list[object]:
        """Return the values of custom fields: a world has none."""
        return []

    def issue_type(self) -> Any:
        """Return its type."""
        return self.context.view_of(self.context.database.get(IssueType, self.subject.issue_type_id))

    def linked_branches(self) -> list[LinkedBranch]:
        """Return the branches made for it, those that are still there and that the viewer may see."""
        linked_branches = self.context.database.all(LinkedBranch, issue_id=self.subject.id)
        return [one for one in linked_branches if linked_ref(self.context, one) is not None]

    def blocked_by(self, order_by: dict[str, str] | None = None) -> list[Issue]:
        """Return what it waits for."""
        return self._visible(issue_relations.blocking_issues(self.context.world, self.subject), order_by)

    def blocking(self, order_by: dict[str, str] | None = None) -> list[Issue]:
        """Return what waits for it."""
        return self._visible(issue_relations.blocked_issues(self.context.world, self.subject), order_by)

    def issue_dependencies_summary(self) -> "DependenciesSummaryView":
        """Return how many issues block it and are blocked by it."""
        summary = issue_relations.summarize_dependencies(self.context.world, self.context.viewer, self.subject)
        return DependenciesSummaryView(self.context, summary)

    def duplicate_of(self) -> Any:
        """Return the issue that it was closed as a duplicate of."""
        return self._one(self.subject.duplicate_of_id)

    def parent(self) -> Any:
        """Return the issue this one is part of."""
        return self._one(self.subject.parent_id)

    def sub_issues(self) -> list[Issue]:
        """Return its parts, those of the highest priority first."""
        return self._visible(issue_relations.sub_issues_of(self.context.world, self.subject))

    def sub_issues_summary(self) -> "SubIssuesSummaryView":
        """Return how many of its parts are done."""
        summary = issue_relations.summarize_sub_issues(self.context.world, self.context.viewer, self.subject)
        return SubIssuesSummaryView(self.context, summary)

    def closed_by_pull_requests_references(self, include_closed_prs: bool | None = None) -> list[Pull]:
        """Return the pull requests that close it when they are merged."""
        closing = pulls.closing_pulls(self.context.world, self.context.viewer, self.subject)
        return closing if include_closed_prs else [one for one in closing if not self._is_given_up(one)]

    def timeline_items(self, **chosen: Any) -> Timeline:
        """Return what happened to it."""
        return timeline(self.context, self.subject, None, **chosen)

    def viewer_can_delete(self) -> bool:
        """Return whether the viewer may delete it."""
        return self.context.may(self.home, "admin")

    def _one(self, identity: int | None) -> Any:
        issue = self.context.database.get(Issue, identity)
        return self.context.view_of(issue) if issue and self._visible([issue]) else None

    def _visible(self, issues: Iterable[Issue], order_by: dict[str, str] | None = None) -> list[Issue]:
        visible_issues = [one for one in issues if self.context.visible(self.context.repository(one.repository_id))]
        if order_by and order_by["field"] == "CREATED_AT":
            visible_issues.sort(key=lambda one: (one.created_at, one.id))
        return visible_issues[::-1] if order_by and order_by["direction"] == "DESC" else visible_issues

    def _is_given_up(self, pull: Pull) -> bool:
        issue = self.context.database.get(Issue, pull.issue_id)
        return pull.merged_at is None and issue is not None and issue.state == "closed"


class IssueTypeView(RecordView[IssueType]):
    """A type that issues can have."""

    typename: ClassVar[str] = "IssueType"
    sources: ClassVar = {"subject": IssueType}
    __slots__ = ()

    def color(self) -> str:
        """Return its colour, gray where it was given none."""
        return (self.subject.color or "gray").upper()


class LinkedBranchView(RecordView[LinkedBranch]):
    """A branch that was made for an issue."""

    typename: ClassVar[str] = "LinkedBranch"
    __slots__ = ()

    def ref(self) -> Any:
        """Return the branch; None once it is gone."""
        return self.context.view_of(linked_ref(self.context, self.subject))


def linked_ref(context: Context, linked: LinkedBranch) -> RefSubject | None:
    """Return the branch of a link, if it is still there and the viewer may see it."""
    home = context.visible(context.repository(linked.repository_id))
    return git_lookup.ref(context, home, f"refs/heads/{linked.name}") if home else None


def order_types(issue_types: list[IssueType], order_by: dict[str, str] | None) -> list[IssueType]:
    """Return types of issues in an order."""
    if order_by is None:
        return issue_types
    by_name = order_by["field"] == "NAME"
    return sorted(
        issue_types,
        key=lambda one: (one.name.lower() if by_name else "", one.id),
        reverse=order_by["direction"] == "DESC",
    )


class DependenciesSummaryView(View[DependenciesSummary]):
    """How many issues block one and are blocked by it: those still open, and in all."""

    typename: ClassVar[str] = "IssueDependenciesSummary"
    sources: ClassVar = {"subject": DependenciesSummary}
    __slots__ = ()


class SubIssuesSummaryView(View[SubIssuesSummary]):
    """How many parts of an issue are done."""

    typename: ClassVar[str] = "SubIssuesSummary"
    sources: ClassVar = {"subject": SubIssuesSummary}
    __slots__ = ()
