"""Subjects of GraphQL views that are not records: git objects, refs, and pairs of records."""

from dataclasses import dataclass
from typing import Any

from ghx_twin.git.objects import FileDiff, Signature, TreeEntry
from ghx_twin.queries.actions.checks import Rollup
from ghx_twin.queries.actions.workflow_runs import Origin
from ghx_twin.state.records import (
    CheckRun,
    Issue,
    ProjectField,
    ProjectItem,
    Pull,
    Record,
    Repository,
    User,
)


@dataclass(frozen=True, slots=True)
class GitSubject:
    """An object of a repository by its sha; what kind it is, git knows."""

    repository: Repository
    sha: str


class CommitSubject(GitSubject):
    """A commit of a repository."""


@dataclass(frozen=True, slots=True)
class TreeSubject(GitSubject):
    """A folder of a repository, and where it was found."""

    path: str = ""


class BlobSubject(GitSubject):
    """A file's content in a repository."""


class TagSubject(GitSubject):
    """An annotated tag of a repository."""


@dataclass(frozen=True, slots=True)
class BlameRange:
    """Lines of a file that one commit wrote last, and how old it is among those of the file: from 1 (new) to 10."""

    commit: CommitSubject
    start: int
    end: int
    age: int


@dataclass(frozen=True, slots=True)
class BlameSubject:
    """Which commits wrote the lines of a file."""

    ranges: tuple[BlameRange, ...]


@dataclass(frozen=True, slots=True)
class RefSubject:
    """A branch or tag: its full name and what it points at."""

    repository: Repository
    name: str
    sha: str


@dataclass(frozen=True, slots=True)
class EntrySubject:
    """An entry of a folder, with its path from the root."""

    repository: Repository
    entry: TreeEntry
    path: str


@dataclass(frozen=True, slots=True)
class ActorSubject:
    """Who a commit says made it."""

    repository: Repository
    signature: Signature


@dataclass(frozen=True, slots=True)
class ComparisonSubject:
    """A ref compared with another."""

    repository: Repository
    base: str
    head: str


@dataclass(frozen=True, slots=True)
class PullCommit:
    """A commit as part of a pull request."""

    pull: Pull
    commit: CommitSubject


@dataclass(frozen=True, slots=True)
class PullFile:
    """A file that a pull request changes."""

    file: FileDiff


@dataclass(frozen=True, slots=True)
class AutoMerge:
    """The standing request to merge a pull request once nothing is in the way."""

    pull: Pull


@dataclass(frozen=True, slots=True)
class RollupSubject:
    """What checks and statuses of a commit add up to."""

    repository: Repository
    sha: str
    rollup: Rollup


@dataclass(frozen=True, slots=True)
class StatusSubject:
    """The statuses of a commit."""

    rollup: RollupSubject


@dataclass(frozen=True, slots=True)
class SuiteSubject:
    """The check suite of an attempt at a workflow run, or of a single check run that a tool reported."""

    whole: Origin | CheckRun


@dataclass(frozen=True, slots=True)
class ReactionsSubject:
    """The reactions of one kind under one thing."""

    subject: Record
    content: str


@dataclass(frozen=True, slots=True)
class PinnedIssue:
    """An issue pinned to its repository."""

    issue: Issue


@dataclass(frozen=True, slots=True)
class TopicSubject:
    """A topic of a repository."""

    repository: Repository
    name: str


@dataclass(frozen=True, slots=True)
class Member:
    """A user with the role that brought them into a list."""

    user: User
    role: str


@dataclass(frozen=True, slots=True)
class IssueSubject:
    """An issue record shown as an issue even where it is a pull request's."""

    issue: Issue


@dataclass(frozen=True, slots=True)
class LanguageSubject:
    """A programming language, and how many bytes of a repository are written in it."""

    name: str
    size: int
    color: str | None = None


@dataclass(frozen=True, slots=True)
class LicenseSubject:
    """A licence by GitHub's key."""

    key: str


@dataclass(frozen=True, slots=True)
class ConductSubject:
    """The code of conduct in a repository."""

    repository: Repository
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class FieldValueSubject:
    """What an item of a project holds in a field."""

    item: ProjectItem
    field: ProjectField
    value: Any  # what `queries.item_values.value_in` returns for a field of this type


@dataclass(frozen=True, slots=True)
class OptionSubject:
    """An option of a single-select field."""

    id: str
    name: str
    color: str
    description: str


@dataclass(frozen=True, slots=True)
class SortBy:
    """A field that a view of a project sorts by, and which way."""

    field: ProjectField
    direction: str
