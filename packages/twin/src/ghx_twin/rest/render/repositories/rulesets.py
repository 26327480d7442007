"""Rulesets, and the rules of a branch."""

from ghx_twin.queries import permissions
from ghx_twin.queries.rulesets import ActiveRule, bypass_mode, source_of
from ghx_twin.reply import JsonObject
from ghx_twin.rest.render.view import View
from ghx_twin.state.records import Repository, Ruleset

_BYPASS = {"always": "always", "pull_request": "pull_requests_only", "exempt": "exempt", None: "never"}


def ruleset(view: View, shown: Ruleset) -> JsonObject:
    """Render a ruleset in a list."""
    source = source_of(view.world, shown)
    if isinstance(source, Repository):
        place, name = view.api(source, f"/rulesets/{shown.id}"), view.full_name(source)
        page = view.html(source, f"/rules/{shown.id}")
    else:
        place, name = f"{view.base.api}/orgs/{source.login}/rulesets/{shown.id}", source.login
        page = f"{view.base.html}/organizations/{name}/settings/rules/{shown.id}"
    return {
        "id": shown.id,
        "name": shown.name,
        "target": shown.target,
        "source_type": "Repository" if isinstance(source, Repository) else "Organization",
        "source": name,
        "enforcement": shown.enforcement,
        "node_id": view.node(shown),
        "_links": {"self": {"href": place}, "html": {"href": page}},
        "created_at": shown.created_at,
        "updated_at": shown.updated_at,
    }


def full_ruleset(view: View, shown: Ruleset, home: Repository | None) -> JsonObject:
    """Render a ruleset on its own, as it holds for a repository; only who may change it sees who may bypass it."""
    body = ruleset(view, shown)
    body |= {"conditions": dict(shown.conditions) or None, "rules": list(shown.rules)}
    if home is None:
        return {**body, "bypass_actors": list(shown.bypass_actors)}
    if permissions.may(view.world, view.viewer, home, "write"):
        body["bypass_actors"] = list(shown.bypass_actors)
    body["current_user_can_bypass"] = _BYPASS[bypass_mode(view.world, view.viewer, home, shown)]
    return body


def branch_rule(view: View, active: ActiveRule) -> JsonObject:
    """Render a rule that holds for a branch, and where it is from."""
    source = source_of(view.world, active.ruleset)
    of_repository = isinstance(source, Repository)
    return {
        **active.rule.model_dump(mode="json", exclude_none=True),
        "ruleset_source_type": "Repository" if of_repository else "Organization",
        "ruleset_source": view.full_name(source) if of_repository else source.login,
        "ruleset_id": active.ruleset.id,
    }
