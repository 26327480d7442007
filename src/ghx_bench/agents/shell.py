"""One command in a real shell, as an agent's shell tool runs it."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE

import anyio
from anyio.abc import ByteReceiveStream, Process

from ghx_bench.agents.process import Household, program

MOST_BYTES = 8_000_000
"""What is kept of each stream; the rest is read and forgotten, so that the program can go on."""

_LOOK_AGAIN_S = 0.05
_LAST_WORDS_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What came of a command."""

    stdout: str
    stderr: str
    exit_code: int
    bytes_left_out: int = 0

    @property
    def output(self) -> str:
        """Everything it said, as an agent gets to see it."""
        left_out = f"({self.bytes_left_out:,} bytes left out)\n" if self.bytes_left_out else ""
        between = "\n" if self.stdout and self.stderr and not self.stdout.endswith("\n") else ""
        return f"{self.stdout}{between}{self.stderr}{left_out}"


async def run_in_shell(
    command: str,
    *,
    environment: Mapping[str, str],
    directory: Path | None = None,
    options: Sequence[str] = (),
) -> Ran:
    """Run a command in bash with this environment and no other; when it is over, or cancelled, its family is gone."""
    async with shell_of(command, environment=environment, directory=directory, options=options) as process:
        return await outcome_of(process)


def shell_of(
    command: str,
    *,
    environment: Mapping[str, str],
    directory: Path | None = None,
    options: Sequence[str] = (),
    members: Household | None = None,
) -> AbstractAsyncContextManager[Process]:
    """Start bash with a command; leaving the block ends what the command left in the background."""
    words = ["bash", *options, "-c", command]
    return program(words, environment=environment, directory=directory, stderr=PIPE, members=members)


async def outcome_of(process: Process) -> Ran:
    """Wait until a command is over, which is when its shell is: what it left in the background is not waited for."""
    said, complained = _Heard(), _Heard()
    await _listen(process, said, complained)
    code = process.returncode
    return Ran(
        stdout=said.text,
        stderr=complained.text,
        exit_code=await process.wait() if code is None else code,
        bytes_left_out=said.left_out + complained.left_out,
    )


@dataclass(slots=True)
class _Heard:
    chunks: list[bytes] = field(default_factory=list[bytes])
    kept: int = 0
    left_out: int = 0

    def hear(self, chunk: bytes) -> None:
        keep = chunk[: MOST_BYTES - self.kept]
        self.chunks.append(keep)
        self.kept += len(keep)
        self.left_out += len(chunk) - len(keep)

    @property
    def text(self) -> str:
        return b"".join(self.chunks).decode(errors="replace")


async def _listen(process: Process, said: _Heard, complained: _Heard) -> None:
    """Hear both streams to their end, or as long as the shell lives: a child in the background may keep them open."""
    if process.stdin is not None:
        await process.stdin.aclose()  # a command that asks for something must not wait for an answer
    async with anyio.create_task_group() as watching:
        watching.start_soon(_stop_with, process, watching.cancel_scope)
        async with anyio.create_task_group() as listening:
            for stream, heard in ((process.stdout, said), (process.stderr, complained)):
                if stream is not None:
                    listening.start_soon(_hear, stream, heard)
        watching.cancel_scope.cancel()


async def _hear(stream: ByteReceiveStream, heard: _Heard) -> None:
    async for chunk in stream:
        heard.hear(chunk)


async def _stop_with(process: Process, listening: anyio.CancelScope) -> None:
    """Stop listening soon after the shell ended; looked at now and then, since `wait` also waits for open streams."""
    while process.returncode is None:  # noqa: ASYNC110 - there is no event for it
        await anyio.sleep(_LOOK_AGAIN_S)
    await anyio.sleep(_LAST_WORDS_S)
    listening.cancel()
