"""What belongs to a repository: topics, pins, rules, and people with a role."""

from typing import Any, ClassVar

from ghx_bench.twin.graphql.connections import Edge
from ghx_bench.twin.graphql.subjects import Member, Pinned, TopicOf
from ghx_bench.twin.graphql.views.base import Linked, RecordView, View
from ghx_bench.twin.nodes import NodeId
from ghx_bench.twin.state.records import Protection


class CollaboratorEdge(Edge):
    """A user with a role in a repository."""

    __slots__ = ()
    subject: Member

    def permission(self) -> str:
        """Return the role."""
        return self.subject.role


class RepositoryTopicView(Linked, View[TopicOf]):
    """A topic on a repository."""

    typename: ClassVar[str] = "RepositoryTopic"
    __slots__ = ()

    def topic(self) -> "TopicView":
        """Return the topic itself."""
        return TopicView(self.context, self.subject)

    def resource_path(self) -> str:
        """Return the path of the topic's page."""
        return f"/topics/{self.subject.name}"


class TopicView(View[TopicOf]):
    """A topic."""

    typename: ClassVar[str] = "Topic"
    sources: ClassVar = {"subject": TopicOf}
    __slots__ = ()


class PinnedIssueView(View[Pinned]):
    """An issue pinned to its repository."""

    typename: ClassVar[str] = "PinnedIssue"
    __slots__ = ()

    def id(self) -> str:
        """Return the global id of the pin."""
        return str(NodeId("PI", self.subject.issue.repository_id, self.subject.issue.id))

    def database_id(self) -> int:
        """Return the id of the pin, which is that of the issue."""
        return self.subject.issue.id

    def full_database_id(self) -> str:
        """Return the id of the pin."""
        return str(self.subject.issue.id)

    def issue(self) -> Any:
        """Return the issue."""
        return self.context.view_of(self.subject.issue)

    def repository(self) -> Any:
        """Return where it is pinned."""
        return self.context.view_of(self.context.home(self.subject.issue.repository_id))


class BranchProtectionRuleView(RecordView[Protection]):
    """The rules of the branches that match a pattern."""

    typename: ClassVar[str] = "BranchProtectionRule"
    sources: ClassVar = {"subject": Protection}
    __slots__ = ()

    def allows_deletions(self) -> bool:
        """Return whether the branch can be deleted."""
        return self.subject.allow_deletions

    def allows_force_pushes(self) -> bool:
        """Return whether its history can be rewritten."""
        return self.subject.allow_force_pushes

    def dismisses_stale_reviews(self) -> bool:
        """Return whether a push takes approvals back."""
        return self.subject.dismiss_stale_reviews

    def is_admin_enforced(self) -> bool:
        """Return whether administrators are bound too."""
        return self.subject.enforce_admins

    def repository(self) -> Any:
        """Return whose branches they are."""
        return self.context.view_of(self.context.home(self.subject.repository_id))

    def required_approving_review_count(self) -> int | None:
        """Return how many approvals a merge needs."""
        return self.subject.required_approvals

    def required_status_check_contexts(self) -> list[str]:
        """Return which checks must pass."""
        return list(self.subject.required_checks)

    def requires_approving_reviews(self) -> bool:
        """Return whether a merge needs approvals."""
        return self.subject.required_approvals is not None

    def requires_status_checks(self) -> bool:
        """Return whether a merge needs checks."""
        return bool(self.subject.required_checks)

    def requires_strict_status_checks(self) -> bool:
        """Return whether the branch must be up to date with its base."""
        return self.subject.strict_checks
