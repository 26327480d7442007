"""HTTP without TLS, to this machine or through a unix socket, with hardly anything to import.

`ghx` spends most of its time on imports. A whole HTTP library takes longer to import than `gh` takes for a whole call,
and would not reach a server on this machine any better.
"""

from dataclasses import dataclass

import anyio
from anyio.abc import ByteStream

from ghx_tools.capabilities.transports.exchange import Request, Response
from ghx_tools.capabilities.transports.http1 import (
    ResponseReader,
    describe_loss,
    describe_refusal,
    find_server,
    serialize,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainTransport:
    """One connection for each request, to the host of its address or to a unix socket."""

    socket_path: str | None = None

    async def send(self, request: Request, *, patience_s: float) -> Response:
        """Send a request over a connection of its own."""
        host, port = find_server(request, self.socket_path)
        reader, response = ResponseReader(host), None
        with anyio.fail_after(patience_s):
            async with await self._connect(host, port) as stream:
                try:
                    await stream.send(serialize(request))
                    while response is None:
                        response = reader.feed(await _receive(stream))
                except (anyio.BrokenResourceError, OSError):
                    raise describe_loss(host) from None
        return response

    async def aclose(self) -> None:
        """Do nothing: no connection outlives its request."""

    async def _connect(self, host: str, port: int) -> ByteStream:
        try:
            if self.socket_path is not None:
                return await anyio.connect_unix(self.socket_path)
            return await anyio.connect_tcp(host, port)
        except OSError as error:
            raise describe_refusal(self.socket_path or f"{host}:{port}", error) from None


async def _receive(stream: ByteStream) -> bytes:
    try:
        return await stream.receive()
    except anyio.EndOfStream:
        return b""
