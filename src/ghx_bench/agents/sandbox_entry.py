"""The first program in a sandbox: forwards ports of its loopback through sockets, and becomes the session's program.

It runs by itself, in an interpreter without site packages: nothing of this package can be imported. The arguments are
one `ADDRESS:PORT=SOCKET` for each port, `--`, and the command.
"""

# The modules in C, without the layers above them, which take as long to load as the interpreter itself: every command
# of a session waits for this file. Those layers are loaded in the forwarding process, which no command waits for.
import _signal  # pyright: ignore[reportMissingImports] - has no description of its own
import os
import sys
from _socket import AF_INET, SHUT_WR, SO_REUSEADDR, SOCK_STREAM, SOL_SOCKET, socket

_BACKLOG = 128
_CHUNK = 65536


def main(arguments: list[str]) -> None:
    """Listen, leave the forwarding to a process of its own, and become the command."""
    end = arguments.index("--")
    listening = [listen(each) for each in arguments[:end]]
    if listening:
        fork_forwarding(listening)
    # Ignored up to here, and by the forwarding process for good: a program that is asked to end may still have to tell
    # somebody.
    _signal.signal(_signal.SIGTERM, _signal.SIG_DFL)  # pyright: ignore[reportUnknownMemberType] - as above
    command = arguments[end + 1 :]
    try:
        os.execvpe(command[0], command, read_environment())  # noqa: S606 - the very purpose
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


def read_environment() -> dict[bytes, bytes]:
    """Return the variables that the session's program is to have."""
    # As the kernel has them: this interpreter adds one where the locale is "C". PWD is bubblewrap's.
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 - see above
        pairs = [each.partition(b"=") for each in file.read().split(b"\0") if each]
    return {name: value for name, _, value in pairs if name != b"PWD"}


def listen(forward: str) -> tuple[int, str]:
    """Open the port that an argument names; return its descriptor, and the socket that it leads to."""
    address, _, path = forward.partition("=")
    host, _, port = address.rpartition(":")
    listening = socket(AF_INET, SOCK_STREAM)
    listening.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
    listening.bind((host, int(port)))
    listening.listen(_BACKLOG)
    return listening.detach(), path


def fork_forwarding(listening: list[tuple[int, str]]) -> None:
    """Start a process that forwards, and belongs to the first process of the sandbox."""
    # Forked twice for that: the command would have a child that it does not know, and may wait for.
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        for descriptor, _ in listening:
            os.close(descriptor)
        return
    if os.fork() == 0:
        forward(listening)
    os._exit(0)


def forward(listening: list[tuple[int, str]]) -> None:
    """Forward connections until the sandbox ends."""
    import threading  # noqa: PLC0415 - see above

    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)  # who reads the command's output waits until no process has it open
    accepting = [threading.Thread(target=accept, args=each) for each in listening]
    for each in accepting:
        each.start()
    for each in accepting:
        each.join()


def accept(descriptor: int, path: str) -> None:
    """Connect each client of a port with a socket."""
    import socket  # noqa: PLC0415 - see above
    import threading  # noqa: PLC0415 - the same

    port = socket.socket(fileno=descriptor)
    while True:
        client, _ = port.accept()
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


def copy(source: socket, sink: socket) -> None:
    """Pass on what one side sends, and then that it has ended."""
    from contextlib import suppress  # noqa: PLC0415 - see above

    with suppress(OSError):
        while chunk := source.recv(_CHUNK):
            sink.sendall(chunk)
    with suppress(OSError):
        sink.shutdown(SHUT_WR)


if __name__ == "__main__":
    main(sys.argv[1:])
