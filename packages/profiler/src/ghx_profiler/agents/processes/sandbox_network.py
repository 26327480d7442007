"""What keeps the network of a sandbox: forwards ports of its loopback through sockets that lead out of it.

It is run by itself, in an interpreter without site packages: nothing of this package can be imported. It prints its
process id first; then it reads an `ADDRESS:PORT=SOCKET` a line, and answers each with an empty line when it listens, or
with what is in the way.
"""

import os
import socket
import sys
import threading
import time
from contextlib import suppress

_BACKLOG = 128
_CHUNK = 65536
_MOST_CONNECTIONS = 384
"""Concurrent connections, each with two files and two threads; others wait. Often a process may open 1,024 files."""
_PAUSE_S = 0.1


def main() -> None:
    """Forward connections until the listener is closed."""
    places = threading.BoundedSemaphore(_MOST_CONNECTIONS)
    answer(str(os.getpid()))
    for line in sys.stdin:
        address, _, path = line.rstrip("\n").partition("=")
        host, _, port = address.rpartition(":")
        try:
            listening = socket.create_server((host, int(port)), backlog=_BACKLOG)
        except OSError as error:
            answer(f"{address}: {error.strerror}")
            continue
        threading.Thread(target=accept, args=(listening, path, places), daemon=True).start()
        answer("")


def answer(text: str) -> None:
    """Write a line to the parent process."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def accept(listening: socket.socket, path: str, places: threading.BoundedSemaphore) -> None:
    """Connect each client of a port with a socket, as soon as there is a place for it."""
    while True:
        places.acquire()
        try:
            client, _ = listening.accept()
        except OSError:  # it went away again, or no more files may be open: some are closed sooner or later
            places.release()
            time.sleep(_PAUSE_S)
            continue
        try:
            threading.Thread(target=connect, args=(client, path, places), daemon=True).start()
        except RuntimeError:  # no more threads may be started
            client.close()
            places.release()
            time.sleep(_PAUSE_S)


def connect(client: socket.socket, path: str, places: threading.BoundedSemaphore) -> None:
    """Connect a client with a socket, until both sides have ended."""
    try:
        # An error on either side: the target has ended, or no files or threads are left.
        with client, suppress(OSError, RuntimeError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            server.connect(path)
            back = threading.Thread(target=copy, args=(server, client), daemon=True)
            back.start()
            copy(client, server)
            back.join()
    finally:
        places.release()


def copy(source: socket.socket, sink: socket.socket) -> None:
    """Pass on what one side sends, and then that it has ended."""
    with suppress(OSError):
        while chunk := source.recv(_CHUNK):
            sink.sendall(chunk)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main()
