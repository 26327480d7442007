"""Requests to the REST API in a seeded world, written down."""

from dataclasses import dataclass
from typing import Any

from rest_world import Reply, Seeded

NO_JSON = "image/png"


@dataclass(frozen=True)
class Call:
    """One request, with names of ids and shas of the seeded world in braces."""

    path: str
    body: Any = None
    user: str = "ann"
    accept: str = ""


def call(path: str, body: Any = None, user: str = "ann", accept: str = "") -> Call:
    return Call(path, body, user, accept)


def refused_media(path: str) -> Call:
    return Call(path, accept=NO_JSON)


def ask_as_written(world: Seeded, name: str, call: Call) -> Reply:
    """Ask for an operation by its name, as a call says, in a seeded world."""
    names = {**world.ids, **world.shas}
    path = call.path.replace("R", "/repos/acme/widgets", 1) if call.path.startswith("R") else call.path
    client = world.client(call.user)
    method = name.partition(" ")[0]
    return client.ask(method, path.format_map(names), _filled(call.body, names), accept=call.accept)


def _filled(body: Any, names: dict[str, Any]) -> Any:
    if isinstance(body, str) and body.startswith("{"):
        return names[body[1:-1]]
    if isinstance(body, dict):
        return {key: _filled(value, names) for key, value in body.items()}
    return [_filled(value, names) for value in body] if isinstance(body, list) else body
