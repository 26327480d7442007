"""Programs started for a session, and gone with it: the whole family, also those who left the family."""

import itertools
import os
import secrets
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
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


class Household:
    """The programs of one session: of each, what it leaves behind is ended with it, and the rest with the session.

    Looking for runaways means looking at every process of the machine, which takes longer than most commands do:
    behind a command that was not cut short it is only done where the command left somebody in its group.
    """

    def __init__(self) -> None:
        self._mark = secrets.token_hex(16)
        self._counted = itertools.count(1)
        self._started: dict[int, str] = {}  # the mark of each program, by its number

    async def start(
        self, command: Sequence[str], environment: Mapping[str, str], directory: Path | None, stderr: int | None
    ) -> Process:
        """Start a program, shielded: of one that is cancelled while it starts, nobody would know the id."""
        with anyio.CancelScope(shield=True):
            mark = f"{self._mark}.{next(self._counted)}."
            process = await _start(command, {**environment, MARK: mark}, directory, stderr)
            self._started[process.pid] = mark
            return process
        raise RuntimeError("nobody cancels this scope")

    async def end(self, process: Process, grace_s: float, *, runaways: bool) -> None:
        """End a program and what it left behind; its runaways too, which are known by the mark, if that is wanted."""
        if runaways or _has_group(process.pid):
            mark = self._started[process.pid] if runaways else None
            await _end_family(_Family(sessions=frozenset({process.pid}), mark=mark), grace_s)

    async def end_all(self, grace_s: float) -> None:
        """End whatever is left of all programs."""
        if self._started:
            # A number that somebody has again is not ours any more: it is not given out while our session is there.
            left = frozenset(number for number in self._started if not psutil.pid_exists(number))
            await _end_family(_Family(sessions=left, mark=self._mark), grace_s)


@asynccontextmanager
async def household(*, grace_s: float = _GRACE_S) -> AsyncGenerator[Household]:
    """Hold the programs of one session; on leaving, also when cancelled, nobody of them is left."""
    members = Household()
    try:
        yield members
    finally:
        with anyio.CancelScope(shield=True):
            await members.end_all(grace_s)


@asynccontextmanager
async def program(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    directory: Path | None = None,
    stderr: int | None = DEVNULL,
    grace_s: float = _GRACE_S,
    members: Household | None = None,
) -> AsyncGenerator[Process]:
    """Run a program with this environment and no other; on leaving, also when cancelled, its descendants are gone too.

    They are asked to end first (SIGTERM), and killed after `grace_s`. Its standard input and output are pipes; what it
    says on standard error is dropped unless asked for, since nobody may be reading. One variable is added, by which
    descendants are recognised. A program that is not there raises `FileNotFoundError`.

    Of a program in a household, those descendants who left its group by themselves may stay as long as that, unless it
    is cut short.
    """
    house, to_its_end = members or Household(), False
    process = await house.start(command, environment, directory, stderr)
    try:
        yield process
        to_its_end = True
    finally:
        with anyio.CancelScope(shield=True):
            try:
                await house.end(process, grace_s, runaways=members is None or not to_its_end)
            finally:
                await process.aclose()


async def _start(
    command: Sequence[str], environment: Mapping[str, str], directory: Path | None, stderr: int | None
) -> Process:
    return await anyio.open_process(
        list(command),
        stdin=PIPE,
        stdout=PIPE,
        stderr=stderr,
        cwd=directory,
        env=environment,
        start_new_session=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Family:
    """Who belongs together: the members of these sessions, whose mark begins like this, and their descendants."""

    sessions: frozenset[int]
    mark: str | None

    def living(self) -> list[psutil.Process]:
        """Find the members that are alive."""
        ours = psutil.Process().create_time()
        alive = [
            each for each in psutil.process_iter(["ppid", "create_time"]) if (each.info["create_time"] or 0) >= ours
        ]
        family = {process.pid for process in alive if self._has(process)}
        grew = bool(family)
        while grew:
            children = {process.pid for process in alive if process.info["ppid"] in family} - family
            family |= children
            grew = bool(children)
        return [process for process in alive if process.pid in family and _is_alive(process)]

    def _has(self, process: psutil.Process) -> bool:
        try:
            if os.getsid(process.pid) in self.sessions:
                return True
            return self.mark is not None and process.environ().get(MARK, "").startswith(self.mark)
        except (psutil.Error, OSError):
            return False


async def _end_family(family: _Family, grace_s: float) -> None:
    """End all members, politely first."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if await _ended_by(number, family, grace_s):
            return
    started_by = ", ".join(map(str, sorted(family.sessions)))
    raise EnvironmentFailure(f"processes started by program {started_by} outlived SIGKILL; end them by hand")


async def _ended_by(number: int, family: _Family, grace_s: float) -> bool:
    """Signal every member once, those who join late too, and say whether all are gone in time."""
    told: set[int] = set()
    latest = anyio.current_time() + grace_s
    while living := await to_thread.run_sync(family.living):
        if anyio.current_time() > latest:
            return False
        for member in living:
            if member.pid not in told:
                told.add(member.pid)
                with suppress(psutil.Error):
                    member.send_signal(number)
        await anyio.sleep(_LOOK_AGAIN_S)
    return True


def _has_group(leader: int) -> bool:
    """Say whether anybody is left in the group of a program; the program itself counts while nobody waited for it."""
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
