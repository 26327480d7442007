"""HTTP without TLS and without an event loop: for a process that makes one call and ends.

An event loop takes longer to import than the call itself takes. Coroutines whose transport and sleep block never wait
for one, and `run_to_end` runs them like plain functions.
"""

import socket
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from ghx_tools.capabilities.transports.exchange import Request, Response
from ghx_tools.capabilities.transports.http1 import (
    ResponseReader,
    describe_loss,
    describe_refusal,
    find_server,
    serialize,
)

T = TypeVar("T")

_CHUNK = 1 << 16


def run_to_end(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits for an event loop, and return what it returns."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise RuntimeError(f"{coroutine.__qualname__} waits for an event loop, and here is none")


async def sleep_blocking(seconds: float) -> None:
    """Sleep, and let nothing else happen meanwhile."""
    time.sleep(seconds)  # noqa: ASYNC251 - there is no event loop to hold up


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockingTransport:
    """One connection for each request, to the host of its address or to a unix socket.

    Unlike other transports it carries one request at a time, and nothing else happens meanwhile.
    """

    socket_path: str | None = None

    async def send(self, request: Request, *, patience_s: float) -> Response:
        """Send a request over a connection of its own."""
        host, port = find_server(request, self.socket_path)
        deadline = _Deadline(patience_s)
        reader, response = ResponseReader(host), None
        with self._connect(host, port, deadline) as connection:
            try:
                connection.settimeout(deadline.left_s())
                connection.sendall(serialize(request))
                while response is None:
                    connection.settimeout(deadline.left_s())
                    response = reader.feed(connection.recv(_CHUNK))
            except OSError as error:
                if _is_too_slow(error):
                    raise
                raise describe_loss(host) from None
        return response

    async def aclose(self) -> None:
        """Do nothing: no connection outlives its request."""

    def _connect(self, host: str, port: int, deadline: "_Deadline") -> socket.socket:
        try:
            if self.socket_path is None:
                return _connect_tcp(host, port, deadline)
            return _connect_unix(self.socket_path, deadline.left_s())
        except OSError as error:
            if _is_too_slow(error):
                raise
            raise describe_refusal(self.socket_path or f"{host}:{port}", error) from None


def _connect_tcp(host: str, port: int, deadline: "_Deadline") -> socket.socket:
    failure: OSError | None = None
    # One by one: given a name, `create_connection` would be as patient with each of its addresses as with the first.
    for *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        try:
            return socket.create_connection((str(address[0]), port), timeout=deadline.left_s())
        except OSError as error:
            if _is_too_slow(error):
                raise
            failure = error
    raise failure or OSError(f"{host} has no address")


def _connect_unix(path: str, patience_s: float) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(patience_s)
        connection.connect(path)
    except BaseException:
        connection.close()
        raise
    return connection


class _Deadline:
    """A moment up to which a request may take."""

    def __init__(self, patience_s: float) -> None:
        self._moment = time.monotonic() + patience_s

    def left_s(self) -> float:
        """Return the seconds that are left, or raise `TimeoutError`."""
        left_s = self._moment - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        return left_s


def _is_too_slow(error: OSError) -> bool:
    """Return whether the deadline has passed; the system's own timeouts have a number and are failures like others."""
    return isinstance(error, TimeoutError) and error.errno is None
