"""The records of a seed for environments and deployments, and for variables, secrets and caches of GitHub Actions."""

from typing import Any, Literal

from pydantic import Field, StrictBool, StrictInt

from ghx_twin.seed.format import Login, Moment, Number, RepositoryName, SeedModel, Sha


class SeedVariable(SeedModel):
    """A variable."""

    name: str
    value: str
    at: Moment | None = Field(default=None, description="When it was made.")
    updated_at: Moment | None = None


class SeedSecret(SeedModel):
    """A secret, which has no value here."""

    name: str
    at: Moment | None = Field(default=None, description="When it was made.")
    updated_at: Moment | None = None


_VISIBILITY = "Which repositories of the organization may use it."


class SeedOrganizationVariable(SeedVariable):
    """A variable of an organization."""

    visibility: Literal["all", "private", "selected"] = Field(default="all", description=_VISIBILITY)
    selected_repositories: tuple[RepositoryName, ...] = ()


class SeedOrganizationSecret(SeedSecret):
    """A secret of an organization."""

    visibility: Literal["all", "private", "selected"] = Field(default="all", description=_VISIBILITY)
    selected_repositories: tuple[RepositoryName, ...] = ()


class SeedCache(SeedModel):
    """A cache that a workflow has written."""

    key: str
    ref: str | None = Field(default=None, description="As `refs/heads/main`; the default branch if left out.")
    version: str = Field(default="", description="GitHub's mark of paths and compression.")
    size_in_bytes: StrictInt = Field(default=1024, ge=0)
    at: Moment | None = Field(default=None, description="When it was made.")
    last_accessed_at: Moment | None = None


class SeedBranchPolicy(SeedModel):
    """Which branches may be deployed; exactly one of the two is true."""

    protected_branches: StrictBool
    custom_branch_policies: StrictBool


class SeedEnvironment(SeedModel):
    """An environment, and what deployments to it wait for."""

    name: str
    wait_timer: StrictInt = Field(default=0, ge=0, description="Minutes.")
    prevent_self_review: StrictBool = Field(default=False, description="Whether who set a run off cannot approve it.")
    reviewers: tuple[str, ...] = Field(default=(), description="Who may approve: logins, or org/team.")
    deployment_branch_policy: SeedBranchPolicy | None = None
    variables: tuple[SeedVariable, ...] = ()
    secrets: tuple[SeedSecret, ...] = ()
    at: Moment | None = Field(default=None, description="When it was made.")
    updated_at: Moment | None = None


class SeedDeploymentStatus(SeedModel):
    """How a deployment went on."""

    state: Literal["error", "failure", "inactive", "in_progress", "queued", "pending", "success"]
    description: str = ""
    environment: str | None = Field(default=None, description="Where to; where the deployment goes if left out.")
    log_url: str = ""
    environment_url: str = ""
    creator: Login | None = Field(default=None, description="Who said so; the owner if left out.")
    at: Moment | None = None


class SeedDeployment(SeedModel):
    """A deployment; environments that it names are made."""

    run: Number | None = Field(default=None, description="The id of the run whose job it is.")
    ref: str = Field(description="A branch, a tag or the sha of a commit.")
    sha: Sha | None = Field(default=None, description="The commit, where the ref has moved since.")
    task: str = "deploy"
    environment: str = "production"
    description: str | None = None
    payload: dict[str, Any] | str = Field(default={}, description="What those who deploy are told.")
    transient_environment: StrictBool = False
    production_environment: StrictBool | None = Field(
        default=None, description="Whether people use it; true for `production` if left out."
    )
    creator: Login | None = Field(default=None, description="Who asked for it; the owner if left out.")
    statuses: tuple[SeedDeploymentStatus, ...] = Field(default=(), description="How it went, oldest first.")
    at: Moment | None = None
    updated_at: Moment | None = None


class SeedDeploymentReview(SeedModel):
    """An approval or rejection of a run that waited for an environment."""

    run: Number = Field(description="The id of the run.")
    environment: str
    user: Login
    state: Literal["approved", "rejected"]
    comment: str = ""
    at: Moment | None = None
