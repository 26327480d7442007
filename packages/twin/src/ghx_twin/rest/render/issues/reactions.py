"""Reactions, one by one and counted."""

from collections import Counter

from ghx_twin.reply import JsonObject
from ghx_twin.rest.render.users import simple_user
from ghx_twin.rest.render.view import View
from ghx_twin.state.records import Reaction, Record

_CONTENTS = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")


def reaction(view: View, reaction: Reaction) -> JsonObject:
    """Render one user's reaction."""
    return {
        "id": reaction.id,
        "node_id": view.node(reaction),
        "user": simple_user(view, view.user(reaction.user_id)),
        "content": reaction.content,
        "created_at": reaction.created_at,
    }


def rollup(view: View, subject: Record, url: str) -> JsonObject:
    """Render how many reacted to something, and how."""
    reactions = view.database.all(Reaction, subject_kind=subject.table, subject_id=subject.id)
    counts = Counter(reaction.content for reaction in reactions)
    return {"url": f"{url}/reactions", "total_count": len(reactions), **{name: counts[name] for name in _CONTENTS}}
