"""Requests to the REST API in a seeded world, written down."""

from dataclasses import dataclass
from typing import Any

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
