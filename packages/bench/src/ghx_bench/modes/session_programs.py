"""Gives each session its own copy of programs, and detects changes to them."""

import hashlib
import stat
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import anyio.to_thread

from ghx_base.errors import OperationError
from ghx_base.files.scratch import ScratchFolder
from ghx_bench.modes.program_path import BEHIND, FOR_ALL_TO_RUN, copy_file, targets_of
from ghx_profiler.evidence import Mode
from ghx_profiler.records.causes import EnvironmentFailure, TamperedToolsError


@dataclass(frozen=True, slots=True, kw_only=True)
class LentPrograms:
    """The programs of one session."""

    mode: Mode
    """The mode of the session, with the session's own path."""
    check: Callable[[], None] = lambda: None
    """Raises `TamperedToolsError` if the session changed its programs, and `EnvironmentFailure` if one has changed and
    nobody knows which session did that."""


LendPrograms = Callable[[Mode], AbstractAsyncContextManager[LentPrograms]]
"""Holds the programs of one session."""


@asynccontextmanager
async def lend_unchecked(mode: Mode) -> AsyncGenerator[LentPrograms]:
    """Lend the programs of a mode as they are, to any number of sessions."""
    yield LentPrograms(mode=mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    """What is in a file and whether its owner can run it, or where a link leads."""

    text: str
    signature: tuple[int, ...]
    """Differs after every change: no program can set the time that is kept of the last one (`ctime`)."""


def _read(path: Path, previous: _Content | None = None) -> _Content | None:
    """Return the content at a path, read only if it is new or was touched; `None` if the path does not exist."""
    try:
        signature = _signature_of(path)
        if previous is not None and previous.signature == signature:
            return previous
        if path.is_symlink():
            return _Content(text=f"-> {path.readlink()}", signature=signature)
        with path.open("rb") as file:
            text = hashlib.file_digest(file, "sha256").hexdigest()
        can_run = path.stat().st_mode & stat.S_IXUSR
        return _Content(text=text if can_run else f"{text} (not executable)", signature=signature)
    except OSError:
        return None


def _signature_of(path: Path) -> tuple[int, ...]:
    status = path.lstat()
    return status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_ctime_ns


_Contents = Mapping[Path, _Content]


def _read_all(paths: Iterable[Path]) -> dict[Path, _Content]:
    return {path: content for path in paths if (content := _read(path)) is not None}


def _find_changes(contents: _Contents) -> tuple[Path, ...]:
    """Return the files that are gone or have another content."""
    now = ((path, before, _read(path, before)) for path, before in contents.items())
    return tuple(path for path, before, after in now if after is None or after.text != before.text)


def _list_files(folder: Path) -> Iterator[Path]:
    """Yield the programs in a folder, and those behind them."""
    for each in (folder, folder.with_name(BEHIND)):
        if each.is_dir():
            yield from each.iterdir()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Original:
    """A folder that was filled from a mode's definition: what the folders of its sessions are made from."""

    folder: Path
    contents: _Contents
    scratch: ScratchFolder | None = None
    """The private folder that it is in; it goes with this record, hence with the last session that uses it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _SessionFolder:
    """The folder with the programs of one session."""

    original: _Original
    scratch: ScratchFolder
    folder: Path
    contents: _Contents

    def is_untouched(self) -> bool:
        has_the_same = {*_list_files(self.folder)} == {*self.contents}
        return has_the_same and all(_read(path, content) is content for path, content in self.contents.items())


@dataclass(slots=True, eq=False)
class _Session:
    is_alone: bool
    """Whether no other session of the run has run at the same time so far."""


@dataclass(slots=True)
class RunningSessions:
    """The sessions of a run at this moment, in any mode, and the folders that wait for later ones."""

    _running: list[_Session] = field(default_factory=list[_Session])
    _idle: list[_SessionFolder] = field(default_factory=list[_SessionFolder])
    _most_at_once: int = 0

    @contextmanager
    def join(self) -> Generator[_Session]:
        """Count a session as running."""
        session = _Session(is_alone=not self._running)
        for each in self._running:
            each.is_alone = False
        self._running.append(session)
        self._most_at_once = max(self._most_at_once, len(self._running))
        try:
            yield session
        finally:
            self._running.remove(session)

    def take_folder(self, original: _Original) -> _SessionFolder | None:
        """Return a waiting folder that was made from `original`."""
        idle = next((each for each in self._idle if each.original is original), None)
        if idle is not None:
            self._idle.remove(idle)
        return idle

    def put_folder(self, folder: _SessionFolder) -> _SessionFolder | None:
        """Keep a folder for a later session; return the one that is too many then."""
        self._idle.append(folder)
        # A copy of gh has 40 MB: no more folders wait than sessions have run at once, however many modes there are.
        return self._idle.pop(0) if len(self._idle) > self._most_at_once else None

    def remove_folders(self) -> None:
        """Remove all waiting folders."""
        while self._idle:
            self._idle.pop().scratch.remove()


class ProgramFolders:
    """The folders with the programs of a mode.

    In a sandbox, sessions cannot write into their programs, and all use the original folder. Elsewhere each session has
    a folder with copies of the mode's own tools, and links to the common programs of the original. A folder that a
    session leaves untouched is lent again; any other is removed. An original that has changed is filled again.
    """

    def __init__(
        self,
        folder: Path,
        own_tools: Collection[str],
        servers: Iterable[Path],
        fill: Callable[[Path], None],
        sessions: RunningSessions,
    ) -> None:
        self._folder, self._own_tools, self._servers = folder, own_tools, tuple(servers)
        self._fill, self._sessions = fill, sessions
        self._original: _Original | None = None
        self._shared: _Contents = {}
        self._filling = anyio.Lock()

    @asynccontextmanager
    async def lend(self, mode: Mode) -> AsyncGenerator[LentPrograms]:
        """Hold the programs of one session."""
        with self._sessions.join() as session:
            async with self._filling:
                original = await anyio.to_thread.run_sync(self._prepare_original)
            if mode.facts.get("sandbox") == "bwrap":  # it shows the folder read-only
                yield self._lend(mode, original.folder, original.contents, session=None)
                return
            own = await self._take_folder(original)
            try:
                yield self._lend(mode, own.folder, {**own.contents, **original.contents}, session=session)
            finally:
                with anyio.CancelScope(shield=True):
                    await self._take_back(own)

    def _lend(self, mode: Mode, folder: Path, contents: _Contents, *, session: _Session | None) -> LentPrograms:
        def check() -> None:
            if changed := _find_changes(contents):
                if session is not None and session.is_alone:
                    raise TamperedToolsError(f"the session changed its tools: {_names_of(changed)}")
                raise EnvironmentFailure(
                    f"{_names_of(changed)}: changed while the session ran, by this session or one beside it; a new "
                    "run with --max-concurrency 1 tells which one"
                )
            self._require_shared()

        return LentPrograms(mode=replace(mode, environment={**mode.environment, "PATH": str(folder)}), check=check)

    def _prepare_original(self) -> _Original:
        """Return the original, which is filled again if a session has changed it."""
        if self._original is None:
            # Not earlier: a fifth of a second that only runs need.
            contents = _read_all(_list_files(self._folder))
            targets = (target for path in contents for target in targets_of(path))
            self._shared = _read_all({path.resolve() for path in (*targets, *self._servers)})
            self._original = _Original(folder=self._folder, contents=contents)
        self._require_shared()
        if _find_changes(self._original.contents):
            self._original = self._fill_again(self._original)
        return self._original

    def _fill_again(self, original: _Original) -> _Original:
        """Return a new original with the same programs.

        Nothing is written into the changed folder, where a session may have left links to other files.
        """
        scratch = ScratchFolder()
        folder = scratch.path / original.folder.name
        try:
            self._fill(folder)
        except OperationError as error:
            raise EnvironmentFailure(
                f"the run's copies of programs have changed, and cannot be restored: {error}"
            ) from None
        contents = _read_all(_list_files(folder))
        before, now = (
            {path.relative_to(place.parent): content.text for path, content in each.items()}
            for place, each in ((original.folder, original.contents), (folder, contents))
        )
        if changed := [path for path in before.keys() | now.keys() if before.get(path) != now.get(path)]:
            raise EnvironmentFailure(
                f"{_names_of(changed)}: the run's copy and the installed program have changed since the run began; "
                "restore the program and resume, or start a new run"
            )
        return _Original(folder=folder, contents=contents, scratch=scratch)

    async def _take_folder(self, original: _Original) -> _SessionFolder:
        while (own := self._sessions.take_folder(original)) is not None:
            if await anyio.to_thread.run_sync(own.is_untouched):
                return own
            await anyio.to_thread.run_sync(own.scratch.remove)
        return await anyio.to_thread.run_sync(self._copy, original)

    async def _take_back(self, own: _SessionFolder) -> None:
        removed: _SessionFolder | None = own
        if own.original is self._original and await anyio.to_thread.run_sync(own.is_untouched):
            removed = self._sessions.put_folder(own)
        if removed is not None:
            await anyio.to_thread.run_sync(removed.scratch.remove)

    def _copy(self, original: _Original) -> _SessionFolder:
        scratch, contents = ScratchFolder(), dict[Path, _Content]()
        for source, content in original.contents.items():
            target = scratch.path / source.relative_to(original.folder.parent)
            target.parent.mkdir(exist_ok=True)
            if source.is_symlink():
                target.symlink_to(source.readlink())
            elif source.parent == original.folder and source.name not in self._own_tools:
                # A common program: copies of all of them would take 10 MB for each session.
                target.symlink_to(source)
            else:
                copy_file(source, target)
                target.chmod(FOR_ALL_TO_RUN)
            text = f"-> {target.readlink()}" if target.is_symlink() else content.text
            contents[target] = _Content(text=text, signature=_signature_of(target))
        return _SessionFolder(
            original=original, scratch=scratch, folder=scratch.path / original.folder.name, contents=contents
        )

    def _require_shared(self) -> None:
        """Refuse programs outside of the sessions' folders that are not what they were when the run began."""
        if changed := _find_changes(self._shared):
            files = ", ".join(map(str, changed))
            raise EnvironmentFailure(f"{files}: changed since the run began; restore it and resume, or start a new run")


def _names_of(paths: Iterable[Path]) -> str:
    return ", ".join(sorted({path.name for path in paths}))
