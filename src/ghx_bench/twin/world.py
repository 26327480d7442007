"""A GitHub universe: records in a database, objects in git, and one way to change them."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ghx_bench.twin.faults import Faults
from ghx_bench.twin.git.repository import GitRepository
from ghx_bench.twin.git.storage import GitStorage, Refs
from ghx_bench.twin.journal import Journal
from ghx_bench.twin.keeping import DATABASE, _KeptFolder
from ghx_bench.twin.state.clock import ClockPolicy
from ghx_bench.twin.state.database import Database
from ghx_bench.twin.state.records import Repository
from ghx_bench.twin.viewer import Viewer

__all__ = ["DATABASE", "Act", "Snapshot", "World"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A world at one moment; git objects are never removed, so its refs are enough to go back to it."""

    records: bytes
    refs: dict[int, Refs]  # by repository id


class World:
    """One GitHub universe, independent of every other.

    Reading needs no ceremony (`world.database`, `world.git(repository)`). Changing happens in `acting(viewer)`: the
    commands take the `Act` it yields, and either everything in the block has happened afterwards or nothing has.
    """

    def __init__(self, database: Database, storage: GitStorage, keeping: _KeptFolder | None = None) -> None:
        self.database, self.storage = database, storage
        self._keeping = keeping
        self.is_closed = False
        self.journal = Journal()
        self.faults = Faults()

    @classmethod
    def create(cls, directory: Path | None = None) -> Self:
        """Create an empty world, in memory and a temporary folder, or open the one kept in `directory`.

        A directory belongs to one process at a time. What a crash left half done there is undone on opening.
        """
        if directory is None:
            return cls(Database.in_memory(), GitStorage.temporary())
        keeping = _KeptFolder.of(directory)
        return cls(keeping.database, keeping.storage, keeping)

    def git(self, repository: Repository) -> GitRepository:
        """Return the git side of a repository."""
        return self.storage.repository(repository.id)

    @contextmanager
    def acting(self, viewer: Viewer | None, *, at: str | None = None) -> Generator["Act"]:
        """Change the world as `viewer` (None: as the world's maker, who may do everything)."""
        if not isinstance(viewer, Viewer | None):  # pyright: ignore[reportUnnecessaryIsInstance] - a login, mostly
            raise TypeError(f"acting takes a Viewer (`Viewer(user=...)`) or None for the world's maker, not {viewer!r}")
        actor = None if viewer is None else viewer.id
        with self.database.held(), self.storage.undoing() as moved:
            outermost = not self.database.is_writing
            with self.database.transaction(actor, at=at) as now:
                yield Act(world=self, viewer=viewer, now=now)
                if self._keeping and outermost and (moved or self.database.has_notes):
                    self.database.keep_refs(self.storage.refs())

    def set_clock(self, policy: ClockPolicy) -> None:
        """Let the real time move the clock (`wall`), as clients expect it, or again each act (`ticking`, the default).

        Either way it never goes backwards. It stays so in forks, in snapshots and when a kept world is opened again.
        """
        self.database.set_clock(policy)

    def snapshot(self) -> Snapshot:
        """Return what is needed to come back to this moment."""
        with self.database.held():
            return Snapshot(records=self.database.to_bytes(), refs=self.storage.refs())

    def restore(self, snapshot: Snapshot) -> None:
        """Make the world what it was at the snapshot; the journal goes on."""
        with self.database.held(), self.storage.undoing():
            self.storage.restore(snapshot.refs)
            self.database.replace_with(snapshot.records)

    def fork(self) -> Self:
        """Return an independent copy, in memory and a temporary folder; neither sees what the other does later."""
        with self.database.held():
            return type(self)(self.database.copy(), self.storage.fork())

    def close(self) -> None:
        """Let go of memory, files and temporary folders; forks of this world live on."""
        with self.database.held():
            self.is_closed = True
            self.database.close()
            self.storage.close()
            if self._keeping:
                self._keeping.release()

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
