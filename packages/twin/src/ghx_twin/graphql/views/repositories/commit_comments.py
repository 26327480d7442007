"""Comments on commits."""

from typing import Any, ClassVar

from ghx_twin.graphql import git_lookup
from ghx_twin.graphql.views.base import Linked, RecordView
from ghx_twin.graphql.views.issues.comments import Remark
from ghx_twin.state.records import CommitComment, Repository


class CommitCommentView(Remark, Linked, RecordView[CommitComment]):
    """A comment on a commit."""

    typename: ClassVar[str] = "CommitComment"
    sources: ClassVar = {"subject": CommitComment}
    __slots__ = ()

    @property
    def written(self) -> CommitComment:
        """Return the record with author, body and times."""
        return self.subject

    @property
    def home(self) -> Repository:
        """Return the repository it is in."""
        return self.context.home(self.subject.repository_id)

    def commit(self) -> Any:
        """Return the commit."""
        return self.context.view_of(git_lookup.commit_at(self.context, self.home, self.subject.commit_sha))

    def resource_path(self) -> str:
        """Return the path of its page."""
        place = f"{self.context.full_name(self.home)}/commit/{self.subject.commit_sha}"
        return f"/{place}#commitcomment-{self.subject.id}"
