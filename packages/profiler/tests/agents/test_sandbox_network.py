"""Ports of a sandbox lead out of it for as many clients as there is place for; the others wait."""

import socket
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from ghx_profiler.agents.processes import sandbox_network

pytestmark = pytest.mark.process


@pytest.fixture
def server(tmp_path: Path) -> Generator[socket.socket]:
    """A socket that clients are led to."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(tmp_path / "socket"))
        listening.listen()
        listening.settimeout(30)
        yield listening


def forward(server: socket.socket, listening: Any = None, *, places: int = 2) -> int:
    """Forward a port to a socket, and return its number."""
    own = listening or socket.create_server(("127.0.0.1", 0))
    arguments = (own, server.getsockname(), threading.BoundedSemaphore(places))
    threading.Thread(target=sandbox_network.accept, args=arguments, daemon=True).start()
    return own.getsockname()[1]


def converse(port: int, server: socket.socket) -> bytes:
    """Send something through, and return the answer to it."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.sendall(b"hello")
        client.shutdown(socket.SHUT_WR)
        served, _ = server.accept()
        with served:
            served.sendall(served.recv(100) + b" heard")
            served.shutdown(socket.SHUT_WR)
            return client.recv(100)


def test_more_clients_than_there_is_place_for_wait_until_others_have_ended(server: socket.socket) -> None:
    port = forward(server, places=2)
    clients = [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(3)]
    first, second = server.accept()[0], server.accept()[0]
    server.settimeout(0.3)
    with pytest.raises(TimeoutError):
        server.accept()
    server.settimeout(30)
    for each in (first, clients[0], clients[1]):
        each.close()
    third, _ = server.accept()
    for each in (second, third, clients[2]):
        each.close()

    assert converse(port, server) == b"hello heard"


class OutOfFiles:
    """A listening socket that finds no file for its first client."""

    def __init__(self) -> None:
        self._own = socket.create_server(("127.0.0.1", 0))
        self._errors = [OSError(24, "Too many open files")]

    def getsockname(self) -> Any:
        return self._own.getsockname()

    def accept(self) -> Any:
        if self._errors:
            raise self._errors.pop()
        return self._own.accept()


def test_a_port_goes_on_after_there_were_no_more_files(server: socket.socket) -> None:
    assert converse(forward(server, OutOfFiles()), server) == b"hello heard"


def test_a_port_goes_on_after_there_were_no_more_threads(
    server: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = forward(server)
    really_start = threading.Thread.start

    def start(self: threading.Thread) -> None:
        monkeypatch.setattr(threading.Thread, "start", really_start)
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    with socket.create_connection(("127.0.0.1", port), timeout=30) as refused:
        assert refused.recv(1) == b""

    assert converse(port, server) == b"hello heard"
