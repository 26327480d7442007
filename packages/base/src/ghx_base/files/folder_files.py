"""A folder in one file: a zip with modes and links, written as a whole or not at all, and opened with care."""

import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import ClassVar

from ghx_base.errors import InputError
from ghx_base.files.atomic_files import replacing, sync_directory

_STORED = frozenset({".pack", ".idx"})
_PERMISSIONS = 0o755


class BadFolderFileError(InputError):
    """A file does not hold a folder, or one that must not be unpacked."""

    code: ClassVar[str] = "BAD_FOLDER_FILE"


def pack_folder(folder: Path, place: Path) -> None:
    """Write a folder into a file, which a crash leaves as it was or as it is then; other kinds than files are left out.

    A link is written as such. One that leads out of the folder is refused on unpacking: the caller leaves it out.
    """
    with replacing(place) as temporary, temporary.open("wb") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
            for path in _list(folder):
                _add(archive, path, path.relative_to(folder).as_posix())
        file.flush()
        os.fsync(file.fileno())
    sync_directory(place.parent)


def read_member(place: Path, name: str) -> bytes:
    """Return one file of a folder that is in a file."""
    try:
        with zipfile.ZipFile(place) as archive:
            return archive.read(name)
    except KeyError:
        raise BadFolderFileError(f"{place}: has no {name}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
        raise BadFolderFileError(f"{place}: cannot be read ({error})") from error


def unpack_folder(place: Path, folder: Path) -> None:
    """Write what a file holds into a new folder; nothing of it leads out of that."""
    try:
        folder.mkdir()
        with zipfile.ZipFile(place) as archive:
            # Links last, so that nothing is written through one, wherever it leads through other links.
            for entry in sorted(archive.infolist(), key=_is_link):
                if reason := _reason_unsafe(archive, entry):
                    raise BadFolderFileError(f"{place}: {entry.filename!r} {reason}; it is not opened")
                _extract(archive, entry, folder)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise BadFolderFileError(f"{place}: cannot be unpacked ({error})") from error


def leads_out(name: str, target: str) -> bool:
    """Return whether a link with this name in a folder leads out of it."""
    path = PurePosixPath(target)
    if path.is_absolute() or "\0" in target:
        return True
    depth = len(PurePosixPath(name).parts) - 1
    for part in path.parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            return True
    return False


def _list(folder: Path) -> Iterator[Path]:
    """Yield files, links and empty folders, always in the same order."""
    for entry in sorted(os.scandir(folder), key=lambda each: each.name):
        if entry.is_dir(follow_symlinks=False):
            inside = list(_list(Path(entry.path)))
            yield from inside or (Path(entry.path),)
        elif entry.is_symlink() or entry.is_file():
            yield Path(entry.path)


def _add(archive: zipfile.ZipFile, path: Path, name: str) -> None:
    mode = path.lstat().st_mode
    # Neither time nor owner: the same content makes the same bytes.
    entry = zipfile.ZipInfo(f"{name}/" if stat.S_ISDIR(mode) else name)
    entry.create_system, entry.external_attr = 3, (stat.S_IFMT(mode) | mode & _PERMISSIONS) << 16
    # Objects of git are compressed already.
    entry.compress_type = zipfile.ZIP_STORED if path.suffix in _STORED else zipfile.ZIP_DEFLATED
    if stat.S_ISLNK(mode):
        archive.writestr(entry, os.fsencode(path.readlink()))
    elif stat.S_ISDIR(mode):
        archive.writestr(entry, b"")
    else:
        archive.writestr(entry, path.read_bytes())


def _is_link(entry: zipfile.ZipInfo) -> bool:
    return stat.S_ISLNK(entry.external_attr >> 16)


def _reason_unsafe(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> str | None:
    parts = entry.filename.removesuffix("/").split("/")
    if any(part in {"", ".", ".."} for part in parts):
        return "leads out of the folder"
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in {0, stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK}:
        return "is no file"
    if _is_link(entry) and leads_out(entry.filename, os.fsdecode(archive.read(entry))):
        return "is a link that leads out of the folder"
    return None


def _extract(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, folder: Path) -> None:
    place, mode = folder / entry.filename, entry.external_attr >> 16
    if entry.is_dir():
        place.mkdir(parents=True, exist_ok=True)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    if _is_link(entry):
        place.symlink_to(os.fsdecode(archive.read(entry)))
        return
    with place.open("xb") as file:
        file.write(archive.read(entry))
    place.chmod(mode & _PERMISSIONS | stat.S_IRUSR | stat.S_IWUSR)
