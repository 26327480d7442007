"""What tools reported on commits, in a seed."""

from typing import Literal

from pydantic import Field

from ghx_bench.twin.seed.format import Login, Moment, SeedModel


class SeedCheck(SeedModel):
    """A check run or commit status on the head of a pull request."""

    name: str
    kind: Literal["check_run", "status"] = "check_run"
    status: Literal["queued", "in_progress", "completed", "waiting", "requested", "pending"] = "completed"
    conclusion: str | None = Field(default=None, description="success, failure, ...; for a status its state.")
    workflow: str | None = None
    event: str | None = None
    title: str | None = None
    summary: str | None = None
    description: str | None = Field(default=None, description="What a status says.")
    url: str | None = None
    creator: Login | None = Field(default=None, description="Who reported a status; the owner if left out.")
    at: Moment | None = Field(default=None, description="When it was reported, or began.")
    completed_at: Moment | None = None


class SeedCommitCheck(SeedCheck):
    """A check run or commit status on any commit."""

    commit: str = Field(description="A branch, a tag or the sha of a commit.")
