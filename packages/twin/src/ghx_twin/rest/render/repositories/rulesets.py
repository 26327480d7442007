"""Rulesets, and the rules of a branch."""

from ghx_twin.queries import permissions
from ghx_twin.queries.rulesets import ActiveRule, bypass_mode, source_of
from ghx_twin.reply import JsonObject
from ghx_twin.rest.render.view import View
from ghx_twin.state.records import Repository, Ruleset

_BYPASS = {"always": "always", "pull_request": "pull_requests_only", "exempt": "exempt", None: "never"}


def ruleset(view: View, ruleset: Ruleset) -> JsonObject:
    """Render a ruleset in a list."""
    source = source_of(view.world, ruleset)
    if isinstance(source, Repository):
        place, name = view.api(source, f"/rulesets/{ruleset.id}"), view.full_name(source)
        page = view.html(source, f"/rules/{ruleset.id}")
    else:
        place, name = f"{view.base.api}/orgs/{source.login}/rulesets/{ruleset.id}", source.login
        page = f"{view.base.html}/organizations/{name}/settings/rules/{ruleset.id}"
    return {
        "id": ruleset.id,
        "name": ruleset.name,
        "target": ruleset.target,
        "source_type": "Repository" if isinstance(source, Repository) else "Organization",
        "source": name,
        "enforcement": ruleset.enforcement,
        "node_id": view.node(ruleset),
        "_links": {"self": {"href": place}, "html": {"href": page}},
        "created_at": ruleset.created_at,
        "updated_at": ruleset.updated_at,
    }


def full_ruleset(view: View, record: Ruleset, home: Repository | None) -> JsonObject:
    """Render a ruleset on its own, as it holds for a repository; only who may change it sees who may bypass it."""
    body = ruleset(view, record)
    body |= {"conditions": dict(record.conditions) or None, "rules": list(record.rules)}
    if home is None:
        return {**body, "bypass_actors": list(record.bypass_actors)}
    if permissions.may(view.world, view.viewer, home, "write"):
        body["bypass_actors"] = list(record.bypass_actors)
    body["current_user_can_bypass"] = _BYPASS[bypass_mode(view.world, view.viewer, home, record)]
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
