"""A thread that looks at what sessions use, several times a second, and ends those that use more than they may.

It sees the programs that keepers started and all their descendants. While no session has a program, there is no thread.
"""

import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from ghx_bench.agents.processes.keeper import find_descendants, kill_descendants
from ghx_bench.agents.processes.keeper_client import KeeperConnection
from ghx_bench.profiler.session_limits import Allowance

_LOOK_S = 0.25
_HURRIED_LOOK_S = 0.02
"""While a session has many more processes than a moment ago: those of a fork bomb double every few milliseconds."""
_FAST_GROWTH = 32
_DISK_LOOK_S = 1.0
_LEAST_REST = 20
"""A walk through the folders of a session is followed by this many times its length without one."""


@dataclass(slots=True, eq=False)
class _Watched:
    """A session, with the keepers of its programs."""

    allowance: Allowance
    keepers: set[KeeperConnection] = field(default_factory=set[KeeperConnection])
    processes: int = 0
    is_growing: bool = False
    disk_due_at: float = 0.0

    def look(self) -> None:
        """Take note of what the session uses; if that is too much, end its processes."""
        allowance = self.allowance
        # One that was killed is left out: its id may be a stranger's by now.
        keepers = [keeper for keeper in tuple(self.keepers) if keeper.is_alive()]
        for keeper in keepers:
            keeper.resume()
        pids = [pid for keeper in keepers for pid in find_descendants(keeper.pid)]
        self.is_growing = len(pids) - self.processes > _FAST_GROWTH
        self.processes = len(pids)
        if allowance.exceeds("processes", len(pids)):
            allowance.break_limit("processes", len(pids))
        elif allowance.exceeds("output", allowance.output):
            allowance.break_limit("output", allowance.output)
        else:
            self._look_at_memory(pids)
            self._look_at_sockets(pids)
            self._look_at_disk()
        if allowance.broken is not None:
            for keeper in keepers:
                kill_descendants(keeper.pid)

    def _look_at_memory(self, pids: Sequence[int]) -> None:
        used = sum(_resident_bytes(pids))
        if self.allowance.exceeds("memory", used):
            # What processes share was counted for each of them; telling it apart takes too long for every look.
            used = sum(_own_bytes(pids))
            if self.allowance.exceeds("memory", used):
                self.allowance.break_limit("memory", used)

    def _look_at_sockets(self, pids: Sequence[int]) -> None:
        if self.allowance.exceeds("connections", sum(_count_files(pids))):
            used = sum(_count_sockets(pids))
            if self.allowance.exceeds("connections", used):
                self.allowance.break_limit("connections", used)

    def _look_at_disk(self) -> None:
        began = time.monotonic()
        if began >= self.disk_due_at:
            used = measure_folders(self.allowance.folders) - (self.allowance.disk_before or 0)
            ended = time.monotonic()
            self.disk_due_at = ended + max(_DISK_LOOK_S, _LEAST_REST * (ended - began))
            if self.allowance.exceeds("disk", used):
                self.allowance.break_limit("disk", used)


def _resident_bytes(pids: Iterable[int]) -> Iterator[int]:
    for pid in pids:
        with suppress(psutil.Error):
            yield psutil.Process(pid).memory_info().rss


def _own_bytes(pids: Iterable[int]) -> Iterator[int]:
    for pid in pids:
        with suppress(psutil.Error):
            told = psutil.Process(pid).memory_full_info()
            yield getattr(told, "pss", told.uss)


def _count_files(pids: Iterable[int]) -> Iterator[int]:
    for pid in pids:
        with suppress(psutil.Error):
            yield psutil.Process(pid).num_fds()


def _count_sockets(pids: Iterable[int]) -> Iterator[int]:
    for pid in pids:
        with suppress(psutil.Error):
            yield len(psutil.Process(pid).net_connections("all"))


def measure_folders(folders: Iterable[Path]) -> int:
    """Return how many bytes of the disk the files in these folders take; one that lies in another counts once."""
    total = 0
    seen: set[tuple[int, int]] = set()
    left = [os.fspath(folder) for folder in folders]
    while left:
        with suppress(OSError), os.scandir(left.pop()) as entries:
            for entry in entries:
                with suppress(OSError):  # removed meanwhile
                    status = entry.stat(follow_symlinks=False)
                    if (status.st_dev, status.st_ino) in seen:
                        continue
                    seen.add((status.st_dev, status.st_ino))
                    total += status.st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
    return total


class LimitWatch:
    """Watches the sessions of this process that have programs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: dict[Allowance, _Watched] = {}
        self._thread: threading.Thread | None = None

    def add(self, allowance: Allowance, keeper: KeeperConnection) -> None:
        """Watch the programs of one more keeper."""
        with self._lock:
            self._sessions.setdefault(allowance, _Watched(allowance)).keepers.add(keeper)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="limits", daemon=True)
                self._thread.start()

    def remove(self, allowance: Allowance, keeper: KeeperConnection) -> None:
        """Watch the programs of a keeper no more, since it has none."""
        with self._lock:
            watched = self._sessions.get(allowance)
            if watched is not None:
                watched.keepers.discard(keeper)
                if not watched.keepers:
                    del self._sessions[allowance]

    def _run(self) -> None:
        while True:
            with self._lock:
                active = list(self._sessions.values())
                if not active:
                    self._thread = None
                    return
            for each in active:
                each.look()
            time.sleep(_HURRIED_LOOK_S if any(each.is_growing for each in active) else _LOOK_S)


WATCH = LimitWatch()
"""That of this process."""
