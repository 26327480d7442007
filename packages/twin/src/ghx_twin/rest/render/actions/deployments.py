"""Environments, deployments and their statuses."""

from typing import cast

from ghx_twin.reply import JsonObject
from ghx_twin.rest.render.users import simple_team, simple_user
from ghx_twin.rest.render.view import View, quote_part
from ghx_twin.state.records import Deployment, DeploymentStatus, Environment, Team


def simple_environment(view: View, environment: Environment) -> JsonObject:
    """Render an environment next to what waits for it."""
    home, name = view.repository(environment.repository_id), quote_part(environment.name)
    return {
        "id": environment.id,
        "node_id": view.node(environment),
        "name": environment.name,
        "url": view.api(home, f"/environments/{name}"),
        "html_url": view.html(home, f"/deployments/activity_log?environments_filter={name}"),
    }


def environment(view: View, environment: Environment) -> JsonObject:
    """Render an environment with its rules."""
    return {
        **simple_environment(view, environment),
        "created_at": environment.created_at,
        "updated_at": environment.updated_at,
        "can_admins_bypass": True,
        "protection_rules": _rules(view, environment),
        "deployment_branch_policy": environment.deployment_branch_policy,
    }


def reviewers(view: View, environment: Environment) -> list[JsonObject]:
    """Render who may approve deployments to an environment."""
    reviewer_list: list[JsonObject] = []
    for reviewer in environment.reviewers:
        identity = cast("int", reviewer["id"])
        if reviewer["type"] == "User":
            reviewer_list.append({"type": "User", "reviewer": simple_user(view, view.user(identity))})
        elif team := view.database.get(Team, identity):
            reviewer_list.append({"type": "Team", "reviewer": simple_team(view, team)})
    return reviewer_list


def deployment(view: View, deployment: Deployment) -> JsonObject:
    """Render a deployment."""
    home = view.repository(deployment.repository_id)
    url = view.api(home, f"/deployments/{deployment.id}")
    names = ("sha", "ref", "task", "payload", "environment", "description", "created_at", "updated_at")
    return {
        "url": url,
        "id": deployment.id,
        "node_id": view.node(deployment),
        **{name: getattr(deployment, name) for name in names},
        "original_environment": deployment.environment,
        "creator": simple_user(view, view.user(deployment.creator_id)),
        "statuses_url": f"{url}/statuses",
        "repository_url": view.api(home),
        "transient_environment": deployment.transient_environment,
        "production_environment": deployment.production_environment,
        "performed_via_github_app": None,
    }


def deployment_status(view: View, deployment_status: DeploymentStatus) -> JsonObject:
    """Render a status of a deployment."""
    home = view.repository(deployment_status.repository_id)
    url = view.api(home, f"/deployments/{deployment_status.deployment_id}")
    names = ("state", "description", "environment", "created_at", "updated_at")
    # GitHub's description wants addresses here, so that what was not given is left out.
    addresses = {
        name: getattr(deployment_status, name)
        for name in ("environment_url", "log_url")
        if getattr(deployment_status, name)
    }
    return {
        "url": f"{url}/statuses/{deployment_status.id}",
        "id": deployment_status.id,
        "node_id": view.node(deployment_status),
        **{name: getattr(deployment_status, name) for name in names},
        **addresses,
        "target_url": deployment_status.log_url,
        "creator": simple_user(view, view.user(deployment_status.creator_id)),
        "deployment_url": url,
        "repository_url": view.api(home),
        "performed_via_github_app": None,
    }


def _rules(view: View, environment: Environment) -> list[JsonObject]:
    rules: list[JsonObject] = []
    if environment.wait_timer:
        rules.append({"type": "wait_timer", "wait_timer": environment.wait_timer})
    if environment.reviewers:
        people = reviewers(view, environment)
        rules.append(
            {"type": "required_reviewers", "prevent_self_review": environment.prevent_self_review, "reviewers": people}
        )
    if environment.deployment_branch_policy is not None:
        rules.append({"type": "branch_policy"})
    node = view.node(environment).replace("EN_", "GA_", 1)
    return [{"id": environment.id, "node_id": node, **rule} for rule in rules]
