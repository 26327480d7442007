"""A client that costs next to nothing: prepared bytes on one connection, one request after the other."""

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A server and a token that it accepts."""

    url: str
    token: str

    def request(self, method: str, path: str, body: object = None) -> bytes:
        """Return the bytes of a request."""
        content = b"" if body is None else json.dumps(body).encode()
        lines = [
            f"{method} {path} HTTP/1.1",
            f"Host: {urlsplit(self.url).netloc}",
            f"Authorization: Bearer {self.token}",
            "Content-Type: application/json",
            f"Content-Length: {len(content)}",
        ]
        return "\r\n".join([*lines, "", ""]).encode() + content

    def connect(self) -> "Connection":
        """Open a connection."""
        parts = urlsplit(self.url)
        if parts.hostname is None or parts.port is None:
            raise ValueError(f"no host and port in {self.url}")
        return Connection(socket.create_connection((parts.hostname, parts.port)))

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """Ask once, on a connection of its own."""
        with self.connect() as connection:
            return connection.ask(self.request(method, path, body))


class Connection:
    """One keep-alive connection."""

    def __init__(self, opened: socket.socket) -> None:
        self._socket = opened
        if opened.family != socket.AF_UNIX:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._read = bytearray()

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, request: bytes) -> tuple[int, bytes]:
        """Send a request and return status and body of its answer."""
        self._socket.sendall(request)
        while (end := self._read.find(b"\r\n\r\n")) < 0:
            self._more()
        head = bytes(self._read[:end]).decode("latin-1").lower()
        del self._read[: end + 4]
        status = int(head[9:12])
        if "transfer-encoding: chunked" in head:
            return status, self._chunks()
        return status, self._exactly(int(head.partition("content-length:")[2].split("\r\n")[0] or 0))

    def _chunks(self) -> bytes:
        content = b""
        while True:
            while (end := self._read.find(b"\r\n")) < 0:
                self._more()
            size = int(bytes(self._read[:end]), 16)
            del self._read[: end + 2]
            content += self._exactly(size + 2)[:-2]
            if size == 0:
                return content

    def _exactly(self, size: int) -> bytes:
        while len(self._read) < size:
            self._more()
        content = bytes(self._read[:size])
        del self._read[:size]
        return content

    def _more(self) -> None:
        received = self._socket.recv(1 << 18)
        if not received:
            raise ConnectionError("the server closed the connection")
        self._read += received


def latencies(target: Target, request: bytes, times: int) -> list[float]:
    """Return the seconds that each of many requests took, one after the other."""
    with target.connect() as connection:
        _expect_success(connection, request)
        return [_timed(connection, request) for _ in range(times)]


def throughput(target: Target, request: bytes, times: int, clients: int) -> float:
    """Return requests per second with several clients at once."""
    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(lambda _: latencies(target, request, times // clients - 1), range(clients)))
    return times / (time.perf_counter() - began)


def _timed(connection: Connection, request: bytes) -> float:
    began = time.perf_counter()
    connection.ask(request)
    return time.perf_counter() - began


def _expect_success(connection: Connection, request: bytes) -> None:
    status, content = connection.ask(request)
    if status >= 400 or b'"errors":' in content[:40]:
        raise SystemExit(f"{request[:80]!r} was answered {status}: {content[:300]!r}")
