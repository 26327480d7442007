"""The files for other programs: rows as CSV, JSON and Parquet, and `summary.json`."""

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import JsonValue
from pydantic.alias_generators import to_camel

from ghx_profiler.reports.data.columns import POOLED, Columns
from ghx_profiler.reports.data.material import Material
from ghx_profiler.reports.data.runs import (
    agents_of,
    changes_between,
    environment_differences,
    equipment_of,
    models_of,
    modes_of,
)
from ghx_profiler.reports.errors import unwritable
from ghx_profiler.reports.folder import write_file
from ghx_profiler.reports.render.escaping import csv_text
from ghx_profiler.stats.summary import success_counts

Value = str | int | float | bool | None
COLUMN_NAMES = (
    "source",
    "runId",
    "scenarioId",
    "mode",
    "model",
    "iteration",
    "startedAt",
    "completedAt",
    "provider",
    "completionReason",
    "success",
    "measured",
    "cause",
    "errorCode",
    "checkpointsPassed",
    "checkpointsTotal",
)


def write_rows(folder: Path, columns: Columns) -> None:
    """Write one line for each row as CSV and as JSON."""
    names = (*COLUMN_NAMES, *columns.observations.metrics)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "results.csv").open("w", encoding="utf-8", errors="replace", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(map(csv_text, names))
            writer.writerows(map(_csv_value, line) for line in _lines(columns))
        with (folder / "results.json").open("w", encoding="utf-8", errors="replace") as file:
            file.writelines(_json_lines(names, columns))
    except OSError as error:
        raise unwritable(folder, error) from error


def write_summary(path: Path, summary: Mapping[str, JsonValue]) -> None:
    """Write `summary.json`."""
    # NaN is not JSON: no file is better than one that other parsers refuse.
    write_file(path, json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def _lines(columns: Columns) -> Iterator[tuple[Value, ...]]:
    observations = columns.observations
    scenarios, modes, models = (
        observations.scenario.each(),
        list(map(str, observations.arm.each())),
        observations.model.each(),
    )
    success = observations.success.tolist()
    metrics = (
        zip(*(column.tolist() for column in observations.metrics.values()), strict=True)
        if observations.metrics
        else None
    )
    for at, identity in enumerate(columns.identities):
        numbers = next(metrics) if metrics is not None else ()
        yield (
            identity.source,
            identity.run_id,
            scenarios[at],
            modes[at],
            models[at],
            identity.iteration,
            identity.started_at,
            identity.completed_at,
            identity.agent,
            identity.completion_reason,
            None if math.isnan(success[at]) else bool(success[at]),
            identity.was_measured,
            observations.failures[at] or None,
            identity.error_code,
            identity.checkpoints_passed,
            identity.checkpoints_total,
            *map(_number, numbers),
        )


def _number(value: float) -> int | float | None:
    if math.isnan(value):
        return None
    # Columns are floats; a count is written as the row has it.
    return int(value) if value.is_integer() else value


def _csv_value(value: Value) -> Value:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return csv_text(value)
        case _:
            return value


def _json_lines(names: tuple[str, ...], columns: Columns) -> Iterator[str]:
    yield '{"version": 1, "rows": ['
    separator = "\n"
    for line in _lines(columns):
        yield separator + json.dumps(dict(zip(names, line, strict=True)))
        separator = ",\n"
    yield "\n]}\n"


def write_frame(path: Path, columns: Columns) -> None:
    """Write the rows as Parquet."""
    names = (*COLUMN_NAMES, *columns.observations.metrics)
    arrow: Any = import_module("pyarrow")
    parquet: Any = import_module("pyarrow.parquet")
    lines = list(_lines(columns))
    table = {name: [line[at] for line in lines] for at, name in enumerate(names)}
    buffer = io.BytesIO()
    parquet.write_table(arrow.table(table), buffer)
    write_file(path, buffer.getvalue())


SUMMARY_VERSION = 1


def summary_of(material: Material, *, generated_at: str) -> dict[str, JsonValue]:
    """Return the summary as JSON."""
    equipment = equipment_of(material.arms, material.sources, material.inventories)
    return {
        "version": SUMMARY_VERSION,
        "generatedAt": generated_at,
        "control": bool(material.control_arms),
        "controlModes": list(map(str, material.control_arms)),
        "controlObjections": [each.to_wire() for each in material.violations],
        "rows": len(material.observations),
        "sources": [_source(material, number) for number in range(len(material.sources))],
        "plan": {to_camel(name): value for name, value in material.plan.model_dump(mode="json").items()},
        "missing": [each.to_wire() for each in material.missing],
        "conditions": [each.to_wire() for each in environment_differences(material.sources, material.inventories)],
        "changes": [each.to_wire() for each in changes_between(material.sources, material.inventories)],
        "notes": list(material.notes),
        "planRecorded": material.plan_source is not None,
        "seed": material.seed,
        "modes": {str(arm): summary.to_wire() for arm, summary in material.summaries.items()},
        "modeDetails": {str(each.arm): each.to_wire() for each in equipment},
        "comparisons": [comparison.to_wire() for comparison in material.comparisons],
        "referenceMode": material.reference_mode,
        "runComparisons": [comparison.to_wire() for comparison in material.run_comparisons],
        "drift": [drift.to_wire() for drift in material.drifts],
        "scenarios": _scenarios(material),
        "findings": _findings(material),
        "purity": [
            {"mode": str(arm), **material.tally.tool_uses[arm].to_wire()}
            for arm in material.arms
            if arm in material.tally.tool_uses
        ],
        "desirePaths": material.findings.hallucinated_commands.to_wire(),
        "failures": [
            {"mode": mode, "cause": cause, "rows": rows}
            for mode, cause, rows in sorted(
                (str(arm), cause, rows) for (arm, cause), rows in material.tally.failures.items()
            )
        ],
        **({} if material.safety is None else {"safety": material.safety.to_wire()}),
        "notImplemented": [
            {"mode": mode, "what": what, "requests": requests}
            for mode, what, requests in sorted(
                (str(arm), what, requests) for (arm, what), requests in material.tally.not_implemented.items()
            )
        ],
    }


def _findings(material: Material) -> dict[str, JsonValue]:
    """Return what analyzers found, by analyzer, finding and mode: a mean, or how often each of a few words."""
    findings: dict[str, JsonValue] = {}
    for (analyzer, key), tallies in sorted(material.findings.tallies.items()):
        modes: dict[str, JsonValue] = {
            str(arm): {"n": tally.n, **({"words": dict(tally.words)} if tally.words else {"mean": tally.mean})}
            for arm, tally in tallies.items()
            if tally.n
        }
        if modes:
            by_key = findings.setdefault(analyzer, {})
            assert isinstance(by_key, dict)  # noqa: S101 - made here
            by_key[key] = modes
    return findings


def _source(material: Material, number: int) -> JsonValue:
    source = material.sources[number]
    record, inventory = source.record, material.inventories[source.label]
    agents = agents_of(source, inventory)
    return {
        "label": source.label,
        "rows": inventory.rows,
        "planned": record.matrix.total if record else None,
        "runId": record.run_id if record else None,
        "provider": agents[0] if len(agents) == 1 else None,
        "agents": list(agents),
        "models": list(models_of(source, inventory)),
        "modes": list(modes_of(source, inventory)),
        "status": record.status if record else None,
        "versions": dict(record.versions) if record else None,
        "machines": dict(inventory.machines.cells),
    }


def _scenarios(material: Material) -> dict[str, JsonValue]:
    result: dict[str, JsonValue] = {}
    counts = {arm: success_counts(material.observations, arm, "intention-to-treat") for arm in material.arms}
    for scenario in material.observations.scenario.known:
        modes: dict[str, JsonValue] = {}
        for arm in material.arms:
            k, n = counts[arm].get(scenario, (0, 0))
            metrics: dict[str, JsonValue] = {
                metric: {"n": spread.n, "p50": spread.p50, "mean": spread.mean}
                for metric, grid in material.grids.items()
                if metric != "success" and scenario != POOLED and (spread := grid.get((scenario, arm))) is not None
            }
            checkpoints = material.tally.checkpoints.get((scenario, arm), {})
            modes[str(arm)] = {
                "success": {"k": k, "n": n},
                "metrics": metrics,
                "checkpoints": {id_: {"passed": each.passed, "total": each.total} for id_, each in checkpoints.items()},
            }
        result[scenario] = {"modes": modes}
    return result
