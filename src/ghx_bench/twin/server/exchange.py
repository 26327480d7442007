"""One HTTP request and its reply, before any of GitHub's meaning."""

import json
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import quote

from starlette.requests import Request as HttpRequest
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ghx_bench.twin.urls import Door, find_door

MOST_BYTES = 64 * 1024 * 1024  # of a JSON body; pushes are streamed and have a limit of their own
MOST_IGNORED_BYTES = 1024 * 1024 * 1024  # read and dropped, so that a client that sends first reads why it is refused
MOST_HEADER_BYTES = 64 * 1024
JSON = "application/json; charset=utf-8"
_HOST = re.compile(r"([\w.~-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?", re.ASCII)
_TOO_LARGE = "Request Entity Too Large"


class UnacceptableError(Exception):
    """A request that is refused before anyone looks at what it is about; `reply` says so."""

    def __init__(self, reply: "Reply") -> None:
        super().__init__(reply.status)
        self.reply = reply


class Request:
    """What a client sent, with the door it came in by."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.http = HttpRequest(scope, receive)
        self.method = self.http.method
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in self.http.headers.items()}
        self.query = scope["query_string"].decode("latin-1")
        target: bytes | None = scope.get("raw_path")
        self.raw_path = _without_origin(
            quote(scope["path"], errors="replace") if target is None else target.decode("latin-1")
        )
        self.received = 0

    @cached_property
    def door(self) -> Door:
        """Tell which part of GitHub is meant."""
        return find_door(self.headers.get("host", "localhost"), self.http.scope.get("scheme", "http"), self.raw_path)

    @property
    def path(self) -> str:
        """Return the path below the door's prefix, still percent-encoded."""
        return self.raw_path.removeprefix(self.door.prefix) or "/"

    async def stream(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives; a client that goes away raises `ClientDisconnect`."""
        async for chunk in self.http.stream():
            self.received += len(chunk)
            if chunk:
                yield chunk

    async def body(self) -> bytes:
        """Return the whole body, refusing one that no API takes."""
        announced = self.headers.get("content-length", "")
        most = int(announced) if announced.isdigit() else 0
        if most > MOST_IGNORED_BYTES or (most > MOST_BYTES and "expect" in self.headers):
            raise UnacceptableError(refusal(413, _TOO_LARGE, headers={"connection": "close"}))
        chunks: list[bytes] = []
        async for chunk in self.stream():
            if self.received <= MOST_BYTES:
                chunks.append(chunk)
            elif self.received > MOST_IGNORED_BYTES:
                raise UnacceptableError(refusal(413, _TOO_LARGE, headers={"connection": "close"}))
            else:
                chunks.clear()
        if self.received > MOST_BYTES:
            raise UnacceptableError(refusal(413, _TOO_LARGE))
        return b"".join(chunks)

    def check(self) -> None:
        """Refuse what no server of GitHub's would look at: an address that is none, headers without end."""
        if not _HOST.fullmatch(self.headers.get("host", "localhost")):
            raise UnacceptableError(refusal(400, "Bad Request"))
        if sum(len(name) + len(value) for name, value in self.http.scope["headers"]) > MOST_HEADER_BYTES:
            raise UnacceptableError(refusal(431, "Request Header Fields Too Large", headers={"connection": "close"}))


@dataclass(slots=True, kw_only=True)
class Reply:
    """What goes back, and what the journal wants to know of it."""

    status: int
    headers: dict[str, str] = field(default_factory=dict[str, str])
    content: bytes = b""
    stream: AsyncIterator[bytes] | None = None  # instead of `content` where it is long
    media_type: str | None = None
    operation: str = ""
    failed: bool = False
    changed: bool = False
    sent: int = 0

    async def send(self, request: Request, send: Send) -> None:
        """Send it; a HEAD request gets the headers only."""
        await self._response(request)(request.http.scope, request.http.receive, send)

    def _response(self, request: Request) -> Response:
        headers = {**self.headers, "content-type": self.media_type} if self.media_type else self.headers
        if request.method == "HEAD":
            return Response(status_code=self.status, headers={"content-length": str(len(self.content)), **headers})
        if self.stream is not None:
            return StreamingResponse(self._counted(self.stream), status_code=self.status, headers=headers)
        self.sent = len(self.content)
        return Response(self.content, status_code=self.status, headers=headers)

    async def _counted(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for chunk in chunks:
            self.sent += len(chunk)
            yield chunk


def refusal(status: int, message: str, *, headers: Mapping[str, str] | None = None) -> Reply:
    """Return an error in GitHub's shape."""
    body = {"message": message, "documentation_url": "https://docs.github.com/rest", "status": str(status)}
    return Reply(
        status=status,
        content=json.dumps(body, separators=(",", ":")).encode(),
        media_type=JSON,
        headers=dict(headers or {}),
    )


def _without_origin(target: str) -> str:
    """Cut `http://host` off a target in absolute form, as a client behind a proxy sends it."""
    if target.startswith(("http://", "https://")):
        return "/" + target.partition("://")[2].partition("/")[2]
    return target
