"""The rows file: appended to durably, read one row at a time, each cell once, repaired after a crash."""

import json
import os
from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pydantic import ValidationError

from ghx_base.files.atomic_files import sync_directory, write_file
from ghx_profiler.errors import BadRowsError, RunDirectoryError
from ghx_profiler.records.row import ROW_VERSION, ProfileRow
from ghx_profiler.store.directory import unusable


def read_rows(path: Path | str) -> Iterator[ProfileRow]:
    """Yield the rows of a file, one at a time; a last line torn by a crash is left out.

    Raises `BadRowsError` for a damaged line elsewhere, naming it.
    """
    for line in scan_lines(Path(path)):
        if line.row is not None:
            yield line.row


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLine:
    """One line of a rows file: the row on it, and where in the file it lies; no row where a crash cut it off."""

    row: ProfileRow | None
    number: int
    start: int
    end: int


def scan_lines(path: Path) -> Iterator[RowLine]:
    """Yield every line that is not blank; a last one may be torn."""
    start = 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                end = start + len(line)
                if not line.isspace():
                    yield RowLine(row=_parse(path, number, line), number=number, start=start, end=end)
                start = end
    except OSError as error:
        raise unusable(path, error) from error


def _parse(path: Path, number: int, line: bytes) -> ProfileRow | None:
    """Return the row on a line; `None` for one that a crash cut off before its end."""
    try:
        row = parse_row(line)
    except ValidationError as error:
        _refuse_newer(path, number, _version_on(line))
        first = error.errors(include_url=False)[0]
        # Torn is only a last line without its newline. A broken line in the middle was damaged later, and skipping it
        # would run its cell, and pay for it, again.
        if not line.endswith(b"\n") and first["type"] == "json_invalid":
            return None
        where = ".".join(str(part) for part in first["loc"])
        raise BadRowsError(
            f"{path}:{number}: this is not a row ({where + ': ' if where else ''}{first['msg']}); "
            "restore the file, or remove that line to lose that row alone"
        ) from error
    _refuse_newer(path, number, row.version)
    return row


def parse_row(line: bytes) -> ProfileRow:
    """Return the row on a line as one of the newest version; a byte order mark, which editors add, is skipped."""
    return ProfileRow.model_validate_json(line.removeprefix(BOM_UTF8)).upgraded()


def _refuse_newer(path: Path, number: int, version: int | None) -> None:
    if version is not None and version > ROW_VERSION:
        raise BadRowsError(
            f"{path}:{number}: a row of version {version}, and version {ROW_VERSION} is the newest that this "
            "ghx-bench reads; use the one that wrote it, or a later one"
        )


def _version_on(line: bytes) -> int | None:
    """Return the version of a line that cannot be read as a row."""
    try:
        row: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    version = cast("dict[str, object]", row).get("version") if isinstance(row, dict) else None
    return version if isinstance(version, int) else None


class RowsFile:
    """The rows of a run that goes on; a row counts once `append` has returned."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            self._end = os.fstat(self._handle).st_size
            sync_directory(path.parent)
        except OSError as error:
            raise unusable(path, error) from error

    def recover(self) -> Iterator[ProfileRow]:
        """Yield the rows that are there, then cut off what a crash left of a last line."""
        good = 0
        for line in scan_lines(self._path):
            if line.row is not None:
                good = line.end
                yield line.row
        self._repair(good)

    def append(self, rows: Iterable[ProfileRow]) -> None:
        """Put rows on disk; if that fails, the file is as it was before."""
        # One write and one sync for all: at concurrency 10 that is the difference between 1 ms and 10 ms a row.
        content = b"".join(row.to_bytes() + b"\n" for row in rows)
        self.require_in_place(content)
        try:
            self._write(content)
            # Before `append` returns: a cell that counts as done must survive a power cut, not only a kill.
            os.fsync(self._handle)
        except OSError as error:
            self._cut()
            raise unusable(self._path, error) from error
        self._end += len(content)

    def require_in_place(self, unwritten: bytes = b"") -> None:
        """Raise if another program has replaced or changed the file, as `sed -i` and editors do.

        Rows would then go into a file that has no name any more. A copy of them is saved next to it, with the rows
        that are still to be written.
        """
        try:
            mine, there = os.fstat(self._handle), self._path.stat() if self._path.exists() else None
            is_same_file = there is not None and os.path.samestat(mine, there)
            if is_same_file and mine.st_size == self._end:
                return
            backup = self._path.with_name(f"{self._path.name}.kept")
            write_file(backup, os.pread(self._handle, self._end, 0) + unwritten, durable=True)
        except OSError as error:
            raise unusable(self._path, error) from error
        raise RunDirectoryError(
            f"{self._path}: another program has {'changed' if is_same_file else 'replaced or removed'} this file while "
            f"the run went on; the rows of the run are in {backup.name}: put what is missing back, then resume the run"
        )

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)

    def _write(self, content: bytes) -> None:
        written = 0
        # At a place of our own rather than with O_APPEND, so that a write that failed halfway is written over.
        while written < len(content):
            written += os.pwrite(self._handle, content[written:], self._end + written)

    def _cut(self) -> None:
        try:
            os.ftruncate(self._handle, self._end)
        except OSError:
            # The torn line stays; resuming the run removes it.
            return

    def _repair(self, good: int) -> None:
        """Make the file end after its last whole row, with the newline that a crash may have kept from it."""
        try:
            os.ftruncate(self._handle, good)
            self._end = good
            if good and os.pread(self._handle, 1, good - 1) != b"\n":
                self._write(b"\n")
                self._end += 1
            os.fsync(self._handle)
        except OSError as error:
            raise unusable(self._path, error) from error


_Group = tuple[str, str, str, str, str]
_Places = dict[int, tuple[int, int]]
"""By iteration: the number of a row's line, and where it begins."""


class DistinctRows:
    """The rows of a file, one at a time: a repeated row is left out and counted, one that contradicts another refused.

    `repeats` and `is_torn` describe the latest reading so far. Only positions of rows are stored.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.repeats = 0
        """The number of rows left out as duplicates."""
        self.is_torn = False
        """Whether a crash cut off the last line, which was left out."""
        self.start = 0
        """Where the latest row begins, for `row_at`."""

    def __iter__(self) -> Iterator[ProfileRow]:
        self.repeats, self.is_torn = 0, False
        known: dict[_Group, _Places] = defaultdict(dict)
        for line in scan_lines(self.path):
            if line.row is None:
                self.is_torn = True
            elif self._is_new(line, line.row, known):
                self.start = line.start
                yield line.row

    def _is_new(self, line: RowLine, row: ProfileRow, known: dict[_Group, _Places]) -> bool:
        places = known[row.run_id, row.agent_name, row.model, row.mode, row.scenario_id]
        first = places.setdefault(row.iteration, (line.number, line.start))
        if first == (line.number, line.start):
            return True
        if self.row_at(first[1]) != row:
            raise BadRowsError(
                f"{self.path}:{line.number}: contradicts line {first[0]}, which is a row of the same cell "
                f"({row.cell}) of the same run ({row.run_id}); remove one of them"
            )
        self.repeats += 1
        return False

    def row_at(self, start: int) -> ProfileRow:
        """Return the row that begins at a place in the file, read once more."""
        with self.path.open("rb") as file:
            file.seek(start)
            return parse_row(file.readline())
