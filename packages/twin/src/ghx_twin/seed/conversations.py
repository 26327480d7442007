"""The records of a seed for issues, pull requests, comments, reviews and threads."""

from typing import Literal, Self

from pydantic import Field, StrictBool, StrictInt, model_validator

from ghx_twin.seed.checks import SeedCheck
from ghx_twin.seed.format import Emoji, IssueName, Login, MergeMethod, Moment, Number, SeedModel, Sha
from ghx_twin.seed.repeats import RepeatedModel

_AN_EXPORT = "Written by an export."
Side = Literal["LEFT", "RIGHT"]


class SeedRemark(SeedModel):
    """What somebody said, wherever it was."""

    author: Login | None = Field(default=None, description="Who wrote it; the author of what it is under if left out.")
    body: str
    at: Moment | None = Field(default=None, description="When it was written.")
    updated_at: Moment | None = Field(default=None, description="When it was edited.")
    minimized_reason: str | None = Field(default=None, description="Why it is hidden: spam, outdated, resolved, ...")
    reactions: dict[Emoji, tuple[Login, ...]] = Field(default={}, description="Logins by emoji.")


class SeedComment(SeedRemark, RepeatedModel):
    """A comment in a conversation."""


class SeedThreadComment(SeedRemark):
    """A comment in a review thread."""

    review: Number | None = Field(
        default=None, description=f"Which of the reviews it belongs to, counted from 1. {_AN_EXPORT}"
    )


class SeedPlace(SeedModel):
    """Where a thread stands whose lines may no longer be in the diff; written by an export."""

    commit_sha: Sha
    original_commit_sha: Sha
    subject_type: Literal["line", "file"] = "line"
    start_side: Side | None = None
    original_line: StrictInt | None = None
    original_start_line: StrictInt | None = None
    original_position: StrictInt | None = None
    outdated: StrictBool = False
    diff_hunk: str = ""


class SeedThread(SeedModel):
    """A review thread on lines of a pull request's diff."""

    path: str
    line: Number | None = Field(default=None, description="The line it is on; left out for the whole file.")
    start_line: Number | None = Field(default=None, description="The first line, where it is on several.")
    side: Side = Field(default="RIGHT", description="LEFT for a line that was removed.")
    comments: tuple[SeedThreadComment, ...] = Field(min_length=1)
    resolved_by: Login | None = Field(default=None, description="Who resolved it; left out for an open thread.")
    place: SeedPlace | None = Field(default=None, description=_AN_EXPORT)


class SeedReview(SeedModel):
    """A review with its threads."""

    author: Login
    state: Literal["PENDING", "COMMENTED", "APPROVED", "CHANGES_REQUESTED", "DISMISSED"] = Field(
        default="COMMENTED", description="PENDING: begun and not submitted; DISMISSED: an approval that was taken back."
    )
    body: str = ""
    threads: tuple[SeedThread, ...] = ()
    at: Moment | None = Field(default=None, description="When it was submitted.")
    reactions: dict[Emoji, tuple[Login, ...]] = Field(default={}, description="Logins by emoji.")
    commit_sha: Sha | None = Field(default=None, description=f"The commit it is of. {_AN_EXPORT}")


class SeedConversation(SeedModel):
    """What issues and pull requests have in common."""

    number: Number | None = Field(default=None, description="Its number; the next free one if left out.")
    title: str
    body: str | None = None
    author: Login | None = Field(default=None, description="Who opened it; the owner if left out.")
    labels: tuple[str, ...] = ()
    assignees: tuple[Login, ...] = ()
    milestone: str | None = Field(default=None, description="The title of a milestone.")
    comments: tuple[SeedComment, ...] = ()
    reactions: dict[Emoji, tuple[Login, ...]] = Field(default={}, description="Logins by emoji.")
    locked: StrictBool = False
    lock_reason: Literal["off-topic", "too heated", "resolved", "spam"] | None = Field(
        default=None, description="Why it is locked."
    )
    at: Moment | None = Field(default=None, description="When it was opened.")
    updated_at: Moment | None = Field(default=None, description="When it last changed.")
    closed_at: Moment | None = Field(default=None, description="When it was closed or merged.")
    closed_by: Login | None = Field(default=None, description="Who closed it; the owner if left out.")

    @model_validator(mode="after")
    def _check_lock(self) -> Self:
        if self.lock_reason is not None and not self.locked:
            raise ValueError("lock_reason is for what is locked; add `locked: true`")
        return self

    def refuse_end(self, state: str) -> None:
        """Refuse what is only said of closed conversations."""
        if state == "open" and (self.closed_at or self.closed_by):
            raise ValueError("closed_at and closed_by are for what is closed; say so with `state`")


class SeedIssue(SeedConversation, RepeatedModel):
    """An issue."""

    state: Literal["open", "closed"] = "open"
    state_reason: Literal["completed", "not_planned", "duplicate", "reopened"] | None = Field(
        default=None, description="Why it is closed, completed if left out; `reopened` for an open one that was closed."
    )
    pinned: StrictBool = False
    issue_type: str | None = Field(
        default=None, description="The name of its type, in a repository of an organization."
    )
    duplicate_of: IssueName | None = Field(
        default=None, description="The issue it was closed as a duplicate of; takes `state_reason: duplicate`."
    )
    parent: IssueName | None = Field(default=None, description="The issue it is part of: `#1`, or `owner/name#1`.")
    sub_issue_position: StrictInt | None = Field(
        default=None, description="Its place among the parts of that issue, lower ones first; the last if left out."
    )
    blocked_by: tuple[IssueName, ...] = Field(default=(), description="The issues it waits for.")
    linked_branches: tuple[str, ...] = Field(
        default=(), description="Branches made for it: `branch`, or `owner/name:branch` in another repository."
    )

    @model_validator(mode="after")
    def _check_state(self) -> Self:
        self.refuse_end(self.state)
        if self.state_reason is not None and (self.state_reason == "reopened") != (self.state == "open"):
            raise ValueError(f"an issue that is {self.state} cannot have the state_reason {self.state_reason!r}")
        if self.duplicate_of is not None and self.state_reason != "duplicate":
            raise ValueError("duplicate_of is for what is closed as one; add `state_reason: duplicate`")
        if self.sub_issue_position is not None and self.parent is None:
            raise ValueError("sub_issue_position is for a part of another issue; say of which one with `parent`")
        return self


class SeedAutoMerge(SeedModel):
    """The standing request to merge once all requirements are met; written by an export."""

    by: Login
    at: Moment
    method: MergeMethod = "merge"
    title: str | None = None
    message: str | None = None


class SeedOutcome(SeedModel):
    """The commits of a pull request whose history is in `bundle`; written by an export."""

    head_sha: Sha
    base_sha: Sha
    head_repository: str | None = Field(default=None, description="Where the head is; left out when that is gone.")
    merge_commit_sha: Sha | None = None
    auto_merge: SeedAutoMerge | None = None


class SeedPull(SeedConversation):
    """A pull request from a branch of this repository or of a fork of it."""

    head: str = Field(description="The branch it comes from, as `branch` or `owner:branch`.")
    base: str | None = Field(default=None, description="The branch it goes to; the default branch if left out.")
    draft: StrictBool = False
    maintainer_can_modify: StrictBool = Field(
        default=False, description="Whether writers of the base may push to the head in a fork."
    )
    state: Literal["open", "closed", "merged"] = "open"
    merge_method: MergeMethod = Field(default="merge", description="How it was merged.")
    merged_by: Login | None = Field(default=None, description="Who merged it; the owner if left out.")
    reviewers: tuple[str, ...] = Field(default=(), description="Who was asked to review: logins, or org/team.")
    reviews: tuple[SeedReview, ...] = ()
    threads: tuple[SeedThread, ...] = Field(
        default=(), description="Threads without a review of their own; each gets one, as on GitHub."
    )
    checks: tuple[SeedCheck, ...] = Field(default=(), description="What tools reported on its head.")
    outcome: SeedOutcome | None = Field(default=None, description=_AN_EXPORT)

    @model_validator(mode="after")
    def _check_state(self) -> Self:
        self.refuse_end(self.state)
        if self.merged_by is not None and self.state != "merged":
            raise ValueError("merged_by is for what is merged; say so with `state: merged`")
        return self
