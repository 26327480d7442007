"""The runs of a report: their order, what each was made with, and the conditions in which they differ."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import combinations

from pydantic import JsonValue

from ghx_profiler.plan.cell import Arm, order_arms
from ghx_profiler.reports.data.inventory import Facts, Inventory, moment_of
from ghx_profiler.reports.data.sources import Source
from ghx_profiler.reports.errors import NothingToReportError
from ghx_profiler.stats.plan import AnalysisPlan
from ghx_profiler.store.record import ModeDetails
from ghx_profiler.store.run_environment import (
    Changes,
    Difference,
    EnvironmentFact,
    Kind,
    RunEnvironment,
    find_changes,
    find_differences,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanInUse:
    """The analysis plan of a report: that of the first run that has one, or the usual one."""

    plan: AnalysisPlan = field(default_factory=AnalysisPlan)
    source: Source | None = None
    """Whose plan it is; `None` where no plan was recorded."""
    seed: int = 0
    changes: Mapping[str, object] = field(default_factory=dict[str, object])
    """Plan settings overridden for this report."""

    @classmethod
    def of(cls, sources: Sequence[Source], changes: Mapping[str, object]) -> "PlanInUse":
        """Return the plan of some sources, with changes."""
        plan_in_use = cls()
        for source in sources:
            plan = source.plan()
            if plan is not None and source.record is not None:
                plan_in_use = cls(plan=plan, source=source, seed=source.record.matrix.seed)
                break
        changed = {name: value for name, value in changes.items() if getattr(plan_in_use.plan, name) != value}
        return replace(plan_in_use, plan=plan_in_use.plan.model_copy(update=changed), changes=changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """Sources in the order in which they are compared."""

    sources: tuple[Source, ...]
    is_before_and_after: bool = False
    """Whether sources have modes in common, which are then compared from run to run."""
    is_by_time: bool = False
    """Whether the order, in which they were named, is also that in which they began."""
    has_several_agents: bool = False
    """Whether agents are distinguished: if a run planned more than one, or its rows have more."""
    has_several_models: bool = False
    """Whether models are distinguished, by the same rule."""
    plan: PlanInUse = field(default_factory=PlanInUse)

    def order(self, arms: Iterable[Arm]) -> tuple[Arm, ...]:
        """Return arms in the order in which runs list them; of rows alone, `baseline` first."""
        matrices = [source.record.matrix for source in self.sources if source.record is not None]
        return order_arms(
            arms,
            agents=tuple(dict.fromkeys(name for each in matrices for name in each.agents)),
            models=tuple(dict.fromkeys(name for each in matrices for name in each.models)),
            modes=tuple(dict.fromkeys(name for each in matrices for name in each.modes)),
            runs=tuple(source.label for source in self.sources),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Summary:
    """What the order of sources, and whether they are compared, depend on."""

    source: Source
    run_ids: frozenset[str]
    modes: frozenset[str]
    began: datetime | None


def arrange(sources: Sequence[Source], inventories: Mapping[str, Inventory], plan: PlanInUse) -> Arrangement:
    """Return how sources are compared, in the order in which they are named; refuse a run that is named twice.

    Parts of one run may lie in several files as long as no two have a mode in common.
    """
    as_named = Arrangement(
        sources=tuple(sources),
        has_several_agents=_distinguishes_agents(sources, inventories, plan.plan),
        # The rows count as well: those of a copied file have no record, and factors that are not distinguished would be
        # pooled.
        has_several_models="models" not in plan.plan.pool
        and any(
            max(len(models_of(source, inventories[source.label])), len(inventories[source.label].models)) > 1
            for source in sources
        ),
        plan=plan,
    )
    if len(sources) == 1:
        return as_named
    glimpses = [_summarize(source, inventories[source.label]) for source in sources]
    for one, other in combinations(glimpses, 2):
        if one.modes & other.modes and (common := one.run_ids & other.run_ids):
            raise NothingToReportError(
                f"{other.source.rows_path}: has rows of run {min(common)}, as {one.source.rows_path} does; "
                "a run cannot be compared with itself, name each run once"
            )
    if not any(one.modes & other.modes for one, other in combinations(glimpses, 2)):
        return as_named
    moments = [each.began for each in glimpses if each.began is not None]
    is_by_time = len(set(moments)) == len(glimpses) and moments == sorted(moments)
    return replace(as_named, is_before_and_after=True, is_by_time=is_by_time)


def _distinguishes_agents(sources: Sequence[Source], inventories: Mapping[str, Inventory], plan: AnalysisPlan) -> bool:
    """Return whether arms are named with their agent: some source has several, as recorded or by its rows."""
    names = [{*agents_of(source, inventories[source.label]), *inventories[source.label].agents} for source in sources]
    if "agents" not in plan.pool:
        return any(len(each) > 1 for each in names)
    # A control proves scenarios, and is never one arm with agents under test.
    return any(
        len(each) > 1 and any(source.control_kind(name) is not None for name in each)
        for source, each in zip(sources, names, strict=True)
    )


def _summarize(source: Source, inventory: Inventory) -> _Summary:
    """Read the run's record, or else its rows."""
    if source.mode is not None:
        # Two modes of one run are two sources, and what stands for a mode is compared with what stands for another.
        return _Summary(source=source, run_ids=frozenset({source.mode}), modes=frozenset({""}), began=inventory.began)
    if (record := source.record) is not None:
        return _Summary(
            source=source,
            run_ids=frozenset({record.run_id}),
            modes=frozenset(record.matrix.modes),
            began=moment_of(record.created_at),
        )
    run_ids, modes = frozenset(inventory.run_ids), frozenset(inventory.modes)
    return _Summary(source=source, run_ids=run_ids, modes=modes, began=inventory.began)


def agents_of(source: Source, inventory: Inventory) -> tuple[str, ...]:
    """Return the agents of a source: the recorded ones, or those of the rows."""
    return source.record.matrix.agents if source.record else inventory.agents


def models_of(source: Source, inventory: Inventory) -> tuple[str, ...]:
    """Return the models of a source: the planned ones, or those of the rows."""
    return source.record.matrix.models if source.record else inventory.models


def modes_of(source: Source, inventory: Inventory) -> tuple[str, ...]:
    """Return the modes of a source: the planned ones, or those of the rows."""
    return source.record.matrix.modes if source.record else inventory.modes


def environment_differences(sources: Sequence[Source], inventories: Mapping[str, Inventory]) -> tuple[Difference, ...]:
    """Name every condition in which any two sources differ. What a source did not record is not compared."""
    return find_differences(_environments_by_label(sources, inventories))


def changes_between(sources: Sequence[Source], inventories: Mapping[str, Inventory]) -> tuple[Changes, ...]:
    """Return the changes from the first source to each of the others."""
    return find_changes(_environments_by_label(sources, inventories))


def _environments_by_label(
    sources: Sequence[Source], inventories: Mapping[str, Inventory]
) -> Mapping[str, RunEnvironment]:
    return {source.label: _conditions_of(source, inventories[source.label]) for source in sources}


def _conditions_of(source: Source, inventory: Inventory) -> RunEnvironment:
    """Return the environment of a source; for rows alone, from the rows."""
    record = source.record
    listed = (
        (Kind.AGENT, "agent", agents_of(source, inventory)),
        (Kind.MODEL, "model", models_of(source, inventory)),
        (Kind.MODE, "mode", modes_of(source, inventory)),
        (Kind.SCENARIO, "scenario", record.matrix.scenario_ids if record else inventory.scenarios),
    )
    own = [EnvironmentFact(kind=kind, name=name, value=[*sorted(names)]) for kind, name, names in listed]
    if record is None:
        own.append(EnvironmentFact(kind=Kind.SETTING, name="repetitions", value=inventory.repetitions))
    return RunEnvironment.of(record, also=own)


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """What one mode of one run gave its agents; `facts` are several where rows of the mode differ in them."""

    arm: Arm
    details: ModeDetails | None
    """What the run wrote down before its first cell; older runs, and rows alone, have nothing of that."""
    facts: tuple[Facts, ...]

    @property
    def instructions(self) -> str | None:
        """The agent's additional instructions; `None` if it had none, or they are unknown."""
        return None if self.details is None else self.details.instructions

    def to_wire(self) -> dict[str, JsonValue]:
        """Return it as JSON."""
        return {
            "recorded": self.details is not None,
            "instructions": self.instructions,
            "facts": [dict(each) for each in self.facts],
        }


def equipment_of(
    arms: Sequence[Arm], sources: Sequence[Source], inventories: Mapping[str, Inventory]
) -> tuple[Equipment, ...]:
    """Return the tools and instructions of every arm, as far as its run or its rows have them."""
    equipment: list[Equipment] = []
    for arm in arms:
        own = [source for source in sources if arm.run in {None, source.label}]
        recorded = (source.record.mode_details.get(arm.mode) for source in own if source.record is not None)
        details = next(filter(None, recorded), None)
        facts = [each for source in own for each in inventories[source.label].facts_of(arm.mode)]
        if not facts and details is not None and details.facts:
            facts = [details.facts]
        equipment.append(Equipment(arm=arm, details=details, facts=tuple(facts)))
    return tuple(equipment)
