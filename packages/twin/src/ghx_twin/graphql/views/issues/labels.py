"""Labels and milestones."""

from collections.abc import Sequence
from typing import Any, ClassVar
from urllib.parse import quote

from ghx_twin.graphql.lists import IssueQuery, PullQuery
from ghx_twin.graphql.views.base import Linked, RecordView
from ghx_twin.state.records import Issue, Label, Milestone, Pull

_ON_LABEL = "EXISTS (SELECT 1 FROM issue_labels WHERE issue_labels.issue_id = issues.id AND issue_labels.label_id = ?)"


class LabelView(Linked, RecordView[Label]):
    """A label of a repository."""

    typename: ClassVar[str] = "Label"
    sources: ClassVar = {"subject": Label}
    __slots__ = ()

    def is_default(self) -> bool:
        """Return whether every repository starts with it."""
        return self.subject.default

    def issues(self, **filters: Any) -> Sequence[Issue]:
        """Return the issues that have it."""
        return IssueQuery(self.context).where(_ON_LABEL, self.subject.id).filter(**filters).rows()

    def pull_requests(self, **filters: Any) -> Sequence[Pull]:
        """Return the pull requests that have it."""
        return PullQuery(self.context).where(_ON_LABEL, self.subject.id).filter(**filters).rows()

    def repository(self) -> Any:
        """Return whose label it is."""
        return self.context.view_of(self.context.home(self.subject.repository_id))

    def resource_path(self) -> str:
        """Return the path of its page."""
        home = self.context.home(self.subject.repository_id)
        return f"/{self.context.full_name(home)}/labels/{quote(self.subject.name, safe='')}"


class MilestoneView(Linked, RecordView[Milestone]):
    """A milestone of a repository."""

    typename: ClassVar[str] = "Milestone"
    sources: ClassVar = {"subject": Milestone}
    __slots__ = ()

    def closed(self) -> bool:
        """Return whether it is over."""
        return self.subject.state == "closed"

    def state(self) -> str:
        """Return whether it is over, in one word."""
        return self.subject.state.upper()

    def creator(self) -> Any:
        """Return who made it."""
        return self.context.view_of(self.context.user(self.subject.creator_id))

    def issues(self, **filters: Any) -> Sequence[Issue]:
        """Return its issues."""
        return IssueQuery(self.context).by(milestone_id=self.subject.id).filter(**filters).rows()

    def pull_requests(self, **filters: Any) -> Sequence[Pull]:
        """Return its pull requests."""
        return PullQuery(self.context).by(milestone_id=self.subject.id).filter(**filters).rows()

    def progress_percentage(self) -> float:
        """Return how much of it is closed."""
        count = self.context.database.count
        total = count(Issue, milestone_id=self.subject.id)
        return 100 * count(Issue, milestone_id=self.subject.id, state="closed") / total if total else 0.0

    def repository(self) -> Any:
        """Return whose milestone it is."""
        return self.context.view_of(self.context.home(self.subject.repository_id))

    def resource_path(self) -> str:
        """Return the path of its page."""
        home = self.context.home(self.subject.repository_id)
        return f"/{self.context.full_name(home)}/milestone/{self.subject.number}"

    def viewer_can_close(self) -> bool:
        """Return whether the viewer may close it."""
        return self._may_change() and not self.closed()

    def viewer_can_reopen(self) -> bool:
        """Return whether the viewer may open it again."""
        return self._may_change() and self.closed()

    def _may_change(self) -> bool:
        return self.context.may(self.context.home(self.subject.repository_id), "write")


LABEL_ORDERS = {
    "CREATED_AT": "labels.created_at",
    "ISSUE_COUNT": "(SELECT count(*) FROM issue_labels AS placed WHERE placed.label_id = labels.id)",
    "NAME": "unicode_lower(labels.name)",
}
"""What GraphQL's orders of labels are in SQL."""
