"""The events of timelines."""

from typing import Any, ClassVar

from ghx_bench.twin.graphql import gitaccess
from ghx_bench.twin.graphql.timeline import EVENT_TYPES
from ghx_bench.twin.graphql.views.base import Linked, RecordView
from ghx_bench.twin.queries import lookup, pulls
from ghx_bench.twin.state.records import Event, Issue, Label, Pull, Repository


class EventView(Linked, RecordView[Event]):
    """What every event shows; a type with more has a class of its own."""

    sources: ClassVar = {"subject": Event}
    __slots__ = ()

    @property
    def typename(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride] - one class for many types
        """Return the GraphQL type."""
        return typename_of(self.subject.event)

    @property
    def data(self) -> dict[str, Any]:
        """Return what the event remembers."""
        return self.subject.data

    @property
    def issue_record(self) -> Issue:
        """Return what it happened to."""
        identity = self.subject.issue_id
        found = self.context.once((Issue, identity), lambda: self.context.database.get(Issue, identity))
        assert found is not None  # noqa: S101 - an event goes with its issue
        return found

    @property
    def home(self) -> Repository:
        """Return where it happened."""
        return self.context.home(self.issue_record.repository_id)

    def actor(self) -> Any:
        """Return who did it."""
        return self.context.show(self.context.user(self.subject.actor_id))

    def resource_path(self) -> str:
        """Return the path of its page."""
        kind = "pull" if self.issue_record.is_pull else "issues"
        return f"/{self.context.full_name(self.home)}/{kind}/{self.issue_record.number}#event-{self.subject.id}"

    def subject_(self) -> Any:
        """Return the issue or pull request."""
        return self.context.show(self.issue_record)

    issue = pull_request = labelable = assignable = closable = lockable = subject_

    def _commit(self, sha: str | None) -> Any:
        return self.context.show(gitaccess.commit_at(self.context, self.home, sha))

    def _person(self, identity: int | None) -> Any:
        found = self.context.user(identity)
        return self.context.show(found) if found and found.type == "User" else None


class LabelEventView(EventView):
    """A label was put on or taken off."""

    __slots__ = ()

    def label(self) -> Any:
        """Return the label as it is now, or as it was then where it is gone."""
        past: dict[str, Any] = self.data.get("label") or {}
        found = self.context.database.get(Label, past.get("id"))
        at = self.subject.created_at
        return self.context.show(
            found
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
    """Someone was assigned or unassigned."""

    __slots__ = ()

    def assignee(self) -> Any:
        """Return who."""
        return self.context.show(self.context.user(self.data.get("assignee_id")))

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

    def closer(self) -> Any:
        """Return the commit or pull request that closed it."""
        pull = self.context.database.get(Pull, self.data.get("pull_id"))
        if pull:
            return (
                self.context.show(pull) if self.context.visible(self.context.repository(pull.repository_id)) else None
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
        return self.context.show(gitaccess.commit_at(self.context, self._repository, self.data.get("commit_sha")))

    def commit_repository(self) -> Any:
        """Return where the commit is."""
        return self.context.show(self._repository)

    def is_cross_repository(self) -> bool:
        """Tell whether the commit is in another repository."""
        return self._repository.id != self.home.id

    def is_direct_reference(self) -> bool:
        """Tell whether the commit speaks of it in its message, which is the only way here."""
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
        return self.context.show(self._source)

    def target(self) -> Any:
        """Return what was spoken of."""
        return self.context.show(self.issue_record)

    def is_cross_repository(self) -> bool:
        """Tell whether the two are in different repositories."""
        return self._source is not None and self._source.repository_id != self.home.id

    def will_close_target(self) -> bool:
        """Tell whether a merge of the source closes the target."""
        pull = lookup.pull_of(self.context.world, self._source) if self._source else None
        found = pulls.closing_issues(self.context.world, pull, self.context.viewer) if pull else []
        return any(one.id == self.subject.issue_id for one in found)

    @property
    def _source(self) -> Issue | None:
        return self.context.database.get(Issue, self.data.get("source_issue_id"))


class TransferredEventView(EventView):
    """It came from another repository."""

    __slots__ = ()

    def from_repository(self) -> Any:
        """Return where it came from."""
        found = self.context.repository(self.data.get("from_repository_id"))
        return self.context.show(self.context.visible(found))


class CommentDeletedEventView(EventView):
    """A comment was deleted."""

    __slots__ = ()

    def deleted_comment_author(self) -> Any:
        """Return whose comment it was."""
        return self.context.show(self.context.user(self.data.get("author_id")))


def typename_of(event: str) -> str:
    """Return the GraphQL type of an event with one of REST's names."""
    return "".join(part.capitalize() for part in EVENT_TYPES[event].split("_"))
