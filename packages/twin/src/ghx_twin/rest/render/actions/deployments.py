"""Environments, deployments and their statuses."""

from typing import cast

from ghx_twin.reply import JsonObject
from ghx_twin.rest.render.users import simple_team, simple_user
from ghx_twin.rest.render.view import View, quote_part
from ghx_twin.state.records import Deployment, DeploymentStatus, Environment, Team


def simple_environment(view: View, shown: Environment) -> JsonObject:
    """Render an environment beside what waits for it."""
    home, name = view.repository(shown.repository_id), quote_part(shown.name)
    return {
        "id": shown.id,
        "node_id": view.node(shown),
        "name": shown.name,
        "url": view.api(home, f"/environments/{name}"),
        "html_url": view.html(home, f"/deployments/activity_log?environments_filter={name}"),
    }


def environment(view: View, shown: Environment) -> JsonObject:
    """Render an environment with its rules."""
    return {
        **simple_environment(view, shown),
        "created_at": shown.created_at,
        "updated_at": shown.updated_at,
        "can_admins_bypass": True,
        "protection_rules": _rules(view, shown),
        "deployment_branch_policy": shown.deployment_branch_policy,
    }


def reviewers(view: View, shown: Environment) -> list[JsonObject]:
    """Render who may approve deployments to an environment."""
    reviewer_list: list[JsonObject] = []
    for reviewer in shown.reviewers:
        identity = cast("int", reviewer["id"])
        if reviewer["type"] == "User":
            reviewer_list.append({"type": "User", "reviewer": simple_user(view, view.user(identity))})
        elif team := view.database.get(Team, identity):
            reviewer_list.append({"type": "Team", "reviewer": simple_team(view, team)})
    return reviewer_list


def deployment(view: View, shown: Deployment) -> JsonObject:
    """Render a deployment."""
    home = view.repository(shown.repository_id)
    url = view.api(home, f"/deployments/{shown.id}")
    names = ("sha", "ref", "task", "payload", "environment", "description", "created_at", "updated_at")
    return {
        "url": url,
        "id": shown.id,
        "node_id": view.node(shown),
        **{name: getattr(shown, name) for name in names},
        "original_environment": shown.environment,
        "creator": simple_user(view, view.user(shown.creator_id)),
        "statuses_url": f"{url}/statuses",
        "repository_url": view.api(home),
        "transient_environment": shown.transient_environment,
        "production_environment": shown.production_environment,
        "performed_via_github_app": None,
    }


def deployment_status(view: View, shown: DeploymentStatus) -> JsonObject:
    """Render a status of a deployment."""
    home = view.repository(shown.repository_id)
    url = view.api(home, f"/deployments/{shown.deployment_id}")
    names = ("state", "description", "environment", "created_at", "updated_at")
    # GitHub's description wants addresses here, so that what was not given is left out.
    addresses = {name: getattr(shown, name) for name in ("environment_url", "log_url") if getattr(shown, name)}
    return {
        "url": f"{url}/statuses/{shown.id}",
        "id": shown.id,
        "node_id": view.node(shown),
        **{name: getattr(shown, name) for name in names},
        **addresses,
        "target_url": shown.log_url,
        "creator": simple_user(view, view.user(shown.creator_id)),
        "deployment_url": url,
        "repository_url": view.api(home),
        "performed_via_github_app": None,
    }


def _rules(view: View, shown: Environment) -> list[JsonObject]:
    rules: list[JsonObject] = []
    if shown.wait_timer:
        rules.append({"type": "wait_timer", "wait_timer": shown.wait_timer})
    if shown.reviewers:
        people = reviewers(view, shown)
        rules.append(
            {"type": "required_reviewers", "prevent_self_review": shown.prevent_self_review, "reviewers": people}
        )
    if shown.deployment_branch_policy is not None:
        rules.append({"type": "branch_policy"})
    node = view.node(shown).replace("EN_", "GA_", 1)
    return [{"id": shown.id, "node_id": node, **rule} for rule in rules]
