"""The way from the meter to a model's provider: HTTP/1.1 on connections that are kept.

Not httpx2: a bare proxy over it added 21 ms to a call on loopback, and one over its httpcore2 1.1 ms, where the whole
meter over this adds half a millisecond.
"""

import asyncio
import base64
import ipaddress
import ssl
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol, cast
from urllib.parse import SplitResult, unquote, urlsplit

import httptools

from ghx_base.errors import InputError
from ghx_profiler.records.model_calls import WireKind

Headers = Sequence[tuple[bytes, bytes]]

_CONNECT_S = 30.0
_IDLE_S = 30.0
_MOST_BUFFERED = 2**18


class UpstreamLostError(Exception):
    """The provider could not be reached, or hung up before its answer was complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamRequest:
    """A request to a provider; the path follows the base URL of the wire, as agents are given it."""

    session_name: str
    """The name under which the session is recorded and replayed."""
    wire: WireKind
    method: str
    path: str
    query: str
    headers: Headers
    body: bytes


class UpstreamAnswer(Protocol):
    """What a provider answers: the head first, then the body as it comes."""

    @property
    def status(self) -> int:
        """The status of the response."""
        ...

    @property
    def headers(self) -> Headers:
        """The headers of the response, as they came."""
        ...

    async def read(self) -> bytes:
        """Return the next bytes, as many as there are; none at the end. Raise `UpstreamLostError` if it was cut."""
        ...

    def close(self) -> None:
        """Let go of the answer; one that has not come to its end is cut off, also under a `read` that is waiting."""
        ...


class Upstream(Protocol):
    """Where model calls go."""

    def session(
        self, name: str, *, secrets: Iterable[str] = (), keys: Iterable[str] = ()
    ) -> AbstractContextManager[None]:
        """Hold what a session needs for as long as it lasts.

        Its secrets, and keys of model APIs, must stand in nothing that is written.
        """
        ...

    async def send(self, request: UpstreamRequest) -> UpstreamAnswer:
        """Send a request, and return the answer as soon as its head is there."""
        ...

    def close(self) -> None:
        """Close what is kept open."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpProxy:
    """The proxy through which this machine reaches others."""

    host: str
    port: int
    headers: Headers = field(default=(), repr=False)
    """The headers that it needs, such as a password."""

    @classmethod
    def at(cls, address: str) -> "HttpProxy":
        """Return the proxy at an address: `http://user:password@host:port`, or only a part of that."""
        url = _split_address(address if "://" in address else f"http://{address}")
        if url is None or url.scheme != "http" or not url.hostname:
            place = "at an address that is none" if url is None else f"{url.scheme}://{url.netloc.rpartition('@')[2]}"
            raise InputError(
                f"the model is to be asked through the proxy {place}, and only proxies at http://host:port are known; "
                "set HTTPS_PROXY to one, or name the model's host in NO_PROXY"
            )
        headers: list[tuple[bytes, bytes]] = []
        if url.username is not None:
            secret = f"{unquote(url.username)}:{unquote(url.password or '')}"
            headers.append((b"proxy-authorization", b"Basic " + base64.b64encode(secret.encode())))
        return cls(host=url.hostname, port=url.port or 80, headers=headers)

    @classmethod
    def find(cls, base_url: str, environment: Mapping[str, str]) -> "HttpProxy | None":
        """Return the proxy that variables name for an address, as most programs read them; `None` without one."""
        if (url := _split_address(base_url)) is None:
            return None
        variables = {name.lower(): value for name, value in environment.items() if name.isupper()}
        variables |= {name: value for name, value in environment.items() if name.islower()}
        address = variables.get(f"{url.scheme}_proxy") or variables.get("all_proxy")
        host = url.hostname or ""
        exceptions = [each.strip().lower().lstrip(".") for each in variables.get("no_proxy", "").split(",")]
        port = url.port or (443 if url.scheme == "https" else 80)
        names = {"*", host, f"{host}:{port}", *(host[at + 1 :] for at, each in enumerate(host) if each == ".")}
        # A proxy on another machine would look for this one's loopback on itself.
        return None if not address or names & set(exceptions) or _is_loopback(host) else cls.at(address)


def _split_address(address: str) -> SplitResult | None:
    """Return the parts of an address; `None` if it has a host or a port that cannot be one."""
    try:
        url = urlsplit(address)
        _ = url.port  # which is read only now
    except ValueError:
        return None
    return url


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class HttpUpstream:
    """A provider at an address, as its own clients take it: `https://api.openai.com/v1`, `https://api.anthropic.com`.

    To be used in one event loop. A request on a kept connection that the provider has closed meanwhile is sent again on
    a new one; nothing else is, since retrying is the agent's to decide.
    """

    def __init__(self, base_url: str, proxy: HttpProxy | None = None) -> None:
        url = _split_address(base_url.rstrip("/"))
        if url is None or url.scheme not in ("http", "https") or not url.hostname:
            raise InputError(f"model provider: {base_url!r} is no address; write it as https://host or https://host/v1")
        self._tls = ssl.create_default_context() if url.scheme == "https" else None
        self._host, self._port = url.hostname, url.port or (80 if self._tls is None else 443)
        self._authority, self._path = url.netloc.rpartition("@")[2], url.path
        self._proxy = proxy
        self._idle: list[_Connection] = []

    def session(
        self,
        name: str,  # noqa: ARG002 - the contract's signature, as below
        *,
        secrets: Iterable[str] = (),  # noqa: ARG002
        keys: Iterable[str] = (),  # noqa: ARG002
    ) -> AbstractContextManager[None]:
        """Hold nothing."""
        return nullcontext()

    async def send(self, request: UpstreamRequest) -> UpstreamAnswer:
        """Send a request, and return the connection that its answer comes on."""
        content = self._write(request)
        while (connection := self._take_idle()) is not None:
            try:
                return await connection.ask(content)
            except UpstreamLostError:
                if connection.has_answered:
                    raise
        return await (await self._connect()).ask(content)

    def close(self) -> None:
        """Close the connections that are kept."""
        for each in self._idle:
            each.transport.abort()
        self._idle.clear()

    def _write(self, request: UpstreamRequest) -> bytes:
        # The base URL of OpenAI's wires ends in the version, which agents are given after the prefix of their session.
        path = request.path.removeprefix("/v1") if request.wire.startswith("openai") else request.path
        target = f"{self._path}{path}{'?' if request.query else ''}{request.query}"
        headers = [(b"host", self._authority.encode()), *request.headers]
        if self._proxy is not None and self._tls is None:
            target, headers = f"http://{self._authority}{target}", [*headers, *self._proxy.headers]
        lines = [f"{request.method} {target} HTTP/1.1".encode()]
        lines += [name + b": " + value for name, value in headers]
        if request.body or request.method == "POST":
            lines.append(b"content-length: %d" % len(request.body))
        # One write: two would wait for each other where Nagle's algorithm meets delayed acknowledgements.
        return b"\r\n".join(lines) + b"\r\n\r\n" + request.body

    def _take_idle(self) -> "_Connection | None":
        while self._idle:
            connection = self._idle.pop()
            if not connection.transport.is_closing() and time.monotonic() - connection.idle_since < _IDLE_S:
                return connection
            connection.transport.abort()
        return None

    async def _connect(self) -> "_Connection":
        loop, proxy = asyncio.get_running_loop(), self._proxy
        connection = _Connection(loop, self._idle)
        try:
            async with asyncio.timeout(_CONNECT_S):
                if proxy is not None and self._tls is not None:
                    tunnel = await self._open_tunnel(proxy)
                    secured = await loop.start_tls(tunnel, connection, self._tls, server_hostname=self._host)
                    connection.connection_made(cast("asyncio.BaseTransport", secured))
                else:
                    host, port = (self._host, self._port) if proxy is None else (proxy.host, proxy.port)
                    await loop.create_connection(lambda: connection, host, port, ssl=self._tls)
        except (OSError, TimeoutError) as error:
            words = str(error) or f"no connection within {_CONNECT_S:.0f} s"
            way = "" if proxy is None else f" through the proxy {proxy.host}:{proxy.port}"
            raise UpstreamLostError(f"cannot reach {self._authority}{way}: {words}") from error
        return connection

    async def _open_tunnel(self, proxy: HttpProxy) -> asyncio.Transport:
        """Ask a proxy for a way to the provider that it cannot look into."""
        loop = asyncio.get_running_loop()
        transport, tunnel = await loop.create_connection(lambda: _Tunnel(loop.create_future()), proxy.host, proxy.port)
        place = f"{self._host}:{self._port}".encode()
        headers = [(b"host", place), *proxy.headers]
        lines = [b"CONNECT " + place + b" HTTP/1.1", *(name + b": " + value for name, value in headers)]
        transport.write(b"\r\n".join(lines) + b"\r\n\r\n")
        try:
            await tunnel.opened
        except BaseException:
            transport.abort()
            raise
        return transport


class _Tunnel(asyncio.Protocol):
    """What a proxy answers before it passes on whatever comes; `opened` is done when it does."""

    def __init__(self, opened: asyncio.Future[None]) -> None:
        self.opened = opened
        self._head = bytearray()

    def data_received(self, data: bytes) -> None:
        self._head += data
        if b"\r\n\r\n" not in self._head or self.opened.done():
            return
        first = self._head.partition(b"\r\n")[0].decode("latin-1")
        if first.split(maxsplit=2)[1:2] == ["200"]:
            self.opened.set_result(None)
        else:
            self.opened.set_exception(ConnectionRefusedError(f"it answers {first!r}"))

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.opened.done():
            self.opened.set_exception(exc or ConnectionResetError("it hung up"))


@dataclass(slots=True)
class _Head:
    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list[tuple[bytes, bytes]])


class _Connection(asyncio.Protocol):
    """A connection to a provider, and the answer that is coming on it."""

    transport: asyncio.Transport

    def __init__(self, loop: asyncio.AbstractEventLoop, idle: list["_Connection"]) -> None:
        self._loop, self._pool = loop, idle
        self.idle_since = 0.0
        self.has_answered = False
        self._begin()

    def _begin(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._head = _Head()
        self._body = bytearray()
        self._has_head = self._is_complete = self._is_kept = self._is_lost = self._is_released = False
        self._waiter: asyncio.Future[None] | None = None

    @property
    def status(self) -> int:
        return self._head.status

    @property
    def headers(self) -> Headers:
        return self._head.headers

    async def ask(self, content: bytes) -> "_Connection":
        """Send a request, and wait for the head of its answer."""
        self._begin()
        self.has_answered = False
        self.transport.write(content)
        try:
            while not self._has_head:
                await self._wait()
        except BaseException:
            self.transport.abort()
            raise
        return self

    async def read(self) -> bytes:
        """Return the next bytes of the body."""
        while not self._body:
            if self._is_complete:
                return b""
            await self._wait()
        content = bytes(self._body)
        self._body.clear()
        self.transport.resume_reading()
        return content

    def close(self) -> None:
        """Keep the connection for the next request, or cut off an answer that is still coming."""
        if self._is_released:
            return
        self._is_released = True
        if self._is_complete and self._is_kept and not self.transport.is_closing():
            self.idle_since = time.monotonic()
            self._pool.append(self)
        else:
            self.transport.abort()

    async def _wait(self) -> None:
        if self._is_lost:
            when = "in the middle of its answer" if self._has_head else "before it answered"
            raise UpstreamLostError(f"the model's provider closed the connection {when}")
        self._waiter = self._loop.create_future()
        await self._waiter

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.has_answered = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._is_lost = True
            self.transport.abort()
        if len(self._body) > _MOST_BUFFERED:
            self.transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        names = {name.lower() for name, _ in self._head.headers}
        if self._has_head and not names & {b"content-length", b"transfer-encoding"} and exc is None:
            self._is_complete = True  # such a body ends with its connection
        self._is_lost = True
        self._wake()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head.headers.append((name, value))

    def on_headers_complete(self) -> None:
        self._head.status = self._parser.get_status_code()
        self._has_head = self._head.status >= 200  # noqa: PLR2004 - `100 Continue` and its kind come before the answer

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        if self._has_head:
            # Read now: afterwards the parser returns `False`.
            self._is_complete, self._is_kept = True, self._parser.should_keep_alive()
        else:
            self._head = _Head()
