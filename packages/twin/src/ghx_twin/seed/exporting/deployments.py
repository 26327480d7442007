"""Harvests environments and deployments, and variables, secrets and caches of GitHub Actions."""

from typing import Any, cast

from ghx_twin.commands.actions.variables import Home
from ghx_twin.queries import lookup
from ghx_twin.state.records import (
    ActionsCache,
    Deployment,
    DeploymentReview,
    DeploymentStatus,
    Environment,
    Repository,
    Secret,
    Team,
    User,
    Variable,
    WorkflowRun,
)
from ghx_twin.world import World


def export_deployments(world: World, repository: Repository) -> dict[str, Any]:
    """Return the variables, secrets, caches, environments and deployments of a repository, as a seed writes them."""
    database, home = world.database, repository.id
    caches = database.all(ActionsCache, repository_id=home)
    reviews = database.all(DeploymentReview, repository_id=home)
    return {
        **_variables(world, Home(repository)),
        "caches": tuple(
            {"at": each.created_at, **_fields(each, "key", "ref", "version", "size_in_bytes", "last_accessed_at")}
            for each in caches
        ),
        "environments": tuple(
            _environment(world, repository, each) for each in database.all(Environment, repository_id=home)
        ),
        "deployments": tuple(_deployment(world, each) for each in database.all(Deployment, repository_id=home)),
        "deployment_reviews": tuple(_review(world, each) for each in reviews),
    }


def export_organization_variables(world: World, organization: User) -> dict[str, Any]:
    """Return the variables and secrets of an organization, as a seed writes them."""
    return _variables(world, Home(organization))


def _fields(record: object, *names: str) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}


def _variables(world: World, home: Home) -> dict[str, Any]:
    variables = world.database.all(Variable, order="id", **home.columns)
    secrets = world.database.all(Secret, order="id", **home.columns)
    return {
        "variables": tuple({"value": each.value, **_named(world, each)} for each in variables),
        "secrets": tuple(_named(world, each) for each in secrets),
    }


def _named(world: World, record: Variable | Secret) -> dict[str, Any]:
    body = {"name": record.name, "at": record.created_at, "updated_at": record.updated_at}
    if record.organization_id is None:
        return body
    chosen = (world.database.get(Repository, identity) for identity in record.selected_repository_ids)
    names = tuple(lookup.full_name(world, one) for one in chosen if one)
    return {**body, "visibility": record.visibility, "selected_repositories": names}


def _environment(world: World, repository: Repository, each: Environment) -> dict[str, Any]:
    return {
        **_fields(each, "name", "wait_timer", "prevent_self_review", "deployment_branch_policy", "updated_at"),
        **_variables(world, Home(repository, each)),
        "reviewers": tuple(_reviewer(world, reviewer) for reviewer in each.reviewers),
        "at": each.created_at,
    }


def _reviewer(world: World, reviewer: Any) -> str:
    identity = cast("int", reviewer["id"])
    if reviewer["type"] == "User":
        return lookup.user_by_id(world, identity).login
    team = world.database.get(Team, identity)
    assert team is not None  # noqa: S101 - teams are not deleted
    return f"{lookup.user_by_id(world, team.organization_id).login}/{team.slug}"


def _deployment(world: World, each: Deployment) -> dict[str, Any]:
    same = (
        "ref", "sha", "task", "environment", "description", "payload", "transient_environment",
        "production_environment", "updated_at",
    )  # fmt: skip
    statuses = world.database.all(DeploymentStatus, deployment_id=each.id)
    deployment = ("state", "description", "environment", "log_url", "environment_url")
    return {
        **_fields(each, *same),
        # GitHub keeps the deployments of a run that was deleted.
        "run": each.run_id if world.database.get(WorkflowRun, each.run_id) else None,
        "creator": lookup.user_by_id(world, each.creator_id).login,
        "statuses": tuple(
            {
                **_fields(status, *deployment),
                "creator": lookup.user_by_id(world, status.creator_id).login,
                "at": status.created_at,
            }
            for status in statuses
        ),
        "at": each.created_at,
    }


def _review(world: World, each: DeploymentReview) -> dict[str, Any]:
    place = world.database.get(Environment, each.environment_id)
    assert place is not None  # noqa: S101 - reviews go with their environment
    return {
        **_fields(each, "state", "comment"),
        "run": each.run_id,
        "environment": place.name,
        "user": lookup.user_by_id(world, each.user_id).login,
        "at": each.created_at,
    }
