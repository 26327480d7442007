"""Threads that look at what sessions use, several times a second, and end those that use more than they may.

They see the programs that keepers started and all their descendants. They run only while a session has a program.
"""

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from ghx_profiler.agents.processes.keeper import find_descendants, kill_all, kill_descendants
from ghx_profiler.agents.processes.keeper_client import KeeperConnection
from ghx_profiler.session_limits import Allowance

_LOOK_S = 0.25
_HURRIED_LOOK_S = 0.02
"""While a session has many more processes than a moment ago: those of a fork bomb double every few milliseconds."""
_FAST_GROWTH = 32
_DISK_LOOK_S = 1.0
_LEAST_REST = 20
"""A walk through the folders of a session is followed by this many times its length without one."""
_LEAST_FILE = 4096
"""What a file counts at least, however little is in it: a disk may have room for bytes and none for more files."""


@dataclass(slots=True, eq=False)
class _Watched:
    """A session, with the keepers of its programs."""

    allowance: Allowance
    keepers: set[KeeperConnection] = field(default_factory=set[KeeperConnection])
    processes: int = 0
    is_growing: bool = False
    disk_due_at: float = 0.0

    def look_at_processes(self) -> None:
        """Record what the session uses other than disk; if that is too much, end its processes."""
        allowance = self.allowance
        # One that was killed is left out: its id may be a stranger's by now.
        keepers = [keeper for keeper in tuple(self.keepers) if keeper.is_alive()]
        for keeper in keepers:
            keeper.resume()
        limit = allowance.limits.processes
        enough = None if limit is None else limit + 1
        pids = [pid for keeper in keepers for pid in find_descendants(keeper.pid, enough=enough)]
        self.is_growing = len(pids) - self.processes > _FAST_GROWTH
        self.processes = len(pids)
        if allowance.exceeds("processes", len(pids)):
            allowance.break_limit("processes", len(pids))
            kill_all(pids)  # with their groups: then fewer are left to find
        elif allowance.exceeds("output", allowance.output):
            allowance.break_limit("output", allowance.output)
        else:
            processes = list(_find(pids))
            self._look_at_threads(processes)
            self._look_at_memory(processes)
            self._look_at_sockets(processes)
        if allowance.broken is not None:
            for keeper in keepers:
                kill_descendants(keeper.pid)

    def _look_at_threads(self, processes: Sequence[psutil.Process]) -> None:
        used = sum(_count_threads(processes))
        if self.allowance.exceeds("threads", used):
            self.allowance.break_limit("threads", used)

    def _look_at_memory(self, processes: Sequence[psutil.Process]) -> None:
        used = sum(_resident_bytes(processes))
        if self.allowance.exceeds("memory", used):
            # Shared memory was counted for each process; subtracting it takes too long for every look.
            used = sum(_own_bytes(processes))
            if self.allowance.exceeds("memory", used):
                self.allowance.break_limit("memory", used)

    def _look_at_sockets(self, processes: Sequence[psutil.Process]) -> None:
        if self.allowance.exceeds("connections", sum(_count_files(processes))):
            used = sum(_count_sockets(processes))
            if self.allowance.exceeds("connections", used):
                self.allowance.break_limit("connections", used)

    def look_at_disk(self) -> None:
        """Take note of what the session has on the disk; if that is too much, the next look ends its processes."""
        before, limit = self.allowance.disk_before or 0, self.allowance.limits.of("disk")
        began = time.monotonic()
        if limit is not None and began >= self.disk_due_at:
            # Not counted any further than that: a walk through millions of files would take minutes.
            used = measure_folders(self.allowance.folders, enough=before + limit + 1) - before
            ended = time.monotonic()
            self.disk_due_at = ended + max(_DISK_LOOK_S, _LEAST_REST * (ended - began))
            if used > limit:
                self.allowance.break_limit("disk", used)


def _find(pids: Iterable[int]) -> Iterator[psutil.Process]:
    for pid in pids:
        with suppress(psutil.Error):
            yield psutil.Process(pid)


def _count_threads(processes: Iterable[psutil.Process]) -> Iterator[int]:
    for process in processes:
        with suppress(psutil.Error):
            yield process.num_threads()


def _resident_bytes(processes: Iterable[psutil.Process]) -> Iterator[int]:
    for process in processes:
        with suppress(psutil.Error):
            yield process.memory_info().rss


def _own_bytes(processes: Iterable[psutil.Process]) -> Iterator[int]:
    for process in processes:
        try:
            memory = process.memory_full_info()
            yield getattr(memory, "pss", memory.uss)
        except psutil.AccessDenied:  # a program must not look small by hiding its memory
            yield from _resident_bytes([process])
        except psutil.Error:
            continue


def _count_files(processes: Iterable[psutil.Process]) -> Iterator[int]:
    for process in processes:
        with suppress(psutil.Error):
            yield process.num_fds()


def _count_sockets(processes: Iterable[psutil.Process]) -> Iterator[int]:
    for process in processes:
        with suppress(psutil.Error, OSError):
            if sys.platform != "linux":
                yield len(process.net_connections("all"))
                continue
            # Not from the system's tables of connections: those that we can read have none of a sandbox's.
            for name in os.listdir(f"/proc/{process.pid}/fd"):  # noqa: PTH208 - called often
                with suppress(OSError):  # closed meanwhile
                    yield os.readlink(f"/proc/{process.pid}/fd/{name}").startswith("socket:")  # noqa: PTH115 - as above


def measure_folders(folders: Iterable[Path], *, enough: float = math.inf) -> int:
    """Return how many bytes of the disk the files in these folders take; no more are counted than are enough.

    A folder that lies in another counts once. One that has become a link counts nothing, wherever that leads.
    """
    total = 0
    seen: set[tuple[int, int]] = set()
    left = [os.fspath(folder) for folder in folders if not folder.is_symlink()]
    while left and total < enough:
        with suppress(OSError), os.scandir(left.pop()) as entries:
            for entry in entries:
                with suppress(OSError):  # removed meanwhile
                    status = entry.stat(follow_symlinks=False)
                    if (status.st_dev, status.st_ino) in seen:
                        continue
                    seen.add((status.st_dev, status.st_ino))
                    total += max(status.st_blocks * 512, _LEAST_FILE)
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
                if total >= enough:
                    break
    return total


class LimitWatch:
    """Watches the sessions of this process that have programs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: dict[Allowance, _Watched] = {}
        self._threads = dict[Callable[[_Watched], None], threading.Thread]()

    def add(self, allowance: Allowance, keeper: KeeperConnection) -> None:
        """Watch the programs of one more keeper."""
        with self._lock:
            self._sessions.setdefault(allowance, _Watched(allowance)).keepers.add(keeper)
            # Two threads: a walk through many files must not keep anything from being seen of other sessions.
            for look in (_Watched.look_at_processes, _Watched.look_at_disk):
                if look not in self._threads:
                    self._threads[look] = threading.Thread(target=self._run, args=(look,), name="limits", daemon=True)
                    self._threads[look].start()

    def remove(self, allowance: Allowance, keeper: KeeperConnection) -> None:
        """Watch the programs of a keeper no more, since it has none."""
        with self._lock:
            watched = self._sessions.get(allowance)
            if watched is not None:
                watched.keepers.discard(keeper)
                if not watched.keepers:
                    del self._sessions[allowance]

    def _run(self, look: Callable[[_Watched], None]) -> None:
        while True:
            with self._lock:
                active = list(self._sessions.values())
                if not active:
                    del self._threads[look]
                    return
            for each in active:
                try:
                    look(each)
                except Exception as error:  # noqa: BLE001 - as for a cell: one failure must not hide the others
                    each.allowance.unseen = each.allowance.unseen or error
            time.sleep(_HURRIED_LOOK_S if any(each.is_growing for each in active) else _LOOK_S)


WATCH = LimitWatch()
"""That of this process."""
