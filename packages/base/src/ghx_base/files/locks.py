"""Locks between processes; the kernel lets go of them however their process ends."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


class LockHeldError(BlockingIOError):
    """Another process holds the lock; `owner` is its id, as far as it wrote it down."""

    def __init__(self, path: Path, owner: str) -> None:
        super().__init__(f"{path}: process {owner} holds this lock")
        self.owner = owner


@contextmanager
def hold_lock(path: Path) -> Generator[None]:
    """Hold the lock file at `path`, with our process id in it; raise `LockHeldError` if another process does."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            take_lock(handle)
        except BlockingIOError:
            owner = os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"
            raise LockHeldError(path, owner) from None
        os.truncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        # The file stays: removing it would let one process lock the old file and another a new one.
        yield
    finally:
        os.close(handle)


def take_lock(handle: int, *, shared: bool = False) -> None:
    """Lock an open file or folder until it is closed; raise `BlockingIOError` if another process has locked it."""
    fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


def is_locked(path: Path, *, if_unknown: bool) -> bool:
    """Return whether a process holds the lock on a file or folder at this moment; of one that is not there, none does.

    `if_unknown` is the answer on file systems that have no locks.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        # Shared, so that two processes that look at the same moment do not take each other for the owner.
        take_lock(handle, shared=True)
    except BlockingIOError:
        return True
    except OSError:
        return if_unknown
    finally:
        os.close(handle)
    return False
