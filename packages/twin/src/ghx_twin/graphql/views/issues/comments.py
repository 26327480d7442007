"""Markdown without its marks: what `bodyText` shows."""

import re
from typing import Any, ClassVar

from ghx_twin.graphql.context import Context
from ghx_twin.graphql.subjects import IssueSubject
from ghx_twin.graphql.views.base import Linked, RecordView
from ghx_twin.graphql.views.issues.reactions import Reactable
from ghx_twin.state.records import Comment, Issue, Record, Repository

_RULES = (
    (re.compile(r"<!--.*?-->", re.DOTALL), ""),
    (re.compile(r"^\s*(```|~~~).*$", re.MULTILINE), ""),
    (re.compile(r"!?\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"^\s{0,3}#{1,6}\s+", re.MULTILINE), ""),
    (re.compile(r"^\s{0,3}>\s?", re.MULTILINE), ""),
    (re.compile(r"^(\s*)[-*+]\s+(\[[ xX]\]\s+)?", re.MULTILINE), r"\1"),
    (re.compile(r"(\*\*|__|~~|`)(.+?)\1"), r"\2"),
    (re.compile(r"(?<!\w)[*_](\S(?:.*?\S)?)[*_](?!\w)"), r"\1"),
    (re.compile(r"\n{3,}"), "\n\n"),
)


def plain_text(markdown: str) -> str:
    """Return the words of a text without the marks of its layout."""
    for pattern, replacement in _RULES:
        markdown = pattern.sub(replacement, markdown)
    return markdown.strip()


class Written(Reactable):
    """A mixin for what has an author and a body.

    A subclass says in `written` which record holds `author_id`, `body` and the times, and in `home` where it is.
    """

    __slots__ = ()
    context: Context

    @property
    def written(self) -> Any:
        """Return the record with author, body and times."""
        raise NotImplementedError

    @property
    def home(self) -> Repository:
        """Return the repository it is in."""
        raise NotImplementedError

    @property
    def reacted(self) -> Record:
        """Return the record that reactions are under."""
        return self.written

    def author(self) -> Any:
        """Return who wrote it; None once they are gone."""
        return self.context.view_of(self.context.user(self.written.author_id))

    def author_association(self) -> str:
        """Return how the author stands to the repository."""
        return self.context.association(self.home, self.context.user(self.written.author_id))

    def body(self) -> str:
        """Return the text."""
        return self.written.body or ""

    def body_text(self) -> str:
        """Return the text without Markdown's marks."""
        return plain_text(self.body())

    def created_at(self) -> str:
        """Return when it was written."""
        return self.written.created_at

    def updated_at(self) -> str:
        """Return when it last changed."""
        return self.written.updated_at

    def published_at(self) -> str | None:
        """Return when it could be read by others."""
        return self.written.created_at

    def created_via_email(self) -> bool:
        """Return whether it came by mail: never here."""
        return False

    def repository(self) -> Any:
        """Return where it is."""
        return self.context.view_of(self.home)

    def viewer_did_author(self) -> bool:
        """Return whether the viewer wrote it."""
        return self.written.author_id == self.context.viewer.id

    def viewer_can_update(self) -> bool:
        """Return whether the viewer may rewrite it."""
        return not self.viewer_cannot_update_reasons()

    def viewer_cannot_update_reasons(self) -> list[str]:
        """Return why the viewer may not rewrite it."""
        if self.home.archived:
            return ["ARCHIVED"]
        allowed = self.viewer_did_author() or self.context.may(self.home, "write")
        return [] if allowed else ["INSUFFICIENT_ACCESS"]

    def viewer_can_react(self) -> bool:
        """Return whether the viewer may react."""
        return not self.home.archived and (not self.is_locked or self.context.may(self.home, "write"))

    @property
    def is_locked(self) -> bool:
        """Return whether the conversation it is in was locked."""
        return False


class Remark(Written):
    """A mixin for what is written as a comment: it can be edited and hidden."""

    __slots__ = ()

    def includes_created_edit(self) -> bool:
        """Return whether it was edited."""
        return self.written.updated_at > self.written.created_at

    def last_edited_at(self) -> str | None:
        """Return when it was edited."""
        return self.written.updated_at if self.includes_created_edit() else None

    def is_minimized(self) -> bool:
        """Return whether it is hidden."""
        return self._reason is not None

    def minimized_reason(self) -> str | None:
        """Return why it is hidden, as GitHub writes it: `off-topic`."""
        return self._reason.lower().replace("_", "-") if self._reason else None

    def viewer_can_minimize(self) -> bool:
        """Return whether the viewer may hide it."""
        return self.context.may(self.home, "write")

    def viewer_can_delete(self) -> bool:
        """Return whether the viewer may delete it."""
        return self.viewer_can_update()

    @property
    def _reason(self) -> str | None:
        return getattr(self.written, "minimized_reason", None)


class IssueCommentView(Remark, Linked, RecordView[Comment]):
    """A comment in the conversation of an issue or pull request."""

    typename: ClassVar[str] = "IssueComment"
    __slots__ = ()

    @property
    def written(self) -> Comment:
        """Return the record with author, body and times."""
        return self.subject

    @property
    def home(self) -> Repository:
        """Return the repository it is in."""
        return self.context.home(self._issue.repository_id)

    def issue(self) -> Any:
        """Return the issue; that of a pull request too, which GitHub shows as an issue here."""
        return self.context.view_of(IssueSubject(self._issue))

    def pull_request(self) -> Any:
        """Return the pull request, where it is one."""
        return self.context.view_of(self._issue) if self._issue.is_pull else None

    def resource_path(self) -> str:
        """Return the path of its page."""
        kind = "pull" if self._issue.is_pull else "issues"
        place = f"{self.context.full_name(self.home)}/{kind}/{self._issue.number}"
        return f"/{place}#issuecomment-{self.subject.id}"

    @property
    def is_locked(self) -> bool:
        """Return whether the conversation was locked."""
        return self._issue.locked

    @property
    def _issue(self) -> Issue:
        identity = self.subject.issue_id
        issue = self.context.once((Issue, identity), lambda: self.context.database.get(Issue, identity))
        assert issue is not None  # noqa: S101 - a comment goes with its issue
        return issue
