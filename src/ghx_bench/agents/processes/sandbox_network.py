"""What keeps the network of a sandbox: forwards ports of its loopback through sockets that lead out of it.

It is run by itself, in an interpreter without site packages: nothing of this package can be imported. It says its
process id first; then it reads an `ADDRESS:PORT=SOCKET` a line, and answers each with an empty line when it listens, or
with what is in the way.
"""

import os
import socket
import sys
import threading
from contextlib import suppress

_BACKLOG = 128
_CHUNK = 65536


def main() -> None:
    """Forward what is asked for, until nobody asks any more."""
    answer(str(os.getpid()))
    for line in sys.stdin:
        address, _, path = line.rstrip("\n").partition("=")
        host, _, port = address.rpartition(":")
        try:
            listening = socket.create_server((host, int(port)), backlog=_BACKLOG)
        except OSError as error:
            answer(f"{address}: {error.strerror}")
            continue
        threading.Thread(target=accept, args=(listening, path), daemon=True).start()
        answer("")


def answer(text: str) -> None:
    """Write a line to the one who started this."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def accept(listening: socket.socket, path: str) -> None:
    """Connect each client of a port with a socket."""
    while True:
        client, _ = listening.accept()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            server.connect(path)
        except OSError:  # what it leads to has ended
            client.close()
            server.close()
            continue
        for ends in ((client, server), (server, client)):
            threading.Thread(target=copy, args=ends, daemon=True).start()


def copy(source: socket.socket, sink: socket.socket) -> None:
    """Pass on what one side sends, and then that it has ended."""
    with suppress(OSError):
        while chunk := source.recv(_CHUNK):
            sink.sendall(chunk)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main()
