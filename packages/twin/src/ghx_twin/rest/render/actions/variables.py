"""Variables, secrets and caches of GitHub Actions."""

from ghx_twin.reply import JsonObject
from ghx_twin.rest.render.view import View
from ghx_twin.state.records import ActionsCache, Secret, Variable


def variable(view: View, variable: Variable) -> JsonObject:
    """Render a variable."""
    return {"name": variable.name, "value": variable.value, **_times_and_reach(view, variable)}


def secret(view: View, secret: Secret) -> JsonObject:
    """Render a secret, which is its name."""
    return {"name": secret.name, **_times_and_reach(view, secret)}


def cache(cache: ActionsCache) -> JsonObject:
    """Render a cache."""
    names = ("id", "ref", "key", "version", "last_accessed_at", "created_at", "size_in_bytes")
    return {name: getattr(cache, name) for name in names}


def _times_and_reach(view: View, record: Variable | Secret) -> JsonObject:
    body: JsonObject = {"created_at": record.created_at, "updated_at": record.updated_at}
    if record.organization_id is None:
        return body
    body["visibility"] = record.visibility
    if record.visibility == "selected":
        home = f"{view.base.api}/orgs/{view.user(record.organization_id).login}/actions/{record.table}"
        body["selected_repositories_url"] = f"{home}/{record.name}/repositories"
    return body
