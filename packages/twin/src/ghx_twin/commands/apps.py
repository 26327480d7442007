"""GitHub Apps: made by the world's maker, installed on accounts, with tokens that act for an installation."""

import hashlib
import re
import secrets
from collections.abc import Mapping, Sequence

from ghx_twin.commands import users
from ghx_twin.commands.texts import already_exists, invalid
from ghx_twin.queries.apps import is_public_key
from ghx_twin.refusals import ForbiddenRefusal, InvalidRefusal
from ghx_twin.state.records import App, Installation, Repository, Token, User
from ghx_twin.world import Act

_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9]|-(?=[a-z0-9])){0,33}")
_LEVELS = ("read", "write", "admin")


def create(
    act: Act,
    *,
    slug: str,
    owner: User,
    name: str | None = None,
    description: str | None = None,
    client_id: str | None = None,
    public_key: str | None = None,
    permissions: Mapping[str, str] | None = None,
    events: Sequence[str] = (),
    identity: int | None = None,
) -> App:
    """Add an app and its bot; only the world's maker can."""
    _require_maker(act)
    if not _SLUG.fullmatch(slug):
        raise invalid("App", "slug", value=slug)
    if act.database.one(App, slug=slug) or (identity is not None and act.database.get(App, identity)):
        raise already_exists("App", "slug" if identity is None else "id")
    if public_key is not None and not is_public_key(public_key):
        raise invalid("App", "public_key", message="public_key is no RSA public key in PEM")
    # A seed may name the bot among its users, where REST's `[bot]` need not be written.
    user = act.database.one(User, login=f"{slug}[bot]") or act.database.one(User, login=slug, type="Bot")
    bot = user or users.create_user(act, login=f"{slug}[bot]", type="Bot")
    return act.database.insert(
        App,
        **({} if identity is None else {"id": identity}),
        slug=slug,
        name=name or slug,
        description=description,
        owner_id=owner.id,
        user_id=bot.id,
        client_id=client_id or f"Iv1.{hashlib.sha256(slug.encode()).hexdigest()[:16]}",
        public_key=public_key,
        permissions=_check_permissions({"metadata": "read", **(permissions or {})}),
        events=tuple(events),
        created_at=act.now,
        updated_at=act.now,
    )


def install(
    act: Act,
    app: App,
    account: User,
    *,
    permissions: Mapping[str, str] | None = None,
    repositories: Sequence[Repository] | None = None,
    identity: int | None = None,
) -> Installation:
    """Install an app on an account, for all of its repositories unless some are named; only the maker can."""
    _require_maker(act)
    if act.database.one(Installation, app_id=app.id, account_id=account.id):
        raise already_exists("Installation", "account")
    if any(one.owner_id != account.id for one in repositories or ()):
        raise invalid("Installation", "repositories", message=f"all repositories must be {account.login}'s")
    granted = app.permissions if permissions is None else permissions
    return act.database.insert(
        Installation,
        **({} if identity is None else {"id": identity}),
        app_id=app.id,
        account_id=account.id,
        permissions=_check_permissions({"metadata": "read", **granted}),
        repository_ids=None if repositories is None else tuple(one.id for one in repositories),
        created_at=act.now,
        updated_at=act.now,
    )


def create_token(
    act: Act,
    app: App,
    installation: Installation,
    *,
    token: str | None = None,
    permissions: Mapping[str, str] | None = None,
    repository_ids: Sequence[int] | None = None,
    expires_at: str | None = None,
) -> Token:
    """Make a token that acts for an installation, with all its permissions and repositories unless fewer are named."""
    granted = installation.permissions
    for name, level in (permissions or {}).items():
        if level not in _LEVELS or name not in granted or _LEVELS.index(level) > _LEVELS.index(granted[name]):
            raise InvalidRefusal("The permissions requested are not granted to this installation.")
    reached = installation.repository_ids
    outside = [one for one in repository_ids or () if not _is_reached(act, installation, one)]
    if outside:
        raise InvalidRefusal(
            "There is at least one repository that does not exist or is not accessible to the parent installation."
        )
    token_text = token or f"ghs_{secrets.token_hex(18)}"
    if act.database.one(Token, token=token_text):
        raise already_exists("Token", "token")
    return act.database.insert(
        Token,
        token=token_text,
        user_id=app.user_id,
        scopes=(),
        installation_id=installation.id,
        permissions=None if permissions is None else {"metadata": "read", **permissions},
        repository_ids=reached if repository_ids is None else tuple(repository_ids),
        expires_at=expires_at,
    )


def revoke_token(act: Act, token: Token) -> None:
    """Revoke a token of an installation, which it does itself."""
    act.database.delete(token)


def _is_reached(act: Act, installation: Installation, repository_id: int) -> bool:
    repository = act.database.get(Repository, repository_id)
    if repository is None or repository.owner_id != installation.account_id:
        return False
    return installation.repository_ids is None or repository_id in installation.repository_ids


def _require_maker(act: Act) -> None:
    if act.viewer is not None:
        raise ForbiddenRefusal("Only the maker of a world adds apps.")


def _check_permissions(permissions: Mapping[str, str]) -> dict[str, str]:
    wrong = next((name for name, level in permissions.items() if level not in _LEVELS), None)
    if wrong is not None:
        raise invalid("App", "permissions", value=f"{wrong}: {permissions[wrong]}")
    return dict(permissions)
