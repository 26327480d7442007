"""Pipes to the programs of sessions."""

import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio
import anyio.lowlevel
from anyio.abc import ByteReceiveStream, ByteSendStream


@dataclass(slots=True)
class PipeReader(ByteReceiveStream):
    """The reading end of a pipe."""

    file: int
    count: Callable[[int], None] | None = None
    """Called with the number of bytes that were read."""

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """Return what was written, or wait for it."""
        await anyio.lowlevel.checkpoint()
        while True:
            _require_open(self.file)
            try:
                chunk = os.read(self.file, max_bytes)
            except BlockingIOError:
                await anyio.wait_readable(self.file)
                continue
            if not chunk:
                raise anyio.EndOfStream
            if self.count is not None:
                self.count(len(chunk))
            return chunk

    async def aclose(self) -> None:
        """Close this end."""
        self.file = _close(self.file)


@dataclass(slots=True)
class PipeWriter(ByteSendStream):
    """The writing end of a pipe."""

    file: int

    async def send(self, item: bytes) -> None:
        """Write, and wait where the pipe is full."""
        await anyio.lowlevel.checkpoint()
        left = memoryview(item)
        while left:
            _require_open(self.file)
            try:
                left = left[os.write(self.file, left) :]
            except BlockingIOError:
                await anyio.wait_writable(self.file)
            except OSError as error:
                raise anyio.BrokenResourceError from error

    async def aclose(self) -> None:
        """Close this end."""
        self.file = _close(self.file)


_CLOSED = -1


def _require_open(file: int) -> None:
    if file == _CLOSED:
        raise anyio.ClosedResourceError


def _close(file: int) -> int:
    if file != _CLOSED:
        anyio.notify_closing(file)
        os.close(file)
    return _CLOSED


def open_pipes(*, with_stderr: bool) -> tuple[list[int], list[int]]:
    """Return our ends of pipes for a program's status, input, output and errors, and the other ends."""
    # A socket: a pipe could be opened by the programs of a session, by its name in `/proc`, and written to.
    reading, writing = socket.socketpair()
    reading.setblocking(False)
    ours, theirs = [reading.detach()], [writing.detach()]
    try:
        for name in ("stdin", "stdout", *(("stderr",) if with_stderr else ())):
            reading, writing = os.pipe()
            ours.append(writing if name == "stdin" else reading)
            theirs.append(reading if name == "stdin" else writing)
            os.set_blocking(ours[-1], False)
    except OSError:  # no more files may be open
        close_all([*ours, *theirs])
        raise
    return ours, theirs


def close_all(files: Sequence[int]) -> None:
    """Close files that are open."""
    for each in files:
        os.close(each)
