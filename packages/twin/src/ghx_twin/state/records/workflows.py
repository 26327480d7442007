"""Workflows of GitHub Actions, their runs, and what these leave behind; the jobs of a run are check runs."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ghx_twin.state.records.base import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow(Record):
    """A workflow of a repository, by the file that says what it does."""

    table: ClassVar[str] = "workflows"
    unique: ClassVar = (("repository_id", "path"),)

    repository_id: int
    name: str
    path: str  # .github/workflows/ci.yml
    state: str = "active"  # active | disabled_manually | disabled_inactivity | disabled_fork | deleted
    script: dict[str, Any] | None = None  # what its runs do, as seeds write it; None: its jobs stay queued
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRun(Record):
    """A run of a workflow for a commit, whose check suite it is; status and conclusion are in its attempts."""

    table: ClassVar[str] = "workflow_runs"
    unique: ClassVar = (("workflow_id", "number"),)
    indexed: ClassVar = (("repository_id", "head_sha"),)
    listed: ClassVar = (("repository_id", "id"),)

    repository_id: int
    workflow_id: int
    number: int  # counted by workflow; clients name a run by its id
    event: str = "push"  # push | pull_request | schedule | workflow_dispatch | ...
    head_branch: str | None = None
    head_sha: str
    title: str
    actor_id: int  # who set it off
    inputs: dict[str, Any] | None = None  # what a workflow_dispatch gave
    created_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAttempt(Record):
    """One attempt at a run, the first one or a re-run; status and conclusion sum up its jobs, where it has any."""

    table: ClassVar[str] = "run_attempts"
    unique: ClassVar = (("run_id", "number"),)

    run_id: int
    number: int = 1
    status: str = "queued"  # queued | in_progress | completed | waiting | requested | pending
    conclusion: str | None = None
    actor_id: int  # who asked for it
    logs: str = "available"  # available | deleted | expired
    started_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Record):
    """A step of a job; a job that has not begun has none."""

    table: ClassVar[str] = "steps"
    unique: ClassVar = (("job_id", "number"),)

    job_id: int  # a check run
    number: int
    name: str
    status: str = "completed"  # queued | in_progress | completed
    conclusion: str | None = None
    log: str | None = None  # what it printed, without the times of the lines
    started_at: str | None = None
    completed_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact(Record):
    """Files that a run has uploaded."""

    table: ClassVar[str] = "artifacts"
    indexed: ClassVar = (("run_id",),)
    listed: ClassVar = (("repository_id", "id"),)

    repository_id: int
    run_id: int
    name: str
    files: dict[str, str]  # content in base64, by path
    expired: bool = False
    created_at: str
    updated_at: str
    expires_at: str
