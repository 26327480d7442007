"""Timelines as GraphQL shows them: by item types, in pages."""

from collections.abc import Sequence
from typing import overload

from ghx_twin.git.objects import Commit
from ghx_twin.graphql.connections import Connection
from ghx_twin.graphql.context import Context
from ghx_twin.graphql.subjects import CommitSubject, PullCommit
from ghx_twin.queries.timeline import Happening, moments
from ghx_twin.state.records import Comment, Event, Issue, Pull, Review

# REST's names of events on the left, GraphQL's item types on the right
EVENT_TYPES = {
    "assigned": "ASSIGNED_EVENT",
    "auto_merge_disabled": "AUTO_MERGE_DISABLED_EVENT",
    "auto_merge_enabled": "AUTO_MERGE_ENABLED_EVENT",
    "auto_rebase_enabled": "AUTO_REBASE_ENABLED_EVENT",
    "auto_squash_enabled": "AUTO_SQUASH_ENABLED_EVENT",
    "automatic_base_change_succeeded": "AUTOMATIC_BASE_CHANGE_SUCCEEDED_EVENT",
    "base_ref_changed": "BASE_REF_CHANGED_EVENT",
    "base_ref_deleted": "BASE_REF_DELETED_EVENT",
    "blocked_by_added": "BLOCKED_BY_ADDED_EVENT",
    "blocked_by_removed": "BLOCKED_BY_REMOVED_EVENT",
    "blocking_added": "BLOCKING_ADDED_EVENT",
    "blocking_removed": "BLOCKING_REMOVED_EVENT",
    "closed": "CLOSED_EVENT",
    "comment_deleted": "COMMENT_DELETED_EVENT",
    "connected": "CONNECTED_EVENT",
    "convert_to_draft": "CONVERT_TO_DRAFT_EVENT",
    "cross-referenced": "CROSS_REFERENCED_EVENT",
    "demilestoned": "DEMILESTONED_EVENT",
    "head_ref_deleted": "HEAD_REF_DELETED_EVENT",
    "head_ref_force_pushed": "HEAD_REF_FORCE_PUSHED_EVENT",
    "head_ref_restored": "HEAD_REF_RESTORED_EVENT",
    "issue_type_added": "ISSUE_TYPE_ADDED_EVENT",
    "issue_type_changed": "ISSUE_TYPE_CHANGED_EVENT",
    "issue_type_removed": "ISSUE_TYPE_REMOVED_EVENT",
    "labeled": "LABELED_EVENT",
    "locked": "LOCKED_EVENT",
    "marked_as_duplicate": "MARKED_AS_DUPLICATE_EVENT",
    "mentioned": "MENTIONED_EVENT",
    "merged": "MERGED_EVENT",
    "milestoned": "MILESTONED_EVENT",
    "parent_issue_added": "PARENT_ISSUE_ADDED_EVENT",
    "parent_issue_removed": "PARENT_ISSUE_REMOVED_EVENT",
    "pinned": "PINNED_EVENT",
    "ready_for_review": "READY_FOR_REVIEW_EVENT",
    "referenced": "REFERENCED_EVENT",
    "renamed": "RENAMED_TITLE_EVENT",
    "reopened": "REOPENED_EVENT",
    "review_dismissed": "REVIEW_DISMISSED_EVENT",
    "review_request_removed": "REVIEW_REQUEST_REMOVED_EVENT",
    "review_requested": "REVIEW_REQUESTED_EVENT",
    "sub_issue_added": "SUB_ISSUE_ADDED_EVENT",
    "sub_issue_removed": "SUB_ISSUE_REMOVED_EVENT",
    "subscribed": "SUBSCRIBED_EVENT",
    "transferred": "TRANSFERRED_EVENT",
    "unassigned": "UNASSIGNED_EVENT",
    "unlabeled": "UNLABELED_EVENT",
    "unlocked": "UNLOCKED_EVENT",
    "unmarked_as_duplicate": "UNMARKED_AS_DUPLICATE_EVENT",
    "unpinned": "UNPINNED_EVENT",
}
Item = Event | Comment | Review | PullCommit


class Timeline(Sequence[Item]):
    """The chosen items, and what is known of all of them."""

    def __init__(self, items: list[Item], *, total: int, updated_at: str) -> None:
        self._items = items
        self.total, self.updated_at = total, updated_at

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        return self._items[index]


class TimelineConnection(Connection[Timeline]):
    """A page of a timeline, with GitHub's three ways to count."""

    __slots__ = ()

    def total_count(self) -> int:
        """Return how many items there are before any choice."""
        return self.items.total

    def filtered_count(self) -> int:
        """Return how many items were chosen."""
        return len(self.items)

    def page_count(self) -> int:
        """Return how many items are on this page."""
        start, end = self.bounds()
        return end - start

    def updated_at(self) -> str:
        """Return when something was last added."""
        return self.items.updated_at


def timeline(
    context: Context,
    issue: Issue,
    pull: Pull | None,
    *,
    item_types: Sequence[str] | None = None,
    since: str | None = None,
    skip: int | None = None,
) -> Timeline:
    """Return what happened, oldest first."""
    visible = [
        one
        for one in moments(context.world, context.viewer, issue)
        if not isinstance(one.item, Event) or one.item.event in EVENT_TYPES  # REST has events that GraphQL lacks
    ]
    dated = [(one.at, _timeline_item(context, pull, one.item)) for one in visible]
    chosen = [
        item
        for at, item in dated
        if (not item_types or item_type(item) in item_types) and (since is None or at >= since)
    ]
    last = dated[-1][0] if dated else issue.updated_at
    return Timeline(chosen[max(0, skip or 0) :], total=len(dated), updated_at=last)


def item_type(item: Item) -> str:
    """Return the item type that GraphQL's filter knows an item by."""
    match item:
        case Event():
            return EVENT_TYPES[item.event]
        case Comment():
            return "ISSUE_COMMENT"
        case Review():
            return "PULL_REQUEST_REVIEW"
        case PullCommit():
            return "PULL_REQUEST_COMMIT"


def _timeline_item(context: Context, pull: Pull | None, item: Happening) -> Item:
    if not isinstance(item, Commit):
        return item
    assert pull is not None  # noqa: S101 - only pull requests have commits
    return PullCommit(pull, CommitSubject(context.home(pull.repository_id), item.sha))
