"""What every event of a timeline shows."""

from collections.abc import Mapping
from typing import Any, ClassVar

from ghx_twin.graphql import git_lookup
from ghx_twin.graphql.timeline import EVENT_TYPES
from ghx_twin.graphql.views.base import Linked, RecordView
from ghx_twin.state.records import Event, Issue, Repository


def typename_of(event: str) -> str:
    """Return the GraphQL type of an event with one of REST's names."""
    return "".join(part.capitalize() for part in EVENT_TYPES[event].split("_"))


class EventView(Linked, RecordView[Event]):
    """What every event shows; a type with more has a class of its own."""

    sources: ClassVar = {"subject": Event}
    __slots__ = ()

    @property
    def typename(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride] - one class for many types
        """Return the GraphQL type."""
        return typename_of(self.subject.event)

    @property
    def data(self) -> Mapping[str, Any]:
        """Return what the event remembers."""
        return self.subject.data

    @property
    def issue_record(self) -> Issue:
        """Return what it happened to."""
        identity = self.subject.issue_id
        issue = self.context.once((Issue, identity), lambda: self.context.database.get(Issue, identity))
        assert issue is not None  # noqa: S101 - an event goes with its issue
        return issue

    @property
    def home(self) -> Repository:
        """Return where it happened."""
        return self.context.home(self.issue_record.repository_id)

    def actor(self) -> Any:
        """Return who did it."""
        return self.context.view_of(self.context.user(self.subject.actor_id))

    def resource_path(self) -> str:
        """Return the path of its page."""
        kind = "pull" if self.issue_record.is_pull else "issues"
        return f"/{self.context.full_name(self.home)}/{kind}/{self.issue_record.number}#event-{self.subject.id}"

    def subject_(self) -> Any:
        """Return the issue or pull request."""
        return self.context.view_of(self.issue_record)

    issue = pull_request = labelable = assignable = closable = lockable = subject_

    def _commit(self, sha: str | None) -> Any:
        """Return a commit of the repository it happened in."""
        return self.context.view_of(git_lookup.commit_at(self.context, self.home, sha))

    def _other_issue(self, name: str) -> Any:
        """Return an issue or pull request that the event remembers, if the viewer may see it."""
        issue = self.context.database.get(Issue, self.data.get(name))
        visible = issue and self.context.visible(self.context.repository(issue.repository_id))
        return self.context.view_of(issue) if visible else None

    def _person(self, identity: int | None) -> Any:
        user = self.context.user(identity)
        return self.context.view_of(user) if user and user.type == "User" else None
