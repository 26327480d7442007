"""One process per run."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ghx_bench.profiler.errors import RunLockedError


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Hold the lock file at `path`; the kernel lets go of it however this process ends."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"
            raise RunLockedError(
                f"{path.parent}: another process (pid {owner}) is working on this run; wait for it or stop it"
            ) from None
        os.truncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)


def is_locked(path: Path) -> bool:
    """Say whether a process holds the lock file at `path` at this moment; where that cannot be told, one does."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False
