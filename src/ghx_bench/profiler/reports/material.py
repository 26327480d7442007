"""What a report is made from: rows read once, counted, summarised and compared."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ghx_bench.profiler.reports.columns import Columns, read_columns
from ghx_bench.profiler.reports.findings import Findings
from ghx_bench.profiler.reports.sessions import SessionPage, outcome_of, session_page, session_path
from ghx_bench.profiler.reports.sources import Source
from ghx_bench.profiler.reports.tally import SessionChoice, Tally
from ghx_bench.profiler.row import ProfileRow
from ghx_bench.profiler.stats.comparison import compare_all_modes, default_order
from ghx_bench.profiler.stats.drift import drift_over_run
from ghx_bench.profiler.stats.observations import Observations
from ghx_bench.profiler.stats.plan import AnalysisPlan
from ghx_bench.profiler.stats.records import Drift, ModeComparison, ModeSummary
from ghx_bench.profiler.stats.summary import summarize_modes

CONTROLS = frozenset({"reference", "nop", "replay"})
"""Agents that prove the scenarios and are not measured themselves."""

WritePage = Callable[[str, str], None]
"""Puts a page at a path below the report's folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Everything a report says, before it is put into words."""

    sources: tuple[Source, ...]
    is_before_and_after: bool
    """Whether the runs have modes in common, which are then compared from run to run."""
    plan: AnalysisPlan
    plan_was_recorded: bool
    seed: int
    modes: tuple[str, ...]
    columns: Columns
    tally: Tally
    findings: Findings
    pages: tuple[SessionPage, ...]
    summaries: dict[str, ModeSummary]
    comparisons: tuple[ModeComparison, ...]
    drifts: tuple[Drift, ...]

    @property
    def observations(self) -> Observations:
        """The numbers of all rows."""
        return self.columns.observations

    @property
    def is_control(self) -> bool:
        """Whether any row is of a control agent: then nothing is said about agents."""
        return any(provider in CONTROLS for provider in self.tally.providers)

    @property
    def primary(self) -> tuple[ModeComparison, ...]:
        """The comparisons that were planned."""
        return tuple(each for each in self.comparisons if each.family == "primary")


def gather(sources: tuple[Source, ...], *, choice: SessionChoice, write_page: WritePage) -> Material:
    """Read every row once, writing the pages of sessions on the way, then summarise and compare."""
    tally, findings, pages = Tally(choice), Findings(), list[SessionPage]()
    split, taken = _share_modes(sources), set[str]()

    def passing() -> Iterator[tuple[str, ProfileRow]]:
        for source, row in _rows(sources):
            shown = row.model_copy(update={"mode": f"{row.mode} @ {source.label}"}) if split else row
            tally.add(shown)
            if source.has_analyses and (bundle := source.analysis(row.cell)) is not None:
                findings.add(shown.mode, bundle)
            if tally.chooses(shown):
                path = _unused(session_path(row, below=source.label if len(sources) > 1 else None), taken)
                write_page(path, session_page(row, source.trace(row.cell), mode=shown.mode))
                pages.append(_page_of(path, source, shown))
            yield source.label, shown

    columns = read_columns(passing())
    plan, seed = _plan_of(sources)
    modes = _mode_order(sources, columns.observations, split=split)
    is_control = any(provider in CONTROLS for provider in tally.providers)
    return Material(
        sources=sources,
        is_before_and_after=split,
        plan=plan,
        plan_was_recorded=sources[0].record is not None,
        seed=seed,
        modes=modes,
        columns=columns,
        tally=tally,
        findings=findings,
        pages=tuple(pages),
        summaries=_summaries(columns.observations, plan, modes, seed),
        comparisons=() if is_control else _comparisons(columns.observations, plan, modes, seed, split=split),
        drifts=_drifts(columns.observations, plan) if len(sources) == 1 else (),
    )


def _rows(sources: Sequence[Source]) -> Iterator[tuple[Source, ProfileRow]]:
    for source in sources:
        yield from ((source, row) for row in source.rows())


def _unused(path: str, taken: set[str]) -> str:
    """Return a path that no page has: a file put together from several runs has several rows for one cell."""
    stem, number, free = path.removesuffix(".html"), 2, path
    while free in taken:
        free, number = f"{stem}-{number}.html", number + 1
    taken.add(free)
    return free


def _page_of(path: str, source: Source, row: ProfileRow) -> SessionPage:
    return SessionPage(
        path=path,
        source=source.label,
        mode=row.mode,
        scenario_id=row.scenario_id,
        model=row.model,
        iteration=row.iteration,
        outcome=outcome_of(row),
    )


def _share_modes(sources: Sequence[Source]) -> bool:
    """Say whether a mode occurs in two sources; otherwise they are parts of one comparison."""
    if len(sources) == 1:
        return False
    seen: set[str] = set()
    for source in sources:
        modes = set(source.record.matrix.modes) if source.record else {row.mode for row in source.rows()}
        if modes & seen:
            return True
        seen |= modes
    return False


def _plan_of(sources: Sequence[Source]) -> tuple[AnalysisPlan, int]:
    record = sources[0].record
    return sources[0].plan() or AnalysisPlan(), record.matrix.seed if record else 0


def _mode_order(sources: Sequence[Source], observations: Observations, *, split: bool) -> tuple[str, ...]:
    known = observations.mode.known
    if not split:
        return default_order(known)
    labels = {source.label: number for number, source in enumerate(sources)}
    return tuple(sorted(known, key=lambda mode: (_parts(mode)[0], labels[_parts(mode)[1]])))


def _parts(mode: str) -> tuple[str, str]:
    name, _, label = mode.rpartition(" @ ")
    return name, label


def _summaries(
    observations: Observations, plan: AnalysisPlan, modes: Sequence[str], seed: int
) -> dict[str, ModeSummary]:
    found = summarize_modes(observations, plan, seed=seed)
    return {mode: found[mode] for mode in modes}


def _comparisons(
    observations: Observations, plan: AnalysisPlan, modes: Sequence[str], seed: int, *, split: bool
) -> tuple[ModeComparison, ...]:
    """Compare all modes; from run to run, each mode with itself, as one family for each mode."""
    groups: dict[str, list[str]] = {}
    for mode in modes:
        groups.setdefault(_parts(mode)[0] if split else "", []).append(mode)
    return tuple(
        comparison
        for group in groups.values()
        for comparison in compare_all_modes(observations, plan, modes=group, seed=seed)
    )


def _drifts(observations: Observations, plan: AnalysisPlan) -> tuple[Drift, ...]:
    return tuple(drift_over_run(observations, metric, confidence=1 - plan.alpha) for metric in plan.primary)
