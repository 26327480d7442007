"""Pull requests, their reviews and threads."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ghx_twin.state.records.base import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull(Record):
    """What only a pull request has."""

    table: ClassVar[str] = "pulls"
    unique: ClassVar = (("issue_id",),)
    indexed: ClassVar = (("repository_id", "base_ref"), ("head_repository_id", "head_ref"))

    issue_id: int
    repository_id: int
    head_repository_id: int | None  # None once the fork is gone
    head_ref: str
    head_sha: str
    base_ref: str
    base_sha: str  # frozen at the merge or close, else the tip when last looked at by a push
    draft: bool = False
    maintainer_can_modify: bool = False
    merged_at: str | None = None
    merged_by_id: int | None = None
    merge_commit_sha: str | None = None
    # enabled_at, enabled_by_id, merge_method, commit_title, commit_message
    auto_merge: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRequest(Record):
    """A user or a team asked to review a pull request."""

    table: ClassVar[str] = "review_requests"
    indexed: ClassVar = (("pull_id",),)

    pull_id: int
    user_id: int | None = None
    team_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Review(Record):
    """A review of a pull request; pending ones are seen by their author only."""

    table: ClassVar[str] = "reviews"
    indexed: ClassVar = (("pull_id",),)

    pull_id: int
    author_id: int
    state: str  # PENDING | COMMENTED | APPROVED | CHANGES_REQUESTED | DISMISSED
    body: str = ""
    commit_sha: str
    created_at: str
    updated_at: str
    submitted_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread(Record):
    """A conversation on lines of a pull request's diff."""

    table: ClassVar[str] = "threads"
    indexed: ClassVar = (("pull_id",),)

    pull_id: int
    path: str
    subject_type: str = "line"  # line | file
    side: str = "RIGHT"  # LEFT | RIGHT
    start_side: str | None = None
    original_line: int | None = None  # where it stood in the diff it was written on
    original_start_line: int | None = None
    original_position: int | None = None  # lines below the file's first hunk header
    original_commit_sha: str
    line: int | None = None  # where it stands now; None when outdated
    start_line: int | None = None
    commit_sha: str  # the head it was last placed on
    outdated: bool = False
    diff_hunk: str = ""
    resolved_by_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewComment(Record):
    """A comment in a thread; belongs to the review it was submitted with."""

    table: ClassVar[str] = "review_comments"
    indexed: ClassVar = (("thread_id",), ("review_id",))

    thread_id: int
    review_id: int
    author_id: int
    body: str
    in_reply_to_id: int | None = None  # the thread's first comment
    commit_sha: str
    minimized_reason: str | None = None
    created_at: str
    updated_at: str
