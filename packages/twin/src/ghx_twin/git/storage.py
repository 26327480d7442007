"""The repositories of a world: in a folder that lasts, or in a temporary one that is removed with the world."""

import threading
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ghx_base.files.scratch import ScratchFolder
from ghx_twin.git import bare
from ghx_twin.git.errors import GitLookupError, GitRefError
from ghx_twin.git.refs import branch_ref
from ghx_twin.git.repository import GitRepository, Undo

_counting = threading.Lock()  # worlds are forked and closed in any thread
Refs = dict[str, str]  # by full name; "HEAD" is "ref: refs/heads/..."


class _Folder:
    """A folder with repositories, kept as long as any storage needs the objects in it.

    Forks name the folders of their parents as git alternates, so a folder must outlive every fork made from it.
    """

    def __init__(self, path: Path, *, temporary: ScratchFolder | None = None, needs: "_Folder | None" = None) -> None:
        self.path, self._temporary, self._needs = path, temporary, needs
        self._users = 1

    @classmethod
    def fresh(cls, needs: "_Folder | None" = None) -> Self:
        """Make a temporary folder, for a storage that may need the objects of another."""
        scratch = ScratchFolder()
        return cls(scratch.path, temporary=scratch, needs=needs)

    def keep(self) -> "_Folder":
        """Count one more user."""
        with _counting:
            self._users += 1
        return self

    def release(self) -> None:
        """Count one user less; the last one takes the folder away."""
        with _counting:
            self._users -= 1
            last = self._users == 0
        if last:  # outside the lock: removing files takes time, and releasing a parent takes the lock again
            if self._temporary is not None:
                self._temporary.remove()
            if self._needs is not None:
                self._needs.release()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Promise:
    """A repository of a fork that was not used yet: what its files will contain."""

    refs: Mapping[str, str]
    alternates: tuple[str, ...]


class GitStorage:
    """The bare repositories of one world, by the ids of their records.

    Objects are never removed, not even with their repository, so the refs alone describe any moment.
    A fork finds the objects of its parent where they are; the parent's folder stays until the last fork is closed.
    The files of a fork's repository are written when it is first used.
    """

    def __init__(self, folder: _Folder, *, durable: bool) -> None:
        self._folder, self._durable = folder, durable
        self._repositories: dict[int, GitRepository] = {}
        self._removed: dict[int, GitRepository] = {}
        self._promises: dict[int, _Promise] = {}
        # Around every use of the three: a repository must not be missed while its promise becomes files.
        self._lock = threading.RLock()
        self._undo: list[Undo] | None = None
        self._closed = False

    @classmethod
    def temporary(cls) -> Self:
        """Create an empty storage, which is removed when it and its forks are closed."""
        return cls(_Folder.fresh(), durable=False)

    @classmethod
    def in_directory(cls, path: Path) -> Self:
        """Open the storage in a folder, creating it where there is none; what was written survives a crash."""
        path.mkdir(parents=True, exist_ok=True)
        storage = cls(_Folder(path.resolve()), durable=True)
        for repositories in path.glob("*.git"):
            if repositories.stem.isdecimal() and bare.exists(repositories):
                storage._add(int(repositories.stem))
        return storage

    @classmethod
    def from_places(cls, refs: Mapping[int, Refs], places: Mapping[int, tuple[str, ...]]) -> Self:
        """Create a temporary storage whose repositories have these refs, and find their objects in other folders.

        Those folders belong to the caller, who keeps them until the storage is closed.
        """
        storage = cls.temporary()
        for identity, each in refs.items():
            storage._promises[identity] = _Promise(refs=each, alternates=places[identity])  # noqa: SLF001 - one of us
        return storage

    def places(self) -> dict[int, tuple[str, ...]]:
        """Return the folders in which each repository finds its objects."""
        with self._lock:
            opened = {identity: each.objects_folders() for identity, each in self._repositories.items()}
            return {**opened, **{identity: each.alternates for identity, each in self._promises.items()}}

    def repository(self, identity: int) -> GitRepository:
        """Return the repository with this id."""
        with self._lock:  # two threads may be the first to use it
            if (promise := self._promises.get(identity)) is not None:
                bare.create(self._path(identity), promise.refs, alternates=promise.alternates)
                del self._promises[identity]
                self._add(identity)
            try:
                return self._repositories[identity]
            except KeyError:
                raise GitLookupError(f"there is no git repository {identity}") from None

    def create(self, identity: int, default_branch: str) -> GitRepository:
        """Create an empty repository, whose HEAD points at a branch that does not exist yet."""
        return self._create(identity, {bare.HEAD: f"ref: {branch_ref(default_branch)}"})

    def create_fork(self, identity: int, parent: int) -> GitRepository:
        """Create a repository with the branches and tags of another, and share its objects."""
        # Relative, so that the folder of a kept world can be moved.
        source = self.repository(parent)
        refs = {bare.HEAD: f"ref: {source.head()}", **source.refs("refs/heads/"), **source.refs("refs/tags/")}
        shared = [f"../../{source.path.name}/objects", *bare.read_alternates(source.path)]
        return self._create(identity, refs, alternates=tuple(dict.fromkeys(shared)))

    def delete(self, identity: int) -> None:
        """Delete a repository; its objects stay for forks and snapshots."""
        with self._lock:
            path, refs = self.repository(identity).path, self._refs(identity)
            self._remove(identity)
            self._remember(lambda: self._revive(identity, path, refs))

    def set_head(self, identity: int, branch: str) -> None:
        """Point HEAD of a repository at a branch."""
        self.repository(identity).set_head(branch)

    def refs(self) -> dict[int, Refs]:
        """Return all refs of all repositories; with the objects, that is the whole state."""
        with self._lock:
            return {identity: self._refs(identity) for identity in sorted(self._identities())}

    def restore(self, refs: dict[int, Refs]) -> None:
        """Go back to what `refs` returned, deleted repositories included."""
        with self._lock:
            for identity in self._identities() - refs.keys():
                self.repository(identity)  # a promised one must have its folder, or it could not be revived
                self._remove(identity)
            for identity, targets in refs.items():
                if identity in self._identities():
                    self._align(self.repository(identity), targets)
                else:
                    self._revive(identity, self._path(identity), targets)

    @contextmanager
    def undoing(self) -> Generator[list[Undo]]:
        """Undo what happened to refs and repositories in the block, if it raises; blocks may be nested.

        Yields the list of what would be undone, empty as long as no ref has changed.
        """
        outermost = self._undo is None
        changes = self._undo = [] if self._undo is None else self._undo
        start = len(changes)
        try:
            yield changes
        except BaseException:
            self._undo = None  # undoing is itself a change of refs, which must not be remembered
            while len(changes) > start:
                changes.pop()()
            raise
        finally:
            self._undo = None if outermost else changes

    def fork(self) -> "GitStorage":
        """Return an independent copy in a temporary folder."""
        # Repositories are only promised: a fork writes the files of those that it uses.
        copy = GitStorage(_Folder.fresh(self._folder.keep()), durable=False)
        with self._lock:
            copy._promises.update(self._promises)
            for identity, repository in self._repositories.items():
                promise = _Promise(refs=repository.state(), alternates=repository.objects_folders())
                copy._promises[identity] = promise
        return copy

    def close(self) -> None:
        """Close the repositories; a temporary folder is removed with the last storage that needs it."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for repository in self._repositories.values():
                repository.close()
            self._repositories.clear()
            self._promises.clear()
        self._folder.release()

    def _identities(self) -> set[int]:
        return {*self._repositories, *self._promises}

    def _path(self, identity: int) -> Path:
        return self._folder.path / f"{identity}.git"

    def _add(self, identity: int) -> GitRepository:
        # One that comes back is the same object: what undoes earlier changes moves the refs of that object, which must
        # then forget its state.
        repository = self._removed.pop(identity, None) or GitRepository(
            self._path(identity), durable=self._durable, remember=self._remember
        )
        self._repositories[identity] = repository
        return repository

    def _create(self, identity: int, refs: Refs, *, alternates: Iterable[str] = ()) -> GitRepository:
        with self._lock:
            if identity in self._identities():
                raise GitRefError(f"there is a git repository {identity} already")
            bare.create(self._path(identity), refs, alternates=tuple(alternates), durable=self._durable)
            self._remember(lambda: self._remove(identity))
            return self._add(identity)

    def _remove(self, identity: int) -> None:
        with self._lock:
            repository = self._removed[identity] = self._repositories.pop(identity)
            repository.close()
            bare.erase(repository.path, durable=self._durable)

    def _revive(self, identity: int, path: Path, refs: Refs) -> None:
        if not (path / "objects").is_dir():
            raise GitLookupError(f"git repository {identity} is not known here: the snapshot is of another world")
        with self._lock:
            bare.create(path, refs, durable=self._durable)
            self._add(identity)

    def _refs(self, identity: int) -> Refs:
        promise = self._promises.get(identity)
        return dict(self._repositories[identity].state() if promise is None else promise.refs)

    def _align(self, repository: GitRepository, refs: Refs) -> None:
        """Make the refs what they were; first those that go, since a name may be a folder of another."""
        current = repository.refs()
        for name in current.keys() - refs.keys():
            repository.set_ref(name, None)
        for name, sha in refs.items():
            if name != bare.HEAD:
                repository.set_ref(name, sha)
        repository.set_head(refs[bare.HEAD].removeprefix("ref: refs/heads/"))

    def _remember(self, undo: Undo) -> None:
        if self._undo is not None:
            self._undo.append(undo)
