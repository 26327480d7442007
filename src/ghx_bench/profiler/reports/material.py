"""What a report is made from: rows read once, counted, summarised and compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ghx_bench.profiler.reports.arrangement import Arrangement, arrange
from ghx_bench.profiler.reports.columns import Columns, read_columns
from ghx_bench.profiler.reports.controls import ControlCount, ControlTally, controls_of
from ghx_bench.profiler.reports.coverage import Missing, missing_cases
from ghx_bench.profiler.reports.findings import Findings
from ghx_bench.profiler.reports.inventory import Inventory
from ghx_bench.profiler.reports.reading import Reading, WritePage, parts_of
from ghx_bench.profiler.reports.sessions import SessionPage
from ghx_bench.profiler.reports.sources import Source
from ghx_bench.profiler.reports.tally import SessionChoice, Tally
from ghx_bench.profiler.stats.comparison import all_pairs, compare_all_modes, default_order
from ghx_bench.profiler.stats.drift import drift_over_run
from ghx_bench.profiler.stats.observations import Names, Observations
from ghx_bench.profiler.stats.plan import AnalysisPlan
from ghx_bench.profiler.stats.records import Drift, ModeComparison, ModeSummary
from ghx_bench.profiler.stats.summary import summarize_modes


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Everything a report says, before it is put into words."""

    arrangement: Arrangement
    inventories: Mapping[str, Inventory]
    """What the rows of each source tell, by its label."""
    missing: tuple[Missing, ...]
    """The cases with fewer rows than they should have."""
    is_across_models: bool
    """Whether runs of one model each are paired by scenario alone, because their models differ."""
    notes: tuple[str, ...]
    """What is to be told about the files that were read."""
    plan: AnalysisPlan
    plan_source: Source | None
    """Whose plan it is; no one's, where none was recorded."""
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
    def sources(self) -> tuple[Source, ...]:
        """Where the rows come from, in the order in which runs are compared."""
        return self.arrangement.sources

    @property
    def is_before_and_after(self) -> bool:
        """Whether the runs have modes in common, which are then compared from run to run."""
        return self.arrangement.is_before_and_after

    @property
    def plan_was_recorded(self) -> bool:
        """Whether the plan was written down before the run."""
        return self.plan_source is not None

    @property
    def observations(self) -> Observations:
        """The numbers of all rows."""
        return self.columns.observations

    @property
    def is_control(self) -> bool:
        """Whether any row is of a control agent: then nothing is said about agents."""
        return bool(self.control_modes)

    @property
    def control_modes(self) -> tuple[str, ...]:
        """The modes with rows of a control agent."""
        return tuple(mode for mode in self.modes if self.tally.agents[mode] & self.tally.controls.names)

    @property
    def objections(self) -> tuple[ControlCount, ...]:
        """What control agents have against scenarios."""
        return self.tally.controls.objections

    @property
    def primary(self) -> tuple[ModeComparison, ...]:
        """The comparisons that were planned."""
        return tuple(each for each in self.comparisons if each.family == "primary")


def gather(sources: tuple[Source, ...], *, choice: SessionChoice, write_page: WritePage) -> Material:
    """Read every row once, writing the pages of sessions on the way, then summarise and compare."""
    arrangement = arrange(sources)
    sources, split = arrangement.sources, arrangement.is_before_and_after
    tally = Tally(choice, controls=ControlTally(controls_of(source.record for source in sources)))
    reading = Reading(arrangement=arrangement, tally=tally, write_page=write_page)
    columns = read_columns(reading.rows())
    across_models = split and _have_one_model_each(reading.inventories)
    plan, plan_source, seed = _plan_of(sources)
    modes = _mode_order(sources, columns.observations, split=split)
    is_control = any(provider in tally.controls.names for provider in reading.tally.providers)
    paired = _without_models(columns.observations) if across_models else columns.observations
    return Material(
        arrangement=arrangement,
        inventories=reading.inventories,
        missing=missing_cases(arrangement, reading.inventories, across_models=across_models),
        is_across_models=across_models,
        notes=tuple(reading.notes),
        plan=plan,
        plan_source=plan_source,
        seed=seed,
        modes=modes,
        columns=columns,
        tally=reading.tally,
        findings=reading.findings,
        pages=tuple(reading.pages),
        summaries=_summaries(columns.observations, plan, modes, seed),
        comparisons=() if is_control else _comparisons(paired, plan, modes, seed, split=split),
        drifts=_drifts(columns.observations, plan) if len(sources) == 1 else (),
    )


def _have_one_model_each(inventories: Mapping[str, Inventory]) -> bool:
    """Say whether runs differ in their one model, so that the scenario alone is left to pair by."""
    models = [inventory.models for inventory in inventories.values() if inventory.rows]
    return all(len(each) == 1 for each in models) and len(set(models)) > 1


def _without_models(observations: Observations) -> Observations:
    """Return the rows as if of one model."""
    return replace(observations, model=Names.of(["each run's own"] * len(observations)))


def _plan_of(sources: Sequence[Source]) -> tuple[AnalysisPlan, Source | None, int]:
    """Return the plan of the first run that has one, or the defaults."""
    for source in sources:
        plan = source.plan()
        if plan is not None and source.record is not None:
            return plan, source, source.record.matrix.seed
    return AnalysisPlan(), None, 0


def _mode_order(sources: Sequence[Source], observations: Observations, *, split: bool) -> tuple[str, ...]:
    known = observations.mode.known
    if not split:
        return default_order(known)
    labels = {source.label: number for number, source in enumerate(sources)}
    return tuple(sorted(known, key=lambda mode: (parts_of(mode)[0], labels[parts_of(mode)[1]])))


def _summaries(
    observations: Observations, plan: AnalysisPlan, modes: Sequence[str], seed: int
) -> dict[str, ModeSummary]:
    found = summarize_modes(observations, plan, seed=seed)
    return {mode: found[mode] for mode in modes}


def _comparisons(
    observations: Observations, plan: AnalysisPlan, modes: Sequence[str], seed: int, *, split: bool
) -> tuple[ModeComparison, ...]:
    """Compare all modes; from run to run, each mode with itself. Either way all comparisons are one family."""
    pairs = [(a, b) for a, b in all_pairs(modes) if not split or parts_of(a)[0] == parts_of(b)[0]]
    return compare_all_modes(observations, plan, pairs=pairs, seed=seed)


def _drifts(observations: Observations, plan: AnalysisPlan) -> tuple[Drift, ...]:
    return tuple(drift_over_run(observations, metric, confidence=1 - plan.alpha) for metric in plan.primary)
