"""Where a report's rows come from: runs with their plan, or files of rows alone."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from ghx_bench.profiler.analysis import SessionAnalysisBundle
from ghx_bench.profiler.cell import Cell
from ghx_bench.profiler.errors import RunDirectoryError
from ghx_bench.profiler.reports.errors import NothingToReportError
from ghx_bench.profiler.row import ProfileRow
from ghx_bench.profiler.stats.plan import AnalysisPlan
from ghx_bench.profiler.store.directory import RunDirectory
from ghx_bench.profiler.store.record import RunRecord, read_record
from ghx_bench.profiler.store.rows import read_rows
from ghx_bench.profiler.trace import SessionTrace

T = TypeVar("T", SessionTrace, SessionAnalysisBundle)

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Rows from one place; `record` is what the run set out to do, where that was written down."""

    label: str
    rows_path: Path
    directory: RunDirectory
    record: RunRecord | None

    def rows(self) -> Iterator[ProfileRow]:
        """Yield the rows, one at a time."""
        return read_rows(self.rows_path)

    def trace(self, cell: Cell) -> SessionTrace | None:
        """Return the session of a cell, if it is there and can be read."""
        return _read(SessionTrace, self.directory.session(cell)) if _is_inside(cell) else None

    def analysis(self, cell: Cell) -> SessionAnalysisBundle | None:
        """Return what analyzers found in the session of a cell, if it is there and can be read."""
        return _read(SessionAnalysisBundle, self.directory.analysis(cell)) if _is_inside(cell) else None

    @property
    def has_analyses(self) -> bool:
        """Whether any analyzer has left a file."""
        return (self.directory.path / "analysis").is_dir()

    def plan(self) -> AnalysisPlan | None:
        """Return the analysis plan that was written down before the run."""
        if self.record is None:
            return None
        try:
            return AnalysisPlan.model_validate(self.record.analysis)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = "/".join(str(part) for part in ("analysis", *first["loc"]))
            raise RunDirectoryError(
                f"{self.directory.record}: no plan to analyse by ({where}: {first['msg']})"
            ) from None


def open_sources(runs: Sequence[Path], results: Sequence[Path]) -> tuple[Source, ...]:
    """Open run directories and files of rows; labels tell them apart."""
    sources = [*map(_open_run, runs), *map(_open_rows, results)]
    if not sources:
        raise NothingToReportError("name a run directory, or a file of rows with --results")
    paths = Counter(source.rows_path.resolve() for source in sources)
    for path, times in paths.items():
        if times > 1:
            raise NothingToReportError(f"{path}: named {times} times; a run says nothing about itself, name it once")
    # A mode of several runs is called "mode @ run" in a report.
    sources = [replace(source, label=source.label.replace(" @ ", "@")) for source in sources]
    counts = Counter(source.label for source in sources)
    seen: Counter[str] = Counter()
    distinct: list[Source] = []
    for source in sources:
        seen[source.label] += 1
        label = source.label if counts[source.label] == 1 else f"{source.label} #{seen[source.label]}"
        distinct.append(replace(source, label=label))
    return tuple(distinct)


def _open_run(path: Path) -> Source:
    directory = RunDirectory(path)
    record = read_record(directory.record)
    if not directory.rows.exists():
        raise NothingToReportError(f"{path}: the run has no {directory.rows.name} yet; run it first")
    return Source(label=record.run_id, rows_path=directory.rows, directory=directory, record=record)


def _open_rows(path: Path) -> Source:
    if path.is_dir():
        raise NothingToReportError(f"{path}: --results takes a file of rows; name a run directory without the flag")
    if not path.is_file():
        raise NothingToReportError(f"{path}: no such file; --results takes a file with one row a line")
    if next(read_rows(path), None) is None:
        raise NothingToReportError(f"{path}: holds no whole row; --results takes a file with one row a line")
    return Source(label=path.stem, rows_path=path, directory=RunDirectory(path.parent), record=None)


def _is_inside(cell: Cell) -> bool:
    """Say whether the cell's files lie in the run: rows from elsewhere may name anything."""
    return all(_SAFE.fullmatch(name) for name in (cell.mode, cell.scenario_id))


def _read(kind: type[T], path: Path) -> T | None:
    try:
        return kind.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        # A missing or damaged side file costs its page, not the report; the row has the numbers.
        return None
