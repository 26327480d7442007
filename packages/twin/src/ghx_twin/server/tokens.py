"""Tokens: the one that a client gets, which the world holds wherever it can, and the one that a request brings."""

import base64
import secrets

from ghx_base.errors import InputError
from ghx_twin.commands import users
from ghx_twin.queries.apps import app_access
from ghx_twin.server.hosting import Hosting
from ghx_twin.state.records import Token, User
from ghx_twin.viewer import EVERY_SCOPE
from ghx_twin.world import World


def ensure_token(world: World, user: User, fixed: str | None = None) -> str:
    """Return a token of the user that the world holds, making one where there is none; it works after a restart.

    With `fixed` it is that one, made if it is not there yet.
    """
    token_record = (
        world.database.one(Token, user_id=user.id) if fixed is None else world.database.one(Token, token=fixed)
    )
    if token_record is not None and token_record.user_id != user.id:
        raise InputError(f"the token that was asked for {user.login} is another user's in this world; name another")
    if token_record is not None:
        return token_record.token
    # Random unless asked for: anyone who can guess it can act in the world, from a web page too.
    token = fixed or f"ghp_{secrets.token_hex(18)}"
    with world.acting(None) as act:
        return users.create_token(act, user, token=token).token


def own_token(hosting: Hosting, world: World, user: User) -> str:
    """Return the user's own token where it opens this world, else a fresh one that may do as much.

    The fresh one is the server's alone, so no diff shows it; a user without a token in the world may do everything.
    """
    token = world.database.one(Token, user_id=user.id)
    if token is None:
        return hosting.issue_token(world, user)
    access = hosting.open(token.token)
    is_own = access is not None and access.hosted.world is world
    if is_own:
        return token.token
    app = app_access(world, token)
    return hosting.issue_token(world, user, EVERY_SCOPE if app else token.scopes, app)


def token_of(authorization: str | None) -> str | None:
    """Return the token of `token T`, `Bearer T` or Basic credentials."""
    if not authorization:
        return None
    scheme, _, rest = authorization.strip().partition(" ")
    if scheme.lower() in {"token", "bearer"}:
        return rest.strip() or None
    if scheme.lower() != "basic":
        return None
    try:
        name, _, password = base64.b64decode(rest.strip(), validate=True).decode().partition(":")
    except ValueError:  # no base64, or not of a text
        return None
    # git sends any user name with the token as password; some clients send the token as the name.
    return (name if password in {"", "x-oauth-basic"} else password) or None
