"""Statuses, check runs and their annotations, which tools report on commits."""

from dataclasses import dataclass
from typing import ClassVar

from ghx_twin.state.records.base import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Status(Record):
    """A commit status."""

    table: ClassVar[str] = "statuses"
    indexed: ClassVar = (("repository_id", "sha"),)

    repository_id: int
    sha: str
    context: str = "default"
    state: str  # error | failure | pending | success
    description: str | None = None
    target_url: str | None = None
    creator_id: int
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRun(Record):
    """A check run on a commit; one of an attempt at a workflow run is a job, which has no other record."""

    table: ClassVar[str] = "check_runs"
    indexed: ClassVar = (("repository_id", "head_sha"), ("attempt_id",))

    repository_id: int
    head_sha: str
    name: str
    status: str = "completed"  # queued | in_progress | completed
    conclusion: str | None = None  # success | failure | neutral | cancelled | skipped | timed_out | action_required
    attempt_id: int | None = None  # the attempt at a workflow run that it is a job of
    creator_id: int | None = None  # the bot of the app that made it; a job is of GitHub Actions
    details_url: str | None = None
    title: str | None = None
    summary: str | None = None
    started_at: str
    completed_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation(Record):
    """What a check run says about lines of a file."""

    table: ClassVar[str] = "annotations"
    indexed: ClassVar = (("check_run_id",),)

    check_run_id: int
    path: str
    start_line: int
    end_line: int
    start_column: int | None = None
    end_column: int | None = None
    annotation_level: str  # notice | warning | failure
    title: str | None = None
    message: str
    raw_details: str | None = None
