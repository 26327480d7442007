"""The server on loopback: TCP and, for `gh`, a unix socket that only its owner can open."""

import itertools
import os
import socket
import tempfile
import threading
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

import anyio.to_thread
import uvicorn

from ghx_bench._base.errors import OperationError
from ghx_bench._base.scratch import SHORT_PLACE, ScratchFolder
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.server.app import TwinApp
from ghx_bench.twin.server.connections import BoundedProtocol
from ghx_bench.twin.server.environment import ClientEnvironment, Identity, client_environment
from ghx_bench.twin.server.hosting import Hosting
from ghx_bench.twin.state.records import User
from ghx_bench.twin.viewer import EVERY_SCOPE
from ghx_bench.twin.world import World

_BACKLOG = 1024
_LONGEST_WAIT_S = 2.0
_LONGEST_PLACE = 70  # bytes; the name of a socket has 104 on macOS and 108 on Linux


class Server:
    """Worlds behind real sockets, in a thread of its own, so that synchronous programs can use it too.

    `with Server() as server:` or `async with served() as server:`; leaving the block closes the sockets and removes
    every private directory made for clients. The worlds stay open: their makers close them.
    """

    def __init__(self, *, port: int = 0) -> None:
        self.hosting = Hosting()
        self.app = TwinApp(self.hosting)
        self._port = port
        self._directory: ScratchFolder | None = None
        self._sockets: list[socket.socket] = []
        self._running: tuple[uvicorn.Server, threading.Thread] | None = None
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
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=(self._sockets,), name="ghx-twin", daemon=True)
        self._running = server, thread
        thread.start()

    def stop(self) -> None:
        """Close the sockets and remove what was made for clients."""
        if self._running is not None:
            server, thread = self._running
            server.should_exit = True
            thread.join()
        for listening in self._sockets:
            listening.close()
        if self._directory is not None:
            self._directory.remove()
        self._running, self._sockets, self._directory = None, [], None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def add(self, world: World) -> None:
        """Serve a world; the tokens it holds select it from now on."""
        self.hosting.add(world)

    def remove(self, world: World) -> None:
        """Stop serving a world; when this returns it can be closed, since no request uses it any more.

        A request that takes very long, as scripted ones may, is not waited for: it finds the world closed.
        """
        hosted = self.hosting.remove(world)
        if hosted is not None:
            hosted.open_requests.wait_for_none(_LONGEST_WAIT_S)

    def client_environment(
        self,
        world: World,
        user: User | str,
        *,
        token: str | None = None,
        scopes: Iterable[str] = EVERY_SCOPE,
        directory: Path | None = None,
    ) -> ClientEnvironment:
        """Return the environment in which the real `gh` and `git` act as `user` in `world`.

        The configuration is written into `directory`, or into a private one that goes away with the server.
        """
        person = lookup.user(world, user) if isinstance(user, str) else user
        identity = Identity(
            login=person.login,
            name=person.name or person.login,
            email=person.email or f"{person.id}+{person.login}@users.noreply.github.com",
            token=token or self.hosting.issue_token(world, person, scopes),
        )
        place = directory or self.directory / f"client-{next(self._clients)}"
        return client_environment(place, url=self.url, socket_path=self.socket_path, identity=identity)

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
