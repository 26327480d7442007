"""HTTP without TLS, to this machine or through a unix socket, with hardly anything to import.

`ghx` spends most of its time on imports. A whole HTTP library takes longer to import than `gh` takes for a whole call,
and would not reach a server on this machine any better.
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


class _ParsedResponse:
    """The parts of a response, filled by the parser."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.parts: list[bytes] = []
        self.has_all_headers = False
        self.is_complete = False

    def on_header(self, name: bytes, value: bytes) -> None:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        # A header that comes twice is one list, by the rules of HTTP.
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
            # A server on this machine redirected to one with TLS; without it, the request could be read on its way.
            problem = (
                f"{host} is asked over {place.scheme}, and a server without TLS led there; ask it by its own address"
            )
            raise UnreachableError(problem, sent=False, retryable=False)
        async with await self._connect(host, port) as stream:
            target = f"{place.path or '/'}?{place.query}" if place.query else place.path or "/"
            try:
                await stream.send(_serialize(request, target, place.netloc.rpartition("@")[2]))
                return await _read(stream.receive)
            except (anyio.BrokenResourceError, anyio.EndOfStream, OSError):
                raise UnreachableError(f"{host} closed the connection before it answered", sent=True) from None
            except HttpParserError:
                raise UnreachableError(f"{host} answered something that is not HTTP", sent=True) from None

    async def aclose(self) -> None:
        """Do nothing: no connection outlives its request."""

    async def _connect(self, host: str, port: int) -> ByteStream:
        try:
            if self.socket_path is not None:
                return await anyio.connect_unix(self.socket_path)
            return await anyio.connect_tcp(host, port)
        except OSError as error:
            place = self.socket_path or f"{host}:{port}"
            reason = error.strerror or "no connection"
            raise UnreachableError(f"cannot reach GitHub at {place}: {reason}", sent=False) from None


def _serialize(request: Request, target: str, host: str) -> bytes:
    # Closed by the server after the response: no connection outlives its request, so there is no pool to manage.
    headers = {"Host": host, **request.headers, "Connection": "close", "Content-Length": str(len(request.body))}
    lines = [f"{request.method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + request.body


async def _read(receive: Callable[[], Awaitable[bytes]]) -> Response:
    """Return the response, read to its end."""
    parsed = _ParsedResponse()
    parser = HttpResponseParser(parsed)
    while not parsed.is_complete:
        try:
            parser.feed_data(await receive())
        except anyio.EndOfStream:
            # Without a length a response ends with its connection; with one, this is only a part of it.
            if not parsed.has_all_headers or parsed.headers.keys() & {"content-length", "transfer-encoding"}:
                raise
            break
    return Response(status=parser.get_status_code(), headers=parsed.headers, body=b"".join(parsed.parts))
