"""The server on loopback: TCP, a unix socket that only its owner can open, and a proxy for each client.

How many connections there are, and how much of a request is read before it is one, is bounded.
"""

import asyncio
import itertools
import os
import resource
import socket
import struct
import tempfile
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

import anyio.to_thread
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ghx_base.errors import OperationError
from ghx_base.files.scratch import SHORT_PLACE, ScratchFolder
from ghx_twin.commands.actions import progress
from ghx_twin.queries import lookup
from ghx_twin.server.app import WORLD_OF_CONNECTION, TwinApp
from ghx_twin.server.clients.environment import ClientEnvironment, Endpoints, Identity, client_environment
from ghx_twin.server.clients.proxy import Proxy
from ghx_twin.server.exchange import RESET_OF_CONNECTION
from ghx_twin.server.hosting import Hosting
from ghx_twin.server.request import MOST_HEADER_BYTES
from ghx_twin.server.run_progress import finish_runs
from ghx_twin.state.records import User
from ghx_twin.urls import GITHUB_HOSTS
from ghx_twin.viewer import EVERY_SCOPE
from ghx_twin.world import World

if TYPE_CHECKING:  # loads a library that takes 50 ms, when the first client needs it
    from ghx_twin.server.clients.authority import Certificates

_BACKLOG = 1024
_LONGEST_WAIT_S = 2.0
_LONGEST_PLACE = 70  # bytes; the name of a socket has 104 on macOS and 108 on Linux

MOST_HEAD_BYTES = 4 * MOST_HEADER_BYTES
"""Of a request line and headers together; below that, the app itself answers to headers that are too large."""

_GRACE_S = 2.0
_NO_LINGERING = struct.pack("ii", 1, 0)  # what the kernel still holds is dropped, and the other side is told so
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
    and every other session fails. Who has most connections gives way first, so that nobody loses the ones they keep for
    later to somebody else's thousand.
    """

    most_connections: int = most_connections()
    active_at: float = 0.0
    """When the client was last heard of, in the time of the event loop."""
    owner: object = None
    """The world that the connection is for, else the credentials of its first request; None before that."""
    _head_bytes: int = 0
    _is_in_body: bool = False

    def connection_made(self, transport: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - so is uvicorn's
        """Take a connection, and close the one that waits longest if there are too many."""
        super().connection_made(transport)  # pyright: ignore[reportArgumentType] - as above
        self.active_at, self.owner = self.loop.time(), self.app_state.get(WORLD_OF_CONNECTION)
        self.app_state = {**self.app_state, RESET_OF_CONNECTION: self.reset}
        connections = cast("set[BoundedProtocol]", self.connections)
        if len(connections) > self.most_connections:
            # In the middle of a burst, a client that has just connected gets the time to send its request.
            is_full = len(connections) > 2 * self.most_connections
            latest = self.active_at if is_full else self.active_at - _GRACE_S
            waiting = [
                each for each in connections if each is not self and each.waits_for_client and each.active_at <= latest
            ]
            if waiting:
                shares = Counter(each.owner for each in connections)
                # Aborted: closing would wait until a client that reads nothing has read everything.
                min(waiting, key=lambda each: (-shares[each.owner], each.active_at)).transport.abort()

    @property
    def waits_for_client(self) -> bool:
        """Return whether the next thing to happen is up to the client: no request, or only a part of one."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body  # pyright: ignore[reportUnnecessaryComparison] - None before the first

    def reset(self) -> None:
        """End the connection with a reset, as a server that broke down does, and not with a goodbye."""
        opened = self.transport.get_extra_info("socket")
        if opened is not None and opened.family != socket.AF_UNIX:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGERING)
        self.transport.abort()

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
        if self.owner is None:
            self.owner = next((value for name, value in self.headers if name == b"authorization"), None)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Take note that the next bytes are a head."""
        self._is_in_body = False
        super().on_message_complete()


class Server:
    """Worlds behind real sockets, in a thread of its own, so that synchronous programs can use it too.

    `with Server() as server:` or `async with served() as server:`; leaving the block closes the sockets and removes
    every private directory made for clients. The worlds stay open: their makers close them.
    """

    def __init__(self, *, port: int = 0) -> None:
        self.hosting = Hosting(uses_threads=True)
        self.app = TwinApp(self.hosting)
        self._port = port
        self._directory: ScratchFolder | None = None
        self._sockets: list[socket.socket] = []
        self._running: _Running | None = None
        self._certificates: Certificates | None = None
        self._proxies: dict[int, list[Proxy]] = {}  # by the id() of the world
        self._clients = itertools.count(1)

    @property
    def url(self) -> str:
        """Return the address of the API and of git on TCP, without a slash at its end."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def directory(self) -> Path:
        """Return the private directory of this server: its unix socket and its clients' configuration."""
        if self._directory is None:
            raise RuntimeError("the server has not been started")
        return self._directory.path

    @property
    def socket_path(self) -> Path:
        """Return the unix socket that `gh` talks to."""
        return self.directory / "twin.sock"

    def start(self) -> None:
        """Open the sockets and serve until `stop`; clients may connect as soon as this returns."""
        # The path of a unix socket is short: a long TMPDIR leaves no room for its name.
        is_long = len(os.fsencode(tempfile.gettempdir())) > _LONGEST_PLACE
        self._directory = ScratchFolder(SHORT_PLACE if is_long else None)
        try:
            self._sockets = [self._listen_on_tcp(), self._listen_on_unix()]
        except OSError as error:
            self.stop()
            problem = f"cannot listen on 127.0.0.1:{self._port}: {error.strerror or error}; name another port"
            raise OperationError(problem) from error
        config = uvicorn.Config(
            self.app,
            http=BoundedProtocol,
            ws="none",
            lifespan="off",
            loop="asyncio",
            access_log=False,
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        self._running = _Running(uvicorn.Server(config), self._sockets)

    def stop(self) -> None:
        """Close the sockets and remove what was made for clients."""
        for world in tuple(self._proxies):
            self._close_proxies(world)
        if self._running is not None:
            self._running.stop()
        for listening in self._sockets:
            listening.close()
        if self._directory is not None:
            self._directory.remove()
        self._running, self._sockets, self._directory, self._certificates = None, [], None, None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def add(self, world: World, *, is_default: bool = False) -> None:
        """Serve a world; the tokens it holds select it from now on, and with `is_default` also no token at all.

        Through the proxy of a client it is known anyway which world is meant.
        """
        self.hosting.add(world, is_default=is_default)

    def remove(self, world: World) -> None:
        """Stop serving a world; when this returns it can be closed, since no request uses it any more.

        A request that takes very long, as scripted ones may, is not waited for: it finds the world closed.
        """
        self._close_proxies(id(world))
        hosted = self.hosting.remove(world)
        if hosted is not None:
            hosted.open_requests.wait_for_none(_LONGEST_WAIT_S)

    def finish_runs(self, world: World) -> None:
        """Play all runs of a world to their end, while none of its requests writes."""
        hosted = self.hosting.find(world)
        if hosted is None or self._running is None:
            progress.finish(world)
        else:
            asyncio.run_coroutine_threadsafe(finish_runs(hosted), self._running.loop).result()

    def client_environment(
        self,
        world: World,
        user: User | str,
        *,
        token: str | None = None,
        token_name: str | None = None,
        scopes: Iterable[str] = EVERY_SCOPE,
        directory: Path | None = None,
        reachable_hosts: Iterable[str] = (),
    ) -> ClientEnvironment:
        """Return the environment in which every client finds GitHub under its own names, and acts as `user` in `world`.

        The configuration is written into `directory`, or into a private one that goes away with the server. Other
        hosts are refused, but for `reachable_hosts` and this machine, which clients go to by themselves. The proxy in
        it lasts until the world is removed. A token that is not given is issued, and journalled as `token_name`.
        """
        person = lookup.user(world, user) if isinstance(user, str) else user
        identity = Identity(
            login=person.login,
            name=person.name or person.login,
            email=person.email or f"{person.id}+{person.login}@users.noreply.github.com",
            token=token or self.hosting.issue_token(world, person, scopes, name=token_name),
        )
        place = directory or self.directory / f"client-{next(self._clients)}"
        certificates = self.prepare_certificates()
        endpoints = Endpoints(
            url=self.url,
            socket_path=self.socket_path,
            proxy_url=self._open_proxy(world, person.login, certificates).url,
            authority=certificates.authority,
            bundle=certificates.bundle,
        )
        return client_environment(place, endpoints=endpoints, identity=identity, reachable_hosts=tuple(reachable_hosts))

    def prepare_certificates(self) -> "Certificates":
        """Return what this server shows its clients, made when it is first asked for."""
        if self._certificates is None:
            # Loading the library takes 50 ms, which `serve` and servers without clients do not need.
            from ghx_twin.server.clients.authority import make_certificates  # noqa: PLC0415 - see above

            self._certificates = make_certificates(self.directory, GITHUB_HOSTS)
        return self._certificates

    def _open_proxy(self, world: World, login: str, certificates: "Certificates") -> Proxy:
        if self._running is None:
            raise RuntimeError("the server has not been started")
        proxy = Proxy(
            login=login,
            journal=world.journal,
            watch=lambda: world.watch,
            context=certificates.context,
            loop=self._running.loop,
            make_protocol=partial(self._running.make_protocol, world),
        )
        self._proxies.setdefault(id(world), []).append(proxy)
        return proxy

    def _close_proxies(self, world: int) -> None:
        for proxy in self._proxies.pop(world, ()):
            proxy.close()

    def _listen_on_tcp(self) -> socket.socket:
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # else Nagle stays on
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", self._port))
        except OSError:
            listening.close()
            raise
        listening.listen(_BACKLOG)
        self._port = listening.getsockname()[1]
        return listening

    def _listen_on_unix(self) -> socket.socket:
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listening.bind(str(self.socket_path))  # in a directory that only we can enter, so the next line is in time
        self.socket_path.chmod(0o600)
        listening.listen(_BACKLOG)
        return listening


class _Running:
    """The HTTP server in a thread, and the event loop that it shares with the proxies."""

    def __init__(self, server: uvicorn.Server, sockets: list[socket.socket]) -> None:
        self.loop = asyncio.new_event_loop()
        self._server = server
        self._thread = threading.Thread(target=self._run, args=(sockets,), name="ghx-twin", daemon=True)
        self._thread.start()

    def make_protocol(self, world: World) -> asyncio.Protocol:
        """Return what speaks HTTP on a new connection to a world; ending the server ends it too."""
        state = {WORLD_OF_CONNECTION: world}
        return BoundedProtocol(self._server.config, self._server.server_state, app_state=state)

    def stop(self) -> None:
        """End the server, and wait until it has ended."""
        self._server.should_exit = True
        self._thread.join()

    def _run(self, sockets: list[socket.socket]) -> None:
        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
            runner.run(self._server.serve(sockets))


@asynccontextmanager
async def served(*worlds: World, port: int = 0) -> AsyncGenerator[Server]:
    """Serve worlds for the length of a block of asynchronous code."""
    server = Server(port=port)
    for world in worlds:
        server.add(world)
    await anyio.to_thread.run_sync(server.start)
    try:
        yield server
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(server.stop)
