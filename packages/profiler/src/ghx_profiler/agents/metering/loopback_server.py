"""An ASGI application on a free port of loopback, in a thread of its own."""

import asyncio
import socket
import threading
from collections.abc import Callable, Sequence

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

_BACKLOG = 1024
_GRACE_S = 1.0
_KEEP_ALIVE_S = 3600  # an agent may think for long between calls, and a connection closed under its hands is an error


class LoopbackServer:
    """Serves from `start` to `stop`; clients may connect as soon as `start` has returned.

    Only uvicorn's protocol, and not its server, which looks ten times a second whether it is to end.
    `on_stop` is called in the event loop of the server, `loop`, when nothing is served any more.
    """

    def __init__(self, app: ASGIApp, *, name: str, on_stop: Callable[[], None] | None = None) -> None:
        self._config = uvicorn.Config(
            app,
            http=_Protocol,
            ws="none",
            lifespan="off",
            interface="asgi3",
            access_log=False,
            log_config=None,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
        )
        self.loop = asyncio.new_event_loop()
        self.port = 0
        self._stopping, self._on_stop = asyncio.Event(), on_stop
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def url(self) -> str:
        """Return the address, without a slash at its end."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Listen, and serve until `stop`."""
        self._listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # else Nagle stays on
        self._listening.bind(("127.0.0.1", 0))
        self._listening.listen(_BACKLOG)
        self.port = self._listening.getsockname()[1]
        self._thread.start()

    def stop(self) -> None:
        """Cut off what is going on, and wait until the server has ended."""
        self.loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._config.load()
        state = ServerState()
        server = await self.loop.create_server(
            lambda: _Protocol(self._config, state, self._stopping), sock=self._listening
        )
        await self._stopping.wait()
        # First no more are accepted: of one that has just been accepted and has no transport yet, asyncio would lose
        # the socket, and its client wait for ever.
        self.loop.remove_reader(self._listening.fileno())
        await asyncio.sleep(0)
        server.close()
        for connection in tuple(state.connections):
            connection.transport.abort()
        if state.tasks:
            await asyncio.wait(state.tasks, timeout=_GRACE_S)  # they see that their connection is gone
        if self._on_stop is not None:
            self._on_stop()


async def read_body(receive: Receive, *, most_bytes: int) -> bytes | None:
    """Return the body of a request, of one that is too large more than `most_bytes`; `None` if its client went away."""
    body = bytearray()
    while len(body) <= most_bytes:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    return bytes(body)


async def reply(send: Send, status: int, body: bytes, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
    """Answer a request with JSON."""
    all_headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": all_headers})
    await send({"type": "http.response.body", "body": body})


async def cut_off(scope: Scope, receive: Receive) -> None:
    """Close the connection of a request in the middle of its response, as a provider does that breaks down."""
    scope["state"]["transport"].abort()
    while (await receive())["type"] != "http.disconnect":
        pass


class _Protocol(HttpToolsProtocol):
    """Passes the connection to the application, which ASGI does not: the only way to cut a response off."""

    def __init__(self, config: uvicorn.Config, state: ServerState, stopping: asyncio.Event) -> None:
        super().__init__(config, state, app_state={})
        self._stopping = stopping

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        if self._stopping.is_set():  # accepted before that, and only now its turn to be served
            transport.abort()

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self.scope.setdefault("state", {})["transport"] = self.transport
