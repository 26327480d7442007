"""Environments, deployments to them and their statuses."""

from collections.abc import Mapping, Sequence
from typing import TypedDict, Unpack

from ghx_twin.commands import cascade, kernel
from ghx_twin.commands.texts import check_length, check_unicode_all, invalid, missing
from ghx_twin.queries.actions import checks
from ghx_twin.queries.actions.deployments import latest_status
from ghx_twin.queries.permissions import require
from ghx_twin.refusals import ConflictRefusal, InvalidRefusal, NotImplementedRefusal
from ghx_twin.state.records import Deployment, DeploymentStatus, Environment, Repository, Team, User
from ghx_twin.world import Act

STATES = ("error", "failure", "inactive", "in_progress", "queued", "pending", "success")
LONGEST_NAME, LONGEST_WAIT_MINUTES, MOST_REVIEWERS = 255, 43200, 6


class EnvironmentFields(TypedDict, total=False):
    """What a deployment to an environment waits for; what is not given is taken away, as on GitHub."""

    wait_timer: int
    prevent_self_review: bool
    reviewers: Sequence[Mapping[str, object]]
    deployment_branch_policy: Mapping[str, bool] | None


def put_environment(act: Act, repository: Repository, name: str, **fields: Unpack[EnvironmentFields]) -> Environment:
    """Make an environment, or replace the rules of one."""
    require(act, repository, "admin")
    _check_name(name)
    wait = fields.get("wait_timer", 0)
    if not 0 <= wait <= LONGEST_WAIT_MINUTES:
        raise invalid("Environment", "wait_timer", value=wait)
    policy = fields.get("deployment_branch_policy")
    if policy is not None and policy.get("protected_branches") == policy.get("custom_branch_policies"):
        raise InvalidRefusal("protected_branches and custom_branch_policies cannot have the same value")
    if policy is not None and policy.get("custom_branch_policies"):
        raise NotImplementedRefusal("The twin's environments have no custom branch policies.")
    values = {
        "wait_timer": wait,
        "prevent_self_review": fields.get("prevent_self_review", False),
        "reviewers": _check_reviewers(act, fields.get("reviewers", ())),
        "deployment_branch_policy": None if policy is None else dict(policy),
    }
    environment = act.database.one(Environment, repository_id=repository.id, name=name)
    if environment is None:
        return _insert_environment(act, repository, name, values)
    if all(getattr(environment, field) == value for field, value in values.items()):
        return environment
    return act.database.update(environment, **values, updated_at=max(act.now, environment.updated_at))


def delete_environment(act: Act, environment: Environment) -> None:
    """Delete an environment with its variables and secrets."""
    current = kernel.reload(act, environment)
    home = act.database.get(Repository, current.repository_id)
    assert home is not None  # noqa: S101 - an environment goes with its repository
    require(act, home, "admin")
    cascade.delete_all(act.database, cascade.under_environment(act.database, current))
    act.database.delete(current)


class DeploymentFields(TypedDict, total=False):
    """What is said of a deployment next to its ref."""

    task: str
    environment: str
    description: str | None
    payload: Mapping[str, object] | str
    transient_environment: bool
    production_environment: bool


def create(
    act: Act,
    repository: Repository,
    *,
    ref: str,
    sha: str | None = None,
    required_contexts: Sequence[str] | None = None,
    auto_merge: bool = True,
    makes_environment: bool = True,
    **fields: Unpack[DeploymentFields],
) -> Deployment:
    """Ask for a deployment of a ref, or of the commit it named then; its environment is made where it is not there."""
    require(act, repository, "write")
    check_unicode_all({"ref": ref, **fields}, resource="Deployment")
    git = act.git(repository)
    sha = sha or git.resolve(ref, repository.default_branch)
    if sha is None:
        raise InvalidRefusal(f"No ref found for: {ref}")
    if auto_merge and git.ref(f"refs/heads/{ref}"):
        _refuse_merge(act, repository, ref, sha)
    _check_contexts(act, repository, ref, sha, required_contexts)
    name = fields.get("environment", "production")
    _check_name(name)
    if makes_environment and act.database.one(Environment, repository_id=repository.id, name=name) is None:
        _insert_environment(act, repository, name, {})
    return act.database.insert(
        Deployment,
        repository_id=repository.id,
        sha=sha,
        ref=ref,
        **{
            "payload": {},
            "environment": name,
            "production_environment": name == "production",
            **fields,
        },
        creator_id=kernel.actor_id(act, repository),
        created_at=act.now,
        updated_at=act.now,
    )


def delete(act: Act, repository: Repository, deployment: Deployment) -> None:
    """Delete a deployment with its statuses; an active one only if it is the only one."""
    require(act, repository, "write")
    current = kernel.reload(act, deployment)
    latest = latest_status(act.world, current)
    is_active = latest is None or latest.state != "inactive"
    if is_active and act.database.count(Deployment, repository_id=repository.id) > 1:
        raise InvalidRefusal(
            "We cannot delete an active deployment unless it is the only deployment in a given environment."
        )
    cascade.delete_all(act.database, act.database.all(DeploymentStatus, deployment_id=current.id))
    act.database.delete(current)


def create_status(
    act: Act,
    repository: Repository,
    deployment: Deployment,
    *,
    state: str,
    description: str = "",
    environment: str | None = None,
    log_url: str = "",
    environment_url: str = "",
    auto_inactive: bool = True,
) -> DeploymentStatus:
    """Report how a deployment goes; a success makes those before it inactive."""
    require(act, repository, "write")
    current = kernel.reload(act, deployment)
    if state not in STATES:
        raise invalid("DeploymentStatus", "state", value=state)
    check_length(description, 140, resource="DeploymentStatus", field="description")
    texts = {"description": description, "log_url": log_url, "environment_url": environment_url}
    check_unicode_all(texts, resource="DeploymentStatus")
    place, who = environment or current.environment, kernel.actor_id(act, repository)
    return add_status(act, current, place, creator_id=who, state=state, auto_inactive=auto_inactive, **texts)


def add_status(
    act: Act,
    deployment: Deployment,
    environment: str,
    *,
    creator_id: int,
    state: str,
    auto_inactive: bool = True,
    **texts: str,
) -> DeploymentStatus:
    """Add a status to a deployment, without a permission check."""
    if state == "success" and auto_inactive:
        _end_earlier(act, deployment, environment, creator_id)
    act.database.update(deployment, updated_at=max(act.now, deployment.updated_at))
    return act.database.insert(
        DeploymentStatus,
        repository_id=deployment.repository_id,
        deployment_id=deployment.id,
        environment=environment,
        state=state,
        **texts,
        creator_id=creator_id,
        created_at=act.now,
        updated_at=act.now,
    )


def _end_earlier(act: Act, deployment: Deployment, environment: str, creator_id: int) -> None:
    """Mark earlier successful deployments to an environment as inactive; production keeps them, as on GitHub."""
    for other in act.database.all(Deployment, repository_id=deployment.repository_id, environment=environment):
        if other.id >= deployment.id or other.transient_environment or other.production_environment:
            continue
        latest = latest_status(act.world, other)
        if latest is not None and latest.state == "success":
            add_status(act, other, environment, creator_id=creator_id, state="inactive")


def _insert_environment(act: Act, repository: Repository, name: str, values: Mapping[str, object]) -> Environment:
    return act.database.insert(
        Environment, repository_id=repository.id, name=name, **values, created_at=act.now, updated_at=act.now
    )


def _check_name(name: str) -> None:
    check_unicode_all({"name": name}, resource="Environment")
    if not name.strip():
        raise missing("Environment", "name")
    check_length(name, LONGEST_NAME, resource="Environment", field="name")


def _check_reviewers(act: Act, reviewers: Sequence[Mapping[str, object]]) -> tuple[dict[str, object], ...]:
    if len(reviewers) > MOST_REVIEWERS:
        raise InvalidRefusal(f"An environment can have at most {MOST_REVIEWERS} reviewers.")
    for reviewer in reviewers:
        model = {"User": User, "Team": Team}.get(str(reviewer.get("type")))
        identity = reviewer.get("id")
        if model is None or not isinstance(identity, int) or act.database.get(model, identity) is None:
            raise invalid("Environment", "reviewers", value=identity)
    return tuple({"type": one["type"], "id": one["id"]} for one in reviewers)


def _refuse_merge(act: Act, repository: Repository, ref: str, sha: str) -> None:
    git = act.git(repository)
    tip = git.ref(f"refs/heads/{repository.default_branch}")
    if tip is not None and not git.is_ancestor(tip, sha):
        raise NotImplementedRefusal(
            f"The twin does not merge {repository.default_branch} into {ref} for a deployment; send auto_merge: false."
        )


def _check_contexts(act: Act, repository: Repository, ref: str, sha: str, required: Sequence[str] | None) -> None:
    """Refuse a commit whose checks have not passed: the required ones, all where none are named."""
    rollup = checks.rollup(act.world, repository, sha)
    reported = {checks.name_of(one): checks.state_of(one) for one in rollup.contexts} if rollup else {}
    contexts = reported if required is None else {name: reported.get(name, "EXPECTED") for name in required}
    if any(state != "SUCCESS" for state in contexts.values()):
        raise ConflictRefusal(f"Conflict: Commit status checks failed for {ref}.")
