"""`summary.json`, version 1: everything a program wants to know of a report."""

from collections.abc import Mapping

from pydantic import JsonValue

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
        "rows": len(material.observations),
        "sources": [_source(material, number) for number in range(len(material.sources))],
        "plan": material.plan.model_dump(mode="json"),
        "planRecorded": material.plan_was_recorded,
        "seed": material.seed,
        "modes": {mode: summary.to_wire() for mode, summary in material.summaries.items()},
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
    rows = sum(identity.source == source.label for identity in material.columns.identities)
    record = source.record
    return {
        "label": source.label,
        "rows": rows,
        "runId": record.run_id if record else None,
        "provider": record.provider if record else None,
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
