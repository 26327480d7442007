"""Where the files of a run lie."""

from dataclasses import dataclass
from pathlib import Path

from ghx_bench.profiler.cell import Cell


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
        """Held by the process that works on the run."""
        return self.path / "run.lock"

    @property
    def report(self) -> Path:
        """Where reports go; can be made again from the rest."""
        return self.path / "report"

    def session(self, cell: Cell) -> Path:
        """Return where the trace of a cell lies; that of a warm-up, which is no cell, apart from the rest."""
        return self._file("warm-ups" if cell.is_canary else "sessions", cell)

    def analysis(self, cell: Cell) -> Path:
        """Return where the findings on a cell lie."""
        return self._file("analysis", cell)

    def _file(self, kind: str, cell: Cell) -> Path:
        return self.path.joinpath(kind, *cell.path.parts).with_name(f"{cell.path.name}.json")
