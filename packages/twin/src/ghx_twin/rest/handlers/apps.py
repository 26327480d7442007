"""GitHub Apps: what an app asks about itself, and the tokens of its installations."""

from datetime import UTC, datetime, timedelta

from ghx_twin.commands import apps
from ghx_twin.queries import lookup
from ghx_twin.queries.apps import app_access, installation_of, installation_repositories
from ghx_twin.refusals import ForbiddenRefusal, NotFoundRefusal
from ghx_twin.reply import JsonObject, Reply, created, json_reply, no_content
from ghx_twin.rest.errors import UnauthenticatedRefusal
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.pagination import list_reply, page_of
from ghx_twin.rest.render import apps as render
from ghx_twin.rest.render.repositories.repositories import repository as render_repository
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import App, Installation, Repository, Token
from ghx_twin.viewer import AppAccess

_LIFETIME = timedelta(hours=1)


def get_app(request: RestRequest) -> Reply:
    """Get the authenticated app."""
    return json_reply(render.own_app(request.view, _own_app(request)))


def get_app_by_slug(request: RestRequest) -> Reply:
    """Get an app."""
    app = request.world.database.one(App, slug=request.text("app_slug"))
    if app is None:
        raise NotFoundRefusal("Could not resolve to an App with this slug.")
    return json_reply(render.app(request.view, app))


def list_installations(request: RestRequest) -> Reply:
    """List installations for the authenticated app."""
    app = _own_app(request)
    installations = request.world.database.all(Installation, app_id=app.id)
    return list_reply(request, installations, lambda one: render.installation(request.view, one, app))


def get_installation(request: RestRequest) -> Reply:
    """Get an installation for the authenticated app."""
    app = _own_app(request)
    return _installation_reply(request, app, installation_of(request.world, app.id, request.number("installation_id")))


def get_repository_installation(request: RestRequest) -> Reply:
    """Get a repository installation for the authenticated app."""
    app = _own_app(request)
    owner, name = request.text("owner"), request.text("repo")
    home = lookup.repository(request.world, None, owner, name)  # an app sees where it is installed, and nothing else
    installation = request.world.database.one(Installation, app_id=app.id, account_id=home.owner_id)
    if installation is None or (installation.repository_ids is not None and home.id not in installation.repository_ids):
        raise NotFoundRefusal("The app is not installed there.")
    return _installation_reply(request, app, installation)


def get_organization_installation(request: RestRequest) -> Reply:
    """Get an organization installation for the authenticated app."""
    return _account_installation(request, lookup.organization(request.world, request.text("org")).id)


def get_user_installation(request: RestRequest) -> Reply:
    """Get a user installation for the authenticated app."""
    return _account_installation(request, from_path.account(request, request.text("username")).id)


def create_access_token(request: RestRequest) -> Reply:
    """Create an installation access token for an app."""
    app, body = _own_app(request), request.body()
    installation = installation_of(request.world, app.id, request.number("installation_id"))
    wanted = body.nested("permissions")
    permissions = None if wanted is None else {name: wanted.required_text(name) for name in wanted.names()}
    repository_names, numbers = body.texts("repositories"), body.items("repository_ids")
    ids = None
    if repository_names is not None or numbers is not None:
        ids = [
            *_ids_of(request, installation, repository_names or []),
            *(one if type(one) is int else 0 for one in numbers or []),
        ]
    # By the clock of clients, not by the world's: they compare it with their own to know when to ask for another.
    expires_at = f"{(datetime.now(UTC) + _LIFETIME).replace(tzinfo=None).isoformat(timespec='seconds')}Z"
    with request.acting() as act:
        token = apps.create_token(
            act, app, installation, permissions=permissions, repository_ids=ids, expires_at=expires_at
        )
    return created(_show_token(request, installation, token))


def list_repositories(request: RestRequest) -> Reply:
    """List repositories accessible to the app installation."""
    access = _installation_access(request)
    repositories = installation_repositories(request.world, access)
    content, headers = page_of(request, repositories)
    body = {
        "total_count": len(repositories),
        "repository_selection": render.repository_selection(access.repository_ids),
        "repositories": [render_repository(request.view, one) for one in content],
    }
    return json_reply(body, headers=headers)


def revoke_token(request: RestRequest) -> Reply:
    """Revoke an installation access token."""
    access = _installation_access(request)
    token = request.world.database.one(Token, token=access.token)
    with request.acting() as act:
        if token is not None:
            apps.revoke_token(act, token)
    return no_content()


def _own_app(request: RestRequest) -> App:
    """Return the app that asks; it must show that it has the key."""
    access = request.viewer.app
    app = request.world.database.get(App, access.app_id) if access and access.installation_id is None else None
    if app is None:
        raise UnauthenticatedRefusal("A JSON web token could not be decoded")
    return app


def _installation_access(request: RestRequest) -> AppAccess:
    access = request.viewer.app
    if access is None or access.installation_id is None:
        raise ForbiddenRefusal("You must authenticate with an installation access token in order to list repositories.")
    return access


def _account_installation(request: RestRequest, account_id: int) -> Reply:
    app = _own_app(request)
    installation = request.world.database.one(Installation, app_id=app.id, account_id=account_id)
    if installation is None:
        raise NotFoundRefusal("The app is not installed there.")
    return _installation_reply(request, app, installation)


def _installation_reply(request: RestRequest, app: App, installation: Installation) -> Reply:
    return json_reply(render.installation(request.view, installation, app))


def _ids_of(request: RestRequest, installation: Installation, names: list[str]) -> list[int]:
    owned = request.world.database.all(Repository, owner_id=installation.account_id)
    ids = {one.name.lower(): one.id for one in owned}
    return [ids.get(name.lower(), 0) for name in names]  # no repository has the id 0, which is then refused


def _show_token(request: RestRequest, installation: Installation, token: Token) -> JsonObject:
    body: JsonObject = {
        "token": token.token,
        "expires_at": token.expires_at,
        "permissions": dict(installation.permissions if token.permissions is None else token.permissions),
        "repository_selection": render.repository_selection(token.repository_ids),
    }
    access = app_access(request.world, token)
    if access is not None and access.repository_ids is not None:
        homes = installation_repositories(request.world, access)
        body["repositories"] = [render_repository(request.view, one) for one in homes]
    return body
