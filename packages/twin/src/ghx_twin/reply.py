"""The reply that every endpoint of the emulator gives: REST, GraphQL and git."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ghx_twin.faults import Reset

JSON = "application/json; charset=utf-8"
JsonObject = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Reply:
    """What goes back to a client, and what the journal notes of it.

    Mutable, so that the endpoints and the server complete one object instead of copying it: the server adds the headers
    that every reply has, and empties the content where the client has it already.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])
    content: bytes = b""
    stream: AsyncIterator[bytes] | None = None  # instead of `content`, for what is sent while git makes it
    media_type: str | None = None
    operation: str = ""  # what the journal calls the request: a route's template, a GraphQL operation, a git service
    failed: bool = False  # whether GraphQL answered with errors, which the status does not show
    changed: bool = False  # whether it changed the world
    not_implemented: str = ""  # what was requested and the emulator lacks: an operation, or what GraphQL calls it
    reset: Reset | None = None  # the connection is reset instead of this reply, or halfway through it


def json_reply(body: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """Return a reply with a JSON body."""
    content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    return Reply(status=status, content=content, media_type=JSON, headers=dict(headers or {}))


def created(body: JsonObject | list[JsonObject], location: str | None = None) -> Reply:
    """Return the reply to a request that made something new, with its address where it has one."""
    return json_reply(body, status=201, headers={"Location": location} if location else None)


def no_content() -> Reply:
    """Return the reply to a request that was done and has nothing to show."""
    return Reply(status=204, media_type=JSON)


def error_reply(status: int, message: str, *, headers: Mapping[str, str] | None = None) -> Reply:
    """Return an error in the shape of GitHub's API."""
    body = {"message": message, "documentation_url": "https://docs.github.com/rest", "status": str(status)}
    return json_reply(body, status=status, headers=headers)
