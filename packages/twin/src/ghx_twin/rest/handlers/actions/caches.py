"""Caches of GitHub Actions."""

from ghx_twin.commands.actions import caches
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.reply import Reply, json_reply, no_content
from ghx_twin.rest.errors import BadRequestRefusal
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.pagination import Keys, page_of, sort_items
from ghx_twin.rest.render.actions.variables import cache as render
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import ActionsCache, Repository

_SORTS: Keys[ActionsCache] = {
    "created_at": lambda one: one.created_at,
    "last_accessed_at": lambda one: one.last_accessed_at,
    "size_in_bytes": lambda one: one.size_in_bytes,
}


def list_caches(request: RestRequest) -> Reply:
    """List GitHub Actions caches for a repository."""
    home, prefix, ref = from_path.repository(request), request.query.get("key", ""), request.query.get("ref")
    selection = [
        one
        for one in request.world.database.all(ActionsCache, repository_id=home.id)
        if one.key.startswith(prefix) and ref in {None, one.ref}
    ]
    caches, headers = page_of(request, sort_items(request, selection, _SORTS, "last_accessed_at"))
    return json_reply(
        {"total_count": len(selection), "actions_caches": [render(one) for one in caches]}, headers=headers
    )


def delete_caches_by_key(request: RestRequest) -> Reply:
    """Delete GitHub Actions caches for a repository (using a cache key)."""
    home, key, ref = from_path.repository(request), request.query.get("key"), request.query.get("ref")
    if not key:
        raise BadRequestRefusal("Missing required query parameter: key")
    selection = [
        one
        for one in request.world.database.all(ActionsCache, repository_id=home.id, key=key)
        if ref in {None, one.ref}
    ]
    if not selection:
        raise NotFoundRefusal(f"Could not resolve to an ActionsCache with the key '{key}'.")
    _delete(request, home, selection)
    return json_reply({"total_count": len(selection), "actions_caches": [render(one) for one in selection]})


def delete_cache(request: RestRequest) -> Reply:
    """Delete a GitHub Actions cache for a repository (using a cache ID)."""
    home, identity = from_path.repository(request), request.number("cache_id")
    actions_cache = request.world.database.one(ActionsCache, repository_id=home.id, id=identity)
    if actions_cache is None:
        raise NotFoundRefusal(f"Could not resolve to an ActionsCache with the id of {identity}.")
    _delete(request, home, [actions_cache])
    return no_content()


def get_usage(request: RestRequest) -> Reply:
    """Get GitHub Actions cache usage for a repository."""
    home = from_path.repository(request)
    actions_caches = request.world.database.all(ActionsCache, repository_id=home.id)
    return json_reply(
        {
            "full_name": request.view.full_name(home),
            "active_caches_size_in_bytes": sum(one.size_in_bytes for one in actions_caches),
            "active_caches_count": len(actions_caches),
        }
    )


def _delete(request: RestRequest, home: Repository, actions_caches: list[ActionsCache]) -> None:
    with request.acting() as act:
        caches.delete(act, home, actions_caches)
