"""Environments, deployments to them, and how these went."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ghx_twin.state.records.base import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment(Record):
    """Where a repository is deployed to, and what a deployment waits for."""

    table: ClassVar[str] = "environments"
    unique: ClassVar = (("repository_id", "name"),)
    caseless: ClassVar = ("name",)

    repository_id: int
    name: str
    wait_timer: int = 0  # minutes
    prevent_self_review: bool = False
    reviewers: tuple[Mapping[str, object], ...] = ()  # type (User | Team) and id
    deployment_branch_policy: Mapping[str, bool] | None = None  # protected_branches, custom_branch_policies
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment(Record):
    """A request to deploy a commit to an environment."""

    table: ClassVar[str] = "deployments"
    indexed: ClassVar = (("repository_id", "environment"),)

    repository_id: int
    run_id: int | None = None  # the run whose job it is
    sha: str
    ref: str  # as it was requested: a branch, a tag or a sha
    task: str = "deploy"
    environment: str = "production"
    description: str | None = None
    payload: Mapping[str, object] | str
    transient_environment: bool = False
    production_environment: bool = False
    creator_id: int
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentStatus(Record):
    """How a deployment goes."""

    table: ClassVar[str] = "deployment_statuses"
    indexed: ClassVar = (("deployment_id",),)

    repository_id: int
    deployment_id: int
    state: str  # error | failure | inactive | in_progress | queued | pending | success
    description: str = ""
    environment: str
    log_url: str = ""
    environment_url: str = ""
    creator_id: int
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentReview(Record):
    """Who approved or rejected that a run goes on to an environment."""

    table: ClassVar[str] = "deployment_reviews"
    indexed: ClassVar = (("run_id",),)

    repository_id: int
    run_id: int
    environment_id: int
    user_id: int
    state: str  # approved | rejected
    comment: str
    created_at: str
