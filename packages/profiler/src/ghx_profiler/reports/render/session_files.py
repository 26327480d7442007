"""All pages of sessions: where each lies, where it leads, and which sessions of a scenario stand side by side."""

import hashlib
import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from ghx_base.problems import Problem
from ghx_profiler.analyzers.files import recorded_scenarios
from ghx_profiler.plan.cell import Arm
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.records.trace import SessionTrace
from ghx_profiler.reports.data.material import LISTED_METRICS, SessionPage
from ghx_profiler.reports.data.reading import ChosenRow, ReadRows
from ghx_profiler.reports.data.side_files import SideFiles, StoredFindings
from ghx_profiler.reports.render.comparison_page import ComparedSession, comparison_page
from ghx_profiler.reports.render.session_list import LISTING
from ghx_profiler.reports.render.session_page import RecordedSession, Sibling, Ways, briefing_of, session_page
from ghx_profiler.scenario import BaseScenario
from ghx_profiler.stats.observations import SUCCESS

WritePage = Callable[[str, str], None]
"""Puts a page at a path below the report's folder."""

HOME = "index.html"

_MOST_SIBLINGS = 12
_MOST_COLUMNS = 8
_LONGEST_NAME = 120
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A row that gets a page, and where that lies."""

    chosen: ChosenRow
    path: str
    name: str
    """Its name among others of its scenario."""

    @property
    def column(self) -> tuple[str, str]:
        """The arm and the model: sessions of one scenario are compared between these."""
        return str(self.chosen.arm), self.chosen.cell.model

    @property
    def is_success(self) -> bool:
        """Whether the task was done."""
        return self.chosen.outcome == SUCCESS


def write_session_pages(read: ReadRows, write: WritePage) -> tuple[SessionPage, ...]:
    """Write a page for each row that was chosen, and one for each scenario with sessions side by side.

    A session that cannot be read is noted among the problems. The rows are read once more, one at a time: with
    `--sessions all` they would not fit into memory.
    """
    places = _place_rows(read)
    scenarios: dict[str, list[_Place]] = defaultdict(list)
    for place in places:
        scenarios[place.chosen.cell.scenario_id].append(place)
    columns = {scenario: _choose_columns(members, read.arrangement.order) for scenario, members in scenarios.items()}
    comparisons = _place_comparisons(columns)
    pages: list[SessionPage] = []
    before_and_after = [None, *(place.path for place in places), None]
    ways = {
        place.path: _ways_of(place, neighbours, scenarios[place.chosen.cell.scenario_id], comparisons)
        for place, *neighbours in zip(places, before_and_after, before_and_after[2:], strict=False)
    }
    # Made once for each source: to look at its folder takes as long as to write a page.
    side_files = {source.label: source.side_files() for source in read.arrangement.sources} if places else {}
    for source, members in groupby(places, key=attrgetter("chosen.source")):
        files, rows = side_files[source.label], source.rows()
        recorded = recorded_scenarios(source.record.scenarios) if source.record else {}
        for place in members:
            row = rows.row_at(place.chosen.start)
            session = _read_session(place.chosen, row, files, recorded.get(row.scenario_id))
            damaged = [each for each in (session.trace, session.activity) if isinstance(each, Problem)]
            read.problems |= {str(each): None for each in damaged}
            write(place.path, session_page(session, ways[place.path]))
            pages.append(_listed(place, session, comparisons.get(row.scenario_id)))
    for scenario, path in comparisons.items():
        compared = [_compared(place, path, side_files[place.chosen.source.label]) for place in columns[scenario]]
        write(path, comparison_page(scenario, compared, _up(path)))
    return tuple(pages)


def _read_session(
    chosen: ChosenRow, row: ProfileRow, files: SideFiles, scenario: BaseScenario | None
) -> RecordedSession:
    trace, findings = files.trace(row), files.stored_findings(row)
    known = trace if isinstance(trace, SessionTrace) else None
    return RecordedSession(
        row=row,
        arm=chosen.arm,
        trace=trace,
        activity=files.activity(row),
        findings=findings.bundle if isinstance(findings, StoredFindings) else None,
        briefing=briefing_of(row, known, scenario, chosen.source.record),
    )


def _listed(place: _Place, session: RecordedSession, comparison: str | None) -> SessionPage:
    row, known = session.row, session.row.known_metrics
    return SessionPage(
        path=place.path,
        source=place.chosen.source.label,
        arm=place.chosen.arm,
        scenario_id=row.scenario_id,
        model=row.model,
        iteration=row.iteration,
        outcome=place.chosen.outcome,
        has_session=session.trace is not None,
        failed_checkpoints=tuple(each.id for each in row.checkpoint_details if not each.passed),
        figures=tuple(known.get(name) for name in LISTED_METRICS),
        comparison=comparison,
    )


def _place_rows(read: ReadRows) -> list[_Place]:
    """Return where the page of each chosen row lies, in the order of the rows."""
    taken: set[str] = set()
    several_models = len({each.cell.model for each in read.chosen}) > 1
    places: list[_Place] = []
    for each in read.chosen:
        below = [each.source.label] if len(read.arrangement.sources) > 1 else []
        # An arm names its agent where a report has several.
        below += [] if each.arm.agent is None else [each.arm.agent]
        names = (*below, each.cell.model, each.cell.mode, each.cell.scenario_id, str(each.cell.iteration))
        path = page_path("sessions", names, taken=taken)
        model = f" / {each.cell.model}" if several_models and each.arm.model is None else ""
        places.append(_Place(chosen=each, path=path, name=f"{each.arm}{model} #{each.cell.iteration}"))
    return places


def page_path(folder: str, names: Sequence[str], *, taken: set[str]) -> str:
    """Return where a page lies from the report's folder, and take that path; no name leads out of its own folder.

    A file put together from several runs has several rows for one cell, and two names may be written alike: such pages
    are numbered.
    """
    stem = "/".join((folder, *map(file_name, names)))
    path, number = f"{stem}.html", 1
    # Some file systems are not case-sensitive.
    while path.casefold() in taken:
        number += 1
        path = f"{stem}-{number}.html"
    taken.add(path.casefold())
    return path


def file_name(name: str) -> str:
    """Return a name as that of a file or folder which needs no quoting in any address.

    A slash, which ids of models have, becomes `~`. Where more than that is replaced, or the name is cut, digits of a
    digest distinguish it from similar names.
    """
    parts = [_UNSAFE.sub("-", part) for part in name.split("/")]
    written = "~".join(parts)
    is_plain = all(part and part[0] != "." for part in parts) and len(written) <= _LONGEST_NAME
    if is_plain and written.replace("~", "/") == name:
        return written
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
    return "~".join(filter(None, (written[:_LONGEST_NAME].strip(".~-"), digest)))


def _ways_of(
    place: _Place,
    neighbours: Sequence[str | None],
    members: Sequence[_Place],
    comparisons: Mapping[str, str],
) -> Ways:
    folder = posixpath.dirname(place.path)

    def way(path: str | None) -> str | None:
        return None if path is None else posixpath.relpath(path, folder)

    others = [each for each in members if each is not place]
    # Those of other arms first: they are why one looks.
    others.sort(key=lambda each: each.column == place.column)
    siblings = [
        Sibling(each.name, each.chosen.outcome, posixpath.relpath(each.path, folder))
        for each in others[:_MOST_SIBLINGS]
    ]
    return Ways(
        home=posixpath.relpath(HOME, folder),
        listing=way(LISTING),
        previous=way(neighbours[0]),
        next=way(neighbours[1]),
        comparison=way(comparisons.get(place.chosen.cell.scenario_id)),
        siblings=siblings,
    )


def _choose_columns(members: Sequence[_Place], order: Callable[[Iterable[Arm]], Sequence[Arm]]) -> list[_Place]:
    """Return which sessions of a scenario stand side by side: of each arm its first failure, or else a success.

    For a single arm, a failure next to a success.
    """
    by_column: dict[tuple[str, str], list[_Place]] = defaultdict(list)
    for place in members:
        by_column[place.column].append(place)
    if len(by_column) == 1:
        firsts = {place.is_success: place for place in reversed(members)}
        return [firsts[which] for which in (True, False) if which in firsts]
    positions = {str(arm): number for number, arm in enumerate(order({each.chosen.arm for each in members}))}
    columns = sorted(by_column.items(), key=lambda item: (positions[item[0][0]], item[0][1]))
    chosen = [next((each for each in group if not each.is_success), group[0]) for _, group in columns]
    return chosen[:_MOST_COLUMNS]


def _place_comparisons(columns: Mapping[str, Sequence[_Place]]) -> dict[str, str]:
    """Return where the comparison of each scenario lies that has anything to compare."""
    taken: set[str] = set()
    return {
        scenario: page_path("side-by-side", (scenario,), taken=taken)
        for scenario, chosen in columns.items()
        if len(chosen) > 1
    }


def _compared(place: _Place, path: str, files: SideFiles) -> ComparedSession:
    row = place.chosen.source.rows().row_at(place.chosen.start)
    trace = files.trace(row)
    return ComparedSession(
        name=place.name,
        outcome=place.chosen.outcome,
        way=posixpath.relpath(place.path, posixpath.dirname(path)),
        failed_checkpoints=tuple(each.description for each in row.checkpoint_details if not each.passed),
        trace=trace if isinstance(trace, SessionTrace) else None,
    )


def _up(path: str) -> Ways:
    folder = posixpath.dirname(path)
    return Ways(home=posixpath.relpath(HOME, folder), listing=posixpath.relpath(LISTING, folder))
