"""Changes that nobody could be held responsible for."""

from ghx_twin.state.changes import AutomaticEvent, Change
from ghx_twin.state.records import User
from ghx_twin.world import World

AUTOMATIC = frozenset[str]().union(*(event.tables for event in AutomaticEvent))
"""The tables that something writes without a user."""


def changes_without_author(world: World, *, after: int) -> list[Change]:
    """Return the changes whose author is no user of the world, those of automatic events left out."""
    known = {user.id for user in world.database.all(User)}
    changes_found = [each for each in world.database.changes(after=after) if each.actor_id not in known]
    return [each for each in changes_found if each.actor_id is not None or each.table not in AUTOMATIC]
