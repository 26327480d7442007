"""Gives each session programs of its own, and finds out whether it changed them."""

import hashlib
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree

import anyio
import anyio.to_thread

from ghx_bench.modes.program_path import BEHIND, copy_file, targets_of
from ghx_profiler.causes import EnvironmentFailure, TamperedToolsError
from ghx_profiler.evidence import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class LentPrograms:
    """The programs of one session."""

    mode: Mode
    """The mode of the session, with the session's own path."""
    check: Callable[[], None] = lambda: None
    """Raises `TamperedToolsError` where a program of the session's own has changed, and `EnvironmentFailure` where one
    has that all sessions share: nobody knows then who changed it."""


LendPrograms = Callable[[Mode], AbstractAsyncContextManager[LentPrograms]]
"""Holds the programs of one session."""


@asynccontextmanager
async def lend_unchecked(mode: Mode) -> AsyncGenerator[LentPrograms]:
    """Lend the programs of a mode as they are, to any number of sessions."""
    yield LentPrograms(mode=mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    """What is in a file, or where a link leads."""

    text: str
    signature: tuple[int, ...]
    """Differs after every change: no program can set the time that is kept of the last one (`ctime`)."""


def _read(path: Path, known: _Content | None = None) -> _Content | None:
    """Return the content at a path, read only if it is not known or was touched; `None` if there is none."""
    try:
        signature = _signature_of(path)
        if known is not None and known.signature == signature:
            return known
        if path.is_symlink():
            return _Content(text=f"-> {path.readlink()}", signature=signature)
        with path.open("rb") as file:
            return _Content(text=hashlib.file_digest(file, "sha256").hexdigest(), signature=signature)
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


class ProgramFolders:
    """The folders with the programs of a mode.

    The first, which was filled from the mode's definition, is the original. Each session has a copy of it alone. A copy
    that a session leaves untouched is lent again; any other is removed.
    """

    def __init__(self, original: Path, servers: Iterable[Path], new_folder: Callable[[], Path]) -> None:
        self._original, self._servers, self._new_folder = original, tuple(servers), new_folder
        self._programs, self._shared = dict[Path, _Content](), dict[Path, _Content]()
        self._idle: list[tuple[Path, _Contents]] = []
        self._reading = anyio.Lock()

    @asynccontextmanager
    async def lend(self, mode: Mode) -> AsyncGenerator[LentPrograms]:
        """Hold a folder for one session."""
        async with self._reading:
            if not self._programs:
                await anyio.to_thread.run_sync(self._read_programs)
        folder, contents = await anyio.to_thread.run_sync(self._take)

        def check() -> None:
            if changed := _find_changes(contents):
                raise TamperedToolsError(f"the session changed its tools: {_names_of(changed)}")
            self._require_shared()

        own_path = {**mode.environment, "PATH": str(folder)}
        try:
            yield LentPrograms(mode=replace(mode, environment=own_path), check=check)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._take_back, folder, contents)

    def _read_programs(self) -> None:
        # Not earlier: a fifth of a second that only runs need.
        self._programs = _read_all(_list_files(self._original))
        targets = (target for path in self._programs for target in targets_of(path))
        self._shared = _read_all({path.resolve() for path in (*targets, *self._servers)})

    def _take(self) -> tuple[Path, _Contents]:
        self._require_shared()
        while self._idle:
            folder, contents = self._idle.pop()
            if self._is_untouched(folder, contents):
                return folder, contents
            rmtree(folder.parent, ignore_errors=True)
        return self._copy()

    def _take_back(self, folder: Path, contents: _Contents) -> None:
        if self._is_untouched(folder, contents):
            self._idle.append((folder, contents))
        else:
            rmtree(folder.parent, ignore_errors=True)

    def _copy(self) -> tuple[Path, _Contents]:
        if changed := _find_changes(self._programs):
            raise EnvironmentFailure(f"the run's copy of {_names_of(changed)} has changed; start a new run")
        place, contents = self._new_folder(), dict[Path, _Content]()
        for source, content in self._programs.items():
            target = place / source.relative_to(self._original.parent)
            target.parent.mkdir(exist_ok=True)
            if source.is_symlink():
                target.symlink_to(source.readlink())
            else:
                copy_file(source, target)
                target.chmod(source.stat().st_mode)
            contents[target] = replace(content, signature=_signature_of(target))
        return place / self._original.name, contents

    def _require_shared(self) -> None:
        """Refuse programs outside of the sessions' folders that are not what they were when the run began."""
        if changed := _find_changes(self._shared):
            files = ", ".join(map(str, changed))
            raise EnvironmentFailure(f"{files}: changed since the run began; restore it and resume, or start a new run")

    @staticmethod
    def _is_untouched(folder: Path, contents: _Contents) -> bool:
        has_the_same = {*_list_files(folder)} == {*contents}
        return has_the_same and all(_read(path, known) is known for path, known in contents.items())


def _names_of(paths: Iterable[Path]) -> str:
    return ", ".join(sorted(path.name for path in paths))
