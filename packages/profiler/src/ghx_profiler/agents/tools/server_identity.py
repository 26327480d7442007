"""The identity of an MCP server, queried over its pipes without the SDK, whose loading takes longer than the answer."""

import json
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE
from typing import Any, cast

import anyio
from anyio.abc import ByteReceiveStream, Process
from anyio.streams.text import TextReceiveStream

from ghx_base.errors import ungrouped
from ghx_profiler.agents.processes.process import program
from ghx_profiler.agents.tools.toolset import McpServer
from ghx_profiler.records.causes import EnvironmentFailure, describe_error

_LAST_LINES = 5
_FRAME = "".join(map(chr, range(0x2500, 0x2580)))
"""Characters that frames are drawn with, as around a banner, a traceback or an error message."""
_PATIENCE_S = 0.5
_LONGEST_LINE = 64 << 20  # in characters
_MOST_OTHER = 4 << 20  # characters before the first message, such as a banner: with more, the server is not starting
_OUR_ID = 0
_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": _OUR_ID,
    "method": "initialize",
    "params": {
        # A server that does not know this version answers with one that it knows.
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "ghx-bench", "version": "1"},
    },
}
_UNKNOWN_METHOD = {"code": -32601, "message": "this client only asks who the server is"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerIdentity:
    """The name and version that a server reports; `None` without them."""

    name: str | None
    version: str | None


class StderrTail:
    """The last lines of a server's standard error, which usually explain why it did not start."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=_LAST_LINES)
        self._has_ended = anyio.Event()

    async def read(self, stream: ByteReceiveStream) -> None:
        """Read until the server ends."""
        async for line in lines_of(stream):
            text = line.strip().strip(_FRAME).strip()
            if text:
                self._lines.append(text)
        self._has_ended.set()

    async def wait(self) -> None:
        """Wait until the server has written everything, but not for a child of it that keeps the pipe open."""
        with anyio.move_on_after(_PATIENCE_S):
            await self._has_ended.wait()

    def forget(self) -> None:
        """Drop the lines so far: a banner at the start does not explain why a later call failed."""
        self._lines.clear()

    @property
    def last_line(self) -> str:
        """The last of the lines: the error itself at the end of a traceback; empty without output."""
        return self._lines[-1] if self._lines else ""

    @property
    def text(self) -> str:
        """The lines in one."""
        return " | ".join(self._lines)

    def failure(self, what: str, error: BaseException | None = None) -> EnvironmentFailure:
        """Return an error with the event and its cause: the server's own output, if any."""
        reason = self.text or ("" if error is None else describe_error(error))
        return EnvironmentFailure(f"{what}: {reason}" if reason else what)

    def start_failure(self, name: str, server: McpServer, error: BaseException) -> EnvironmentFailure:
        """Return the error of a server that does not come up; its address is as the mode has it."""
        # Not as the session has it, since what `${NAME}` stands for may be a secret.
        address = " ".join(server.words) if server.url is None else server.url
        return self.failure(f"the MCP server {name!r} ({address}) does not come up", error)


async def ask_identity(
    name: str, server: McpServer, *, environment: Mapping[str, str], directory: Path
) -> ServerIdentity:
    """Start a server, query its identity, and end it; raise `EnvironmentFailure` if it does not start.

    The server is one with a command. It gets the environment and its own variables, and nothing of this process.
    """
    here, last_words = server.in_session(environment), StderrTail()
    answer: Mapping[str, Any] = {}
    try:
        with ungrouped():
            async with (
                program(here.words, environment=here.environment, directory=directory, stderr=PIPE) as process,
                anyio.create_task_group() as tasks,
            ):
                if process.stderr is not None:
                    tasks.start_soon(last_words.read, process.stderr)
                answer = await _shake_hands(process, last_words)
                tasks.cancel_scope.cancel()
        return _identity_in(answer)
    except (OSError, ValueError) as error:
        raise last_words.start_failure(name, server, error) from error


async def _shake_hands(process: Process, last_words: StderrTail) -> Mapping[str, Any]:
    """Send the first request of every session and return its answer; whatever else the server sends is put off."""
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("a program was started without its pipes")
    with suppress(anyio.BrokenResourceError):  # it has ended: the rest of its output is read
        await process.stdin.send(_line(_INITIALIZE))
    other = 0
    async for line in lines_of(process.stdout):
        message = parse_line(line)
        other += 0 if message else len(line) + 1
        if other > _MOST_OTHER:
            raise ValueError(f"it writes what is no message of the protocol, without end: {line.strip()[:40]!r}")
        if "method" not in message and message.get("id") == _OUR_ID:
            return message
        if message.get("method") == _INITIALIZE["method"]:
            raise ValueError("it sends back what it is sent, as no MCP server does")
        if "method" in message and "id" in message:
            # Only a ping is allowed before the answer; a server that waits for another reply gets an error.
            reply: dict[str, Any] = {"result": {}} if message["method"] == "ping" else {"error": _UNKNOWN_METHOD}
            with suppress(anyio.BrokenResourceError):  # it has stopped reading: the rest of its output is read
                await process.stdin.send(_line({"jsonrpc": "2.0", "id": message["id"], **reply}))
    await last_words.wait()
    raise ConnectionError("it ended without an answer")


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _identity_in(answer: Mapping[str, Any]) -> ServerIdentity:
    match answer:
        case {"result": {"protocolVersion": str(), "serverInfo": {"name": str(name), "version": str(version)}}}:
            return ServerIdentity(name=name, version=version)
        case {"result": {"protocolVersion": str()}}:
            return ServerIdentity(name=None, version=None)
        case {"error": {"message": str(message)}}:
            raise ValueError(f"it refuses to start a session: {message}")
        case _:
            raise ValueError("its answer to `initialize` is not one of the protocol")


def parse_line(line: str) -> dict[str, Any]:
    """Return the JSON object on a line; an empty one for any other line, which programs print by mistake."""
    try:
        # Not by pydantic, which refuses half of a character, and agents stream such halves.
        message: object = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", message) if isinstance(message, dict) else {}


async def lines_of(stream: ByteReceiveStream) -> AsyncIterator[str]:
    """Yield the lines of a stream of bytes; the last one also without its end, an endless one in pieces."""
    # Parts are joined once, where their line ends: adding each to a text would copy a long line for every 64 kB of it.
    parts: list[str] = []
    length = 0
    async for text in TextReceiveStream(stream, errors="replace"):
        *ends, rest = text.split("\n")
        for end in ends:
            yield "".join((*parts, end))
            parts, length = [], 0
        parts.append(rest)
        length += len(rest)
        if length > _LONGEST_LINE:
            yield "".join(parts)
            parts, length = [], 0
    if length:
        yield "".join(parts)
