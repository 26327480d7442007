"""The events of timelines."""

from typing import Any

from ghx_twin.graphql import git_lookup
from ghx_twin.graphql.context import Context
from ghx_twin.graphql.timeline import EVENT_TYPES
from ghx_twin.graphql.views.event_base import EventView, typename_of
from ghx_twin.graphql.views.relation_events import RELATION_EVENTS
from ghx_twin.queries import lookup
from ghx_twin.queries.pulls import pulls
from ghx_twin.state.records import Event, Issue, Label, Pull, Repository, Review, Team


class LabelEventView(EventView):
    """A label was put on or taken off."""

    __slots__ = ()

    def label(self) -> Any:
        """Return the label as it is now, or as it was then where it is gone."""
        past: dict[str, Any] = self.data.get("label") or {}
        label = self.context.database.get(Label, past.get("id"))
        at = self.subject.created_at
        return self.context.view_of(
            label
            or Label(
                id=past.get("id") or 0,
                repository_id=self.home.id,
                name=past.get("name") or "",
                color=past.get("color") or "ededed",
                description=past.get("description"),
                created_at=at,
                updated_at=at,
            )
        )


class AssigneeEventView(EventView):
    """A user was assigned or unassigned."""

    __slots__ = ()

    def assignee(self) -> Any:
        """Return who."""
        return self.context.view_of(self.context.user(self.data.get("assignee_id")))

    def user(self) -> Any:
        """Return who, if it is a person."""
        return self._person(self.data.get("assignee_id"))


class MilestoneEventView(EventView):
    """A milestone was set or removed."""

    __slots__ = ()

    def milestone_title(self) -> str:
        """Return the title it had then."""
        milestone: dict[str, Any] = self.data.get("milestone") or {}
        return milestone.get("title") or ""


class RenamedEventView(EventView):
    """The title was changed."""

    __slots__ = ()

    def current_title(self) -> str:
        """Return the title after it."""
        return self.data.get("to") or ""

    def previous_title(self) -> str:
        """Return the title before it."""
        return self.data.get("from") or ""


class StateEventView(EventView):
    """It was closed or opened again."""

    __slots__ = ()

    def state_reason(self) -> str | None:
        """Return why."""
        reason = self.data.get("state_reason") or ("reopened" if self.subject.event == "reopened" else None)
        return None if self.issue_record.is_pull or not reason else str(reason).upper()

    def duplicate_of(self) -> Any:
        """Return the issue that it was closed as a duplicate of."""
        return self._other_issue("duplicate_of_id")

    def closer(self) -> Any:
        """Return the commit or pull request that closed it."""
        pull = self.context.database.get(Pull, self.data.get("pull_id"))
        if pull:
            return (
                self.context.view_of(pull)
                if self.context.visible(self.context.repository(pull.repository_id))
                else None
            )
        return self._commit(self.data.get("commit_sha"))


class LockedEventView(EventView):
    """The conversation was locked."""

    __slots__ = ()

    def lock_reason(self) -> str | None:
        """Return why."""
        reason = self.data.get("lock_reason")
        return str(reason).upper().replace(" ", "_").replace("-", "_") if reason else None


class ReferencedEventView(EventView):
    """A commit spoke of it."""

    __slots__ = ()

    def commit(self) -> Any:
        """Return the commit."""
        return self.context.view_of(git_lookup.commit_at(self.context, self._repository, self.data.get("commit_sha")))

    def commit_repository(self) -> Any:
        """Return where the commit is."""
        return self.context.view_of(self._repository)

    def is_cross_repository(self) -> bool:
        """Return whether the commit is in another repository."""
        return self._repository.id != self.home.id

    def is_direct_reference(self) -> bool:
        """Return whether the commit speaks of it in its message, which is the only way here."""
        return True

    @property
    def _repository(self) -> Repository:
        return self.context.visible(self.context.repository(self.data.get("commit_repository_id"))) or self.home


class CrossReferencedEventView(EventView):
    """Another issue or pull request spoke of it."""

    __slots__ = ()

    def referenced_at(self) -> str:
        """Return when."""
        return self.subject.created_at

    def source(self) -> Any:
        """Return what spoke of it."""
        return self.context.view_of(self._source)

    def target(self) -> Any:
        """Return what was spoken of."""
        return self.context.view_of(self.issue_record)

    def is_cross_repository(self) -> bool:
        """Return whether the two are in different repositories."""
        return self._source is not None and self._source.repository_id != self.home.id

    def will_close_target(self) -> bool:
        """Return whether a merge of the source closes the target."""
        pull = lookup.pull_of(self.context.world, self._source) if self._source else None
        closing_issues = pulls.closing_issues(self.context.world, pull, self.context.viewer) if pull else []
        return any(one.id == self.subject.issue_id for one in closing_issues)

    @property
    def _source(self) -> Issue | None:
        return self.context.database.get(Issue, self.data.get("source_issue_id"))


class TransferredEventView(EventView):
    """It came from another repository."""

    __slots__ = ()

    def from_repository(self) -> Any:
        """Return where it came from."""
        repository = self.context.repository(self.data.get("from_repository_id"))
        return self.context.view_of(self.context.visible(repository))


class CommentDeletedEventView(EventView):
    """A comment was deleted."""

    __slots__ = ()

    def deleted_comment_author(self) -> Any:
        """Return whose comment it was."""
        return self.context.view_of(self.context.user(self.data.get("author_id")))


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
        return self.context.view_of(git_lookup.ref(self.context, head, f"refs/heads/{pull.head_ref}")) if pull else None

    head_ref = ref

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

    new_base, old_base = current_ref_name, previous_ref_name


class MergedEventView(EventView):
    """A pull request was merged."""

    __slots__ = ()

    def commit(self) -> Any:
        """Return what the merge made."""
        return self._commit(self.data.get("commit_sha"))

    def merge_ref(self) -> Any:
        """Return the branch it was merged into."""
        return self.context.view_of(git_lookup.ref(self.context, self.home, f"refs/heads/{self.merge_ref_name()}"))

    def merge_ref_name(self) -> str:
        """Return the name of the branch it was merged into."""
        pull = lookup.pull_of(self.context.world, self.issue_record)
        return pull.base_ref if pull else ""


class ReviewRequestEventView(EventView):
    """A review was requested, or no longer is."""

    __slots__ = ()

    def requested_reviewer(self) -> Any:
        """Return the user or team."""
        team = self.context.database.get(Team, self.data.get("team_id"))
        return self.context.view_of(team or self.context.user(self.data.get("reviewer_id")))


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
        return self.context.view_of(self.context.database.get(Review, self.data.get("review_id")))


class AutoMergeEventView(EventView):
    """A standing request to merge came or went."""

    __slots__ = ()

    def enabler(self) -> Any:
        """Return who asked or took it back."""
        return self._person(self.subject.actor_id)

    disabler = enabler

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
    **RELATION_EVENTS,
}
EVENT_VIEWS = {typename_of(event): _VIEWS.get(event, EventView) for event in EVENT_TYPES}  # by GraphQL type


def event_view(context: Context, event: Event) -> EventView | None:
    """Return an event as its type; None for one that GraphQL does not show."""
    return _VIEWS.get(event.event, EventView)(context, event) if event.event in EVENT_TYPES else None
