"""Writing files so that a crash leaves either the old content or the new, never a mixture."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


def write_atomically(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Replace `path` by `content`, whole or not at all; missing folders are made.

    Durable, it is on disk when this returns, and survives a power cut; what can be made again need not be.
    """
    with replacing(path) as temporary:
        write_file(temporary, content, durable=durable)
    if durable:
        # The file is on disk, but its name is in the folder, which is a file of its own.
        sync_directory(path.parent)


@contextmanager
def replacing(path: Path) -> Generator[Path]:
    """Yield where to write what replaces `path` at the end of the block; if that raises, all stays as it was."""
    # In the same folder: a file cannot be renamed into another file system. With our pid: two processes do not meet.
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield temporary
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_file(path: Path, content: bytes, *, durable: bool = False) -> None:
    """Write a file; missing folders are made. A crash may leave a part of it."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    try:
        handle = os.open(path, flags, 0o644)
    except FileNotFoundError:
        # Made only now: of the thousands of files of a run, nearly all find their folder there.
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
