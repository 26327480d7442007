"""Programs started for a session, and gone with it: the whole family, also those who left the family."""

import os
import secrets
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE

import anyio
import psutil
from anyio import to_thread
from anyio.abc import Process

from ghx_bench.profiler.causes import EnvironmentFailure

MARK = "GHX_BENCH_PROCESS"
"""The variable by which descendants are recognised, whatever group, session or parent they have by now."""

_GRACE_S = 2.0
_LOOK_AGAIN_S = 0.02


@asynccontextmanager
async def program(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    directory: Path | None = None,
    stderr: int | None = DEVNULL,
    grace_s: float = _GRACE_S,
) -> AsyncGenerator[Process]:
    """Run a program with this environment and no other; on leaving, also when cancelled, its descendants are gone too.

    They are asked to end first (SIGTERM), and killed after `grace_s`. Its standard input and output are pipes; what it
    says on standard error is dropped unless asked for, since nobody may be reading. One variable is added, by which
    descendants are recognised. A program that is not there raises `FileNotFoundError`.
    """
    mark = secrets.token_hex(16)
    process = await _start(command, {**environment, MARK: mark}, directory, stderr)
    try:
        yield process
    finally:
        with anyio.CancelScope(shield=True):
            try:
                await _end_family(process, mark, grace_s)
            finally:
                await process.aclose()


async def _start(
    command: Sequence[str], environment: Mapping[str, str], directory: Path | None, stderr: int | None
) -> Process:
    """Start a program, shielded: of one that is cancelled while it starts, nobody would know the id."""
    with anyio.CancelScope(shield=True):
        return await anyio.open_process(
            list(command),
            stdin=PIPE,
            stdout=PIPE,
            stderr=stderr,
            cwd=directory,
            env=environment,
            start_new_session=True,
        )
    raise RuntimeError("nobody cancels this scope")


async def _end_family(process: Process, mark: str, grace_s: float) -> None:
    """End the program and its descendants, politely first."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if await _ended_by(number, process.pid, mark, grace_s):
            return
    raise EnvironmentFailure(f"processes started by program {process.pid} outlived SIGKILL; end them by hand")


async def _ended_by(number: int, session: int, mark: str, grace_s: float) -> bool:
    """Signal every member once, those who join late too, and say whether all are gone in time."""
    told: set[int] = set()
    latest = anyio.current_time() + grace_s
    while family := await to_thread.run_sync(_family, session, mark):
        if anyio.current_time() > latest:
            return False
        for member in family:
            if member.pid not in told:
                told.add(member.pid)
                with suppress(psutil.Error):
                    member.send_signal(number)
        await anyio.sleep(_LOOK_AGAIN_S)
    return True


def _family(session: int, mark: str) -> list[psutil.Process]:
    """Find the living members: those of the program's session, those who left it but carry the mark, and theirs."""
    alive = list(psutil.process_iter(["ppid"]))
    family = {process.pid for process in alive if _belongs(process, session, mark)}
    grew = bool(family)
    while grew:
        children = {process.pid for process in alive if process.info["ppid"] in family} - family
        family |= children
        grew = bool(children)
    return [process for process in alive if process.pid in family and _is_alive(process)]


def _belongs(process: psutil.Process, session: int, mark: str) -> bool:
    try:
        return os.getsid(process.pid) == session or process.environ().get(MARK) == mark
    except (psutil.Error, OSError):
        return False


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
