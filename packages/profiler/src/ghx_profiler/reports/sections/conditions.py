"""Conditions: runs, modes, plan, drift, and the conventions by which rows were counted."""

import json
from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from ghx_profiler.records.metric_table import UNKNOWN
from ghx_profiler.reports.data.machines import HEADERS
from ghx_profiler.reports.data.material import Material
from ghx_profiler.reports.data.runs import Equipment, agents_of, environment_differences, equipment_of, models_of
from ghx_profiler.reports.data.sources import Source
from ghx_profiler.reports.report_document import Caution, Element, Note, Quote, Section, Table
from ghx_profiler.reports.wording import confidence_of, p_value
from ghx_profiler.stats.result_records import Drift

_MOST_LINES = 500


def section(material: Material) -> Section:
    """Show how the rows came about and by which rules they were counted."""
    return Section(id="conditions", title="Conditions", elements=tuple(_elements(material)))


def _elements(material: Material) -> Iterator[Element]:
    yield from _between_runs(material)
    yield _run_table(material)
    yield from _machine_tables(material)
    yield from equipment(material)
    yield from (Note(f"{note}.") for note in material.notes)
    yield from _missing_table(material)
    plan, recorded = material.plan, "the defaults: no plan was recorded"
    if material.plan_source is not None:
        whose = f" {material.plan_source.label}" if len(material.sources) > 1 else ""
        recorded = f"written down before the run{whose}"
    yield Table(
        caption=f"Analysis plan ({recorded})",
        headers=("what", "value"),
        rows=(
            ("target", plan.target),
            ("alpha", f"{plan.alpha:g}"),
            ("margin", f"{plan.margin_pct:g} %, percentage points for success"),
            ("primary metrics", ", ".join(map(material.metrics.label, plan.primary))),
            ("power", f"{plan.power:g}"),
            ("resamples", f"{plan.resamples:,}"),
            ("seed of resampling", str(material.seed)),
        ),
        is_text=True,
    )
    if material.drifts:
        yield Table(
            caption="Drift: how much a metric changed from the first start to the last, within scenario and mode",
            headers=("metric", "change", "interval", "p", "n"),
            rows=tuple(_drift_line(drift, material.metrics.label(drift.metric)) for drift in material.drifts),
        )
    yield from map(Note, _conventions())
    yield from _definition_table(material)


def _between_runs(material: Material) -> Iterator[Element]:
    if len(material.sources) == 1:
        return
    if material.is_before_and_after:
        labels = ", ".join(source.label for source in material.sources)
        order = "began" if material.arrangement.is_by_time else "were named"
        yield Note(
            "The runs have modes in common: each mode is compared with itself from run to run, and all these "
            f"comparisons are adjusted as one family. A run is held against each before it, in the "
            f"order in which they {order}: {labels}."
        )
    if material.is_across_models:
        yield Note("Every run has one model, and the models differ: rows are paired by scenario alone.")
    differing = environment_differences(material.sources, material.inventories)
    if differing:
        yield Caution(f"Conditions differ: {'; '.join(map(str, differing))}.")
    unrecorded = [source.label for source in material.sources if source.record is None]
    if unrecorded:
        yield Note(
            f"{', '.join(unrecorded)} {'has' if len(unrecorded) == 1 else 'have'} no run.json: agents, models, modes "
            "and repetitions are those of the rows, and no other condition is known."
        )


def _missing_table(material: Material) -> Iterator[Table]:
    missing, has_several_agents = material.missing, material.arrangement.has_several_agents
    if missing:
        left = f"; the first {_MOST_LINES}" if len(missing) > _MOST_LINES else ""
        yield Table(
            caption=f"Cases with fewer rows than they should have: {len(missing):,}{left}",
            headers=("case", "model", "run", "rows", "expected", "expected by"),
            rows=tuple(
                (
                    f"{f'{each.case.agent} / ' if has_several_agents else ''}{each.case.mode} / {each.case.scenario}",
                    each.case.model,
                    each.source,
                    str(each.actual),
                    str(each.expected),
                    each.yardstick,
                )
                for each in missing[:_MOST_LINES]
            ),
            is_text=True,
            is_folded=True,
        )


def _run_table(material: Material) -> Table:
    return Table(
        caption="Runs",
        headers=("run", "rows of planned cells", "status", "agent", "models", "order", "created", "versions"),
        rows=tuple(_run_line(material, source) for source in material.sources),
        is_text=True,
    )


def _run_line(material: Material, source: Source) -> tuple[str, ...]:
    record, inventory = source.record, material.inventories[source.label]
    agents, models = (", ".join(each(source, inventory)) for each in (agents_of, models_of))
    if record is None:
        unknown = "not recorded"
        began = f"first row {inventory.began:%Y-%m-%dT%H:%M:%SZ}" if inventory.began else unknown
        return source.label, f"{inventory.rows:,} of {UNKNOWN}", unknown, agents, models, unknown, began, unknown
    return (
        source.label,
        f"{inventory.rows:,} of {record.matrix.total:,}",
        record.status if record.matrix.shard is None else f"{record.status}, shard {record.matrix.shard}",
        agents,
        models,
        f"{record.matrix.order}, seed {record.matrix.seed}"
        if record.imported is None
        else f"{UNKNOWN}: imported from {record.imported.file}",
        record.created_at,
        ", ".join(f"{name} {version}" for name, version in sorted(record.versions.items())),
    )


def _machine_tables(material: Material) -> Iterator[Element]:
    """Show the machines of each run that has several."""
    for source in material.sources:
        tally = material.inventories[source.label].machines
        if len(tally.cells) > 1:
            whose = f" of {source.label}" if len(material.sources) > 1 else ""
            records = source.record.machines if source.record else {}
            yield Table(caption=f"Machines{whose}", headers=HEADERS, rows=tally.lines(records), is_text=True)
            first, *others = tally.remarks()
            yield Note(first)
            yield from map(Caution, others)


def _drift_line(drift: Drift, label: str) -> tuple[str, ...]:
    if drift.change is None or drift.low is None or drift.high is None:
        return label, "not estimable", drift.reason or "", "", str(drift.n)
    unit = " %" if drift.scale == "log" else ""
    return (
        label,
        f"{drift.change:+.1f}{unit}" if unit else f"{drift.change:+.3g}",
        f"{drift.low:.3g} to {drift.high:.3g}{unit} ({confidence_of(drift.confidence)})",
        p_value(drift.p),
        str(drift.n),
    )


def _definition_table(material: Material) -> Iterator[Table]:
    lines = tuple(
        (material.metrics.label(metric), metric, words.replace("`", ""))
        for metric, words in material.metrics.defined(material.observations.metric_names)
    )
    if len(material.observations):
        yield Table(
            caption="What the metrics measure, but for those that the run's own collectors added",
            headers=("metric", "name in data files", "what it measures"),
            rows=lines,
            is_text=True,
            is_folded=True,
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


_LONGEST_IN_TABLE = 400
_LONGEST_FACT = 300
_NOT_RECORDED = "not recorded"
_TOOLS, _SERVERS = "tools", "mcp_servers"


def equipment(material: Material) -> Iterator[Element]:
    """Show what the modes gave their agents."""
    known = equipment_of(material.arms, material.sources, material.inventories)
    if not any(each.details or each.facts for each in known):
        if known:
            yield Note("What the modes gave their agents was not recorded.")
        return
    fact_names = dict.fromkeys(name for each in known for facts in each.facts for name in facts)
    others = tuple(name for name in fact_names if name not in {_TOOLS, _SERVERS})
    yield Table(
        caption="Modes: what each gave its agents",
        headers=(material.arm_word, "tools", "MCP servers", *others, "instructions"),
        rows=tuple(_mode_line(each, others) for each in known),
        is_text=True,
    )
    for each in known:
        if each.instructions is not None and not _fits(each.instructions):
            yield Quote(title=f"Instructions of {each.arm}", text=each.instructions)
    if differing := [str(each.arm) for each in known if len(each.facts) > 1]:
        yield Caution(f"Not all rows of a mode had the same tools: {', '.join(differing)}.")


def _mode_line(each: Equipment, others: Sequence[str]) -> tuple[str, ...]:
    return (
        str(each.arm),
        _fact(each, _TOOLS),
        _fact(each, _SERVERS),
        *(_fact(each, name) for name in others),
        _instructions(each),
    )


def _fact(each: Equipment, name: str) -> str:
    """Return what is known of one fact; more than one thing where rows differ."""
    values = dict.fromkeys(format_fact(facts[name]) for facts in each.facts if name in facts)
    if values:
        return "; or: ".join(values)
    return "none" if each.details is not None or each.facts else _NOT_RECORDED


def _instructions(each: Equipment) -> str:
    text = each.instructions
    if text is None:
        return "none" if each.details is not None else _NOT_RECORDED
    return text if _fits(text) else f"{len(text):,} characters, below"


def _fits(text: str) -> bool:
    return len(text) <= _LONGEST_IN_TABLE and "\n" not in text.strip()


def format_fact(value: JsonValue) -> str:
    """Write a fact about a mode: programs with their versions, servers under their names, anything else as it is."""
    match value:
        case list():
            words = ", ".join(map(_name_and_version, value))
        case dict():
            words = (
                _name_and_version(value)
                if "name" in value
                else ", ".join(f"{key}: {_name_and_version(it)}" for key, it in value.items())
            )
        case _:
            words = _name_and_version(value)
    return words if len(words) <= _LONGEST_FACT else f"{words[:_LONGEST_FACT]}…"


def _name_and_version(value: JsonValue) -> str:
    """Write a name with its version."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and isinstance(name := value.get("name"), str):
        version = value.get("version")
        return name if version is None else f"{name} {version}"
    return json.dumps(value, ensure_ascii=False)
