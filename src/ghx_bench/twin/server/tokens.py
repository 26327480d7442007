"""The token that a client gets: one that the world holds, wherever there is one."""

import secrets

from ghx_bench._base.errors import InputError
from ghx_bench.twin.commands import users
from ghx_bench.twin.queries.apps import app_access
from ghx_bench.twin.server.hosting import Hosting
from ghx_bench.twin.state.records import Token, User
from ghx_bench.twin.viewer import EVERY_SCOPE
from ghx_bench.twin.world import World


def kept_token(world: World, user: User, fixed: str | None = None) -> str:
    """Return a token of the user that the world holds, making one where there is none; it works after a restart.

    With `fixed` it is that one, made if it is not there yet.
    """
    held = world.database.one(Token, user_id=user.id) if fixed is None else world.database.one(Token, token=fixed)
    if held is not None and held.user_id != user.id:
        raise InputError(f"the token that was asked for {user.login} is another user's in this world; name another")
    if held is not None:
        return held.token
    # Random unless asked for: whoever can guess it can act in the world, from a web page too.
    token = fixed or f"ghp_{secrets.token_hex(18)}"
    with world.acting(None) as act:
        return users.create_token(act, user, token=token, scopes=tuple(sorted(EVERY_SCOPE))).token


def own_token(hosting: Hosting, world: World, user: User) -> str:
    """Return the user's own token where it opens this world, else a fresh one that may do as much.

    The fresh one is the server's alone, so no diff shows it; a user without a token in the world may do everything.
    """
    held = world.database.one(Token, user_id=user.id)
    if held is None:
        return hosting.issue_token(world, user)
    access = hosting.open(held.token)
    is_own = access is not None and access.hosted.world is world
    if is_own:
        return held.token
    app = app_access(world, held)
    return hosting.issue_token(world, user, EVERY_SCOPE if app else held.scopes, app)
