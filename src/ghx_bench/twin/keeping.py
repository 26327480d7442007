"""Worlds that outlive the process: one folder, one process at a time, whole again after a crash.

A change moves git's refs first and commits the database last, and the database stores where the refs were at that
commit. Whatever moved refs without reaching its commit, a command or a push that was killed, never happened: on
opening, the refs go back to where the database knows them. Objects that nothing refers to stay and harm nobody.
"""

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from ghx_bench._base.errors import OperationError
from ghx_bench.twin.git.errors import GitError
from ghx_bench.twin.git.storage import GitStorage
from ghx_bench.twin.state.database import Database

DATABASE = "world.sqlite"  # in the directory of a world that is kept
_LOCK = "world.lock"
_GIT = "git"


class WorldUnavailableError(OperationError):
    """A kept world cannot be opened."""

    code: ClassVar[str] = "WORLD_UNAVAILABLE"


@dataclass(frozen=True, slots=True)
class _KeptFolder:
    """A folder with a world in it, held for this process."""

    database: Database
    storage: GitStorage
    lock: int

    @classmethod
    def of(cls, directory: Path) -> Self:
        """Open the world in a folder, making both where they are not there."""
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)  # tokens are in it
        lock = _lock_folder(directory)
        try:
            return cls(*_open_folder(directory), lock)
        except BaseException:
            os.close(lock)
            raise

    def release(self) -> None:
        """Let another process have the folder."""
        os.close(self.lock)


def _lock_folder(directory: Path) -> int:
    lock = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise WorldUnavailableError(f"{directory} is in use by another process; stop that one first") from error
    return lock


def _open_folder(directory: Path) -> tuple[Database, GitStorage]:
    database = Database.in_file(directory / DATABASE)
    storage = GitStorage.in_directory(directory / _GIT)
    try:
        known = database.kept_refs()
        if storage.refs() != known:
            storage.restore(known)
    except GitError as error:
        database.close()
        storage.close()
        raise WorldUnavailableError(f"{directory} has lost part of its git repositories: {error}") from error
    return database, storage
