"""Programs started for a session, ended with it together with all their descendants.

How descendants are recognised, and what ends them if this process is killed: `docs/adr/process-families.md`.
"""

import itertools
import os
import secrets
import signal
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, closing, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL

import anyio
import psutil
from anyio import to_thread
from anyio.abc import Process

from ghx_profiler.agents.processes.keeper import find_descendants, kill_descendants
from ghx_profiler.agents.processes.keeper_client import KeeperConnection, open_keeper
from ghx_profiler.agents.processes.limit_watch import WATCH, measure_folders
from ghx_profiler.agents.processes.sandbox import current_sandbox
from ghx_profiler.records.causes import EnvironmentFailure
from ghx_profiler.session_limits import ALLOWANCE

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
    `setsid` and daemons do) end with the session, or with their program if that is cut short. If this process is
    killed, all of them end at once.
    """

    def __init__(self) -> None:
        self._mark = f"{os.getpid()}.{secrets.token_hex(16)}"
        self._counter = itertools.count(1)
        self._marks: dict[int, str] = {}  # the mark of each program, by its process id
        self._keeper: KeeperConnection | None = None
        self._opening = anyio.Lock()
        self._allowance = ALLOWANCE.get()
        OPEN_GROUPS.get([]).append(self)

    async def start(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        directory: Path | None,
        stderr: int | None,
        started_from: tuple[Path, ...] = (),
    ) -> Process:
        """Start a program with this environment, in a Unix session of its own."""
        if self._allowance is not None and self._allowance.broken is not None:
            raise self._allowance.broken
        # Shielded: the id of a process whose start is cancelled would be lost, and it would live on.
        with anyio.CancelScope(shield=True):
            async with self._opening:  # by the first of several programs that start at once
                if self._keeper is None:
                    self._keeper = await open_keeper()
                    if self._allowance is not None and self._allowance.disk_before is None:
                        self._allowance.disk_before = await to_thread.run_sync(measure_folders, self._allowance.folders)
            # The dot at the end keeps the mark of program 1 from being the beginning of that of program 10.
            mark = f"{self._mark}.{next(self._counter)}."
            sandbox = current_sandbox()
            process = await self._keeper.start(
                command if sandbox is None else sandbox.wrap(command, environment, directory, started_from),
                environment={**environment, MARK: mark},
                directory=directory,
                stderr=stderr,
                count_output=None if self._allowance is None else self._allowance.add_output,
            )
            self._marks[process.pid] = mark
            if self._allowance is not None:
                WATCH.add(self._allowance, self._keeper)
            return process
        raise RuntimeError("a shielded scope that nothing cancels was left early")

    async def end(self, process: Process, grace_s: float, *, with_detached: bool) -> None:
        """End a program and what it left in its group; optionally its detached descendants too."""
        # Finding the detached means looking at all processes of the session, and on macOS of the machine.
        if with_detached or _group_exists(process.pid):
            mark = self._marks[process.pid] if with_detached else None
            keeper = self._keeper.pid if self._keeper and self._keeper.holds_descendants() else None
            await _kill_tree(_Tree(sessions=frozenset({process.pid}), mark=mark, keeper=keeper), grace_s)

    async def end_all(self, grace_s: float) -> None:
        """End whatever is left of all programs."""
        keeper, self._keeper = self._keeper, None
        if keeper is None:
            return
        try:
            if keeper.holds_descendants():
                await _signal_all(signal.SIGTERM, _Tree(keeper=keeper.pid, is_whole=True), grace_s)
            else:
                # The system does not reuse an id while its session has members: one that exists again is a stranger's.
                sessions = frozenset(pid for pid in self._marks if not psutil.pid_exists(pid))
                await _kill_tree(_Tree(sessions=sessions, mark=self._mark), grace_s)
        finally:
            if self._allowance is not None:
                WATCH.remove(self._allowance, keeper)
            with closing(keeper):
                # The keeper ends with the last of its descendants, also of those that no look of ours has seen.
                has_ended = await keeper.end(grace_s)
                if not has_ended:  # an agent can stop it, again and again
                    await _signal_all(signal.SIGKILL, _Tree(keeper=keeper.pid, is_whole=True), grace_s)
                    has_ended = await keeper.kill()
        if not has_ended:
            raise _outlived(self._marks)


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
    started_from: tuple[Path, ...] = (),
) -> AsyncGenerator[Process]:
    """Run a program with this environment and no other; on leaving, also when cancelled, its descendants are gone too.

    They get SIGTERM first, and are killed after `grace_s`. Its standard input and output are pipes; what it
    writes to standard error is dropped by default, since a pipe that is not read fills up and blocks it. One
    variable is added, by which descendants are recognised. A program that is not there raises `FileNotFoundError`.

    Of a program in a `group`, detached descendants may live as long as the group does, unless it is cut short.

    `started_from` are files and folders that it needs in addition to the tools of the mode, which a sandbox shows to
    it.
    """
    owner, ran_to_its_end = group or ProcessGroup(), False
    try:
        process = await owner.start(command, environment, directory, stderr, started_from)
    except BaseException:
        if group is None:
            await owner.end_all(grace_s)
        raise
    try:
        yield process
        ran_to_its_end = True
    finally:
        with anyio.CancelScope(shield=True):
            try:
                if group is None:
                    await owner.end_all(grace_s)
                else:
                    await group.end(process, grace_s, with_detached=not ran_to_its_end)
            finally:
                # Bounded: what could not be ended must not keep the session, and with it the run, for ever.
                with anyio.move_on_after(grace_s):
                    await process.aclose()


def end_orphans() -> None:
    """End the programs of sessions whose bench is gone, and with it the keeper that should have ended them."""
    # Inside of a session, as that of an agent that tries this bench, the processes of the outer one may not be visible.
    if MARK in os.environ:
        return
    for each in psutil.process_iter():
        with suppress(psutil.Error, OSError, ValueError):
            mark = each.environ().get(MARK)
            if mark is not None and not _is_older(int(mark.partition(".")[0]), each):
                kill_descendants(each.pid)
                each.kill()


def _is_older(pid: int, than: psutil.Process) -> bool:
    """Return whether there is a process with this id since before another started; a later one has reused the id."""
    try:
        return psutil.Process(pid).create_time() <= than.create_time()
    except psutil.NoSuchProcess:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tree:
    """Processes that belong together: those in these sessions, those whose mark begins like this, their descendants.

    They are looked for among the descendants of a keeper, where there is one; the whole tree is all of those.
    """

    sessions: frozenset[int] = frozenset()
    mark: str | None = None
    keeper: int | None = None
    is_whole: bool = False

    def find_living(self) -> list[psutil.Process]:
        """Return those that are alive now."""
        parents = _list_since_our_start() if self.keeper is None else _list_all(find_descendants(self.keeper))
        members = {process.pid for process in parents if self.is_whole or self._is_root(process)}
        living = members
        while living:
            # By parents as well: a child in a session of its own and without the variable has nothing else in common.
            living = {process.pid for process, parent in parents.items() if parent in members} - members
            members |= living
        return [process for process in parents if process.pid in members and _is_alive(process)]

    def _is_root(self, process: psutil.Process) -> bool:
        try:
            if os.getsid(process.pid) in self.sessions:
                return True
            return self.mark is not None and process.environ().get(MARK, "").startswith(self.mark)
        except (psutil.Error, OSError):
            return False  # it ended meanwhile, or belongs to another user


def _list_all(pids: Iterable[int]) -> dict[psutil.Process, int | None]:
    """Return these processes, each with its parent."""
    parents: dict[psutil.Process, int | None] = {}
    for pid in pids:
        with suppress(psutil.Error):  # it ended meanwhile
            parents[process] = (process := psutil.Process(pid)).ppid()
    return parents


def _list_since_our_start() -> dict[psutil.Process, int | None]:
    """Return the processes of the machine that can descend from this one, each with its parent."""
    # What is older than this process cannot descend from it, even if its parent's id matches: ids are reused.
    # Nothing is taken from earlier looks: a time of creation depends on the clock at the first query, and
    # a step of the clock would make children seem older than we are.
    psutil.process_iter.cache_clear()
    ours = psutil.Process().create_time() - _CLOCK_TOLERANCE_S
    alive = psutil.process_iter(["ppid", "create_time"])
    return {each: each.info["ppid"] for each in alive if (each.info["create_time"] or 0) >= ours}


async def _kill_tree(tree: _Tree, grace_s: float) -> None:
    """End all processes of a tree: politely first, then by force."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if await _signal_all(number, tree, grace_s):
            return
    raise _outlived(tree.sessions)


def _outlived(programs: Iterable[int]) -> EnvironmentFailure:
    started_by = ", ".join(map(str, sorted(programs)))
    return EnvironmentFailure(f"processes started by program {started_by} outlived SIGKILL; end them by hand")


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
