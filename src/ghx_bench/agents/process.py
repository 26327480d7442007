"""Programs started for a session, ended with it together with all their descendants.

Why descendants are recognised by a mark as well as by their Unix session: `docs/adr/process-families.md`.
"""

import itertools
import os
import secrets
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE

import anyio
import psutil
from anyio import to_thread
from anyio.abc import Process

from ghx_bench.agents.sandbox import current_sandbox
from ghx_bench.profiler.causes import EnvironmentFailure

MARK = "GHX_BENCH_PROCESS"
"""The variable by which descendants are recognised, whatever group, session or parent they have by now."""

OPEN_GROUPS: ContextVar[list["ProcessGroup"]] = ContextVar("OPEN_GROUPS")
"""Where it is set, process groups are noted in it: those of a session that does not end can be ended by others."""

_GRACE_S = 2.0
_CLOCK_TOLERANCE_S = 1.0  # the time of boot is in whole seconds, and shifts with corrections of the clock
_PAUSES_S = (0.002, 0.004, 0.008, 0.016)
"""Between looks at processes that were signalled: most end at once, and every session waits for its own to end."""


class ProcessGroup:
    """The programs of one session, and their descendants.

    With a program ends what it left in its Unix process group. Descendants that detached themselves from that (as
    `setsid` and daemons do) end with the session, or with their program if that is cut short.
    """

    def __init__(self) -> None:
        self._mark = secrets.token_hex(16)
        self._counter = itertools.count(1)
        self._marks: dict[int, str] = {}  # the mark of each program, by its process id
        OPEN_GROUPS.get([]).append(self)

    async def start(
        self, command: Sequence[str], environment: Mapping[str, str], directory: Path | None, stderr: int | None
    ) -> Process:
        """Start a program with this environment, in a Unix session of its own."""
        # Shielded: the id of a process whose start is cancelled would be lost, and it would live on.
        with anyio.CancelScope(shield=True):
            # The dot at the end keeps the mark of program 1 from being the beginning of that of program 10.
            mark = f"{self._mark}.{next(self._counter)}."
            sandbox = current_sandbox()
            words = list(command) if sandbox is None else sandbox.wrap(command, environment, directory)
            process = await anyio.open_process(
                words,
                stdin=PIPE,
                stdout=PIPE,
                stderr=stderr,
                cwd=directory,
                env={**environment, MARK: mark},
                start_new_session=True,
            )
            self._marks[process.pid] = mark
            return process
        raise RuntimeError("a shielded scope that nothing cancels was left early")

    async def end(self, process: Process, grace_s: float, *, with_detached: bool) -> None:
        """End a program and what it left in its group; its detached descendants too, if that is asked for."""
        # Finding the detached means looking at every process of the machine, which takes longer than most commands do.
        if with_detached or _group_exists(process.pid):
            mark = self._marks[process.pid] if with_detached else None
            await _kill_tree(_Tree(sessions=frozenset({process.pid}), mark=mark), grace_s)

    async def end_all(self, grace_s: float) -> None:
        """End whatever is left of all programs."""
        if self._marks:
            # The system does not reuse an id while its session has members: an id that exists again is a stranger's.
            sessions = frozenset(pid for pid in self._marks if not psutil.pid_exists(pid))
            await _kill_tree(_Tree(sessions=sessions, mark=self._mark), grace_s)


@asynccontextmanager
async def process_group(*, grace_s: float = _GRACE_S) -> AsyncGenerator[ProcessGroup]:
    """Hold the programs of one session; on leaving, also when cancelled, none of their processes is left."""
    group = ProcessGroup()
    try:
        yield group
    finally:
        with anyio.CancelScope(shield=True):
            await group.end_all(grace_s)


@asynccontextmanager
async def program(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    directory: Path | None = None,
    stderr: int | None = DEVNULL,
    grace_s: float = _GRACE_S,
    group: ProcessGroup | None = None,
) -> AsyncGenerator[Process]:
    """Run a program with this environment and no other; on leaving, also when cancelled, its descendants are gone too.

    They are asked to end first (SIGTERM), and killed after `grace_s`. Its standard input and output are pipes; what it
    writes to standard error is dropped unless asked for, since a pipe that is not read fills up and blocks it. One
    variable is added, by which descendants are recognised. A program that is not there raises `FileNotFoundError`.

    Of a program in a `group`, detached descendants may live as long as the group does, unless it is cut short.
    """
    owner, ran_to_its_end = group or ProcessGroup(), False
    process = await owner.start(command, environment, directory, stderr)
    try:
        yield process
        ran_to_its_end = True
    finally:
        with anyio.CancelScope(shield=True):
            try:
                await owner.end(process, grace_s, with_detached=group is None or not ran_to_its_end)
            finally:
                # Bounded: what could not be ended must not keep the session, and with it the run, for ever.
                with anyio.move_on_after(grace_s):
                    await process.aclose()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tree:
    """Processes that belong together: those in these sessions, those whose mark begins like this, their descendants."""

    sessions: frozenset[int]
    mark: str | None

    def find_living(self) -> list[psutil.Process]:
        """Return those that are alive now."""
        # What is older than this process cannot descend from it, even if its parent's id says so: ids are reused.
        # Nothing is taken from earlier looks: a time of creation depends on the clock when it was first asked for, and
        # a step of the clock would make children seem older than we are.
        psutil.process_iter.cache_clear()
        ours = psutil.Process().create_time() - _CLOCK_TOLERANCE_S
        alive = [
            each for each in psutil.process_iter(["ppid", "create_time"]) if (each.info["create_time"] or 0) >= ours
        ]
        members = {process.pid for process in alive if self._is_root(process)}
        found = members
        while found:
            # By parents as well: a child in a session of its own and without the variable has nothing else in common.
            found = {process.pid for process in alive if process.info["ppid"] in members} - members
            members |= found
        return [process for process in alive if process.pid in members and _is_alive(process)]

    def _is_root(self, process: psutil.Process) -> bool:
        try:
            if os.getsid(process.pid) in self.sessions:
                return True
            return self.mark is not None and process.environ().get(MARK, "").startswith(self.mark)
        except (psutil.Error, OSError):
            return False  # it ended meanwhile, or belongs to another user


async def _kill_tree(tree: _Tree, grace_s: float) -> None:
    """End all processes of a tree: politely first, then by force."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if await _signal_all(number, tree, grace_s):
            return
    started_by = ", ".join(map(str, sorted(tree.sessions)))
    raise EnvironmentFailure(f"processes started by program {started_by} outlived SIGKILL; end them by hand")


async def _signal_all(number: int, tree: _Tree, grace_s: float) -> bool:
    """Signal every process of a tree once, those that join late too; return whether all are gone in time."""
    signalled: set[int] = set()
    deadline: float | None = None
    # In a thread: looking at all processes of the machine blocks, and other sessions of the run go on meanwhile.
    while living := await to_thread.run_sync(tree.find_living):
        if deadline is None:
            # From when they are signalled: on a busy machine a look alone can take longer than they have.
            deadline = anyio.current_time() + grace_s
        elif anyio.current_time() > deadline:
            return False
        for process in living:
            if process.pid not in signalled:
                signalled.add(process.pid)
                with suppress(psutil.Error):
                    process.send_signal(number)
        # Only at these: a look at all processes of the machine, for those that joined late, takes longer than a pause.
        for pause_s in _PAUSES_S:
            await anyio.sleep(pause_s)
            if not any(map(_is_alive, living)):
                break
    return True


def _group_exists(leader: int) -> bool:
    """Return whether a program's Unix process group has members; the program itself is one until it is waited for."""
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # there is one, with a member that we may not signal
    return True


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
