"""Messages of the Model Context Protocol over the pipes of a program of ours.

The SDK can start programs itself, but gives them variables of this process, and does not find those of their
descendants who left their group.
"""

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import PIPE

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from anyio.streams.text import TextReceiveStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from ghx_bench.agents.process import program
from ghx_bench.profiler.causes import EnvironmentFailure, describe_error

_LAST_LINES = 5
_PATIENCE_S = 0.5

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]
"""What the SDK calls a transport: what comes in, and what goes out."""


class LastWords:
    """The end of what a server says on its standard error: why it did not come up, usually."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=_LAST_LINES)
        self._all_said = anyio.Event()

    async def hear(self, stream: ByteReceiveStream) -> None:
        """Listen until the server ends."""
        async for line in _lines_of(stream):
            if line.strip():
                self._lines.append(line.strip())
        self._all_said.set()

    async def all_said(self) -> None:
        """Wait until the server has said everything, but not for a child of its that keeps the pipe open."""
        with anyio.move_on_after(_PATIENCE_S):
            await self._all_said.wait()

    def failure(self, what: str, error: BaseException | None = None) -> EnvironmentFailure:
        """Return an error that says what happened and why: in the server's own words, if it said anything."""
        reason = " | ".join(self._lines) or ("" if error is None else describe_error(error))
        return EnvironmentFailure(f"{what}: {reason}" if reason else what)


@asynccontextmanager
async def over_pipes(
    command: Sequence[str], *, environment: Mapping[str, str], directory: Path | None, last_words: LastWords
) -> AsyncGenerator[Streams]:
    """Start a server and hand its messages to and fro; on leaving, it and its descendants are gone."""
    async with program(command, environment=environment, directory=directory, stderr=PIPE) as process:
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise RuntimeError("a program was started without its pipes")
        incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        sent, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        async with received, sent, anyio.create_task_group() as pipes:
            pipes.start_soon(_receive, process.stdout, incoming, last_words)
            pipes.start_soon(_send, outgoing, process.stdin)
            pipes.start_soon(last_words.hear, process.stderr)
            try:
                yield received, sent
            finally:
                pipes.cancel_scope.cancel()


async def _lines_of(stream: ByteReceiveStream) -> AsyncIterator[str]:
    rest = ""
    async for text in TextReceiveStream(stream, errors="replace"):
        *lines, rest = (rest + text).split("\n")
        for line in lines:
            yield line
    if rest:
        yield rest


async def _receive(
    stream: ByteReceiveStream, incoming: MemoryObjectSendStream[SessionMessage | Exception], last_words: LastWords
) -> None:
    """Hand on what the server says, one message a line; a line that is none is handed on as the error it is."""
    async with incoming:
        async for line in _lines_of(stream):
            try:
                message = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
            except ValueError as error:
                await incoming.send(error)
            else:
                await incoming.send(message)
        await last_words.all_said()  # before the other side learns that it ended


async def _send(outgoing: MemoryObjectReceiveStream[SessionMessage], stream: ByteSendStream) -> None:
    async with outgoing:
        async for message in outgoing:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                await stream.send(f"{text}\n".encode())
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return  # the server is gone, which the reading side learns as well
