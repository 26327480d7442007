"""Where a report's rows come from: runs with their plan, or files of rows alone."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from ghx_base.errors import FlagError
from ghx_profiler.control_kinds import ControlKind, control_kind_of_name
from ghx_profiler.errors import BadRowsError, RunDirectoryError
from ghx_profiler.reports.data.inventory import moment_of
from ghx_profiler.reports.data.side_files import SideFiles
from ghx_profiler.reports.errors import NoRunError, NothingToReportError
from ghx_profiler.stats.plan import AnalysisPlan
from ghx_profiler.store.directory import RunDirectory
from ghx_profiler.store.packs import run_folder
from ghx_profiler.store.record import RunRecord, read_record
from ghx_profiler.store.rows import DistinctRows, read_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Rows from one place; `record` is what the run set out to do, where that was written down."""

    label: str
    rows_path: Path
    directory: RunDirectory
    record: RunRecord | None
    mode: str | None = None
    """The mode of a source that stands for one mode; its arms are then distinguished by source."""

    def of_mode(self, mode: str) -> "Source":
        """Return a source that stands for one of its modes, by whose name it goes."""
        if (record := self.record) is not None:
            changes = {
                "matrix": record.matrix.model_copy(update={"modes": (mode,)}),
                "modes": {name: each for name, each in record.modes.items() if name == mode},
                "mode_details": {name: each for name, each in record.mode_details.items() if name == mode},
            }
            record = record.model_copy(update=changes)
        return replace(self, label=_as_label(mode), record=record, mode=mode)

    def rows(self) -> DistinctRows:
        """Return the rows, to be gone through one at a time."""
        return DistinctRows(self.rows_path)

    def side_files(self) -> SideFiles:
        """Return the sessions and findings next to the rows."""
        return SideFiles(self.directory, is_a_run=self.record is not None)

    def control_kind(self, agent: str) -> ControlKind | None:
        """Return the kind of a control agent; for rows without a record, by its name."""
        return control_kind_of_name(agent) if self.record is None else self.record.control_agents.get(agent)

    def plan(self) -> AnalysisPlan | None:
        """Return the analysis plan that was written down before the run."""
        if self.record is None or self.record.imported is not None:
            return None
        try:
            return AnalysisPlan.model_validate(self.record.analysis)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = "/".join(str(part) for part in ("analysis", *first["loc"]))
            raise RunDirectoryError(
                f"{self.directory.record}: no plan to analyse by ({where}: {first['msg']})"
            ) from None


def read_labels(
    texts: Sequence[str],
    runs: Sequence[Path],
    results: Sequence[Path] = (),
    *,
    find_run: Callable[[str], Path] = Path,
) -> tuple[tuple[Path, ...], dict[Path, str]]:
    """Return the runs with those that only a label names, and what runs and files are called: `before=results/run_1`.

    `find_run` resolves the name of a run.
    """
    named, labels = [*runs], dict[Path, str]()
    for text in texts:
        label, _, name = (part.strip() for part in text.partition("="))
        if not (label and name):
            raise FlagError("--label", f"expected LABEL=RUN, as in before=results/run_1, got {text!r}")
        place = find_run(name)
        path = next((each for each in (*named, *results) if each.resolve() == place.resolve()), None)
        if path is None:
            path = place
            named.append(path)
        if path in labels or label in labels.values():
            raise FlagError("--label", f"{text!r}: give each run one label, and each label to one run")
        labels[path] = label
    return tuple(named), labels


def open_sources(
    runs: Sequence[Path], results: Sequence[Path], labels: Mapping[Path, str] | None = None
) -> tuple[Source, ...]:
    """Open run directories and files of rows; labels distinguish them.

    Unless given, a run is called by its id, a file by its name, and two runs that are compared `before` and `after`.
    """
    labels = labels or {}
    opened = [(path, _open_run_or_rows(path)) for path in runs] + [(path, _open_rows(path)) for path in results]
    sources = [replace(source, label=labels.get(path, source.label)) for path, source in opened]
    if not labels and _is_before_and_after(sources):
        sources = [replace(source, label=label) for source, label in zip(sources, _BEFORE_AND_AFTER, strict=True)]
    if not sources:
        raise NothingToReportError("name a run directory, or a file of rows with --results")
    paths = Counter(source.rows_path.resolve() for source in sources)
    for path, times in paths.items():
        if times > 1:
            raise NothingToReportError(
                f"{path}: named {times} times; a run cannot be compared with itself, name each run once"
            )
    return _make_distinct([replace(source, label=_as_label(source.label)) for source in sources])


_BEFORE_AND_AFTER = ("before", "after")


def _is_before_and_after(sources: Sequence[Source]) -> bool:
    """Return whether these are two runs with a mode in common, named in the order in which they began."""
    records = [source.record for source in sources if source.record is not None]
    if not len(sources) == len(records) == len(_BEFORE_AND_AFTER):
        return False
    first, second = records
    began = moment_of(first.created_at), moment_of(second.created_at)
    is_in_order = began[0] is not None and began[1] is not None and began[0] <= began[1]
    return is_in_order and not set(first.matrix.modes).isdisjoint(second.matrix.modes)


def _as_label(name: str) -> str:
    # A mode of several runs is shown as "mode @ run": a reader must see where the one ends.
    return name.replace(" @ ", "@")


def _make_distinct(sources: Sequence[Source]) -> tuple[Source, ...]:
    """Give sources of the same name the name of their folder; number what is still the same."""
    counts = Counter(source.label for source in sources)
    renamed_sources: list[Source] = []
    for source in sources:
        folder = source.rows_path.resolve().parent.name
        renamed = counts[source.label] > 1 and folder
        renamed_sources.append(replace(source, label=_as_label(folder)) if renamed else source)
    counts = Counter(source.label for source in renamed_sources)
    label_counts: Counter[str] = Counter()
    distinct: list[Source] = []
    for source in renamed_sources:
        label_counts[source.label] += 1
        label = source.label if counts[source.label] == 1 else f"{source.label} #{label_counts[source.label]}"
        distinct.append(replace(source, label=label))
    return tuple(distinct)


def _open_run_or_rows(path: Path) -> Source:
    """Open what was named as a run, or its pack; a file of rows, or a folder with one, is named by a flag."""
    path = run_folder(path)
    if path.is_file():
        if _holds_rows(path):
            raise NothingToReportError(f"{path}: this is a file of rows; name it with --results")
        raise NothingToReportError(f"{path}: this is a file; name a run directory, or a file of rows with --results")
    try:
        return open_run(path)
    except NoRunError as error:
        raise NothingToReportError(f"{error}; name a file of rows with --results") from error


def open_run(path: Path) -> Source:
    """Open a run directory, or a pack."""
    path = run_folder(path)
    directory = RunDirectory(path)
    if path.is_file() and _holds_rows(path):
        raise NothingToReportError(f"{path}: this is a file of rows; name the run directory that it is of")
    if not directory.record.exists():
        raise NoRunError(f"{path}: not a run directory, it holds no {directory.record.name}")
    record = read_record(directory.record)
    if not directory.rows.exists():
        raise NothingToReportError(f"{path}: the run has no {directory.rows.name} yet; run it first")
    return Source(label=record.run_id, rows_path=directory.rows, directory=directory, record=record)


def _holds_rows(path: Path) -> bool:
    try:
        return next(read_rows(path), None) is not None
    except (BadRowsError, RunDirectoryError):
        return False


def _open_rows(path: Path) -> Source:
    if path.is_dir():
        raise NothingToReportError(f"{path}: --results takes a file of rows; name a run directory without the flag")
    if not path.is_file():
        raise NothingToReportError(f"{path}: no such file; --results takes a file with one row a line")
    if next(read_rows(path), None) is None:
        raise NothingToReportError(f"{path}: holds no whole row; --results takes a file with one row a line")
    return Source(label=path.stem, rows_path=path, directory=RunDirectory(path.parent), record=None)
