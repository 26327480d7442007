"""What happened to an issue or pull request, in one order: events, comments, reviews and commits."""

from collections.abc import Sequence
from typing import Any, overload

from ghx_bench.twin.graphql import gitaccess
from ghx_bench.twin.graphql.connections import Connection
from ghx_bench.twin.graphql.context import Context
from ghx_bench.twin.graphql.subjects import CommitThing, PullCommit
from ghx_bench.twin.queries import pulls
from ghx_bench.twin.state.records import Comment, Event, Issue, Pull, Review

# REST's names of events on the left, GraphQL's item types on the right
EVENT_TYPES = {
    "assigned": "ASSIGNED_EVENT",
    "auto_merge_disabled": "AUTO_MERGE_DISABLED_EVENT",
    "auto_merge_enabled": "AUTO_MERGE_ENABLED_EVENT",
    "auto_rebase_enabled": "AUTO_REBASE_ENABLED_EVENT",
    "auto_squash_enabled": "AUTO_SQUASH_ENABLED_EVENT",
    "base_ref_changed": "BASE_REF_CHANGED_EVENT",
    "base_ref_deleted": "BASE_REF_DELETED_EVENT",
    "closed": "CLOSED_EVENT",
    "comment_deleted": "COMMENT_DELETED_EVENT",
    "convert_to_draft": "CONVERT_TO_DRAFT_EVENT",
    "cross-referenced": "CROSS_REFERENCED_EVENT",
    "demilestoned": "DEMILESTONED_EVENT",
    "head_ref_deleted": "HEAD_REF_DELETED_EVENT",
    "head_ref_force_pushed": "HEAD_REF_FORCE_PUSHED_EVENT",
    "head_ref_restored": "HEAD_REF_RESTORED_EVENT",
    "labeled": "LABELED_EVENT",
    "locked": "LOCKED_EVENT",
    "mentioned": "MENTIONED_EVENT",
    "merged": "MERGED_EVENT",
    "milestoned": "MILESTONED_EVENT",
    "pinned": "PINNED_EVENT",
    "ready_for_review": "READY_FOR_REVIEW_EVENT",
    "referenced": "REFERENCED_EVENT",
    "renamed": "RENAMED_TITLE_EVENT",
    "reopened": "REOPENED_EVENT",
    "review_dismissed": "REVIEW_DISMISSED_EVENT",
    "review_request_removed": "REVIEW_REQUEST_REMOVED_EVENT",
    "review_requested": "REVIEW_REQUESTED_EVENT",
    "subscribed": "SUBSCRIBED_EVENT",
    "transferred": "TRANSFERRED_EVENT",
    "unassigned": "UNASSIGNED_EVENT",
    "unlabeled": "UNLABELED_EVENT",
    "unlocked": "UNLOCKED_EVENT",
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
    dated = sorted(_dated(context, issue, pull), key=lambda one: one[0])
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


def _dated(context: Context, issue: Issue, pull: Pull | None) -> list[tuple[str, Item]]:
    found: list[tuple[str, Item]] = []
    if pull is not None:
        home = context.home(issue.repository_id)
        for commit in gitaccess.pull_commits(context, pull):
            found.append((commit.committer.utc, PullCommit(pull, CommitThing(home, commit.sha))))  # noqa: PERF401 - reads better
        reviews = pulls.visible_reviews(context.world, context.viewer, pull)
        found += [(one.submitted_at or one.created_at, one) for one in reviews]
    events = context.database.all(Event, issue_id=issue.id)
    found += [(one.created_at, one) for one in events if one.event in EVENT_TYPES and _is_visible(context, one)]
    found += [(one.created_at, one) for one in context.database.all(Comment, issue_id=issue.id)]
    return found


def _is_visible(context: Context, event: Event) -> bool:
    """Tell whether the viewer may know where a reference came from."""
    source: Any = event.data.get("source_issue_id")
    if source is None:
        return True
    issue = context.database.get(Issue, source)
    return issue is not None and context.visible(context.repository(issue.repository_id)) is not None
