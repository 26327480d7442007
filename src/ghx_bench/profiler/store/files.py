"""Writing files so that a crash leaves either the old content or the new, never a mixture."""

import errno
import os
from pathlib import Path

from ghx_bench.profiler.errors import RunDirectoryError


def write_atomically(path: Path, content: bytes) -> None:
    """Replace `path` by `content`, whole or not at all, and on disk when this returns; missing folders are made."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write_file(temporary, content, durable=True)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def write_file(path: Path, content: bytes, *, durable: bool = False) -> None:
    """Write a file; missing folders are made. A crash may leave a part of it."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    try:
        handle = os.open(path, flags, 0o644)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, flags, 0o644)
    try:
        written = 0
        while written < len(content):
            written += os.write(handle, content[written:])
        if durable:
            os.fsync(handle)
    finally:
        os.close(handle)


def sync_directory(path: Path) -> None:
    """Make the names in a folder as durable as the files behind them."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def unusable(path: Path, error: OSError) -> RunDirectoryError:
    """Say in one line why a file or folder of a run cannot be used."""
    remedy = _REMEDIES.get(error.errno or 0, "look at the file or folder")
    return RunDirectoryError(f"{path}: {error.strerror or error}; {remedy}, then resume the run")


_REMEDIES = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EFBIG: "free some space, or allow larger files",
    errno.EACCES: "fix the permissions",
    errno.EPERM: "fix the permissions",
    errno.EROFS: "make the disk writable",
}
