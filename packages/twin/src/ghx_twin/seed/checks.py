"""The records of a seed for checks, and for workflows with their runs."""

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StringConstraints

from ghx_twin.seed.format import Files, Login, Moment, Number, Seconds, SeedModel
from ghx_twin.seed.workflow_scripts import Conclusion, Scalar, SeedAnnotation, SeedScript


class SeedCheck(SeedModel):
    """A check run or commit status on the head of a pull request."""

    name: str
    kind: Literal["check_run", "status"] = Field(
        default="check_run", description="A check run of an app, or the older commit status."
    )
    status: Literal["queued", "in_progress", "completed", "waiting", "requested", "pending"] = Field(
        default="completed", description="How far a check run is; a commit status has none."
    )
    conclusion: str | None = Field(default=None, description="success, failure, ...; for a status its state.")
    workflow: str | None = Field(
        default=None,
        description="The name of a workflow: the check run is a job of its run for the commit, made if there is none.",
    )
    event: str | None = Field(default=None, description="What started that workflow: push, pull_request, schedule, ...")
    title: str | None = Field(default=None, description="The heading of a check run's output.")
    summary: str | None = Field(default=None, description="The text of a check run's output.")
    description: str | None = Field(default=None, description="What a status says.")
    url: str | None = Field(default=None, description="Where its details are.")
    creator: Login | None = Field(
        default=None,
        description="Who reported a status, the owner if left out; or the bot of a check run's app.",
    )
    at: Moment | None = Field(default=None, description="When it was reported, or began.")
    completed_at: Moment | None = Field(default=None, description="When a check run ended.")


class SeedCommitCheck(SeedCheck):
    """A check run or commit status on any commit."""

    commit: str = Field(description="A branch, a tag or the sha of a commit.")


_WorkflowPath = Annotated[str, StringConstraints(pattern=r"^\.github/workflows/[^/]+\.ya?ml$")]


class SeedStep(SeedModel):
    """A step of a job."""

    name: str
    status: Literal["queued", "in_progress", "completed"] = Field(default="completed", description="How far it is.")
    conclusion: Conclusion | None = Field(
        default=None, description="How it ended; success if it is completed and says nothing."
    )
    log: str | None = Field(default=None, description="What it printed, without times.")
    seconds: Seconds = Field(default=1, description="How long it took, where it does not say when it ended.")
    at: Moment | None = Field(default=None, description="When it began; where the one before ended, if left out.")
    completed_at: Moment | None = Field(default=None, description="When it ended.")


class SeedArtifact(SeedModel):
    """Files that a run has uploaded."""

    name: str
    files: Files = Field(default={}, description="Files by path.")
    expired: StrictBool = Field(default=False, description="Whether it can be downloaded no longer.")
    at: Moment | None = Field(default=None, description="When it was uploaded; with the run if left out.")
    updated_at: Moment | None = None
    expires_at: Moment | None = Field(default=None, description="When it expires; after 90 days if left out.")


class SeedJob(SeedModel):
    """A job of a run, which is a check run on its commit."""

    name: str
    status: Literal["queued", "in_progress", "completed", "waiting", "requested", "pending"] = Field(
        default="completed", description="How far it is."
    )
    conclusion: Conclusion | None = Field(
        default=None, description="How it ended: success, failure, ...; success if it is completed and says nothing."
    )
    title: str | None = Field(default=None, description="The heading of its output.")
    summary: str | None = Field(default=None, description="The text of its output.")
    url: str | None = Field(default=None, description="Where its details are; its own page if left out.")
    at: Moment | None = Field(default=None, description="When it began; with the attempt if left out.")
    completed_at: Moment | None = Field(default=None, description="When it ended; with its last step if left out.")
    steps: tuple[SeedStep, ...] = Field(default=(), description="Its steps, in order.")
    annotations: tuple[SeedAnnotation, ...] = Field(default=(), description="What it says about lines of files.")


class SeedAttempt(SeedModel):
    """How one attempt at a run went."""

    actor: Login | None = Field(default=None, description="Who set it off; the owner if left out.")
    jobs: tuple[SeedJob, ...] = Field(default=(), description="Its jobs; what they add up to is how it went.")
    conclusion: Conclusion | None = Field(
        default=None, description="How an attempt without any job ended (startup_failure); else it is queued."
    )
    logs: Literal["available", "deleted", "expired"] = Field(
        default="available", description="Whether its logs can be read."
    )
    at: Moment | None = Field(default=None, description="When it began.")
    updated_at: Moment | None = None


class SeedRun(SeedAttempt):
    """A run of a workflow; `jobs` are those of the first attempt."""

    id: Number | None = Field(default=None, description="By which clients name it; the next free one if left out.")
    number: Number | None = Field(
        default=None, description="Its number in the workflow; the next free one if left out."
    )
    commit: str = Field(description="A branch, a tag or the sha of a commit.")
    branch: str | None = Field(default=None, description="The branch it ran for; `commit`, where that is one.")
    event: str = Field(default="push", description="What set it off: push, pull_request, schedule, ...")
    title: str | None = Field(default=None, description="Its title; that of the commit if left out.")
    inputs: dict[str, Scalar] | None = Field(default=None, description="What a workflow_dispatch gave.")
    artifacts: tuple[SeedArtifact, ...] = Field(default=(), description="What it has uploaded.")
    reruns: tuple[SeedAttempt, ...] = Field(default=(), description="Further attempts, in order; the last one counts.")


class SeedWorkflow(SeedModel):
    """A workflow; files in .github/workflows on the default branch make one too, with no runs."""

    name: str
    path: _WorkflowPath | None = Field(default=None, description="Its file; one made of its name if left out.")
    state: Literal["active", "deleted", "disabled_fork", "disabled_inactivity", "disabled_manually"] = "active"
    script: SeedScript | None = Field(
        default=None, description="What its runs do, from when the world is planted; without, their jobs stay queued."
    )
    runs: tuple[SeedRun, ...] = Field(default=(), description="Its runs, oldest first.")
    at: Moment | None = Field(default=None, description="When it was made.")
    updated_at: Moment | None = None
