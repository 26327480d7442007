"""The events of what issues are to each other: parts, dependencies, duplicates, types and connected pull requests."""

from collections.abc import Mapping
from typing import Any

from ghx_twin.graphql.views.event_base import EventView
from ghx_twin.state.records import Issue, IssueType


class SubIssueEventView(EventView):
    """An issue became a part of another, or no longer is one."""

    __slots__ = ()

    def sub_issue(self) -> Any:
        """Return the part."""
        return self._other_issue("sub_issue_id")

    def parent(self) -> Any:
        """Return the whole."""
        return self._other_issue("parent_issue_id")


class DependencyEventView(EventView):
    """An issue was marked as blocked by another, or no longer is."""

    __slots__ = ()

    def blocking_issue(self) -> Any:
        """Return what blocks it."""
        return self._other_issue("blocking_issue_id")

    def blocked_issue(self) -> Any:
        """Return what it blocks."""
        return self._other_issue("blocked_issue_id")


class IssueTypeEventView(EventView):
    """An issue was given a type, another one or none."""

    __slots__ = ()

    def issue_type(self) -> Any:
        """Return the type, the one that was taken off where it has none now."""
        return self._type("issue_type")

    def prev_issue_type(self) -> Any:
        """Return the type it had before."""
        return self._type("prev_issue_type")

    def _type(self, name: str) -> Any:
        past: Mapping[str, Any] = self.data.get(name) or {}
        return self.context.view_of(self.context.database.get(IssueType, past.get("id")))


class DuplicateEventView(EventView):
    """An issue was marked as a duplicate of another, or no longer is."""

    __slots__ = ()

    def canonical(self) -> Any:
        """Return the issue that stays."""
        return self._other_issue("canonical_id")

    def duplicate(self) -> Any:
        """Return the issue that says the same."""
        return self._other_issue("duplicate_id")

    def is_cross_repository(self) -> bool:
        """Return whether the two are in different repositories."""
        both = (self.context.database.get(Issue, self.data.get(name)) for name in ("canonical_id", "duplicate_id"))
        return len({one.repository_id for one in both if one is not None}) > 1


class ConnectedEventView(EventView):
    """A pull request was connected to the issue that it closes."""

    __slots__ = ()

    def source(self) -> Any:
        """Return what it happened to."""
        return self.context.view_of(self.issue_record)

    def subject_(self) -> Any:
        """Return what it was connected to."""
        return self._other_issue("subject_id")

    def is_cross_repository(self) -> bool:
        """Return whether the two are in different repositories."""
        other = self.context.database.get(Issue, self.data.get("subject_id"))
        return other is not None and other.repository_id != self.home.id


RELATION_EVENTS: dict[str, type[EventView]] = {
    "blocked_by_added": DependencyEventView,
    "blocked_by_removed": DependencyEventView,
    "blocking_added": DependencyEventView,
    "blocking_removed": DependencyEventView,
    "connected": ConnectedEventView,
    "issue_type_added": IssueTypeEventView,
    "issue_type_changed": IssueTypeEventView,
    "issue_type_removed": IssueTypeEventView,
    "marked_as_duplicate": DuplicateEventView,
    "parent_issue_added": SubIssueEventView,
    "parent_issue_removed": SubIssueEventView,
    "sub_issue_added": SubIssueEventView,
    "sub_issue_removed": SubIssueEventView,
    "unmarked_as_duplicate": DuplicateEventView,
}
