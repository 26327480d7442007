"""Tokens that a world keeps, so that they still work after a restart."""

import hashlib

from ghx_bench.twin.commands import users
from ghx_bench.twin.state.records import Token, User
from ghx_bench.twin.viewer import EVERY_SCOPE
from ghx_bench.twin.world import World


def kept_token(world: World, user: User) -> str:
    """Return a token of the user that the world holds, making one where there is none."""
    held = world.database.one(Token, user_id=user.id)
    if held is not None:
        return held.token
    digest = hashlib.sha256(f"{user.id}:{user.login}".encode()).hexdigest()
    with world.acting(None) as act:
        return users.create_token(act, user, token=f"ghp_{digest[:36]}", scopes=tuple(sorted(EVERY_SCOPE))).token
