"""A GitHub universe: records in a database, objects in git, and one way to change them.

A world lives in memory and a temporary folder, or is kept in a folder: for one process at a time, and whole again after
a crash.
"""

import os
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Self

from ghx_base.errors import OperationError
from ghx_base.files.locks import take_lock
from ghx_twin.faults import Faults
from ghx_twin.git.errors import GitError
from ghx_twin.git.repository import GitRepository
from ghx_twin.git.storage import GitStorage, Refs
from ghx_twin.journal import Journal
from ghx_twin.state.changes import AutomaticEvent, UnattributedChangeError
from ghx_twin.state.clock import ClockPolicy, format_time, parse_time
from ghx_twin.state.database import Database
from ghx_twin.state.records import Repository
from ghx_twin.urls import Signatures
from ghx_twin.viewer import Viewer
from ghx_twin.watch import AnswerWatch, SentWatch

DATABASE = "world.sqlite"  # in the directory of a world that is kept
GIT = "git"  # next to it: the repositories
_LOCK = "world.lock"


class WorldUnavailableError(OperationError):
    """A kept world cannot be opened."""

    code: ClassVar[str] = "WORLD_UNAVAILABLE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A world at one moment; git objects are never removed, so its refs are enough to go back to it."""

    records: bytes
    refs: dict[int, Refs]  # by repository id


@dataclass(frozen=True, slots=True)
class _Moment:
    """A copy of a world before a write."""

    change: int
    at: str
    world: "World"


class World:
    """One GitHub universe, independent of every other.

    Reading needs no ceremony (`world.database`, `world.git(repository)`). Changing happens in `acting(viewer)`: the
    commands take the `Act` it yields, and either everything in the block has happened afterwards or nothing has.
    """

    def __init__(self, database: Database, storage: GitStorage, lock: int | None = None) -> None:
        self.database, self.storage = database, storage
        self._lock = lock  # file descriptor that holds the folder of a kept world
        self.is_closed = False
        self.journal = Journal()
        self.faults = Faults()
        self.watch: SentWatch | None = None
        """Who is shown what a user sends; a fork begins without."""
        self.answer_watch: AnswerWatch | None = None
        """Who is shown what a user is answered; a fork begins without."""
        self.signatures = Signatures()
        self._moments: list[_Moment] = []  # oldest first; for stale reads

    @classmethod
    def create(cls, directory: Path | None = None) -> Self:
        """Create an empty world, in memory and a temporary folder, or open the one kept in `directory`.

        A directory belongs to one process at a time. What a crash left half done there is undone on opening.
        """
        if directory is None:
            return cls(Database.in_memory(), GitStorage.temporary())
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)  # tokens are in it
        lock = _lock_directory(directory)
        try:
            return cls(*_open_directory(directory), lock)
        except BaseException:
            os.close(lock)
            raise

    def git(self, repository: Repository) -> GitRepository:
        """Return the git side of a repository."""
        return self.storage.repository(repository.id)

    def acting(self, viewer: Viewer | None, *, at: str | None = None) -> AbstractContextManager["Act"]:
        """Change the world as `viewer` (None: as the world's maker, who may do everything until it is sealed)."""
        if not isinstance(viewer, Viewer | None):  # pyright: ignore[reportUnnecessaryIsInstance] - a login, mostly
            raise TypeError(f"acting takes a Viewer (`Viewer(user=...)`) or None for the world's maker, not {viewer!r}")
        if viewer is not None and viewer.is_anonymous:
            raise UnattributedChangeError("nobody can change a world without a token: that is refused before")
        return self._act(None if viewer is None else viewer.id, viewer, at=at)

    def automatic(self, event: AutomaticEvent, *, at: str, cause_id: int | None) -> AbstractContextManager["Act"]:
        """Change the world as GitHub does without a user; `cause_id` is the user who set it off."""
        return self._act(event, None, at=at, cause_id=cause_id)

    @contextmanager
    def _act(
        self, who: int | AutomaticEvent | None, viewer: Viewer | None, *, at: str | None, cause_id: int | None = None
    ) -> Generator["Act"]:
        # Git has no transactions, so the order makes one: the database's lock keeps readers away from refs that have
        # moved already, and the transaction ends inside `undoing`, so that refs go back even where the commit fails.
        with self.database.locked(), self.storage.undoing() as moved:
            outermost = not self.database.is_writing
            with self.database.transaction(who, cause_id=cause_id, at=at) as now:
                yield Act(world=self, viewer=viewer, now=now)
                # A push has moved its refs before its act began, so its notes show it, not `moved`.
                if self._lock is not None and outermost and (moved or self.database.has_notes):
                    self.database.store_refs(self.storage.refs())

    def seal(self) -> None:
        """End the making of the world: from now on every change has an author, or is an `AutomaticEvent`.

        `acting(None)` raises `UnattributedChangeError` then. A fork, or the world when it is opened again, is not
        sealed.
        """
        self.database.seal()

    def set_clock(self, policy: ClockPolicy) -> None:
        """Set what moves the clock: the real time (`wall`), as clients expect it, or each act (`ticking`, the default).

        Either way it never goes backwards. It stays so in forks, in snapshots and when a kept world is opened again.
        """
        self.database.set_clock(policy)

    def snapshot(self) -> Snapshot:
        """Return what is needed to come back to this moment."""
        with self.database.locked():  # records and refs must be of one moment
            return Snapshot(records=self.database.to_bytes(), refs=self.storage.refs())

    def restore(self, snapshot: Snapshot) -> None:
        """Make the world what it was at the snapshot; the journal goes on."""
        with self.database.locked(), self.storage.undoing():
            # Refs first: they can be undone where the records cannot be replaced, and not the other way round.
            self.storage.restore(snapshot.refs)
            self.database.replace_with(snapshot.records)
            self._drop_moments(0)

    def fork(self) -> Self:
        """Return an independent copy, in memory and a temporary folder; neither sees what the other does later."""
        with self.database.locked():
            return type(self)(self.database.copy(), self.storage.fork())

    def keep_moment(self, most: int) -> None:
        """Keep a copy of the world as it is now, before a write, for `as_of`; of all kept ones the last `most`."""
        with self.database.locked():
            change = self.database.last_change()
            if not self._moments or self._moments[-1].change != change:
                self._moments.append(_Moment(change, self.database.now(), self.fork()))
            self._drop_moments(most)

    def as_of(self, *, writes: int | None = None, seconds: int | None = None) -> "World":
        """Return the world so many writes or seconds ago, as far as moments were kept; for reading, until it changes.

        Seconds are those of the world's clock.
        """
        with self.database.locked():
            change = self.database.last_change()
            moments = [each for each in self._moments if each.change != change]
            if seconds is not None:
                moment = format_time(parse_time(self.database.now()) - seconds)
                moments = [each for each in moments if each.at >= moment]
            # Fewer than that: the oldest that is known.
            return moments[-min(writes or len(moments), len(moments))].world if moments else self

    def _drop_moments(self, most: int) -> None:
        while len(self._moments) > most:
            self._moments.pop(0).world.close()

    def close(self) -> None:
        """Release memory, files and temporary folders; forks of this world live on."""
        with self.database.locked():
            self.is_closed = True
            self._drop_moments(0)
            self.database.close()
            self.storage.close()
            if self._lock is not None:
                os.close(self._lock)  # last: another process may open the folder from here on

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One change of a world in progress: what every command takes first."""

    world: World
    viewer: Viewer | None  # None: the world's maker, past every permission
    now: str

    @property
    def database(self) -> Database:
        """Return the records, open for writing."""
        return self.world.database

    def git(self, repository: Repository) -> GitRepository:
        """Return the git side of a repository; what is done to its refs is undone if the act fails."""
        return self.world.git(repository)

    @contextmanager
    def on_behalf_of(self, viewer: Viewer) -> Generator["Act"]:
        """Go on as another user, who is the author of what follows and whom GitHub names for it."""
        with self.database.attributed(viewer.id):
            yield replace(self, viewer=viewer)


def _lock_directory(directory: Path) -> int:
    # Not inherited: a git process that outlives this one must not keep the folder locked.
    lock = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        take_lock(lock)
    except OSError as error:
        os.close(lock)
        raise WorldUnavailableError(f"{directory} is in use by another process; stop that one first") from error
    return lock


def _open_directory(directory: Path) -> tuple[Database, GitStorage]:
    database = Database.in_file(directory / DATABASE)
    storage = GitStorage.in_directory(directory / GIT)
    try:
        # An act moves refs first and commits the database last, together with where the refs are by then. Refs that
        # are elsewhere were moved by an act or a push that was killed before its commit: it never happened. Objects
        # that nothing refers to any more stay, and do no harm.
        stored_refs = database.stored_refs()
        if storage.refs() != stored_refs:
            storage.restore(stored_refs)
    except GitError as error:
        database.close()
        storage.close()
        raise WorldUnavailableError(f"{directory} has lost part of its git repositories: {error}") from error
    return database, storage
