"""Writing files so that a crash leaves either the old content or the new, never a mixture."""

import os
import tempfile
from pathlib import Path

from ghx_bench.profiler.errors import RunDirectoryError


def write_atomically(path: Path, content: bytes) -> None:
    """Replace `path` by `content`, on disk when this returns; missing folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make the names in a folder as durable as the files behind them."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def unusable(path: Path, error: OSError) -> RunDirectoryError:
    """Say in one line why a file or folder of a run cannot be used."""
    reason = error.strerror or str(error)
    return RunDirectoryError(f"{path}: {reason}; free some space or fix the permissions, then resume the run")
