"""One request to the server: what its credentials open, its reply on the wire, and its entry in the journal."""

import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import unquote

import anyio.lowlevel
from starlette.responses import StreamingResponse
from starlette.types import Message, Send

from ghx_base.clock import timestamp
from ghx_twin.faults import Injected, Surface
from ghx_twin.journal import LONGEST_TEXT, Entry
from ghx_twin.reply import Reply
from ghx_twin.server.hosting import Access
from ghx_twin.server.request import Request

RESET_OF_CONNECTION = "reset"
"""What the state of a connection calls the function that resets it; in process there is none."""

PIECE = 1024 * 1024  # of a long answer
_BAD, _UNAUTHENTICATED, _CLIENT_IS_GONE = 400, 401, 499
_NO_ANSWER = 0
_NO_LENGTH = frozenset({204, 304})  # statuses whose replies have no body
_SECRET = re.compile(r"(?i)\b(access_token|client_secret|urlSignature)=[^&]*")


@dataclass(slots=True, kw_only=True)
class Exchange:
    """One request, what its credentials open, and its way into the journal."""

    request: Request
    surface: Surface
    token: str | None
    access: Access | None
    problem: str  # what a request without access is told
    fault: Injected | None = None
    _started: float = field(default_factory=time.perf_counter)
    _sent_bytes: int = 0
    _is_journalled: bool = False

    async def send(self, reply: Reply, send: Send) -> None:
        """Send a reply, and journal the request before the last of it goes out.

        So a client that has its whole answer finds its request in the journal.
        """
        headers = {**reply.headers, "content-type": reply.media_type} if reply.media_type else reply.headers
        if reply.reset is not None:
            await self._break_off(reply, headers, send)
            return
        if reply.stream is not None and self.request.method != "HEAD":
            await self._send_stream(reply, reply.stream, headers, send)
            return
        if self.request.method == "HEAD":  # the headers of GET, with the length of what is left out
            headers = {"content-length": str(len(reply.content)), **headers}
        elif reply.status not in _NO_LENGTH:
            headers = {**headers, "content-length": str(len(reply.content))}
        content = b"" if self.request.method == "HEAD" else reply.content
        self._sent_bytes = len(content)
        self._journal(reply)
        # Not as a `Response`, which takes as long to make as a tenth of a read.
        raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": reply.status, "headers": raw})
        for start in range(0, len(content) - PIECE, PIECE):  # others have their turn between the pieces
            await send({"type": "http.response.body", "body": content[start : start + PIECE], "more_body": True})
            await anyio.lowlevel.checkpoint()
        await send({"type": "http.response.body", "body": content[max(0, -(-len(content) // PIECE) - 1) * PIECE :]})

    def end(self) -> None:
        """Journal a request whose client left before it had its answer, and allow its world to be closed."""
        try:
            if not self._is_journalled:
                self._journal(Reply(status=_CLIENT_IS_GONE))
        finally:
            if self.access is not None:
                self.access.hosted.open_requests.end()

    async def _break_off(self, reply: Reply, headers: Mapping[str, str], send: Send) -> None:
        """Reset the connection: before any answer, or in the middle of it."""
        lost = Reply(status=_NO_ANSWER, failed=True, operation=reply.operation, changed=reply.changed)
        if reply.reset == "halfway":
            announced = {**headers, "content-length": str(len(reply.content))}
            raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in announced.items()]
            half = reply.content[: len(reply.content) // 2]
            self._sent_bytes = len(half)
            await send({"type": "http.response.start", "status": reply.status, "headers": raw})
            await send({"type": "http.response.body", "body": half, "more_body": True})
        self._journal(lost)
        http = self.request.http
        reset: Callable[[], None] | None = http.scope.get("state", {}).get(RESET_OF_CONNECTION)
        if reset is None:
            raise ConnectionResetError("a scripted fault has reset the connection")
        reset()
        while (await http.receive())["type"] != "http.disconnect":  # else the server would answer in our place
            pass

    async def _send_stream(
        self, reply: Reply, chunks: AsyncIterator[bytes], headers: Mapping[str, str], send: Send
    ) -> None:
        async def count() -> AsyncIterator[bytes]:
            async for chunk in chunks:
                self._sent_bytes += len(chunk)
                yield chunk

        async def journal_and_send(message: Message) -> None:
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                self._journal(reply)
            await send(message)

        # It ends the stream, and git with it, when the client goes away.
        response = StreamingResponse(count(), status_code=reply.status, headers=headers)
        await response(self.request.http.scope, self.request.http.receive, journal_and_send)

    def _journal(self, reply: Reply) -> None:
        self._is_journalled = True
        if self.access is None:  # no token, no world, no journal
            return
        viewer = self.access.viewer
        if viewer.is_anonymous and reply.status == _UNAUTHENTICATED:  # git asks so before each push
            return
        request = self.request
        path, query = unquote(request.path), _SECRET.sub(r"\1=...", request.query)
        self.access.hosted.world.journal.add(
            Entry(
                at=timestamp(datetime.now(UTC)),
                surface=self.surface,
                actor=viewer.user.login or None,
                method=request.method,
                path=(f"{path}?{query}" if query else path)[:LONGEST_TEXT],
                operation=(reply.operation or f"{request.method} {path}")[:LONGEST_TEXT],
                status=reply.status,
                failed=reply.failed or reply.status >= _BAD,
                mutation=reply.changed,
                duration_ms=round((time.perf_counter() - self._started) * 1000, 3),
                request_bytes=request.received,
                response_bytes=self._sent_bytes,
                user_agent=request.headers.get("user-agent", "")[:LONGEST_TEXT] or None,
                not_implemented=reply.not_implemented[:LONGEST_TEXT] or None,
                token_name=self.access.token_name,
                is_signed=request.endpoint.host_kind == "downloads",
                fault=self.fault,
            )
        )
