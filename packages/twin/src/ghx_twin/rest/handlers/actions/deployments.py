"""Environments, deployments and their statuses."""

from typing import Any

from ghx_twin.commands.actions import deployments
from ghx_twin.commands.actions.deployments import STATES, DeploymentFields
from ghx_twin.queries.actions.deployments import statuses_of
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.reply import Reply, created, json_reply, no_content
from ghx_twin.rest.body import Body
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.pagination import list_reply, page_of
from ghx_twin.rest.render.actions import deployments as render
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import Deployment, Environment, Repository


def list_environments(request: RestRequest) -> Reply:
    """List environments."""
    environments = request.world.database.all(Environment, repository_id=from_path.repository(request).id)
    content, headers = page_of(request, environments)
    items = [render.environment(request.view, one) for one in content]
    return json_reply({"total_count": len(environments), "environments": items}, headers=headers)


def get_environment(request: RestRequest) -> Reply:
    """Get an environment."""
    environment = from_path.environment(request, from_path.repository(request))
    return json_reply(render.environment(request.view, environment))


def put_environment(request: RestRequest) -> Reply:
    """Create or update an environment."""
    home, body = from_path.repository(request), request.body()
    policy = body.nested("deployment_branch_policy")
    flags = ("protected_branches", "custom_branch_policies")
    with request.acting() as act:
        record = deployments.put_environment(
            act,
            home,
            request.text("environment_name"),
            wait_timer=body.integer("wait_timer") or 0,
            prevent_self_review=body.flag("prevent_self_review") or False,
            reviewers=[{"type": one.text("type"), "id": one.integer("id")} for one in body.objects("reviewers")],
            deployment_branch_policy={name: policy.flag(name) or False for name in flags} if policy else None,
        )
    return json_reply(render.environment(request.view, record))


def delete_environment(request: RestRequest) -> Reply:
    """Delete an environment."""
    environment = from_path.environment(request, from_path.repository(request))
    with request.acting() as act:
        deployments.delete_environment(act, environment)
    return no_content()


def list_deployments(request: RestRequest) -> Reply:
    """List deployments."""
    home = from_path.repository(request)
    names = ("sha", "ref", "task", "environment")
    filters: dict[str, Any] = {name: request.query[name] for name in names if request.query.get(name, "none") != "none"}
    records = request.world.database.all(Deployment, order="id DESC", repository_id=home.id, **filters)
    return list_reply(request, records, lambda one: render.deployment(request.view, one))


def create_deployment(request: RestRequest) -> Reply:
    """Create a deployment."""
    home, body = from_path.repository(request), request.body()
    ref, merges = body.required_text("ref"), body.flag("auto_merge")
    with request.acting() as act:
        record = deployments.create(
            act,
            home,
            ref=ref,
            required_contexts=body.texts("required_contexts"),
            auto_merge=True if merges is None else merges,
            **_fields(body),
        )
    deployment = render.deployment(request.view, record)
    return created(deployment, deployment["url"])


def get_deployment(request: RestRequest) -> Reply:
    """Get a deployment."""
    return json_reply(render.deployment(request.view, _deployment(request)[1]))


def delete_deployment(request: RestRequest) -> Reply:
    """Delete a deployment."""
    home, deployment = _deployment(request)
    with request.acting() as act:
        deployments.delete(act, home, deployment)
    return no_content()


def list_statuses(request: RestRequest) -> Reply:
    """List deployment statuses."""
    statuses = statuses_of(request.world, _deployment(request)[1])
    return list_reply(request, statuses, lambda one: render.deployment_status(request.view, one))


def create_status(request: RestRequest) -> Reply:
    """Create a deployment status."""
    home, deployment = _deployment(request)
    body = request.body()
    body.require("state")
    quiet = body.flag("auto_inactive")
    with request.acting() as act:
        status = deployments.create_status(
            act,
            home,
            deployment,
            state=body.choice("state", STATES) or "",
            description=body.text("description") or "",
            environment=body.text("environment"),
            log_url=body.text("log_url") or body.text("target_url") or "",
            environment_url=body.text("environment_url") or "",
            auto_inactive=True if quiet is None else quiet,
        )
    deployment_status = render.deployment_status(request.view, status)
    return created(deployment_status, deployment_status["url"])


def get_status(request: RestRequest) -> Reply:
    """Get a deployment status."""
    identity = request.number("status_id")
    for one in statuses_of(request.world, _deployment(request)[1]):
        if one.id == identity:
            return json_reply(render.deployment_status(request.view, one))
    raise NotFoundRefusal(f"Could not resolve to a DeploymentStatus with the id of {identity}.")


def _deployment(request: RestRequest) -> tuple[Repository, Deployment]:
    home, identity = from_path.repository(request), request.number("deployment_id")
    deployment = request.world.database.one(Deployment, repository_id=home.id, id=identity)
    if deployment is None:
        raise NotFoundRefusal(f"Could not resolve to a Deployment with the id of {identity}.")
    return home, deployment


def _fields(body: Body) -> DeploymentFields:
    fields: DeploymentFields = {"description": body.text("description")}
    for name in ("task", "environment"):
        if text := body.text(name):
            fields[name] = text
    for name in ("transient_environment", "production_environment"):
        if (flag := body.flag(name)) is not None:
            fields[name] = flag
    payload = body.get("payload")
    if isinstance(payload, dict | str):
        fields["payload"] = payload
    return fields
