"""An executor whose workers are other processes: everything that crosses is pickled."""

import os
import pickle
import struct
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, BinaryIO

import anyio
from anyio import to_thread
from anyio.abc import Process

from ghx_profiler.contracts import WorkerSpec
from ghx_profiler.plan.blocks import Block, CellMeasured, Message, Receive

_LENGTH = struct.Struct("!Q")


@dataclass(frozen=True)
class ProcessExecutor:
    """Runs one cell at a time in each of so many processes; a block stays in one of them.

    Each is a machine of its own on rows: `process-1` and so on.
    """

    processes: int = 2
    sends_spec: bool = True
    folder: str | None = None
    """Where they are started, unless here."""

    @asynccontextmanager
    async def open(self, spec: WorkerSpec, receive: Receive) -> AsyncGenerator["_Workers"]:
        async with AsyncExitStack() as scopes:
            remote = [
                await scopes.enter_async_context(_started(spec, receive, self.folder, f"process-{number}"))
                for number in range(1, self.processes + 1)
            ]
            yield _Workers(remote)


@dataclass(frozen=True)
class _Workers:
    remote: Sequence["_Remote"]

    async def run(self, blocks: Sequence[Block]) -> None:
        waiting = iter(blocks)
        async with anyio.create_task_group() as tasks:
            for worker in self.remote:
                tasks.start_soon(worker.work_off, waiting)


@asynccontextmanager
async def _started(spec: WorkerSpec, receive: Receive, folder: str | None, machine: str) -> AsyncGenerator["_Remote"]:
    command = [sys.executable, __file__, machine]
    path = os.pathsep.join(filter(None, sys.path))
    async with await anyio.open_process(
        command, stderr=None, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}, cwd=folder
    ) as process:
        remote = _Remote(process, receive)
        try:
            await remote.send(spec)
            await remote.listen()
            yield remote
        finally:
            with anyio.CancelScope(shield=True), suppress(anyio.BrokenResourceError):
                await remote.send("leave")
                with suppress(EOFError, anyio.EndOfStream):
                    await remote.listen()


class _Remote:
    """The head's end of a worker."""

    def __init__(self, process: Process, receive: Receive) -> None:
        self._process, self._receive, self._unread = process, receive, b""

    async def work_off(self, waiting: Iterator[Block]) -> None:
        for block in waiting:
            try:
                await self.send(block)
                await self.listen()
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await self.send("stop")
                    await self.listen()
                raise

    async def listen(self) -> None:
        """Take what the worker tells until it is at rest."""
        while True:
            match await self._read():
                case "at rest":
                    return
                case BaseException() as error:
                    raise error
                case message:
                    await self._receive(message)
                    if isinstance(message, CellMeasured):
                        await self.send("on disk")

    async def send(self, value: object) -> None:
        assert self._process.stdin is not None
        content = pickle.dumps(value)
        await self._process.stdin.send(_LENGTH.pack(len(content)) + content)

    async def _read(self) -> Any:
        # What a cancelled call has read so far is kept: the next one goes on in the middle of a message.
        assert self._process.stdout is not None
        while len(self._unread) < _LENGTH.size or len(self._unread) < self._wanted():
            self._unread += await self._process.stdout.receive()
        content, self._unread = self._unread[_LENGTH.size : self._wanted()], self._unread[self._wanted() :]
        return pickle.loads(content)

    def _wanted(self) -> int:
        return _LENGTH.size + _LENGTH.unpack(self._unread[: _LENGTH.size])[0]


class _Here:
    """The worker's end: the other way round."""

    def __init__(self, given: BinaryIO, told: BinaryIO) -> None:
        self._given, self._told = given, told
        self._on_disk = anyio.Event()
        self.blocks, self.scope = anyio.create_memory_object_stream[Any](10), anyio.CancelScope()

    async def work(self) -> None:
        spec: WorkerSpec = self._read()
        async with anyio.create_task_group() as tasks:
            try:
                async with spec.open(self.receive, machine=sys.argv[1]) as worker:
                    tasks.start_soon(self._listen)
                    self._tell("at rest")
                    async for block in self.blocks[1]:
                        self.scope = anyio.CancelScope()
                        with self.scope:
                            for placed in block.cells:
                                await worker.measure(placed, block.scenario)
                        self._tell("at rest")
            except Exception as error:  # noqa: BLE001 - it is told at the other end
                self._tell(error)
            tasks.cancel_scope.cancel()
        self._tell("at rest")

    async def receive(self, message: Message) -> None:
        self._on_disk = anyio.Event()
        self._tell(message)
        if isinstance(message, CellMeasured):
            await self._on_disk.wait()

    async def _listen(self) -> None:
        while True:
            match await to_thread.run_sync(self._read, abandon_on_cancel=True):
                case "on disk":
                    self._on_disk.set()
                case "stop":
                    self.scope.cancel()
                case "leave":
                    self.blocks[0].close()
                    return
                case block:
                    await self.blocks[0].send(block)

    def _read(self) -> Any:
        (length,) = _LENGTH.unpack(self._given.read(_LENGTH.size))
        return pickle.loads(self._given.read(length))

    def _tell(self, value: object) -> None:
        content = pickle.dumps(value)
        self._told.write(_LENGTH.pack(len(content)) + content)
        self._told.flush()


async def _work_here() -> None:
    await _Here(sys.stdin.buffer, sys.stdout.buffer).work()


if __name__ == "__main__":
    anyio.run(_work_here)
