"""Temporary folders that are removed with their process or, if it was killed, by the next sweep."""

import os
import shutil
import tempfile
import weakref
from pathlib import Path

from ghx_base.files.locks import is_locked, take_lock

PREFIX = "ghx-tmp-"
SHORT_PLACE = Path("/tmp")  # noqa: S108 - what is made there is private, and the name of a socket has to be short


class ScratchFolder:
    """A private temporary folder, locked for as long as it is used.

    The kernel lets go of the lock however the process ends, so that a sweep can distinguish leftovers from what is
    in use; a process id would do so only until another process gets it. `with ScratchFolder() as folder:` removes the
    folder at the end of the block; it also goes with this object and with the process. A process that was forked off
    keeps it locked, but does not remove it.
    """

    def __init__(self, place: Path | None = None) -> None:
        self.path, lock = _create(place)
        self.remove = weakref.finalize(self, _remove, self.path, lock, os.getpid())
        """Removes the folder with all that is in it; a second time, nothing happens."""

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()


def sweep(*places: Path) -> None:
    """Remove the folders that were left by processes which were killed; those in use stay.

    They are looked for where temporary files are, unless places are given.
    """
    for place in places or {Path(tempfile.gettempdir()), SHORT_PLACE}:
        for path in place.glob(f"{PREFIX}*"):
            _remove_unless_used(path)


def is_in_use(path: Path) -> bool:
    """Return whether the process that made a folder still uses it; false where a file system has no locks."""
    return is_locked(path, if_unknown=False)


def _create(place: Path | None) -> tuple[Path, int]:
    while True:
        path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
        try:
            return path, _lock(path)
        except (BlockingIOError, FileNotFoundError):
            continue  # a sweep came between the two lines, and takes it for left behind


def _lock(path: Path) -> int:
    lock = _open(path)
    try:
        take_lock(lock)
        path.stat()  # is not there if a sweep has removed what was opened
    except (BlockingIOError, FileNotFoundError):
        os.close(lock)
        raise
    except OSError:
        pass  # a file system without locks, on which a sweep gets none either and removes nothing
    except BaseException:
        os.close(lock)
        raise
    return lock


def _remove_unless_used(path: Path) -> None:
    try:
        lock = _open(path)
    except OSError:  # gone, another user's, or no folder
        return
    try:
        take_lock(lock)
        if os.fstat(lock).st_uid == os.getuid():
            shutil.rmtree(path, ignore_errors=True)
    except OSError:  # it is in use
        return
    finally:
        os.close(lock)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _remove(path: Path, lock: int, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)
    os.close(lock)
