"""A server that answers with bytes from a script, and remembers what it was sent."""

import json
import socket
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedServer:
    """Where it listens, and what it got."""

    url: str
    requests: list[bytes] = field(default_factory=list)


@contextmanager
def scripted_server(answers: Sequence[bytes], *, socket_path: Path | None = None) -> Generator[ScriptedServer]:
    """Answer each connection with the next bytes, then close it."""
    family = socket.AF_INET if socket_path is None else socket.AF_UNIX
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.bind(("127.0.0.1", 0) if socket_path is None else str(socket_path))
        listening.listen()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}" if socket_path is None else "http://api.github.com"
        server = ScriptedServer(url=url)
        thread = threading.Thread(target=_serve, args=(listening, answers, server.requests), daemon=True)
        thread.start()
        yield server
        thread.join(timeout=10)


def json_answer(status: int, body: object = None, **headers: str) -> bytes:
    """Write an answer of JSON as a server does."""
    content = json.dumps({} if body is None else body)
    lines = [f"{name}: {value}" for name, value in {"Content-Length": str(len(content)), **headers}.items()]
    return "\r\n".join([f"HTTP/1.1 {status} X", *lines, "", content]).encode()


def _serve(listening: socket.socket, answers: Sequence[bytes], requests: list[bytes]) -> None:
    for answer in answers:
        connection, _ = listening.accept()
        with connection:
            requests.append(_request(connection))
            connection.sendall(answer)


def _request(connection: socket.socket) -> bytes:
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65536)
    head, _, body = received.partition(b"\r\n\r\n")
    lines = [line.lower() for line in head.split(b"\r\n")]
    length = next((int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:")), 0)
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body
