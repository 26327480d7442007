"""Where the files of a run lie, and what to do when they cannot be used."""

import errno
import os
from dataclasses import dataclass
from pathlib import Path

from ghx_profiler.errors import RunDirectoryError
from ghx_profiler.plan.cell import Cell


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """The layout of one run's folder; names come from cells, which cannot lead out of it."""

    path: Path

    @property
    def record(self) -> Path:
        """The plan and the state of the run."""
        return self.path / "run.json"

    @property
    def rows(self) -> Path:
        """One line for each cell that is done."""
        return self.path / "rows.jsonl"

    @property
    def lock(self) -> Path:
        """The lock of the process that works on the run."""
        return self.path / "run.lock"

    @property
    def report(self) -> Path:
        """Where reports go; can be made again from the rest."""
        return self.path / "report"

    @property
    def error_log(self) -> Path:
        """The tracebacks of what agents and other plugins raised, for people."""
        return self.path / "errors.log"

    def session(self, cell: Cell) -> Path:
        """Return where the trace of a cell lies; that of a warm-up, which is not a cell, in a separate folder."""
        return self._file("warm-ups" if cell.is_canary else "sessions", cell)

    def find_session(self, cell: Cell) -> Path:
        """Return where the trace of a cell is, in a run of any version; its default path if it is missing."""
        return self._find("sessions", cell)

    def analysis(self, cell: Cell) -> Path:
        """Return where the findings on a cell lie."""
        return self._file("analysis", cell)

    def find_analysis(self, cell: Cell) -> Path:
        """Return where the findings on a cell are, in a run of any version; their default path if they are missing."""
        return self._find("analysis", cell)

    def activity(self, cell: Cell) -> Path:
        """Return the path of a session's changes and requests."""
        return self._file("activity", cell)

    def world(self, cell: Cell) -> Path:
        """Return where the world lies that the session of a cell left behind, if it was kept."""
        return self._file("worlds/cells", cell).with_suffix(".zip")

    def edited_world(self, cell: Cell) -> Path:
        """Return the path of the world with later changes; the saved world of the session stays next to it."""
        return self._file("worlds/edited", cell).with_suffix(".zip")

    def seeded_world(self, digest: str) -> Path:
        """Return where a world lies as it was before any session: once for all cells that began with it."""
        return self.path / "worlds" / "seeded" / f"{digest}.zip"

    @property
    def spent_before(self) -> Path:
        """Where another machine finds what the run had spent when its worker was opened there; not in the run's own."""
        return self.path / "spent-before.json"

    @property
    def has_folders(self) -> bool:
        """Whether anything was written for a cell yet."""
        with os.scandir(self.path) as entries:
            return any(entry.is_dir() for entry in entries)

    def brought_along(self, cell: Cell) -> tuple[Path, ...]:
        """Return the files of a cell that the head of the run has not written, and the worlds of all cells."""
        place = self.session(cell)
        siblings = place.parent.glob(f"{place.stem}.*")  # as recorded traffic is
        return (
            *sorted(siblings),
            *filter(Path.is_file, [self.world(cell)]),
            *sorted(self.seeded_world("*").parent.glob("*.zip")),
        )

    @property
    def rescorings(self) -> Path:
        """The folder with later scores of the same sessions, a file for each time that they were scored again."""
        return self.path / "rescored"

    def _find(self, kind: str, cell: Cell) -> Path:
        place = self._file(kind, cell)
        older = self.path.joinpath(kind, *cell.path_without_agent.parts).with_name(place.name)
        return older if older.exists() and not place.exists() else place

    def _file(self, kind: str, cell: Cell) -> Path:
        return self.path.joinpath(kind, *cell.path.parts).with_name(f"{cell.path.name}.json")


def unusable(path: Path, error: OSError, *, then: str = "resume the run") -> RunDirectoryError:
    """Return a one-line error for an unusable file or folder of a run, with the fix."""
    remedy = _REMEDIES.get(error.errno or 0, "look at the file or folder")
    return RunDirectoryError(f"{path}: {error.strerror or error}; {remedy}, then {then}")


_REMEDIES = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EFBIG: "free some space, or allow larger files",
    errno.EACCES: "fix the permissions",
    errno.EPERM: "fix the permissions",
    errno.EROFS: "make the disk writable",
}
