"""HTTP without TLS, to this machine or through a unix socket, with hardly anything to import.

The command line spends most of its time on imports. A whole HTTP library costs more of it than `gh` takes for all it
does, and speaks to a server on this machine no better than this.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

import anyio
from anyio.abc import ByteStream
from httptools import HttpParserError, HttpResponseParser

from ghx_bench.capabilities.errors import UnreachableError
from ghx_bench.capabilities.transports.exchange import Request, Response

_HTTP_PORT = 80


class _Answer:
    """Gathers an answer while it is parsed."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.parts: list[bytes] = []
        self.has_all_headers = False
        self.is_complete = False

    def on_header(self, name: bytes, value: bytes) -> None:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text

    def on_headers_complete(self) -> None:
        self.has_all_headers = True

    def on_body(self, body: bytes) -> None:
        self.parts.append(body)

    def on_message_complete(self) -> None:
        self.is_complete = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainTransport:
    """One connection for each request, to the host of its address or to a unix socket."""

    socket_path: str | None = None

    async def send(self, request: Request) -> Response:
        """Send a request over a connection of its own."""
        place = urlsplit(request.url)
        host, port = place.hostname or "", place.port or _HTTP_PORT
        if place.scheme != "http" and self.socket_path is None:
            problem = (
                f"{host} is asked over {place.scheme}, and a server without TLS led there; ask it by its own address"
            )
            raise UnreachableError(problem, sent=False, retryable=False)
        async with await self._connected(host, port) as stream:
            target = f"{place.path or '/'}?{place.query}" if place.query else place.path or "/"
            try:
                await stream.send(_written(request, target, place.netloc.rpartition("@")[2]))
                return await _read(stream.receive)
            except (anyio.BrokenResourceError, anyio.EndOfStream, OSError):
                raise UnreachableError(f"{host} closed the connection before it answered", sent=True) from None
            except HttpParserError:
                raise UnreachableError(f"{host} answered something that is not HTTP", sent=True) from None

    async def aclose(self) -> None:
        """Do nothing: no connection outlives its request."""

    async def _connected(self, host: str, port: int) -> ByteStream:
        try:
            if self.socket_path is not None:
                return await anyio.connect_unix(self.socket_path)
            return await anyio.connect_tcp(host, port)
        except OSError as error:
            place = self.socket_path or f"{host}:{port}"
            reason = error.strerror or "no connection"
            raise UnreachableError(f"cannot reach GitHub at {place}: {reason}", sent=False) from None


def _written(request: Request, target: str, host: str) -> bytes:
    headers = {"Host": host, **request.headers, "Connection": "close", "Content-Length": str(len(request.body))}
    lines = [f"{request.method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + request.body


async def _read(receive: Callable[[], Awaitable[bytes]]) -> Response:
    """Read up to the end of the answer; one without a length ends with its connection."""
    answer = _Answer()
    parser = HttpResponseParser(answer)
    while not answer.is_complete:
        try:
            parser.feed_data(await receive())
        except anyio.EndOfStream:
            if not answer.has_all_headers or answer.headers.keys() & {"content-length", "transfer-encoding"}:
                raise
            break
    return Response(status=parser.get_status_code(), headers=answer.headers, body=b"".join(answer.parts))
