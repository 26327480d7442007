"""The events of timelines that only pull requests have, and which class shows which event."""

from typing import Any

from ghx_bench.twin.graphql import gitaccess
from ghx_bench.twin.graphql.context import Context
from ghx_bench.twin.graphql.timeline import EVENT_TYPES
from ghx_bench.twin.graphql.views.events import (
    AssigneeEventView,
    CommentDeletedEventView,
    CrossReferencedEventView,
    EventView,
    LabelEventView,
    LockedEventView,
    MilestoneEventView,
    ReferencedEventView,
    RenamedEventView,
    StateEventView,
    TransferredEventView,
    typename_of,
)
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.state.records import Event, Pull, Review, Team


class HeadEventView(EventView):
    """Something happened to the branches of a pull request."""

    __slots__ = ()

    @property
    def pull(self) -> Pull | None:
        """Return the pull request."""
        return lookup.pull_of(self.context.world, self.issue_record)

    def after_commit(self) -> Any:
        """Return the tip after it."""
        return self._commit(self.data.get("after"))

    def before_commit(self) -> Any:
        """Return the tip before it."""
        return self._commit(self.data.get("before"))

    def ref(self) -> Any:
        """Return the branch."""
        pull = self.pull
        head = self.context.visible(self.context.repository(pull.head_repository_id)) if pull else None
        return self.context.show(gitaccess.ref(self.context, head, f"refs/heads/{pull.head_ref}")) if pull else None

    def head_ref(self) -> Any:
        """Return the branch."""
        return self.ref()

    def head_ref_name(self) -> str:
        """Return the name of the branch."""
        return self.pull.head_ref if self.pull else ""

    def base_ref_name(self) -> str | None:
        """Return the name of the base."""
        return self.pull.base_ref if self.pull else None

    def current_ref_name(self) -> str:
        """Return the base after it."""
        return self.data.get("to") or ""

    def previous_ref_name(self) -> str:
        """Return the base before it."""
        return self.data.get("from") or ""

    def new_base(self) -> str:
        """Return the base after it."""
        return self.current_ref_name()

    def old_base(self) -> str:
        """Return the base before it."""
        return self.previous_ref_name()


class MergedEventView(EventView):
    """A pull request was merged."""

    __slots__ = ()

    def commit(self) -> Any:
        """Return what the merge made."""
        return self._commit(self.data.get("commit_sha"))

    def merge_ref(self) -> Any:
        """Return the branch it was merged into."""
        return self.context.show(gitaccess.ref(self.context, self.home, f"refs/heads/{self.merge_ref_name()}"))

    def merge_ref_name(self) -> str:
        """Return the name of the branch it was merged into."""
        pull = lookup.pull_of(self.context.world, self.issue_record)
        return pull.base_ref if pull else ""


class ReviewRequestEventView(EventView):
    """A review was asked for, or no longer is."""

    __slots__ = ()

    def requested_reviewer(self) -> Any:
        """Return the user or team."""
        team = self.context.database.get(Team, self.data.get("team_id"))
        return self.context.show(team or self.context.user(self.data.get("reviewer_id")))


class ReviewDismissedEventView(EventView):
    """A review was dismissed."""

    __slots__ = ()

    def dismissal_message(self) -> str | None:
        """Return why."""
        return self.data.get("message")

    def previous_review_state(self) -> str:
        """Return what the review said."""
        return str(self.data.get("state") or "commented").upper()

    def review(self) -> Any:
        """Return the review."""
        return self.context.show(self.context.database.get(Review, self.data.get("review_id")))


class AutoMergeEventView(EventView):
    """A standing request to merge came or went."""

    __slots__ = ()

    def enabler(self) -> Any:
        """Return who asked."""
        return self._person(self.subject.actor_id)

    def disabler(self) -> Any:
        """Return who took it back."""
        return self._person(self.subject.actor_id)

    def reason(self) -> str | None:
        """Return why it was taken back."""
        return self.data.get("reason")

    def reason_code(self) -> str | None:
        """Return why it was taken back, for programs."""
        return self.data.get("reason_code")


_VIEWS: dict[str, type[EventView]] = {
    "assigned": AssigneeEventView,
    "auto_merge_disabled": AutoMergeEventView,
    "auto_merge_enabled": AutoMergeEventView,
    "auto_rebase_enabled": AutoMergeEventView,
    "auto_squash_enabled": AutoMergeEventView,
    "automatic_base_change_succeeded": HeadEventView,
    "base_ref_changed": HeadEventView,
    "base_ref_deleted": HeadEventView,
    "closed": StateEventView,
    "comment_deleted": CommentDeletedEventView,
    "cross-referenced": CrossReferencedEventView,
    "demilestoned": MilestoneEventView,
    "head_ref_deleted": HeadEventView,
    "head_ref_force_pushed": HeadEventView,
    "labeled": LabelEventView,
    "locked": LockedEventView,
    "merged": MergedEventView,
    "milestoned": MilestoneEventView,
    "referenced": ReferencedEventView,
    "renamed": RenamedEventView,
    "reopened": StateEventView,
    "review_dismissed": ReviewDismissedEventView,
    "review_request_removed": ReviewRequestEventView,
    "review_requested": ReviewRequestEventView,
    "transferred": TransferredEventView,
    "unassigned": AssigneeEventView,
    "unlabeled": LabelEventView,
}
EVENT_VIEWS = {typename_of(event): _VIEWS.get(event, EventView) for event in EVENT_TYPES}  # by GraphQL type


def show_event(context: Context, event: Event) -> EventView | None:
    """Return an event as its type; None for one that GraphQL does not show."""
    return _VIEWS.get(event.event, EventView)(context, event) if event.event in EVENT_TYPES else None
