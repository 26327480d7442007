"""The proxy of one client: GitHub under its own names, with TLS, and no way to any other host."""

import asyncio
import re
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from ghx_base.clock import timestamp
from ghx_twin.journal import Entry, Journal
from ghx_twin.urls import GITHUB_HOSTS
from ghx_twin.watch import SentWatch

_END_OF_HEAD = b"\r\n\r\n"
_MOST_HEAD_BYTES = 64 * 1024
_BACKLOG = 256
MOST_UNANSWERED = 128
"""Connections of one client that lead nowhere yet."""
_MOST_BODY_BYTES = 1024 * 1024  # of what is meant for another host, and is looked through
_LONGEST_BODY_S = 2.0
_LONGEST_GOODBYE_S = 0.1  # how long a client may take to agree that its connection ends; stopping waits for it
_HOST = r"\[[0-9A-Fa-f:.]+\]|[\w.-]+"
_PLACE = re.compile(rf"({_HOST}):(\d{{1,5}})", re.ASCII)
_ORIGIN = re.compile(rf"http://([^/?#@]*@)?({_HOST})(:\d{{1,5}})?(?=[/?#]|$)", re.ASCII | re.IGNORECASE)
_HTTPS_PORT = "443"


class Proxy:
    """A port on loopback for one client, served in the event loop of the server.

    A port of its own, because a request for another host carries no token of GitHub's: nothing else says in whose
    journal it belongs. What is for GitHub is decrypted here and handed to the server's own protocol, without another
    connection in between.
    """

    def __init__(
        self,
        *,
        login: str,
        journal: Journal,
        watch: Callable[[], SentWatch | None],
        context: ssl.SSLContext,
        loop: asyncio.AbstractEventLoop,
        make_protocol: Callable[[], asyncio.Protocol],
    ) -> None:
        self.context, self.make_protocol = context, make_protocol
        self.unanswered: dict[_Connection, None] = {}  # in the order in which they came
        self.has_ended = False
        self._login, self._journal, self._loop = login, journal, loop
        self._watch = watch
        # Named as TCP, or asyncio leaves Nagle's algorithm on, and every handshake waits 40 ms for an acknowledgement.
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.bind(("127.0.0.1", 0))
        listening.listen(_BACKLOG)
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        # Not waited for: a client that connects before the loop has come to it waits in the backlog.
        starting = loop.create_server(lambda: _Connection(self), sock=listening)
        self._starting = asyncio.run_coroutine_threadsafe(starting, loop)

    def close(self) -> None:
        """Accept no more connections, and end those that lead nowhere yet; what GitHub is asked, it still answers."""
        self._starting.add_done_callback(lambda started: self._loop.call_soon_threadsafe(self._stop, started.result()))

    def _stop(self, server: asyncio.Server) -> None:
        # First no more are accepted: of one that has just been accepted and has no transport yet, asyncio would lose
        # the socket, and its client wait for ever.
        for listening in server.sockets:
            self._loop.remove_reader(listening.fileno())
        self._loop.call_soon(self._end, server)

    def _end(self, server: asyncio.Server) -> None:
        server.close()
        self.has_ended = True
        for connection in tuple(self.unanswered):
            connection.abort()

    @property
    def watch(self) -> SentWatch | None:
        """Who is shown what the client asks of other hosts, if anybody is."""
        watch = self._watch()
        return watch if watch is not None and watch.login == self._login else None

    def journal_refusal(self, head: "_Head", place: str) -> None:
        """Add a request for a host that is not GitHub's to the journal of the client's world."""
        self._journal.add(
            Entry(
                at=timestamp(datetime.now(UTC)),
                surface="proxy",
                actor=self._login,
                method=head.method,
                path=place,
                operation=f"{head.method} {place}",
                status=403,
                failed=True,
                mutation=False,
                duration_ms=0,
                request_bytes=0,
                response_bytes=0,
                user_agent=head.headers.get("user-agent"),
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    """The request line and the headers that a client sends to the proxy itself."""

    method: str
    target: str
    headers: Mapping[str, str]

    @property
    def is_chunked(self) -> bool:
        return "chunked" in self.headers.get("transfer-encoding", "").lower()

    @property
    def body_bytes(self) -> int:
        """How many bytes are to follow; of a body in chunks, more than anybody sends."""
        announced = self.headers.get("content-length", "")
        return _MOST_BODY_BYTES if self.is_chunked else int(announced) if announced.isdigit() else 0


class _Connection(asyncio.Protocol):
    """A connection to the proxy, until it is refused or has become one to GitHub."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._received = bytearray()
        self._transport: asyncio.Transport | None = None
        self._handshake: asyncio.Task[None] | None = None
        self._refused: tuple[_Head, str] | None = None  # whose body is awaited, to be looked through

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the head of a request."""
        self._transport = cast("asyncio.Transport", transport)
        if self._proxy.has_ended:  # accepted before that, and only now its turn to be served
            self._transport.abort()
            return
        waiting = self._proxy.unanswered
        waiting[self] = None
        if len(waiting) > MOST_UNANSWERED:  # one that sends nothing gives way, before descriptors run out for all
            next(iter(waiting)).abort()

    def data_received(self, data: bytes) -> None:
        """Answer as soon as the head of the request is whole."""
        self._received += data
        if self._handshake is not None:  # already of the request inside the tunnel, which gets it when it is open
            return
        if self._refused is not None:
            self._inspect_body(is_complete=False)
            return
        content, end, rest = self._received.partition(_END_OF_HEAD)
        if not end:
            if len(content) > _MOST_HEAD_BYTES:
                self._reply(431, "Request Header Fields Too Large")
            return
        head = _parse_head(content.decode("latin-1"))
        if head is None:
            self._reply(400, "Bad Request")
        elif head.method == "CONNECT":
            self._connect(head, early=bytes(rest))
        else:
            self._answer_plain(head)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's signature
        """Forget the connection."""
        self._transport = None
        self._proxy.unanswered.pop(self, None)

    def abort(self) -> None:
        """End the connection at once."""
        self._proxy.unanswered.pop(self, None)
        if self._transport is not None:
            self._transport.abort()

    def _connect(self, head: _Head, *, early: bytes) -> None:
        place = _PLACE.fullmatch(head.target)
        if place is None or early:  # what follows must be encrypted, and nobody can do that before our answer
            self._reply(400, "Bad Request")
        elif place[1].lower() in GITHUB_HOSTS and place[2] == _HTTPS_PORT:
            self._handshake = asyncio.get_running_loop().create_task(self._open_tunnel())
        else:
            self._refuse(head, head.target.lower())

    def _answer_plain(self, head: _Head) -> None:
        """Answer a request without TLS: GitHub sends clients on to https."""
        match = _ORIGIN.match(head.target)
        if match is None:  # the port itself was asked, and not to lead anywhere
            self._reply(400, "This is a proxy for GitHub: name it in HTTPS_PROXY")
        elif match[2].lower() in GITHUB_HOSTS and match[3] in {None, ":80"}:
            self._reply(301, "Moved Permanently", location=f"https://{match[2]}{head.target[match.end() :]}")
        else:
            # Without path and query, which may hold somebody's secrets.
            place = f"http://{match[2]}{match[3] or ''}".lower()
            if self._proxy.watch is None:
                self._refuse(head, place)
            else:
                self._await_body(head, place)

    def _await_body(self, head: _Head, place: str) -> None:
        """Refuse a request once its body has come, or as much of it as is looked through."""
        self._refused = head, place
        if "100-continue" in head.headers.get("expect", "").lower() and self._transport is not None:
            self._transport.write(b"HTTP/1.1 100 Continue" + _END_OF_HEAD)
        asyncio.get_running_loop().call_later(_LONGEST_BODY_S, lambda: self._inspect_body(is_complete=True))
        self._inspect_body(is_complete=False)

    def _inspect_body(self, *, is_complete: bool) -> None:
        if self._refused is None or self._transport is None:
            return
        head, place = self._refused
        body = bytes(self._received.partition(_END_OF_HEAD)[2])
        has_ended = head.is_chunked and body.endswith(b"0" + _END_OF_HEAD)
        if not (is_complete or has_ended) and len(body) < min(head.body_bytes, _MOST_BODY_BYTES):
            return
        self._refused = None
        if (watch := self._proxy.watch) is not None:
            # The body last, and chunks as they are: the lines between them are separators like any other.
            watch.look(f"{head.method} {place}", head.target, *head.headers.values(), body)
        self._refuse(head, place)

    def _refuse(self, head: _Head, place: str) -> None:
        if head.method == "CONNECT" and (watch := self._proxy.watch) is not None:
            watch.look(f"CONNECT {place}", place)
        self._proxy.journal_refusal(head, place)
        # Also the reason: of a refused CONNECT, most clients show that, and few the body.
        self._reply(403, f"{place} cannot be reached from here, only GitHub can")

    def _reply(self, status: int, reason: str, *, location: str | None = None) -> None:
        if self._transport is None:
            return
        body = f"{reason}\n".encode()
        lines = [
            f"HTTP/1.1 {status} {reason}",
            *([] if location is None else [f"Location: {location}"]),
            "Content-Type: text/plain; charset=utf-8",
            f"Content-Length: {len(body)}",
            "Connection: close",
        ]
        self._transport.write("\r\n".join(lines).encode("latin-1") + _END_OF_HEAD + body)
        self._transport.close()

    async def _open_tunnel(self) -> None:
        if self._transport is None:
            return
        self._received.clear()
        self._transport.write(b"HTTP/1.1 200 Connection established" + _END_OF_HEAD)
        try:
            tunnel = await asyncio.get_running_loop().start_tls(
                self._transport,
                self,
                self._proxy.context,
                server_side=True,
                ssl_shutdown_timeout=_LONGEST_GOODBYE_S,
            )
        except OSError:  # a client that does not trust us, or went away
            self.abort()
            return
        self._proxy.unanswered.pop(self, None)
        if tunnel is None or tunnel.is_closing():  # the client left while we were not looking
            return
        protocol = self._proxy.make_protocol()
        tunnel.set_protocol(protocol)
        protocol.connection_made(tunnel)
        # A client may have sent its request along with the end of the handshake, before there was a protocol for it.
        if self._received:
            protocol.data_received(bytes(self._received))


def _parse_head(text: str) -> _Head | None:
    """Return the head of a request; None if it is not HTTP."""
    first, *rest = text.split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):  # noqa: PLR2004 - method, target and version
        return None
    pairs = (line.partition(":") for line in rest)
    return _Head(
        method=words[0].upper(),
        target=words[1],
        headers={name.strip().lower(): value.strip() for name, _, value in pairs},
    )
