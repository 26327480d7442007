"""A run in one file, to be opened elsewhere: a zip that is the same for the same run, and is opened with care."""

import shutil
import stat
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Annotated, ClassVar, Literal

from pydantic import ValidationError

from ghx_base.errors import InputError, OperationError
from ghx_base.files.atomic_files import replacing
from ghx_base.files.scratch import ScratchFolder
from ghx_base.wire import OMITTABLE, Count, ForeignModel

RECORD = "pack.json"
FILES = ("run.json", "rows.jsonl", "errors.log")
FOLDERS = ("sessions", "analysis", "activity", "warm-ups", "rescored", "report")
"""The content of a pack in addition to its record; the rest of a run can be generated again, or is local."""

WORLDS = "worlds"
"""What it does not hold: git objects and whatever agents made cannot be cleaned as texts are."""

MOST_FILES = 1_000_000
MOST_BYTES = 8 << 30
"""What is unpacked at most: a zip of a few kilobytes can hold terabytes of zeros."""

_RECORD_BYTES = 64 << 20
_PIECE = 1 << 20
_LONGEST_NAME = 1_000


class PackError(InputError):
    """A file is not a pack, or must not be opened."""

    code: ClassVar[str] = "BAD_PACK"


class Removal(ForeignModel):
    """What was replaced in one file of a run."""

    file: str
    what: Literal["secret", "home path"]
    times: Count
    lines: Annotated[tuple[Count, ...], OMITTABLE] = ()
    """Of rows: the lines that are not as they were."""


class PackRecord(ForeignModel):
    """`pack.json`: which run a pack holds, and what is not in it as it was."""

    format: Literal["ghx-bench-pack"] = "ghx-bench-pack"
    version: Literal[1] = 1
    run_id: str
    made_by: str
    """The version of ghx-bench that made the pack."""
    rows: Count
    rows_sha256: str
    """Of the rows as they were in the run: where it is that of `rows.jsonl` here, all of them are byte for byte so."""
    taken_out: tuple[Removal, ...] = ()
    left_out: tuple[str, ...] = ()
    """Files of the run that are not in the pack."""


def write_pack(folder: Path, record: PackRecord, file: Path) -> None:
    """Write the files of a folder, all of which belong into a pack, as one file; whole or not at all."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    try:
        with replacing(file) as temporary, zipfile.ZipFile(temporary, "w", allowZip64=True) as archive:
            archive.writestr(_entry(RECORD), record.with_all_keys().model_dump_json(indent=2) + "\n")
            for name in names:
                with (folder / name).open("rb") as source, archive.open(_entry(name), "w", force_zip64=True) as place:
                    shutil.copyfileobj(source, place, _PIECE)
    except OSError as error:
        raise OperationError(f"{file}: cannot be written: {error.strerror or error}; name another with -o") from error


def _entry(name: str) -> zipfile.ZipInfo:
    # Neither time nor owner: the same run makes the same bytes.
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, 0o644 << 16
    return entry


def is_pack_file(path: Path) -> bool:
    """Return whether a path names a file that may be a pack: a zip."""
    with suppress(OSError):
        return path.is_file() and zipfile.is_zipfile(path)
    return False


def name_of_pack(file: Path) -> str:
    """Return the name of a pack without its suffix."""
    return file.name.removesuffix(".zip").removesuffix(".pack")


def run_folder(path: Path) -> Path:
    """Return the folder of a run that is named by its folder or by its pack, which is unpacked for this process."""
    if path.suffix == ".zip" and path.is_file() and not is_pack_file(path):
        raise PackError(f"{path}: no pack, for it is no zip; name a run, or what `ghx-bench pack` made")
    return unpack(path) if is_pack_file(path) else path


_unpacked: dict[tuple[Path, int, int], ScratchFolder] = {}
"""What this process has unpacked, by file, time and size; it goes with the process."""


def unpack(file: Path) -> Path:
    """Return the folder with the run of a pack; raise `PackError` for other files, and for entries outside of it."""
    try:
        state = file.stat()
        key = file.resolve(), state.st_mtime_ns, state.st_size
        if key not in _unpacked:
            with zipfile.ZipFile(file) as archive:
                entries = _checked(file, archive)
                scratch = ScratchFolder()
                _extract(archive, entries, scratch.path)
            _unpacked[key] = scratch
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise PackError(f"{file}: a damaged pack ({error}); have it made again with `ghx-bench pack`") from error
    except OSError as error:
        raise OperationError(f"{file}: cannot be unpacked: {error.strerror or error}") from error
    return _unpacked[key].path


def read_pack_record(file: Path, archive: zipfile.ZipFile) -> PackRecord:
    """Return the manifest of a pack."""
    try:
        with archive.open(RECORD) as source:
            return PackRecord.model_validate_json(source.read(_RECORD_BYTES))
    except (KeyError, ValidationError) as error:
        reason = "it holds no record of one" if isinstance(error, KeyError) else "its record is of another version"
        raise PackError(
            f"{file}: not a pack of this version of ghx-bench, {reason}; name a run, or what `ghx-bench pack` made"
        ) from None


def _checked(file: Path, archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the entries of a pack, none of which leads out of its folder or is anything but a file of a run."""
    read_pack_record(file, archive)
    entries = [entry for entry in archive.infolist() if entry.filename != RECORD]
    if len(entries) > MOST_FILES or sum(entry.file_size for entry in entries) > MOST_BYTES:
        raise PackError(f"{file}: more than {MOST_FILES:,} files or {MOST_BYTES >> 30} GiB; unpack it by hand")
    names: set[str] = set()
    for entry in entries:
        name = entry.filename
        if reason := _reason_unsafe(entry) or ("is there twice" if name.casefold() in names else None):
            raise PackError(f"{file}: {name[:_LONGEST_NAME]!r} {reason}; such a pack is not opened")
        names.add(name.casefold())
    if not {"run.json", "rows.jsonl"} <= names:
        raise PackError(f"{file}: the pack holds no run; have it made again with `ghx-bench pack`")
    return entries


def _reason_unsafe(entry: zipfile.ZipInfo) -> str | None:
    path = PurePosixPath(entry.filename)
    # Of the name as it is written: a path object has lost what two slashes, or a dot between them, might do elsewhere.
    parts = entry.filename.split("/")
    if path.is_absolute() or any(part in {"", ".", ".."} for part in parts) or set(entry.filename) & {"\\", ":", "\0"}:
        return "leads out of the pack"
    if stat.S_IFMT(entry.external_attr >> 16) not in {0, stat.S_IFREG}:
        return "is no file"
    if entry.flag_bits & 1:
        return "is encrypted"
    if len(entry.filename) > _LONGEST_NAME:
        return "has too long a name"
    if entry.filename not in FILES and (parts[0] not in FOLDERS or len(parts) == 1):
        return "is no file of a run"
    return None


def _extract(archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo], folder: Path) -> None:
    for entry in entries:
        place = folder / entry.filename
        place.parent.mkdir(parents=True, exist_ok=True)
        # Never more than the declared size, which was added up before: a larger entry is damaged.
        with archive.open(entry) as source, place.open("xb") as target:
            shutil.copyfileobj(source, target, _PIECE)
