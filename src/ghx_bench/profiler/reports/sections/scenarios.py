"""Scenarios: success, medians and checkpoints of each, by mode."""

from collections.abc import Mapping

from ghx_bench.profiler.cell import Arm
from ghx_bench.profiler.metric_table import UNKNOWN
from ghx_bench.profiler.reports.data.material import Material
from ghx_bench.profiler.reports.report_document import Element, Paragraph, Section, Table
from ghx_bench.profiler.reports.wording import amount, percent
from ghx_bench.profiler.stats.success import wilson_interval
from ghx_bench.profiler.stats.summary import success_counts


def section(material: Material) -> Section:
    """Show every scenario: success, medians and every checkpoint, by mode."""
    elements: list[Element] = []
    counts = {arm: success_counts(material.observations, arm, "intention-to-treat") for arm in material.arms}
    for scenario in material.observations.scenario.known:
        elements.append(_scenario_table(material, scenario, {arm: counts[arm].get(scenario) for arm in material.arms}))
        checkpoints = _checkpoint_table(material, scenario)
        if checkpoints is not None:
            elements.append(checkpoints)
    return Section(id="scenarios", title="Scenarios", elements=tuple(elements) or (Paragraph("There are none."),))


def _scenario_table(material: Material, scenario: str, cells: Mapping[Arm, tuple[int, int] | None]) -> Table:
    metrics, lines = material.glance_metrics, list[tuple[str, ...]]()
    for arm, cell in cells.items():
        if cell is None:
            lines.append((str(arm), "no rows: not a pass", *[UNKNOWN] * len(metrics)))
            continue
        wilson = wilson_interval(*cell, confidence=1 - material.plan.alpha)
        success = f"{cell[0]}/{cell[1]} ({percent(wilson.low)} to {percent(wilson.high)})"
        lines.append((str(arm), success, *(_median(material, metric, scenario, arm) for metric in metrics)))
    won = sum(cell[0] for cell in cells.values() if cell)
    tried = sum(cell[1] for cell in cells.values() if cell)
    return Table(
        caption=f"{scenario}: {won}/{tried} over all modes",
        headers=(material.arm_word, "success", *(f"{material.metrics.label(metric)} p50" for metric in metrics)),
        rows=tuple(lines),
        is_folded=True,
    )


def _median(material: Material, metric: str, scenario: str, arm: Arm) -> str:
    spread = material.grids[metric].get((scenario, arm))
    return UNKNOWN if spread is None else f"{amount(spread.p50, material.metrics.unit(metric))} (n {spread.n})"


def _checkpoint_table(material: Material, scenario: str) -> Table | None:
    by_arm = [material.tally.checkpoints.get((scenario, arm), {}) for arm in material.arms]
    described = {id_: count.description for counts in by_arm for id_, count in counts.items()}
    if not described:
        return None
    return Table(
        caption=f"{scenario}: checkpoints passed",
        headers=("checkpoint", *material.arm_names, "what it checks"),
        rows=tuple(
            (
                id_,
                *(f"{counts[id_].passed}/{counts[id_].total}" if id_ in counts else "not checked" for counts in by_arm),
                description,
            )
            for id_, description in described.items()
        ),
        is_text=True,
        is_folded=True,
    )
