"""What a report is made from: rows read once, counted, summarised and compared."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ghx_base.wire import Number
from ghx_profiler.plan.cell import Arm
from ghx_profiler.records.metric_table import MetricTable
from ghx_profiler.reports.data.columns import Columns, Grid, spread_grid
from ghx_profiler.reports.data.controls import ControlCount
from ghx_profiler.reports.data.coverage import Missing, missing_cases
from ghx_profiler.reports.data.inventory import Inventory
from ghx_profiler.reports.data.reading import ReadRows
from ghx_profiler.reports.data.runs import Arrangement
from ghx_profiler.reports.data.safety import SafetyFigures, find_safety
from ghx_profiler.reports.data.session_findings import Findings
from ghx_profiler.reports.data.sources import Source
from ghx_profiler.reports.data.tally import Tally
from ghx_profiler.scenario import scenario_of
from ghx_profiler.stats.comparison import compare_all_modes, planned_pairs, reference_mode
from ghx_profiler.stats.methods.drift import drift_over_run
from ghx_profiler.stats.observations import SUCCESS, Observations, factor, headline_set
from ghx_profiler.stats.plan import AnalysisPlan
from ghx_profiler.stats.result_records import (
    Drift,
    ModeComparison,
    ModeSummary,
    OverallComparison,
    RunComparison,
)
from ghx_profiler.stats.run_comparison import ComparedRuns, compare_overall, compare_runs
from ghx_profiler.stats.summary import summarize_modes

_TOKENS, _COST = "tokens_active", "cost_total_usd"
"""What is set against success, whether it is planned and shown elsewhere or not."""


LISTED_METRICS = ("latency_wall_ms", "tokens_total", "cost_total_usd", "tool_calls_total")
"""Metrics that lists of sessions show in addition to the outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPage:
    """A page that was written: where, of which cell, and how the session ended."""

    path: str
    source: str
    arm: Arm
    scenario_id: str
    model: str
    iteration: int
    outcome: str
    has_session: bool
    """Whether the row has a session; without one the page shows the data of the row."""
    failed_checkpoints: tuple[str, ...] = ()
    figures: tuple[Number | None, ...] = ()
    """What the list of sessions shows of it: `LISTED_METRICS`, in their order."""
    comparison: str | None = None
    """Where sessions of the same scenario stand side by side; `None` if there is one only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """All data of a report, before it is formatted."""

    arrangement: Arrangement
    inventories: Mapping[str, Inventory]
    """The inventory of each source's rows, by its label."""
    missing: tuple[Missing, ...]
    """The cases with fewer rows than they should have."""
    is_across_models: bool
    """Whether runs of one model each are paired by scenario alone, because their models differ."""
    notes: tuple[str, ...]
    """Remarks on the files that were read."""
    plan: AnalysisPlan
    plan_source: Source | None
    """Whose plan it is; `None` where no plan was recorded."""
    seed: int
    metrics: MetricTable
    arms: tuple[Arm, ...]
    """In the order in which they are shown, the reference first."""
    pairs: tuple[tuple[Arm, Arm], ...]
    """All comparisons, one family: A, and the B that it is compared with."""
    columns: Columns
    grids: Mapping[str, Grid]
    """Every metric that tables and charts show, by scenario and arm."""
    tally: Tally
    findings: Findings
    pages: tuple[SessionPage, ...]
    summaries: Mapping[Arm, ModeSummary]
    comparisons: tuple[ModeComparison, ...]
    """In one run, arms against the reference. From run to run, each arm against itself in the first run."""
    run_comparisons: tuple[RunComparison, ...]
    """From run to run: each later run against the first, over all arms together; empty for one run."""
    paired: Observations
    """The rows as they are paired: those of runs that differ in their one model as if of one."""
    drifts: tuple[Drift, ...]
    safety: SafetyFigures | None
    """What the arms do under attack; `None` where no scenario is under threat."""

    @property
    def sources(self) -> tuple[Source, ...]:
        """Where the rows come from, in the order in which runs are compared."""
        return self.arrangement.sources

    @property
    def is_before_and_after(self) -> bool:
        """Whether the runs have modes in common, which are then compared from run to run."""
        return self.arrangement.is_before_and_after

    @property
    def reference_mode(self) -> str | None:
        """The reference mode; `None` from run to run, and if nothing is compared."""
        if self.is_before_and_after or not self.arms_under_test:
            return None
        return reference_mode(self.arms_under_test, self.plan)

    @property
    def reference_run(self) -> str | None:
        """The label of the run that later ones are compared with; `None` for one run."""
        return self.sources[0].label if self.is_before_and_after else None

    def ask(self, metric: str) -> tuple[OverallComparison, ...]:
        """Return each later run compared with the first on one metric alone: `tier` and `tier_alone` are the same."""
        runs = [source.label for source in self.sources]
        return compare_overall(
            self.paired, metric, self.plan, runs=runs, pairs=self.pairs, metrics=self.metrics, seed=self.seed
        )

    @property
    def observations(self) -> Observations:
        """The numbers of all rows."""
        return self.columns.observations

    @property
    def forms(self) -> Mapping[str, tuple[str, ...]]:
        """The ids of the rows by scenario: of one without variants its own, else the plain one, if there, first."""
        forms: dict[str, list[str]] = {}
        for id_ in self.observations.scenario.known:
            forms.setdefault(scenario_of(id_), []).append(id_)
        return {task: tuple(sorted(ids)) for task, ids in sorted(forms.items())}

    @property
    def has_variants(self) -> bool:
        """Whether some rows are of variants."""
        return any(ids != (task,) for task, ids in self.forms.items())

    @property
    def arm_names(self) -> tuple[str, ...]:
        """What the arms are called in tables and charts."""
        return tuple(map(str, self.arms))

    @property
    def glance_metrics(self) -> tuple[str, ...]:
        """The metrics that are shown of every mode and scenario."""
        return tuple(metric.name for metric in self.metrics.shown_in("glance"))

    @property
    def control_arms(self) -> tuple[Arm, ...]:
        """The arms with rows of a control agent, which are compared with none."""
        return tuple(arm for arm in self.arms if arm in self.tally.controls.arms)

    @property
    def arms_under_test(self) -> tuple[Arm, ...]:
        """The arms that measure agents."""
        return tuple(arm for arm in self.arms if arm not in self.tally.controls.arms)

    @property
    def arm_word(self) -> str:
        """What tables call the column of arms."""
        distinctions = (
            ("agent", self.arrangement.has_several_agents),
            ("model", self.arrangement.has_several_models),
            ("mode", True),
        )
        return " / ".join(word for word, is_distinguished in distinctions if is_distinguished)

    @property
    def violations(self) -> tuple[ControlCount, ...]:
        """What control agents have against scenarios."""
        return self.tally.controls.violations

    @property
    def primary(self) -> tuple[ModeComparison, ...]:
        """The comparisons that were planned."""
        return tuple(each for each in self.comparisons if each.family == "primary")


def gather(read: ReadRows, pages: Sequence[SessionPage], metrics: MetricTable) -> Material:
    """Summarise and compare rows that were read."""
    arrangement, observations = read.arrangement, read.columns.observations
    sources, split = arrangement.sources, arrangement.is_before_and_after
    across_models = split and _have_one_model_each(read.inventories)
    plan, seed = arrangement.plan.plan, arrangement.plan.seed
    for source in sources:
        metrics = metrics.with_units(source.record.metric_units if source.record else {})
    arms = arrangement.order(observations.arm.known)
    # Control agents verify scenarios: comparing an agent with one of them would be meaningless.
    under_test = [arm for arm in arms if arm not in read.tally.controls.arms]
    runs = [source.label for source in sources]
    pairs = planned_pairs(under_test, plan, runs=runs)
    paired = observations
    if across_models:
        # Pairing within a model would leave nothing: the rows are taken as if of one.
        paired = replace(observations, model=factor(["each run's own"] * len(observations)))
    if split:
        compared = compare_runs(paired, plan, runs=runs, pairs=pairs, metrics=metrics, seed=seed)
    else:
        compared = ComparedRuns(runs=(), arms=compare_all_modes(paired, plan, pairs=pairs, seed=seed))
    summaries = summarize_modes(observations, plan, seed=seed)
    shown = dict.fromkeys((SUCCESS, _TOKENS, *plan.primary, *(each.name for each in metrics.shown_in("glance")), _COST))
    return Material(
        arrangement=arrangement,
        inventories=read.inventories,
        missing=missing_cases(arrangement, read.inventories, across_models=across_models),
        is_across_models=across_models,
        notes=(*read.notes(), *_note_reference(arrangement, under_test)),
        plan=plan,
        plan_source=arrangement.plan.source,
        seed=seed,
        metrics=metrics,
        arms=arms,
        pairs=pairs,
        columns=read.columns,
        grids={name: spread_grid(observations, name, analysis_set=headline_set(name)) for name in shown},
        tally=read.tally,
        findings=read.findings,
        pages=tuple(pages),
        summaries={arm: summaries[str(arm)] for arm in arms},
        comparisons=compared.arms,
        run_comparisons=compared.runs,
        paired=paired,
        drifts=tuple(drift_over_run(observations, metric, confidence=1 - plan.alpha) for metric in plan.primary)
        if len(sources) == 1
        else (),
        safety=find_safety(
            observations, paired, plan, threatened=read.tally.threatened, arms=arms, pairs=pairs, seed=seed
        ),
    )


def _have_one_model_each(inventories: Mapping[str, Inventory]) -> bool:
    """Return whether runs differ in their one model, so that the scenario alone is left to pair by."""
    models = [inventory.models for inventory in inventories.values() if inventory.rows]
    return all(len(each) == 1 for each in models) and len(set(models)) > 1


def _note_reference(arrangement: Arrangement, arms: Sequence[Arm]) -> Iterator[str]:
    """Yield a note if the planned reference mode has no rows, with the mode that replaces it."""
    record, plan = arrangement.sources[0].record, arrangement.plan.plan
    if arrangement.is_before_and_after or record is None or not arms:
        return
    planned, actual = plan.reference_mode or record.matrix.modes[0], reference_mode(arms, plan)
    if planned != actual:
        yield f"the reference mode {planned} has no rows: modes are held against {actual}"
