"""Connections of the server: how many there are, and how much of a request is read before it is one."""

import resource
from typing import cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ghx_bench.twin.server.request import MOST_HEADER_BYTES

MOST_HEAD_BYTES = 4 * MOST_HEADER_BYTES
"""Of a request line and headers together; below that, the app itself answers to headers that are too large."""

_GRACE_S = 2.0
_LEAST_CONNECTIONS, _MOST_CONNECTIONS = 64, 1024
_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"  # as the app says
)


def most_connections() -> int:
    """Return how many connections are kept: a quarter of the files that this process may open; in bursts, half."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _MOST_CONNECTIONS * 4 if soft == resource.RLIM_INFINITY else soft
    return max(_LEAST_CONNECTIONS, min(files // 4, _MOST_CONNECTIONS))


class BoundedProtocol(HttpToolsProtocol):
    """A connection that gives way to a new one when there are too many and nothing happens on it.

    Without that, a client that opens a thousand connections and sends nothing uses up the descriptors of the process,
    and every other session fails. Connections have no owner before their first request, so there is no limit for each.
    """

    most_connections: int = most_connections()
    active_at: float = 0.0
    """When the client was last heard of, in the time of the event loop."""
    _head_bytes: int = 0
    _is_in_body: bool = False

    def connection_made(self, transport: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - so is uvicorn's
        """Take a connection, and close the one that waits longest if there are too many."""
        super().connection_made(transport)  # pyright: ignore[reportArgumentType] - as above
        self.active_at = self.loop.time()
        connections = cast("set[BoundedProtocol]", self.connections)
        if len(connections) > self.most_connections:
            # In the middle of a burst, a client that has just connected gets the time to send its request.
            is_full = len(connections) > 2 * self.most_connections
            latest = self.active_at if is_full else self.active_at - _GRACE_S
            waiting = [
                each for each in connections if each is not self and each.waits_for_client and each.active_at <= latest
            ]
            if waiting:
                # Aborted: closing would wait until a client that reads nothing has read everything.
                min(waiting, key=lambda each: each.active_at).transport.abort()

    @property
    def waits_for_client(self) -> bool:
        """Return whether the next thing to happen is up to the client: no request, or only a part of one."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body  # pyright: ignore[reportUnnecessaryComparison] - None before the first

    def data_received(self, data: bytes) -> None:
        """Take what the client sends; refuse a head without end before it takes any more memory."""
        self.active_at = self.loop.time()
        if not self._is_in_body:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > MOST_HEAD_BYTES and not self.transport.is_closing():
            self.transport.write(_TOO_LARGE)
            self.transport.close()

    def on_headers_complete(self) -> None:
        """Take note that a head is whole."""
        self._head_bytes, self._is_in_body = 0, True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Take note that the next bytes are a head."""
        self._is_in_body = False
        super().on_message_complete()
