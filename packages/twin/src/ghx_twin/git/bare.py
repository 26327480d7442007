"""Bare repositories as files, written directly instead of by git, so that a copy costs next to nothing."""

import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import pygit2
from pygit2.enums import ConfigLevel, Option, RepositoryOpenFlag

HEAD = "HEAD"
_LIBGIT2_CONFIG = "libgit2.config"  # apart from `config`, because git warns of this old spelling
_CONFIG = """\
[core]
	repositoryformatversion = 0
	filemode = true
	bare = true
	logallrefupdates = false
	attributesfile = /dev/null
"""
_PACKED = "# pack-refs with: sorted \n"
_opening = threading.Lock()


def create(path: Path, refs: Mapping[str, str], *, alternates: Sequence[str] = (), durable: bool = False) -> None:
    """Write a repository with these refs, which finds objects in the folders that `alternates` name."""
    # The folder may be that of a deleted repository: its objects are still there.
    for folder in ("objects/info", "objects/pack", "refs"):
        (path / folder).mkdir(parents=True, exist_ok=True)
    if alternates:
        _write(path / "objects/info/alternates", "".join(f"{line}\n" for line in alternates), durable=durable)
    _write(path / "config", _CONFIG, durable=durable)
    if durable:
        _write(path / _LIBGIT2_CONFIG, "[core]\n\tfsyncobjectfiles = true\n", durable=True)
    # One file for all refs instead of one for each; git reads it as it is, and wants it sorted by bytes.
    packed = "".join(f"{refs[name]} {name}\n" for name in sorted(refs, key=str.encode) if name != HEAD)
    _write(path / "packed-refs", _PACKED + packed, durable=durable)
    _write(path / HEAD, f"{refs[HEAD]}\n", durable=durable)  # last: from here on it is a repository
    if durable:
        for folder in (path / "objects", path / "objects/info", path, path.parent):
            _sync(folder)


def open_repository(path: Path, *, durable: bool) -> pygit2.Repository:
    """Open a repository, whichever user its folder belongs to."""
    # The check of the owner is an option of the process, hence the lock: it is off only while we open our own folder.
    with _opening:
        checked = pygit2.option(Option.GET_OWNER_VALIDATION)
        pygit2.option(Option.SET_OWNER_VALIDATION, False)
        try:
            opened = pygit2.Repository(str(path), RepositoryOpenFlag.NO_SEARCH | RepositoryOpenFlag.NO_DOTGIT)
        finally:
            pygit2.option(Option.SET_OWNER_VALIDATION, checked)
    if durable:  # every object reaches the disk before its ref does
        opened.config.add_file(str(path / _LIBGIT2_CONFIG), ConfigLevel.APP)  # pyright: ignore[reportUnknownMemberType] - PathLike of anything
    return opened


def erase(path: Path, *, durable: bool = False) -> None:
    """Remove the refs of a repository, and leave the objects, which snapshots and forks may need."""
    (path / HEAD).unlink(missing_ok=True)  # first: from here on it is no repository
    (path / "packed-refs").unlink(missing_ok=True)
    for folder, _, files in os.walk(path / "refs", topdown=False):
        for name in files:
            (Path(folder) / name).unlink()
        Path(folder).rmdir()
    if durable:
        _sync(path)


def exists(path: Path) -> bool:
    """Return whether there is a repository that was not deleted."""
    return (path / HEAD).is_file()


def objects_folders(path: Path) -> list[str]:
    """Return every folder in which a repository finds objects, oldest first, its own last and only if it has some."""
    objects = path / "objects"
    # A flat list for a fork to name: git follows alternates of alternates only five deep.
    folders = [os.path.normpath(objects / line) for line in read_alternates(path)]
    if _has_objects(objects):
        folders.append(str(objects))
    return list(dict.fromkeys(folders))


def read_alternates(path: Path) -> list[str]:
    """Return the lines of the file that names other folders with objects."""
    try:
        return (path / "objects/info/alternates").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []


def _has_objects(objects: Path) -> bool:
    with os.scandir(objects) as entries:
        if any(entry.name not in {"info", "pack"} for entry in entries):
            return True
    with os.scandir(objects / "pack") as entries:
        return next(entries, None) is not None


def _write(path: Path, text: str, *, durable: bool) -> None:
    if not durable:
        path.write_text(text, encoding="utf-8")
        return
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
