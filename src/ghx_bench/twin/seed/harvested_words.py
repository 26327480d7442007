"""Comments and reactions of a world, written down."""

from typing import Any

from ghx_bench.twin.queries import lookup
from ghx_bench.twin.state.records import Comment, Reaction, Record, ReviewComment
from ghx_bench.twin.world import World


def comment(world: World, written: Comment | ReviewComment) -> dict[str, Any]:
    """Return what a seed says of a comment."""
    return {
        "author": login(world, written.author_id),
        "body": written.body,
        "at": written.created_at,
        "updated_at": None if written.updated_at == written.created_at else written.updated_at,
        "minimized_reason": written.minimized_reason,
        "reactions": reactions(world, written),
    }


def reactions(world: World, subject: Record) -> dict[str, tuple[str, ...]]:
    """Return who reacted to something, by emoji."""
    found: dict[str, tuple[str, ...]] = {}
    for reaction in world.database.all(Reaction, subject_kind=subject.table, subject_id=subject.id):
        name = lookup.user_by_id(world, reaction.user_id).login
        found[reaction.content] = (*found.get(reaction.content, ()), name)
    return found


def login(world: World, identity: int | None) -> str | None:
    """Return who somebody is."""
    return None if identity is None else lookup.user_by_id(world, identity).login
