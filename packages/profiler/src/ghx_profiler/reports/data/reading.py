"""One pass over all rows: everything a report counts, and which rows get a page. Nothing is written here."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from ghx_base.garbage import without_cycle_collection
from ghx_base.problems import Problem, plural
from ghx_profiler.analyzers.files import recorded_scenarios, supplemented
from ghx_profiler.control_kinds import ControlKind
from ghx_profiler.errors import UnknownNameError
from ghx_profiler.plan.cell import Arm, Cell
from ghx_profiler.records.analysis import SessionAnalysisBundle
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.reports.data.columns import ColumnBuilder, Columns
from ghx_profiler.reports.data.inventory import Inventory
from ghx_profiler.reports.data.runs import Arrangement, PlanInUse, arrange
from ghx_profiler.reports.data.session_findings import Findings
from ghx_profiler.reports.data.side_files import SideFiles, StoredFindings
from ghx_profiler.reports.data.sources import Source
from ghx_profiler.reports.data.tally import SessionChoice, Tally, outcome_of
from ghx_profiler.scenario import BaseScenario
from ghx_profiler.stats.plan import Pooled
from ghx_profiler.store.rows import DistinctRows

T = TypeVar("T", SessionAnalysisBundle, StoredFindings)

_MOST_NAMED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenRow:
    """A row that gets a page: where it begins in its file, so that it can be read again, and what leads to it."""

    source: Source
    start: int
    arm: Arm
    cell: Cell
    outcome: str


@dataclass(slots=True, kw_only=True)
class ReadRows:
    """All rows of some sources, read once: as columns, counted, with what was found in their sessions."""

    arrangement: Arrangement
    columns: Columns
    tally: Tally
    findings: Findings
    inventories: dict[str, Inventory]
    """By the label of the source."""
    chosen: tuple[ChosenRow, ...]
    remarks: tuple[str, ...]
    """Notes for readers about the files of rows."""
    problems: dict[str, None]
    """Problems with files next to the rows, each once."""

    def notes(self) -> Iterator[str]:
        """Yield notes for readers about the files of the report, and about its plan."""
        if (plan := self.arrangement.plan).changes and plan.source is not None:
            yield f"{', '.join(plan.changes)}: asked for with the report, and not in the plan of the run"
        yield from self.remarks
        yield from list(self.problems)[:_MOST_NAMED]
        if len(self.problems) > _MOST_NAMED:
            yield f"{plural(len(self.problems) - _MOST_NAMED, 'more file')} beside the rows could not be read"


def read_sources(
    sources: Sequence[Source],
    *,
    choice: SessionChoice = "none",
    with_findings: bool = True,
    watchers: Sequence[Callable[[ProfileRow], None]] = (),
    plan_changes: Mapping[str, object] | None = None,
    without: Collection[str] = frozenset(),
) -> ReadRows:
    """Read every row of the sources once; each of `watchers` is called with every row on the way.

    `choice` selects the rows with a page; without findings, no session is looked at. `plan_changes` are fields of the
    analysis plan that the report is to be made with instead of the recorded ones. A command that needs rows for more
    than a report, such as gates and a table at the end of a run, brings its counters as watchers and hands the result
    on to `generate_report`. Rows of the scenarios `without` are left out.
    """
    plan = PlanInUse.of(sources, plan_changes or {})
    reader = _RowReader(
        tally=Tally(choice), pooled=plan.plan.pool, with_findings=with_findings, watchers=watchers, without=without
    )
    with without_cycle_collection():
        for source in sources:
            reader.read(source)
    # Only now, from rows that were read once: whether there are several agents and models, and whether modes are
    # compared from run to run.
    arrangement = arrange(sources, reader.inventories, plan)
    modes = {mode for inventory in reader.inventories.values() for mode in inventory.modes}
    if (reference := plan.changes.get("reference_mode")) is not None and reference not in modes:
        raise UnknownNameError("mode", str(reference), known=sorted(modes))

    def rename(arm: Arm) -> Arm:
        return replace(
            arm,
            agent=arm.agent if arrangement.has_several_agents else None,
            model=arm.model if arrangement.has_several_models else None,
            run=arm.run if arrangement.is_before_and_after else None,
        )

    reader.tally.rename_arms(rename)
    reader.findings.rename_arms(rename)
    order = {source.label: number for number, source in enumerate(arrangement.sources)}
    chosen = sorted(reader.chosen, key=lambda each: order[each.source.label])
    return ReadRows(
        arrangement=arrangement,
        columns=ColumnBuilder.join([reader.columns[label] for label in order], rename),
        tally=reader.tally,
        findings=reader.findings,
        inventories=reader.inventories,
        chosen=tuple(replace(each, arm=rename(each.arm)) for each in chosen),
        remarks=tuple(reader.remarks),
        problems=reader.problems,
    )


@dataclass(slots=True, kw_only=True)
class _RowReader:
    """What has been seen so far; every arm is that of its agent, its model and its source, unless they are pooled."""

    tally: Tally
    pooled: Collection[Pooled]
    with_findings: bool
    watchers: Sequence[Callable[[ProfileRow], None]]
    without: Collection[str]
    columns: dict[str, ColumnBuilder] = field(default_factory=dict[str, ColumnBuilder])
    """By the label of the source."""
    findings: Findings = field(default_factory=Findings)
    inventories: dict[str, Inventory] = field(default_factory=dict[str, Inventory])
    chosen: list[ChosenRow] = field(default_factory=list[ChosenRow])
    remarks: list[str] = field(default_factory=list[str])
    problems: dict[str, None] = field(default_factory=dict[str, None])

    def read(self, source: Source) -> None:
        """Read all rows of one source."""
        inventory = self.inventories[source.label] = Inventory()
        files, rows = source.side_files(), source.rows()
        scenarios = recorded_scenarios(source.record.scenarios) if source.record else {}
        columns = self.columns[source.label] = ColumnBuilder()
        arms: dict[tuple[str, str, str], tuple[Arm, ControlKind | None]] = {}
        for row in rows:
            if row.scenario_id in self.without or source.mode not in (None, row.mode):
                continue
            # Once for each agent, model and mode, not for each row: columns compare and hash arms.
            known = arms.get((row.agent_name, row.model, row.mode))
            if known is None:
                known = self._arm_of(source, row), source.control_kind(row.agent_name)
                arms[row.agent_name, row.model, row.mode] = known
            arm, control_kind = known
            inventory.add(row)
            self.tally.add(row, arm, control_kind)
            columns.add(source.label, row, arm)
            if self.with_findings:
                self._find(files, row, arm, scenarios)
            if self.tally.chooses(row, arm):
                outcome = outcome_of(row)
                self.chosen.append(ChosenRow(source=source, start=rows.start, arm=arm, cell=row.cell, outcome=outcome))
            for watch in self.watchers:
                watch(row)
        self.remarks += _remarks(source, rows)
        self.findings.has_sessions |= files.has_sessions
        if files.left_some:
            self.findings.commands.append(files.analyze_command())

    def _arm_of(self, source: Source, row: ProfileRow) -> Arm:
        is_control = source.control_kind(row.agent_name) is not None
        return Arm(
            mode=row.mode if source.mode is None else "",
            agent=row.agent_name if is_control or "agents" not in self.pooled else None,
            model=None if "models" in self.pooled else row.model,
            run=source.label,
            model_label=source.record.model_labels.get(row.model) if source.record else None,
        )

    def _find(self, files: SideFiles, row: ProfileRow, arm: Arm, scenarios: dict[str, BaseScenario]) -> None:
        """Count what was found in a session: what our analyzers left on disk, or else what they find now.

        Findings of the older packages' analyzers are added where ours have none.
        """
        stored = self._readable(files.stored_findings(row))
        if stored is not None and not stored.is_foreign:
            self.findings.add(arm, row.cell, stored.bundle)
            return
        new = self._readable(files.new_findings(row, scenarios))
        if new is not None:
            self.findings.add(arm, row.cell, new if stored is None else supplemented(new, stored.bundle))
        elif stored is not None:
            self.findings.add(arm, row.cell, stored.bundle, is_foreign=True)

    def _readable(self, content: T | Problem | None) -> T | None:
        """Return what was found in a file; a problem with the file is kept for the notes."""
        if isinstance(content, Problem):
            self.problems[str(content)] = None
            return None
        return content


def _remarks(source: Source, rows: DistinctRows) -> Iterator[str]:
    if rows.repeats:
        stand, are = ("stands", "is") if rows.repeats == 1 else ("stand", "are")
        yield f"{source.label}: {plural(rows.repeats, 'row')} {stand} in the file twice and {are} counted once"
    if rows.is_torn:
        yield f"{source.label}: the last line is torn, as a crash leaves it, and was left out"
