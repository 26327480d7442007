"""Under which conditions the numbers arose: runs, plan, versions, drift, and the conventions of the report."""

from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from ghx_bench.profiler.reports.columns import spelled
from ghx_bench.profiler.reports.document import (
    Block,
    Note,
    Section,
    Table,
    Warning,  # noqa: A004 - the report's word; the builtin is not used here
)
from ghx_bench.profiler.reports.material import Material
from ghx_bench.profiler.reports.sources import Source
from ghx_bench.profiler.reports.wording import UNKNOWN, confidence_of, metric_name, p_value, plural
from ghx_bench.profiler.stats.records import Drift
from ghx_bench.profiler.store.record import RunRecord


def conditions(material: Material) -> Section:
    """Say how the rows came about and by which rules they were counted."""
    return Section(id="conditions", title="Conditions", blocks=tuple(_conditions(material)))


def _conditions(material: Material) -> Iterator[Block]:
    yield from _between_runs(material)
    yield _run_table(material)
    plan = material.plan
    recorded = "written down before the run" if material.plan_was_recorded else "the defaults: no plan was recorded"
    yield Table(
        caption=f"Analysis plan ({recorded})",
        headers=("what", "value"),
        rows=(
            ("target", plan.target),
            ("alpha", f"{plan.alpha:g}"),
            ("margin", f"{plan.margin_pct:g} %, percentage points for success"),
            ("primary metrics", ", ".join(plan.primary)),
            ("power", f"{plan.power:g}"),
            ("resamples", f"{plan.resamples:,}"),
            ("seed of resampling", str(material.seed)),
        ),
        is_text=True,
    )
    if material.drifts:
        yield _drift_table(material.drifts)
    yield from map(Note, _conventions())


def _between_runs(material: Material) -> Iterator[Block]:
    if len(material.sources) == 1:
        return
    if material.is_before_and_after:
        yield Note(
            "The runs have modes in common: each mode is compared with itself from run to run, a later run with an "
            "earlier one, and adjusted as a family of its own."
        )
    first, *others = material.sources
    for other in others:
        differing = differing_conditions(first.record, other.record)
        if differing:
            yield Warning(f"Conditions differ between {first.label} and {other.label}: {'; '.join(differing)}.")
    for source, missing in _missing_scenarios(material):
        yield Warning(
            f"{plural(len(missing), 'scenario')} of other runs have no row in {source.label}, which is not a pass: "
            f"{', '.join(missing[:20])}{', ...' if len(missing) > _MOST_NAMED else ''}."
        )


_MOST_NAMED = 20


def differing_conditions(before: RunRecord | None, after: RunRecord | None) -> tuple[str, ...]:
    """Name the conditions in which two runs differ, with their values."""
    if before is None or after is None:
        return ("not recorded for every run",)
    pairs: list[tuple[str, JsonValue, JsonValue]] = [
        ("agent", before.provider, after.provider),
        ("models", list(before.matrix.models), list(after.matrix.models)),
        ("modes", list(before.matrix.modes), list(after.matrix.modes)),
        ("repetitions", before.matrix.repetitions, after.matrix.repetitions),
        ("order", before.matrix.order, after.matrix.order),
        *((f"analysis {key}", *values) for key, values in _union(before.analysis, after.analysis)),
        *((f"version of {key}", *values) for key, values in _union(dict(before.versions), dict(after.versions))),
        *((f"host {key}", *values) for key, values in _union(dict(before.host), dict(after.host))),
    ]
    said = [f"{name} ({_short(old)} / {_short(new)})" for name, old, new in pairs if old != new]
    return (*said, *_changed_scenarios(before, after))


def _union(
    before: "dict[str, JsonValue] | dict[str, str]", after: "dict[str, JsonValue] | dict[str, str]"
) -> Iterator[tuple[str, tuple[JsonValue, JsonValue]]]:
    for key in sorted(before.keys() | after.keys()):
        yield key, (before.get(key), after.get(key))


def _changed_scenarios(before: RunRecord, after: RunRecord) -> tuple[str, ...]:
    old, new = ({str(each.get("id")): each for each in record.scenarios} for record in (before, after))
    changed = sorted(id_ for id_ in old.keys() & new.keys() if old[id_] != new[id_])
    return (f"text of scenario {', '.join(changed)}",) if changed else ()


def _short(value: JsonValue) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return UNKNOWN if value is None else str(value)


def _missing_scenarios(material: Material) -> Iterator[tuple[Source, list[str]]]:
    seen: dict[str, set[str]] = {source.label: set() for source in material.sources}
    scenarios = spelled(material.observations.scenario)
    for identity, scenario in zip(material.columns.identities, scenarios, strict=True):
        seen[identity.source].add(scenario)
    everything = set[str]().union(*seen.values())
    for source in material.sources:
        missing = sorted(everything - seen[source.label])
        if missing:
            yield source, missing


def _run_table(material: Material) -> Table:
    rows_of = dict.fromkeys((source.label for source in material.sources), 0)
    for identity in material.columns.identities:
        rows_of[identity.source] += 1
    return Table(
        caption="Runs",
        headers=("run", "rows of planned cells", "status", "agent", "models", "order", "created", "versions"),
        rows=tuple(_run_line(source, rows_of[source.label]) for source in material.sources),
        is_text=True,
    )


def _run_line(source: Source, rows: int) -> tuple[str, ...]:
    record = source.record
    if record is None:
        return source.label, f"{rows:,} of {UNKNOWN}", *["not recorded"] * 6
    matrix = record.matrix
    planned = len(matrix.models) * len(matrix.modes) * len(matrix.scenario_ids) * matrix.repetitions
    return (
        source.label,
        f"{rows:,} of {planned:,}",
        record.status,
        record.provider,
        ", ".join(matrix.models),
        f"{matrix.order}, seed {matrix.seed}",
        record.created_at,
        ", ".join(f"{name} {version}" for name, version in sorted(record.versions.items())),
    )


def _drift_table(drifts: Sequence[Drift]) -> Table:
    return Table(
        caption="Drift: how much a metric changed from the first start to the last, within scenario and mode",
        headers=("metric", "change", "interval", "p", "n"),
        rows=tuple(_drift_line(drift) for drift in drifts),
    )


def _drift_line(drift: Drift) -> tuple[str, ...]:
    if drift.change is None or drift.low is None or drift.high is None:
        return metric_name(drift.metric), "not estimable", drift.reason or "", "", str(drift.n)
    unit = " %" if drift.scale == "log" else ""
    return (
        metric_name(drift.metric),
        f"{drift.change:+.1f}{unit}" if unit else f"{drift.change:+.3g}",
        f"{drift.low:.3g} to {drift.high:.3g}{unit} ({confidence_of(drift.confidence)})",
        p_value(drift.p),
        str(drift.n),
    )


def _conventions() -> tuple[str, ...]:
    return (
        "What is not known is left out and counted by cause; it never becomes 0. Active tokens are those that no cache "
        "served; input tokens exclude cached ones.",
        "Intention to treat counts every row, and one that could not be measured as a failure. Per protocol leaves out "
        "rows that the model service, the environment, the scorer or the bench spoiled; a timeout, a used-up budget, a "
        "refusal or a crash is the agent's own.",
        "Word, p-value and interval of one verdict come from one test. No p-value is 0.",
    )
