"""Variables, secrets and caches of GitHub Actions."""

from ghx_twin.reply import JsonObject
from ghx_twin.rest.render.view import View
from ghx_twin.state.records import ActionsCache, Secret, Variable


def variable(view: View, shown: Variable) -> JsonObject:
    """Render a variable."""
    return {"name": shown.name, "value": shown.value, **_times_and_reach(view, shown)}


def secret(view: View, shown: Secret) -> JsonObject:
    """Render a secret, which is its name."""
    return {"name": shown.name, **_times_and_reach(view, shown)}


def cache(shown: ActionsCache) -> JsonObject:
    """Render a cache."""
    names = ("id", "ref", "key", "version", "last_accessed_at", "created_at", "size_in_bytes")
    return {name: getattr(shown, name) for name in names}


def _times_and_reach(view: View, shown: Variable | Secret) -> JsonObject:
    body: JsonObject = {"created_at": shown.created_at, "updated_at": shown.updated_at}
    if shown.organization_id is None:
        return body
    body["visibility"] = shown.visibility
    if shown.visibility == "selected":
        home = f"{view.base.api}/orgs/{view.user(shown.organization_id).login}/actions/{shown.table}"
        body["selected_repositories_url"] = f"{home}/{shown.name}/repositories"
    return body
