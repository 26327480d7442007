"""What must be known before a verdict is believed: rows that are missing, conditions that differ."""

from collections.abc import Iterator, Sequence

from ghx_bench._base.problems import plural
from ghx_bench.profiler.reports.circumstances import differing_conditions, modes_of
from ghx_bench.profiler.reports.columns import spelled
from ghx_bench.profiler.reports.coverage import Missing, Yardstick, planned_cells
from ghx_bench.profiler.reports.document import Warning  # noqa: A004 - the report's word; the builtin is not used here
from ghx_bench.profiler.reports.material import Material
from ghx_bench.profiler.reports.sources import Source
from ghx_bench.profiler.store.record import RunStatus

_MOST_NAMED = 5
_SPELLED_OUT = frozenset({"agent", "models"})
"""Conditions whose values are told with the verdicts; of others the name is enough there."""

_STATES: dict[RunStatus, str] = {
    "complete": "is complete, yet",
    "running": "is not finished:",
    "interrupted": "was interrupted:",
    "failed": "failed:",
}


def cautions(material: Material) -> Iterator[Warning]:
    """Yield the warnings that stand before the verdicts."""
    for source in material.sources:
        yield from map(Warning, _partial(material, source))
    if material.is_before_and_after:
        yield from map(Warning, _lonely_modes(material))
    yield from map(Warning, _without_common_model(material))
    differing = differing_conditions(material.sources, material.inventories) if material.is_before_and_after else ()
    if differing:
        named = ", ".join(str(each) if each.condition in _SPELLED_OUT else each.condition for each in differing)
        across = " The models differ: rows are paired by scenario alone." if material.is_across_models else ""
        yield Warning(
            f"The runs differ in {named}; a difference may come from there. Conditions lists the values.{across}"
        )


def _partial(material: Material, source: Source) -> Iterator[str]:
    """Say of a source which rows it should have and does not."""
    missing = [each for each in material.missing if each.source == source.label]
    by_plan, others = _by(missing, "plan"), [*_by(missing, "other runs"), *_by(missing, "other modes")]
    record = source.record
    if record is not None and (by_plan or record.status != "complete"):
        rows, planned = sum(each.rows for each in by_plan), planned_cells(record.matrix)
        told = f"{rows:,} of its {plural(planned, 'planned cell')} {'has' if rows == 1 else 'have'} no row"
        named = f", and no row is not a pass: {_named(by_plan)}" if by_plan else ""
        yield f"{source.label} {_STATES[record.status]} {told}{named}."
    if others:
        rows, yardstick = sum(each.rows for each in others), others[0].yardstick
        yield (
            f"{source.label} lacks {plural(rows, 'row')} that {yardstick} have, and no row is not a pass: "
            f"{_named(others)}."
        )


def _by(missing: Sequence[Missing], yardstick: Yardstick) -> list[Missing]:
    return [each for each in missing if each.yardstick == yardstick]


def _named(missing: Sequence[Missing]) -> str:
    """Name some cases, those without any row first."""
    several_models = len({each.case.model for each in missing}) > 1
    ordered = sorted(missing, key=lambda each: (each.found > 0, each.case))
    named = ", ".join(case_of(each, with_model=several_models) for each in ordered[:_MOST_NAMED])
    more = len(missing) - _MOST_NAMED
    return f"{named} and {plural(more, 'more case')}, which Conditions lists" if more > 0 else named


def case_of(missing: Missing, *, with_model: bool) -> str:
    """Name a case with the rows it has and should have."""
    case = missing.case
    model = f" / {case.model}" if with_model else ""
    return f"{case.mode} / {case.scenario}{model} ({missing.found} of {missing.expected})"


def _lonely_modes(material: Material) -> Iterator[str]:
    """Say which modes not every run has."""
    modes = {source.label: modes_of(source, material.inventories[source.label]) for source in material.sources}
    told = [
        f"{mode} only in {', '.join(having)}"
        for mode in sorted({mode for each in modes.values() for mode in each})
        if len(having := [label for label, each in modes.items() if mode in each]) < len(modes)
    ]
    if told:
        yield f"Not every run has every mode, and a mode is compared with itself alone: {'; '.join(told)}."


def _without_common_model(material: Material) -> Iterator[str]:
    """Say which of the compared modes have no model in common, so that nothing of them can be paired."""
    if material.is_across_models:
        return
    seen = material.observations
    models: dict[str, set[str]] = {mode: set() for mode in seen.mode.known}
    for mode, model in zip(spelled(seen.mode), spelled(seen.model), strict=True):
        models[mode].add(model)
    for a, b in dict.fromkeys((each.b, each.a) for each in material.comparisons):
        if not models[a] & models[b]:
            told = ", ".join(f"{mode} ({', '.join(sorted(models[mode]))})" for mode in (a, b))
            yield f"Nothing can be paired, for there is no model in common: {told}."
