"""One request as the server looks at it, from its arrival to its line in the journal."""

import re
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import unquote

from starlette.types import Message, Send

from ghx_bench._base.clock import timestamp
from ghx_bench.twin.faults import Surface
from ghx_bench.twin.journal import Entry
from ghx_bench.twin.server.exchange import Reply, Request
from ghx_bench.twin.server.hosting import Access

_SECRET = re.compile(r"(?i)\b(access_token|client_secret)=[^&]*")
_BAD, _CLIENT_IS_GONE = 400, 499


@dataclass(slots=True, kw_only=True)
class Visit:
    """A request, the surface it is for, what its credentials open, and whether the journal knows of it."""

    request: Request
    surface: Surface
    token: str | None
    access: Access | None
    _started: float = field(default_factory=time.perf_counter)
    _is_noted: bool = False

    def noting(self, reply: Reply, send: Send) -> Send:
        """Journal the request before the last of its reply goes out: whoever has an answer finds it in the journal."""

        async def noting_send(message: Message) -> None:
            if not self._is_noted and _is_last(message, reply):
                self._note(reply)
            await send(message)

        return noting_send

    def leave(self) -> None:
        """Go, so that the world may be closed; journal a request whose client went away before it had its answer."""
        try:
            if not self._is_noted:
                self._note(Reply(status=_CLIENT_IS_GONE))
        finally:
            if self.access is not None:
                self.access.hosted.visitors.leave()

    def _note(self, reply: Reply) -> None:
        self._is_noted = True
        if self.access is not None:
            self.access.hosted.world.journal.add(self._entry(self.access, reply))

    def _entry(self, access: Access, reply: Reply) -> Entry:
        request = self.request
        path, query = unquote(request.path), _SECRET.sub(r"\1=...", request.query)
        return Entry(
            at=timestamp(datetime.now(UTC)),
            surface=self.surface,
            actor=access.viewer.user.login,
            method=request.method,
            path=f"{path}?{query}" if query else path,
            operation=reply.operation or f"{request.method} {path}",
            status=reply.status,
            failed=reply.failed or reply.status >= _BAD,
            mutation=reply.changed,
            duration_ms=round((time.perf_counter() - self._started) * 1000, 3),
            request_bytes=request.received,
            response_bytes=reply.sent,
            user_agent=request.headers.get("user-agent"),
        )


def _is_last(message: Message, reply: Reply) -> bool:
    """Tell whether a client may have its whole answer with this message: the headers, where there is no body."""
    if reply.stream is None:
        return True
    return message["type"] == "http.response.body" and not message.get("more_body", False)
