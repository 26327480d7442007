"""GitHub Apps and their installations."""

from ghx_twin.nodes import NodeId
from ghx_twin.reply import JsonObject
from ghx_twin.rest.render.users import simple_user
from ghx_twin.rest.render.view import View
from ghx_twin.state.records import App, Installation


def app(view: View, app: App) -> JsonObject:
    """Render an app."""
    return {
        "id": app.id,
        "client_id": app.client_id,
        "slug": app.slug,
        "node_id": str(NodeId("A", None, app.id)),  # by which GraphQL, that has no type for it here, finds nothing
        "owner": simple_user(view, view.user(app.owner_id)),
        "name": app.name,
        "description": app.description,
        "external_url": f"{view.base.html}/apps/{app.slug}",
        "html_url": f"{view.base.html}/apps/{app.slug}",
        "created_at": app.created_at,
        "updated_at": app.updated_at,
        "permissions": dict(app.permissions),
        "events": list(app.events),
    }


def own_app(view: View, app_record: App) -> JsonObject:
    """Render an app to itself."""
    return {**app(view, app_record), "installations_count": view.database.count(Installation, app_id=app_record.id)}


def installation(view: View, installation: Installation, app: App) -> JsonObject:
    """Render an installation of an app."""
    account = view.user(installation.account_id)
    home = f"/organizations/{account.login}" if account.type == "Organization" else ""
    return {
        "id": installation.id,
        "client_id": app.client_id,
        "account": simple_user(view, account),
        "repository_selection": repository_selection(installation.repository_ids),
        "access_tokens_url": f"{view.base.api}/app/installations/{installation.id}/access_tokens",
        "repositories_url": f"{view.base.api}/installation/repositories",
        "html_url": f"{view.base.html}{home}/settings/installations/{installation.id}",
        "app_id": app.id,
        "app_slug": app.slug,
        "target_id": account.id,
        "target_type": "Organization" if account.type == "Organization" else "User",
        "permissions": dict(installation.permissions),
        "events": list(app.events),
        "created_at": installation.created_at,
        "updated_at": installation.updated_at,
        "single_file_name": None,
        "has_multiple_single_files": False,
        "single_file_paths": [],
        "suspended_by": None,
        "suspended_at": None,
    }


def repository_selection(repository_ids: object) -> str:
    """Return GitHub's word for all repositories of an account, or for some."""
    return "all" if repository_ids is None else "selected"
