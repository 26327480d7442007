"""Bytes on a socket, for requests that no client library would send."""

import contextlib
import socket
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass(frozen=True)
class RawReply:
    """An HTTP answer taken apart by hand."""

    status: int
    headers: dict[str, str]
    content: bytes


@dataclass
class RawClient:
    """Sends exact bytes to a served twin, with a token that it accepts."""

    url: str
    token: str
    host: str = "api.github.com"
    _open: list[socket.socket] = field(default_factory=list)

    def connect(self) -> socket.socket:
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        assert parts.port is not None
        connection = socket.create_connection((parts.hostname, parts.port), timeout=300)
        self._open.append(connection)
        return connection

    def close(self) -> None:
        for connection in self._open:
            connection.close()

    def head(self, line: bytes, *headers: bytes) -> bytes:
        """Return a request line and headers, with credentials and without the empty line at the end."""
        known = (f"Host: {self.host}".encode(), f"Authorization: token {self.token}".encode(), b"Connection: close")
        return b"\r\n".join((line, *known, *headers)) + b"\r\n"

    def ask(self, line: bytes, *headers: bytes, body: bytes = b"") -> RawReply:
        """Send a request with these headers and this body, as they are."""
        return self.exchange(self.head(line, *headers) + b"\r\n" + body)

    def exchange(self, content: bytes) -> RawReply:
        """Send bytes, say that no more will come, and read until the server closes."""
        connection = self.connect()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may answer before it has read all
            connection.sendall(content)
        return parse(read_all(connection))


def read_all(connection: socket.socket) -> bytes:
    received = bytearray()
    with contextlib.suppress(ConnectionResetError):
        while chunk := connection.recv(65536):
            received += chunk
    return bytes(received)


def parse(content: bytes) -> RawReply:
    head, _, rest = content.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    status = int(first.split(" ")[1]) if first.startswith("HTTP/1.") else 0
    return RawReply(status, headers, rest)
