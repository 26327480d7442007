"""What tools reported on commits, in a seed."""

from typing import Literal

from pydantic import Field

from ghx_bench.twin.seed.format import Login, Moment, SeedModel


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
    creator: Login | None = Field(default=None, description="Who reported a status; the owner if left out.")
    at: Moment | None = Field(default=None, description="When it was reported, or began.")
    completed_at: Moment | None = Field(default=None, description="When a check run ended.")


class SeedCommitCheck(SeedCheck):
    """A check run or commit status on any commit."""

    commit: str = Field(description="A branch, a tag or the sha of a commit.")
