"""What a handler gives back: a status, a body and headers."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

JsonObject = dict[str, Any]
JSON = "application/json; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer to one request, before the server adds the headers that every answer has."""

    status: int = 200
    body: Any = None  # JSON, or text and bytes for other media types; None where there is no body
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    content_type: str = JSON
    operation: str = ""  # method and template of the route, for the journal
    mutates: bool = False

    def content(self) -> bytes:
        """Return the bytes of the body."""
        match self.body:
            case None:
                return b""
            case bytes():
                return self.body
            case str() if self.content_type != JSON:
                return self.body.encode()
            case _:
                return json.dumps(self.body, ensure_ascii=False, separators=(",", ":")).encode()


def created(body: JsonObject | list[JsonObject], location: str | None = None) -> Answer:
    """Answer that something is there now that was not before."""
    return Answer(status=201, body=body, headers={"Location": location} if location else {})


NO_CONTENT = Answer(status=204)
