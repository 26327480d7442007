"""Distributions: how amounts are spread, by mode and scenario."""

from collections.abc import Sequence

from ghx_base.problems import plural
from ghx_profiler.plan.cell import Arm
from ghx_profiler.records.metric_table import UNKNOWN
from ghx_profiler.reports.data.columns import POOLED, Grid
from ghx_profiler.reports.data.material import Material
from ghx_profiler.reports.render.charts import (
    LONGEST_LABEL,
    MOST_MARKS,
    Values,
    alt,
    axis_title,
    chart_of,
    mode_color,
)
from ghx_profiler.reports.report_document import Chart, Element, Figure, Note, Paragraph, Section
from ghx_profiler.reports.wording import amount
from ghx_profiler.stats.observations import SUCCESS


def section(material: Material) -> Section:
    """Show how amounts are spread, by mode and scenario."""
    if len(material.observations) == 1:
        text = Paragraph("There is one row, so nothing is spread; Results at a glance has its amounts.")
        return Section(id="distributions", title="Distributions", elements=(text,))
    elements: list[Element] = [
        Paragraph("Bars hold the middle half of the measured rows, lines the middle 90 %, ticks are medians.")
    ]
    for metric in material.plan.primary:
        if metric == SUCCESS:
            continue
        chart = distribution(metric, material)
        unknown = f"{material.metrics.label(metric)}: {UNKNOWN} in every row."
        elements.append(Paragraph(unknown) if chart is None else Figure(chart))
    widest = max(material.grids.values(), key=len)
    left = len(material.observations.scenario.known) - len(choose_scenarios(widest, material.arms)) + 1
    if left > 0:
        what = "more variant" if material.has_variants else "more scenario"
        elements.append(Note(f"{plural(left, what)} had no room; Scenarios lists every one."))
    return Section(id="distributions", title="Distributions", elements=tuple(elements))


_MARKS_OF_A_SPREAD = 3


def distribution(metric: str, material: Material) -> Chart | None:
    """Draw a metric by scenario and mode: middle half, middle 90 %, median."""
    grid, arms = material.grids[metric], material.arms
    label, unit = material.metrics.label(metric), material.metrics.unit(metric)
    scenarios = choose_scenarios(grid, arms)
    values: Values = [
        {
            "scenario": scenario or "all scenarios",
            "mode": str(arm),
            **{name: getattr(spread, name) for name in ("n", "low", "p25", "p50", "p75", "high")},
        }
        for scenario in scenarios
        for arm in arms
        if (spread := grid.get((scenario, arm))) is not None
    ]
    if not values:
        return None
    title = f"{label.capitalize()} by scenario and mode"
    # A logarithmic axis has no place for 0.
    is_log = all(value["low"] > 0 for value in values)
    scale = alt.Scale(type="log", nice=False, padding=8) if is_log else alt.Scale(zero=True)
    base = alt.Chart().encode(
        y=alt.Y("scenario:N", sort=None, title=None, axis=alt.Axis(labelLimit=LONGEST_LABEL)),
        yOffset=alt.YOffset("mode:N", sort=list(material.arm_names)),
        color=mode_color(material.arm_names),
        tooltip=[alt.Tooltip(f"{each}:{kind}") for each, kind in _SPREAD_FIELDS],
    )
    axis = f"{axis_title(label, unit)}{', log scale' if is_log else ''}"
    layers = alt.layer(
        base.mark_rule(opacity=0.6).encode(
            x=alt.X("low:Q", title=axis, scale=scale, axis=alt.Axis(tickCount=6)), x2=alt.X2("high:Q")
        ),
        base.mark_bar(opacity=0.55, size=8).encode(x=alt.X("p25:Q", scale=scale), x2=alt.X2("p75:Q")),
        base.mark_tick(thickness=2, size=10).encode(x=alt.X("p50:Q", scale=scale)),
    )
    pooled = "; ".join(
        f"{value['mode']} median {amount(value['p50'], unit)}, n {value['n']}"
        for value in values
        if value["scenario"] == "all scenarios"
    )
    height = 14 * max(len(values), 2) + 6 * len(scenarios)
    description = f"{title}. All scenarios: {pooled}."
    file_name = "".join(character if character.isascii() and character.isalnum() else "-" for character in metric)
    return chart_of(f"distribution-{file_name}", title, description, layers.properties(height=height), values)


_SPREAD_FIELDS = (
    ("mode", "N"),
    ("scenario", "N"),
    ("n", "Q"),
    ("low", "Q"),
    ("p25", "Q"),
    ("p50", "Q"),
    ("p75", "Q"),
    ("high", "Q"),
)


def choose_scenarios(grid: Grid, arms: Sequence[Arm]) -> tuple[str, ...]:
    """Return the scenarios a distribution has room for, all of them together first."""
    scenarios = sorted({scenario for scenario, _ in grid if scenario != POOLED})
    room = min(_MOST_SCENARIOS, MOST_MARKS // (_MARKS_OF_A_SPREAD * max(1, len(arms))) - 1)
    return (POOLED, *scenarios[:room])


_MOST_SCENARIOS = 60
