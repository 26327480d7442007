"""One pass over all rows: everything that is counted, found or written while a row goes by."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from ghx_bench._base.problems import Problem, plural
from ghx_bench.profiler.analysis import SessionAnalysisBundle
from ghx_bench.profiler.analyzers.files import recorded_scenarios, supplemented
from ghx_bench.profiler.reports.arrangement import Arrangement
from ghx_bench.profiler.reports.briefing import Briefing, briefing_of
from ghx_bench.profiler.reports.findings import Findings
from ghx_bench.profiler.reports.inventory import Inventory
from ghx_bench.profiler.reports.sessions import SessionPage, outcome_of, session_page, session_path
from ghx_bench.profiler.reports.side_files import SideFiles, StoredFindings
from ghx_bench.profiler.reports.sources import Source
from ghx_bench.profiler.reports.tally import Tally
from ghx_bench.profiler.row import ProfileRow
from ghx_bench.profiler.scenario import BaseScenario
from ghx_bench.profiler.trace import SessionTrace

T = TypeVar("T", SessionTrace, SessionAnalysisBundle, StoredFindings)

WritePage = Callable[[str, str], None]
"""Puts a page at a path below the report's folder."""

_MOST_NAMED = 20


@dataclass(slots=True, kw_only=True)
class Reading:
    """What has been seen so far; read `rows` to the end before looking at it."""

    arrangement: Arrangement
    tally: Tally
    write_page: WritePage
    findings: Findings = field(default_factory=Findings)
    inventories: dict[str, Inventory] = field(default_factory=dict[str, Inventory])
    """By the label of the source."""
    pages: list[SessionPage] = field(default_factory=list[SessionPage])
    notes: list[str] = field(default_factory=list[str])
    """What a reader of the report is told about the files it was made from."""
    _taken: set[str] = field(default_factory=set[str])
    _problems: dict[str, None] = field(default_factory=dict[str, None])

    def rows(self) -> Iterator[tuple[str, ProfileRow]]:
        """Yield every row with the label of its source; modes of several runs are named after their run."""
        for source in self.arrangement.sources:
            yield from ((source.label, row) for row in self._rows_of(source))
        self.notes += self._problems_told()

    def _rows_of(self, source: Source) -> Iterator[ProfileRow]:
        inventory = self.inventories[source.label] = Inventory()
        files, rows = source.side_files(), source.rows()
        scenarios = recorded_scenarios(source.record.scenarios) if source.record else {}
        for row in rows:
            inventory.add(row)
            shown = row
            if self.arrangement.is_before_and_after:
                shown = row.model_copy(update={"mode": mode_of_run(row.mode, source.label)})
            self.tally.add(shown)
            self._find(files, row, shown.mode, scenarios)
            if self.tally.chooses(shown):
                self._write(source, files, row, shown, briefing_of(row, scenarios.get(row.scenario_id), source.record))
            yield shown
        if rows.repeats:
            stand, are = ("stands", "is") if rows.repeats == 1 else ("stand", "are")
            self.notes.append(
                f"{source.label}: {plural(rows.repeats, 'row')} {stand} in the file twice and {are} counted once"
            )
        if rows.is_torn:
            self.notes.append(f"{source.label}: the last line is torn, as a crash leaves it, and was left out")
        self._tell_unanalyzed(files)

    def _find(self, files: SideFiles, row: ProfileRow, mode: str, scenarios: dict[str, BaseScenario]) -> None:
        """Count what was found in a session: what our analyzers left on disk, or else what they find now.

        What analyzers of the older packages found is added where ours have nothing to say.
        """
        stored = self._readable(files.stored_findings(row))
        if stored is not None and not stored.is_foreign:
            self.findings.add(mode, stored.bundle)
            return
        new = self._readable(files.new_findings(row, scenarios))
        if new is not None:
            self.findings.add(mode, new if stored is None else supplemented(new, stored.bundle))
        elif stored is not None:
            self.findings.add(mode, stored.bundle, is_foreign=True)

    def _readable(self, found: T | Problem | None) -> T | None:
        """Return what was found in a file; a problem with the file is kept for the notes."""
        if isinstance(found, Problem):
            self._problems[str(found)] = None
            return None
        return found

    def _tell_unanalyzed(self, files: SideFiles) -> None:
        self.findings.has_sessions |= files.has_sessions
        if files.left_some:
            self.findings.commands.append(files.analyze_command())

    def _write(self, source: Source, files: SideFiles, row: ProfileRow, shown: ProfileRow, briefing: Briefing) -> None:
        below = source.label if len(self.arrangement.sources) > 1 else None
        path = self._unused(session_path(row, below=below))
        trace = files.trace(row)
        self._readable(trace)
        self.write_page(path, session_page(row, trace, mode=shown.mode, briefing=briefing, path=path))
        self.pages.append(_page_of(path, source, shown, has_session=trace is not None))

    def _unused(self, path: str) -> str:
        """Return a path that no page has: a file put together from several runs has several rows for one cell."""
        stem, number, free = path.removesuffix(".html"), 2, path
        while free in self._taken:
            free, number = f"{stem}-{number}.html", number + 1
        self._taken.add(free)
        return free

    def _problems_told(self) -> Iterator[str]:
        yield from list(self._problems)[:_MOST_NAMED]
        if len(self._problems) > _MOST_NAMED:
            yield f"{plural(len(self._problems) - _MOST_NAMED, 'more file')} beside the rows could not be read"


def mode_of_run(mode: str, label: str) -> str:
    """Return what a mode of one of several runs is called."""
    return f"{mode} @ {label}"


def parts_of(mode: str) -> tuple[str, str]:
    """Return the mode and the label of the run that a name stands for."""
    name, _, label = mode.rpartition(" @ ")
    return name, label


def _page_of(path: str, source: Source, row: ProfileRow, *, has_session: bool) -> SessionPage:
    return SessionPage(
        path=path,
        source=source.label,
        mode=row.mode,
        scenario_id=row.scenario_id,
        model=row.model,
        iteration=row.iteration,
        outcome=outcome_of(row),
        has_session=has_session,
    )
