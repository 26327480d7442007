"""Plants environments and deployments, and variables, secrets and caches of GitHub Actions."""

from collections.abc import Sequence

from ghx_twin.commands.actions import caches, deployments, variables
from ghx_twin.commands.actions.variables import Home
from ghx_twin.queries import lookup
from ghx_twin.refusals import InvalidRefusal
from ghx_twin.seed.building.repository_build import RepositoryBuild
from ghx_twin.seed.deployments import (
    SeedDeployment,
    SeedEnvironment,
    SeedOrganizationSecret,
    SeedOrganizationVariable,
    SeedSecret,
    SeedVariable,
)
from ghx_twin.seed.document import SeedOrganization
from ghx_twin.seed.mistakes import error_place
from ghx_twin.state.records import Deployment, DeploymentReview, Environment, User, WorkflowRun
from ghx_twin.world import World


def build_deployments(repo: RepositoryBuild) -> None:
    """Plant the variables, secrets, caches, environments and deployments of a repository."""
    world, seed = repo.world, repo.seed
    _build_variables(world, Home(repo.record), seed.variables, seed.secrets)
    for cache in seed.caches:
        with error_place(f"caches: {cache.key!r}"), world.acting(None, at=cache.at) as act:
            caches.create(
                act,
                repo.record,
                key=cache.key,
                ref=cache.ref or f"refs/heads/{repo.record.default_branch}",
                version=cache.version,
                size_in_bytes=cache.size_in_bytes,
                last_accessed_at=cache.last_accessed_at,
            )
    for environment in seed.environments:
        with error_place(f"environments: {environment.name!r}"):
            _build_environment(repo, environment)
    for deployment in seed.deployments:
        with error_place(f"deployments: {deployment.ref} to {deployment.environment}"):
            _build_deployment(repo, deployment)
    _build_reviews(repo)


def build_organization_variables(world: World, organization: User, seed: SeedOrganization) -> None:
    """Plant the variables and secrets of an organization, once its repositories are there."""
    _build_variables(world, Home(organization), seed.variables, seed.secrets)


def _build_variables(world: World, home: Home, wanted: Sequence[SeedVariable], secrets: Sequence[SeedSecret]) -> None:
    for each in wanted:
        with error_place(f"variables: {each.name}"), world.acting(None, at=each.at) as act:
            visibility, selected = _reach(world, each)
            variable = variables.create_variable(
                act, home, name=each.name, value=each.value, visibility=visibility, selected=selected
            )
            act.database.update(variable, updated_at=each.updated_at or variable.updated_at)
    for each in secrets:
        with error_place(f"secrets: {each.name}"), world.acting(None, at=each.at) as act:
            visibility, selected = _reach(world, each)
            variable, _ = variables.put_secret(
                act, home, name=each.name, encrypted_value=None, visibility=visibility, selected=selected
            )
            act.database.update(variable, updated_at=each.updated_at or variable.updated_at)


def _reach(world: World, seed: SeedVariable | SeedSecret) -> tuple[str | None, list[int]]:
    if not isinstance(seed, SeedOrganizationVariable | SeedOrganizationSecret):
        return None, []
    reaches = [lookup.repository(world, None, *name.split("/")) for name in seed.selected_repositories]
    return seed.visibility, [one.id for one in reaches]


def _build_environment(repo: RepositoryBuild, seed: SeedEnvironment) -> None:
    with repo.world.acting(None, at=seed.at) as act:
        environment = deployments.put_environment(
            act,
            repo.record,
            seed.name,
            wait_timer=seed.wait_timer,
            prevent_self_review=seed.prevent_self_review,
            reviewers=[_find_reviewer(repo.world, name) for name in seed.reviewers],
            deployment_branch_policy=seed.deployment_branch_policy and seed.deployment_branch_policy.model_dump(),
        )
        act.database.update(environment, updated_at=seed.updated_at or environment.updated_at)
    _build_variables(repo.world, Home(repo.record, environment), seed.variables, seed.secrets)


def _find_reviewer(world: World, name: str) -> dict[str, object]:
    login, _, team = name.partition("/")
    if not team:
        return {"type": "User", "id": lookup.user(world, login).id}
    return {"type": "Team", "id": lookup.team(world, lookup.organization(world, login), team).id}


def _build_deployment(repo: RepositoryBuild, seed: SeedDeployment) -> None:
    with repo.acting_unrestricted(seed.creator, at=seed.at) as act:
        record = deployments.create(
            act,
            repo.record,
            ref=seed.ref,
            sha=seed.sha,
            required_contexts=(),
            auto_merge=False,
            makes_environment=not repo.seed.exported,  # it may have been deleted since
            task=seed.task,
            environment=seed.environment,
            description=seed.description,
            payload=seed.payload,
            transient_environment=seed.transient_environment,
            production_environment=(
                seed.environment == "production" if seed.production_environment is None else seed.production_environment
            ),
        )
    _link_run(repo, seed, record)
    for status in seed.statuses:
        with repo.acting_unrestricted(status.creator, at=status.at) as act:
            deployments.create_status(
                act, repo.record, record, auto_inactive=False, **status.model_dump(exclude={"creator", "at"})
            )
    if seed.updated_at is not None:
        with repo.world.acting(None) as act:
            act.database.update(record, updated_at=seed.updated_at)


def _link_run(repo: RepositoryBuild, seed: SeedDeployment, deployment: Deployment) -> None:
    if seed.run is None:
        return
    with repo.world.acting(None) as act:
        if act.database.one(WorkflowRun, repository_id=repo.record.id, id=seed.run) is None:
            raise InvalidRefusal(f"there is no run {seed.run}")
        act.database.update(deployment, run_id=seed.run)


def _build_reviews(repo: RepositoryBuild) -> None:
    for review in repo.seed.deployment_reviews:
        with error_place(f"deployment_reviews: run {review.run}"), repo.world.acting(None, at=review.at) as act:
            home = repo.record.id
            place = act.database.one(Environment, repository_id=home, name=review.environment)
            run = act.database.one(WorkflowRun, repository_id=home, id=review.run)
            if place is None or run is None:
                raise InvalidRefusal("there is no such run or environment")
            act.database.insert(
                DeploymentReview,
                repository_id=home,
                run_id=run.id,
                environment_id=place.id,
                user_id=repo.person(review.user).id,
                state=review.state,
                comment=review.comment,
                created_at=act.now,
            )
