"""Watching this process: what a plugin must not change in it, or leave behind."""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import anyio
import psutil

_GRACE_S = 1.0


@contextmanager
def check_process_unchanged(contract: str) -> Generator[Callable[[], None]]:
    """Hold that environment and working directory of this process stay as they are; yields a check for in between."""
    environment, directory = dict(os.environ), Path.cwd()

    def check() -> None:
        changed = sorted({name for name, _ in dict(os.environ).items() ^ environment.items()})
        assert not changed, f"{contract}: environment belongs to the session, but os.environ was changed: {changed}"
        assert Path.cwd() == directory, f"{contract}: the working directory of this process was changed"

    yield check
    check()


class Watch:
    """Knows the processes and tasks that were there before, and finds those that came since and did not go."""

    def __init__(self) -> None:
        self._processes_before = _descendants()
        self._tasks_before = {task.id for task in anyio.get_running_tasks()}
        self._came: set[psutil.Process] = set()

    def look(self) -> None:
        """Record the running processes: the origin of a process whose parent has died is unknown later."""
        self._came |= _descendants() - self._processes_before

    async def leftovers(self) -> list[str]:
        """Return what still runs; it gets a moment to end."""
        self.look()
        with anyio.move_on_after(_GRACE_S):
            await anyio.wait_all_tasks_blocked()
        psutil.wait_procs([each for each in self._came if _is_alive(each)], timeout=_GRACE_S)
        processes = [f"process {each.pid}" for each in self._came if _is_alive(each)]
        tasks = [f"task {task.name!r}" for task in anyio.get_running_tasks() if task.id not in self._tasks_before]
        return sorted((*processes, *tasks))


def _descendants() -> set[psutil.Process]:
    return {each for each in psutil.Process().children(recursive=True) if not _is_launcher(each)}


def _is_launcher(process: psutil.Process) -> bool:
    """Return whether a process starts programs for `ghx_profiler.agents`, and stays as long as we do."""
    try:
        return process.ppid() == os.getpid() and any(word.endswith(_LAUNCHER) for word in process.cmdline())
    except psutil.Error:
        return False


_LAUNCHER = str(Path("ghx_profiler", "agents", "processes", "keeper.py"))


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
