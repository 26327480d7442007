"""One HTTP request, before any of GitHub's meaning."""

import re
from collections.abc import AsyncIterator, Mapping
from functools import cached_property
from urllib.parse import quote

from starlette.requests import Request as HttpRequest
from starlette.types import Receive, Scope

from ghx_twin.reply import Reply, error_reply
from ghx_twin.urls import Endpoint, find_endpoint, is_own_host

MOST_BYTES = 64 * 1024 * 1024  # of a JSON body; pushes are streamed and have a limit of their own
MOST_IGNORED_BYTES = 1024 * 1024 * 1024  # read and dropped, so that a client that sends first reads why it is refused
MOST_HEADER_BYTES = 64 * 1024
_HOST = re.compile(r"([\w.~-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?", re.ASCII)
_TOO_LARGE = "Request Entity Too Large"


class UnacceptableError(Exception):
    """A request that is refused whatever it asks for; `reply` says why."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.reply = reply


class Request:
    """What a client sent, with the endpoint it came in by."""

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
    def endpoint(self) -> Endpoint:
        """Return which part of GitHub the host and the path name."""
        return find_endpoint(
            self.headers.get("host", "localhost"), self.http.scope.get("scheme", "http"), self.raw_path
        )

    @property
    def path(self) -> str:
        """Return the path below the endpoint's prefix, still percent-encoded."""
        return self.raw_path.removeprefix(self.endpoint.prefix) or "/"

    async def stream(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives; a client that goes away raises `ClientDisconnect`."""
        async for chunk in self.http.stream():
            self.received += len(chunk)
            if chunk:
                yield chunk

    async def body(self) -> bytes:
        """Return the whole body; refuse one that is larger than any API takes."""
        announced = self.headers.get("content-length", "")
        most = int(announced) if announced.isdigit() else 0
        # A client that waits for "100 Continue" has sent nothing yet and reads the refusal; others send first.
        if most > MOST_IGNORED_BYTES or (most > MOST_BYTES and "expect" in self.headers):
            raise UnacceptableError(error_reply(413, _TOO_LARGE, headers={"connection": "close"}))
        chunks: list[bytes] = []
        async for chunk in self.stream():
            if self.received <= MOST_BYTES:
                chunks.append(chunk)
            elif self.received > MOST_IGNORED_BYTES:
                raise UnacceptableError(error_reply(413, _TOO_LARGE, headers={"connection": "close"}))
            else:
                chunks.clear()  # read on without keeping it
        if self.received > MOST_BYTES:
            raise UnacceptableError(error_reply(413, _TOO_LARGE))
        return b"".join(chunks)

    def check(self) -> None:
        """Refuse a Host header that is no address or not ours, and headers without end."""
        host = self.headers.get("host", "localhost")
        if not _HOST.fullmatch(host):
            raise UnacceptableError(error_reply(400, "Bad Request"))
        # A unix socket has no address of its client; no browser opens one, and `gh` names any host there.
        if self.http.client is not None and not is_own_host(host):
            raise UnacceptableError(error_reply(421, f"Misdirected Request: {host} is not this server"))
        if sum(len(name) + len(value) for name, value in self.http.scope["headers"]) > MOST_HEADER_BYTES:
            raise UnacceptableError(
                error_reply(431, "Request Header Fields Too Large", headers={"connection": "close"})
            )


def _without_origin(target: str) -> str:
    """Return a target without its origin, which clients send to a proxy (absolute form)."""
    if target.startswith(("http://", "https://")):
        return "/" + target.partition("://")[2].partition("/")[2]
    return target
