"""Issues, and what they have in common with pull requests."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ghx_twin.state.records.base import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue(Record):
    """What issues and pull requests have in common; a pull request has a `Pull` next to it."""

    table: ClassVar[str] = "issues"
    unique: ClassVar = (("repository_id", "number"),)
    indexed: ClassVar = (("parent_id",), ("milestone_id",), ("duplicate_of_id",), ("issue_type_id",))
    # With the columns that lists are filtered by, so that what is left out is not read.
    listed: ClassVar = (
        ("repository_id", "id", "state", "is_pull"),
        ("repository_id", "created_at", "id", "state", "is_pull"),
        ("repository_id", "updated_at", "id", "state", "is_pull"),
        ("repository_id", "author_id", "id", "is_pull"),
    )

    repository_id: int
    number: int
    is_pull: bool = False
    author_id: int
    title: str
    body: str | None = None
    state: str = "open"  # open | closed
    state_reason: str | None = None  # completed | not_planned | duplicate | reopened
    locked: bool = False
    lock_reason: str | None = None  # off-topic | too heated | resolved | spam
    pinned: bool = False
    milestone_id: int | None = None
    issue_type_id: int | None = None  # in repositories of organizations
    parent_id: int | None = None  # the issue this one is a sub-issue of
    sub_issue_position: int | None = None  # its place among the sub-issues of its parent
    duplicate_of_id: int | None = None  # the issue that it was closed as a duplicate of
    created_at: str
    updated_at: str
    closed_at: str | None = None
    closed_by_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency(Record):
    """An issue that cannot be done before another one is."""

    table: ClassVar[str] = "dependencies"
    unique: ClassVar = (("issue_id", "blocking_id"),)
    indexed: ClassVar = (("blocking_id",),)

    issue_id: int
    blocking_id: int  # the issue it waits for


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueType(Record):
    """A type that issues in the repositories of an organization can have."""

    table: ClassVar[str] = "issue_types"
    unique: ClassVar = (("organization_id", "name"),)
    caseless: ClassVar = ("name",)

    organization_id: int
    name: str
    description: str | None = None
    color: str | None = None  # gray | blue | green | yellow | orange | red | pink | purple
    is_enabled: bool = True
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedBranch(Record):
    """A branch made for an issue, remembered after it is gone for the pull requests that came from it."""

    table: ClassVar[str] = "linked_branches"
    unique: ClassVar = (("issue_id", "repository_id", "name"),)
    indexed: ClassVar = (("repository_id", "name"),)

    issue_id: int
    repository_id: int  # where the branch is, which need not be where the issue is
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone(Record):
    """A number whose issue was deleted, or moved to another repository; it is not given out again."""

    table: ClassVar[str] = "tombstones"
    unique: ClassVar = (("repository_id", "number"),)
    indexed: ClassVar = (("moved_to_id",),)

    repository_id: int
    number: int
    moved_to_id: int | None = None  # the issue, where it was transferred


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueLabel(Record):
    """A label on an issue or pull request."""

    table: ClassVar[str] = "issue_labels"
    unique: ClassVar = (("issue_id", "label_id"),)
    indexed: ClassVar = (("label_id",),)

    issue_id: int
    label_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignee(Record):
    """Someone an issue or pull request is assigned to."""

    table: ClassVar[str] = "assignees"
    unique: ClassVar = (("issue_id", "user_id"),)
    indexed: ClassVar = (("user_id",),)

    issue_id: int
    user_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment(Record):
    """A comment in the conversation of an issue or pull request."""

    table: ClassVar[str] = "comments"
    indexed: ClassVar = (("issue_id",),)

    issue_id: int
    author_id: int
    body: str
    minimized_reason: str | None = None
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction(Record):
    """An emoji of one user under one thing."""

    table: ClassVar[str] = "reactions"
    unique: ClassVar = (("subject_kind", "subject_id", "user_id", "content"),)

    subject_kind: str  # table of the subject: issues, comments, review_comments, reviews
    subject_id: int
    user_id: int
    content: str  # +1 | -1 | laugh | confused | heart | hooray | rocket | eyes
    created_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(Record):
    """One entry of an issue's timeline that is not a comment, review or commit."""

    table: ClassVar[str] = "events"
    indexed: ClassVar = (("issue_id",),)

    issue_id: int
    actor_id: int
    event: str  # GitHub's REST names: labeled, closed, head_ref_force_pushed, ...
    data: Mapping[str, object]
    created_at: str
