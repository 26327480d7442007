"""Commits, trees, blobs and tags."""

import base64
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any, ClassVar, Generic, TypeVar

from ghx_twin.git.objects import AnnotatedTag, Commit
from ghx_twin.graphql import git_lookup, suites
from ghx_twin.graphql.subjects import (
    ActorSubject,
    BlameRange,
    BlameSubject,
    BlobSubject,
    CommitSubject,
    EntrySubject,
    GitSubject,
    RollupSubject,
    StatusSubject,
    SuiteSubject,
    TagSubject,
    TreeSubject,
)
from ghx_twin.graphql.views.base import Linked, View
from ghx_twin.nodes import GitNodeKind, find_record, git_node_id
from ghx_twin.queries.actions import checks
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.state.records import CommitComment, Pull, User

SubjectT = TypeVar("SubjectT", bound=GitSubject)

LONGEST_TEXT = 512_000
"""Bytes of a file that `text` shows, as on GitHub."""


class GitObjectView(View[SubjectT], Generic[SubjectT]):
    """What every git object shows."""

    kind: ClassVar[GitNodeKind]
    __slots__ = ()

    def id(self) -> str:
        """Return the global id."""
        return git_node_id(self.kind, self.subject.repository.id, self.subject.sha)

    def oid(self) -> str:
        """Return the sha."""
        return self.subject.sha

    def abbreviated_oid(self) -> str:
        """Return the sha as people write it."""
        return self.subject.sha[:7]

    def repository(self) -> Any:
        """Return where it is."""
        return self.context.view_of(self.subject.repository)

    def commit_resource_path(self) -> str:
        """Return the path of the commit's page."""
        return f"/{self.context.full_name(self.subject.repository)}/commit/{self.subject.sha}"

    def commit_url(self) -> str:
        """Return the address of the commit's page."""
        return self.context.base.html + self.commit_resource_path()


class CommitView(Linked, GitObjectView[CommitSubject]):
    """A commit."""

    typename: ClassVar[str] = "Commit"
    kind: ClassVar[GitNodeKind] = "commit"
    __slots__ = ()

    def resource_path(self) -> str:
        """Return the path of its page."""
        return self.commit_resource_path()

    def message(self) -> str:
        """Return the whole message."""
        return self._commit.message.strip("\n")

    def message_headline(self) -> str:
        """Return the first line."""
        return self.message().partition("\n")[0]

    def message_body(self) -> str:
        """Return what follows the first line."""
        return self.message().partition("\n")[2].strip("\n")

    def author(self) -> Any:
        """Return who wrote it."""
        return self.context.view_of(ActorSubject(self.subject.repository, self._commit.author))

    def committer(self) -> Any:
        """Return who made it a commit."""
        return self.context.view_of(ActorSubject(self.subject.repository, self._commit.committer))

    def authors(self) -> list[ActorSubject]:
        """Return everyone who wrote it: the author, and those the message names as co-authors."""
        return [ActorSubject(self.subject.repository, one) for one in git_lookup.authors(self._commit)]

    def authored_by_committer(self) -> bool:
        """Return whether author and committer are one."""
        return self._commit.author.email == self._commit.committer.email

    def authored_date(self) -> str:
        """Return when it was written."""
        return self._commit.author.utc

    def committed_date(self) -> str:
        """Return when it became a commit."""
        return self._commit.committer.utc

    def additions(self) -> int:
        """Return how many lines it adds."""
        return sum(file.additions for file in self._files())

    def deletions(self) -> int:
        """Return how many lines it removes."""
        return sum(file.deletions for file in self._files())

    def changed_files(self) -> int:
        """Return how many files it changes."""
        return len(self._files())

    def changed_files_if_available(self) -> int:
        """Return how many files it changes."""
        return len(self._files())

    def parents(self) -> list[CommitSubject]:
        """Return the commits before it."""
        return [CommitSubject(self.subject.repository, sha) for sha in self._commit.parents]

    def history(
        self,
        author: dict[str, Any] | None = None,
        path: str | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> Sequence[CommitSubject]:
        """Return it and what led to it, newest first."""
        git, names = self.context.world.git(self.subject.repository), None
        if author:
            names = {*(author.get("emails") or ()), *self._emails(author.get("id"))}
        log = git.log(self.subject.sha, path=path or None, since=since, until=until, author=names)
        return [CommitSubject(self.subject.repository, sha) for sha in log.shas]

    def tree(self) -> Any:
        """Return its files."""
        return self.context.view_of(TreeSubject(self.subject.repository, self._commit.tree))

    def tree_resource_path(self) -> str:
        """Return the path of the page with its files."""
        return f"/{self.context.full_name(self.subject.repository)}/tree/{self.subject.sha}"

    def tree_url(self) -> str:
        """Return the address of the page with its files."""
        return self.context.base.html + self.tree_resource_path()

    def file(self, path: str) -> Any:
        """Return what is at a path."""
        entry = git_lookup.entry(self.context, self.subject, path)
        if entry is None:
            raise NotFoundRefusal(f"Could not resolve file for path '{path}'.")
        return self.context.view_of(entry)

    def blame(self, path: str) -> Any:
        """Return which commits wrote the lines of a file last."""
        return self.context.view_of(git_lookup.blame(self.context, self.subject, path))

    def comments(self) -> list[CommitComment]:
        """Return the comments on it."""
        home, sha = self.subject.repository.id, self.subject.sha
        return self.context.database.all(CommitComment, repository_id=home, commit_sha=sha)

    def associated_pull_requests(self, order_by: dict[str, str] | None = None) -> list[Pull]:
        """Return the pull requests that brought it, or want to."""
        pulls = git_lookup.pulls_with(self.context, self.subject.repository, self.subject.sha)
        return pulls[::-1] if order_by and order_by["direction"] == "DESC" else pulls

    def status_check_rollup(self) -> Any:
        """Return what checks and statuses add up to; None where there are none."""
        return self.context.view_of(self._rollup())

    def check_suites(self, filter_by: dict[str, Any] | None = None) -> Sequence[SuiteSubject]:
        """Return its check suites, oldest first."""
        check_suites = suites.suites_of(self.context, self.subject.repository, self.subject.sha)
        return [each for each in check_suites if suites.fits(self.context, each, filter_by or {})]

    def status(self) -> Any:
        """Return its statuses; None where there are none."""
        rollup = self._rollup()
        return self.context.view_of(StatusSubject(rollup)) if rollup and rollup.rollup.statuses else None

    @property
    def _commit(self) -> Commit:
        return git_lookup.commit(self.context, self.subject)

    def _rollup(self) -> RollupSubject | None:
        repository, sha = self.subject.repository, self.subject.sha
        key = ("rollup", repository.id, sha)
        rollup = self.context.once(key, lambda: checks.rollup(self.context.world, repository, sha))
        return RollupSubject(repository, sha, rollup) if rollup else None

    def _files(self) -> Sequence[Any]:
        base = next(iter(self._commit.parents), None)
        git = self.context.world.git(self.subject.repository)
        return git.diff(base, self.subject.sha, from_merge_base=False)

    def _emails(self, identity: str | None) -> list[str]:
        user = find_record(self.context.database, identity) if identity else None
        if not isinstance(user, User):
            return []
        return [user.email or "", f"{user.id}+{user.login}@users.noreply.github.com"]


class BlameView(View[BlameSubject]):
    """Which commits wrote the lines of a file."""

    typename: ClassVar[str] = "Blame"
    __slots__ = ()

    def ranges(self) -> list[Any]:
        """Return the lines, from the first to the last, by the commits that wrote them."""
        self.context.spend(len(self.subject.ranges))
        return [self.context.view_of(lines) for lines in self.subject.ranges]


class BlameRangeView(View[BlameRange]):
    """Lines of a file that one commit wrote."""

    typename: ClassVar[str] = "BlameRange"
    sources: ClassVar = {"subject": BlameRange}
    __slots__ = ()

    def commit(self) -> Any:
        """Return the commit."""
        return self.context.view_of(self.subject.commit)

    def starting_line(self) -> int:
        """Return the first of the lines."""
        return self.subject.start

    def ending_line(self) -> int:
        """Return the last of the lines."""
        return self.subject.end


class TreeView(GitObjectView[TreeSubject]):
    """A folder."""

    typename: ClassVar[str] = "Tree"
    kind: ClassVar[GitNodeKind] = "tree"
    __slots__ = ()

    def entries(self) -> list[Any]:
        """Return what is in it."""
        git = self.context.world.git(self.subject.repository)
        self.context.spend(git.count_entries(self.subject.sha))  # before they are read, which takes longer
        tree = git.tree(self.subject.sha)
        start = f"{self.subject.path}/" if self.subject.path else ""
        return [self.context.view_of(EntrySubject(self.subject.repository, one, start + one.path)) for one in tree]


class TreeEntryView(View[EntrySubject]):
    """An entry of a folder."""

    typename: ClassVar[str] = "TreeEntry"
    __slots__ = ()

    def extension(self) -> str:
        """Return the end of the file's name, with its dot."""
        return PurePosixPath(self.subject.path).suffix

    def line_count(self) -> int | None:
        """Return how many lines the file has; of a very large one that is not told."""
        if (self.subject.entry.size or 0) > LONGEST_TEXT:
            return None
        self.context.spend_bytes(self.subject.entry.size or 0)
        content = self.context.world.git(self.subject.repository).blob(self.subject.entry.sha)
        return None if content is None else len(content.splitlines())

    def mode(self) -> int:
        """Return the file mode as a number."""
        return int(self.subject.entry.mode, 8)

    def name(self) -> str:
        """Return the last part of the path."""
        return PurePosixPath(self.subject.path).name

    def name_raw(self) -> str:
        """Return the last part of the path in base64."""
        return base64.b64encode(self.name().encode("utf-8", "surrogateescape")).decode()

    def object(self) -> Any:
        """Return the file or folder."""
        return self.context.view_of(git_lookup.entry_object(self.context, self.subject))

    def oid(self) -> str:
        """Return the sha of the file or folder."""
        return self.subject.entry.sha

    def path(self) -> str:
        """Return the path."""
        return self.subject.path

    def path_raw(self) -> str:
        """Return the path in base64."""
        return base64.b64encode(self.subject.path.encode("utf-8", "surrogateescape")).decode()

    def repository(self) -> Any:
        """Return where it is."""
        return self.context.view_of(self.subject.repository)

    def size(self) -> int:
        """Return how many bytes a file has."""
        return self.subject.entry.size or 0

    def type(self) -> str:
        """Return whether it is a blob, a tree or a commit of a submodule."""
        return self.subject.entry.type


class BlobView(GitObjectView[BlobSubject]):
    """The content of a file."""

    typename: ClassVar[str] = "Blob"
    kind: ClassVar[GitNodeKind] = "blob"
    __slots__ = ()

    def byte_size(self) -> int:
        """Return how many bytes it has."""
        return len(self._content())

    def is_binary(self) -> bool:
        """Return whether it is no text."""
        return b"\0" in self._content()[:8000]

    def is_truncated(self) -> bool:
        """Return whether `text` is cut off."""
        return len(self._content()) > LONGEST_TEXT

    def text(self) -> str | None:
        """Return it as text; None if it is none."""
        if self.is_binary():
            return None
        content = self._content()[:LONGEST_TEXT]
        self.context.spend_bytes(len(content))
        return content.decode("utf-8", "replace")

    def _content(self) -> bytes:
        key = ("blob", self.subject.repository.id, self.subject.sha)
        return (
            self.context.once(key, lambda: self.context.world.git(self.subject.repository).blob(self.subject.sha))
            or b""
        )


class TagView(GitObjectView[TagSubject]):
    """An annotated tag."""

    typename: ClassVar[str] = "Tag"
    kind: ClassVar[GitNodeKind] = "tag"
    __slots__ = ()

    def message(self) -> str:
        """Return what it says."""
        return self._tag.message

    def name(self) -> str:
        """Return what it is called."""
        return self._tag.name

    def tagger(self) -> Any:
        """Return who made it."""
        tagger = self._tag.tagger
        return self.context.view_of(ActorSubject(self.subject.repository, tagger)) if tagger else None

    def target(self) -> Any:
        """Return what it names."""
        return self.context.view_of(git_lookup.git_object(self.context, self.subject.repository, self._tag.target))

    @property
    def _tag(self) -> AnnotatedTag:
        key = ("tag", self.subject.repository.id, self.subject.sha)
        tag = self.context.once(key, lambda: self.context.world.git(self.subject.repository).tag(self.subject.sha))
        assert tag is not None  # noqa: S101 - a TagThing is only made of a tag that is there
        return tag
