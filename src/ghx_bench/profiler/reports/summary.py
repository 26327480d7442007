"""`summary.json`, version 1: everything a program wants to know of a report."""

from collections.abc import Mapping

from pydantic import JsonValue
from pydantic.alias_generators import to_camel

from ghx_bench.profiler.reports.circumstances import agents_of, differing_conditions, models_of, modes_of
from ghx_bench.profiler.reports.coverage import planned_cells
from ghx_bench.profiler.reports.equipment import equipment_of
from ghx_bench.profiler.reports.grid import POOLED, Grid
from ghx_bench.profiler.reports.material import Material
from ghx_bench.profiler.stats.summary import success_counts

SUMMARY_VERSION = 1


def summary_of(material: Material, grids: Mapping[str, Grid], *, generated_at: str) -> dict[str, JsonValue]:
    """Return the summary as JSON."""
    return {
        "version": SUMMARY_VERSION,
        "generatedAt": generated_at,
        "control": material.is_control,
        "controlObjections": [each.to_wire() for each in material.objections],
        "rows": len(material.observations),
        "sources": [_source(material, number) for number in range(len(material.sources))],
        "plan": {to_camel(name): value for name, value in material.plan.model_dump(mode="json").items()},
        "missing": [each.to_wire() for each in material.missing],
        "conditions": [each.to_wire() for each in differing_conditions(material.sources, material.inventories)],
        "notes": list(material.notes),
        "planRecorded": material.plan_was_recorded,
        "seed": material.seed,
        "modes": {mode: summary.to_wire() for mode, summary in material.summaries.items()},
        "modeDetails": {each.mode: each.to_wire() for each in equipment_of(material)},
        "comparisons": [comparison.to_wire() for comparison in material.comparisons],
        "drift": [drift.to_wire() for drift in material.drifts],
        "scenarios": _scenarios(material, grids),
        "failures": [
            {"mode": mode, "cause": cause, "rows": rows}
            for (mode, cause), rows in sorted(material.tally.failures.items())
        ],
    }


def _source(material: Material, number: int) -> JsonValue:
    source = material.sources[number]
    record, inventory = source.record, material.inventories[source.label]
    agents = agents_of(source, inventory)
    return {
        "label": source.label,
        "rows": inventory.rows,
        "planned": planned_cells(record.matrix) if record else None,
        "runId": record.run_id if record else None,
        "provider": agents[0] if len(agents) == 1 else None,
        "models": list(models_of(source, inventory)),
        "modes": list(modes_of(source, inventory)),
        "status": record.status if record else None,
        "versions": dict(record.versions) if record else None,
    }


def _scenarios(material: Material, grids: Mapping[str, Grid]) -> dict[str, JsonValue]:
    result: dict[str, JsonValue] = {}
    counts = {mode: success_counts(material.observations, mode, "intention-to-treat") for mode in material.modes}
    for scenario in material.observations.scenario.known:
        modes: dict[str, JsonValue] = {}
        for mode in material.modes:
            k, n = counts[mode].get(scenario, (0, 0))
            metrics: dict[str, JsonValue] = {
                metric: {"n": spread.n, "p50": spread.p50, "mean": spread.mean}
                for metric, grid in grids.items()
                if metric != "success" and scenario != POOLED and (spread := grid.get((scenario, mode))) is not None
            }
            checkpoints = material.tally.checkpoints.get((scenario, mode), {})
            modes[mode] = {
                "success": {"k": k, "n": n},
                "metrics": metrics,
                "checkpoints": {id_: {"passed": each.passed, "total": each.total} for id_, each in checkpoints.items()},
            }
        result[scenario] = {"modes": modes}
    return result
