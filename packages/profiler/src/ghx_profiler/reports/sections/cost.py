"""Cost against success: what a mode spends, and what a success costs."""

from ghx_profiler.records.metric_table import UNKNOWN
from ghx_profiler.reports.data.columns import POOLED
from ghx_profiler.reports.data.material import Material
from ghx_profiler.reports.render.charts import MOST_MARKS, Values, alt, axis_title, chart_of, legend, mode_color
from ghx_profiler.reports.render.escaping import visible
from ghx_profiler.reports.report_document import Chart, Element, Figure, Paragraph, Section, Table
from ghx_profiler.reports.wording import amount, estimate
from ghx_profiler.stats.observations import SUCCESS

_COST, _TOKENS = "cost_total_usd", "tokens_active"


def section(material: Material) -> Section:
    """Show what is spent against what is won."""
    # A cost that is 0 or unknown everywhere shows nothing: tokens stand in.
    metric, why = _COST, ""
    if not any(spread.high > 0 for spread in material.grids[_COST].values()):
        known = bool(material.grids[_COST])
        metric, why = _TOKENS, f"Cost is {'0' if known else UNKNOWN} in every row; active tokens stand in for it."
    values = _spend_and_success(metric, material)
    elements: list[Element] = [Paragraph(why)] if why else []
    if not values:
        elements.append(Paragraph(f"{material.metrics.label(metric)}: {UNKNOWN} in every row."))
    elif len(material.observations) == 1:
        # The picture of one row is a dot, and starting the engine that draws it takes as long as the rest of a report.
        elements.append(Paragraph(visible(_describe(values, metric, material))))
    else:
        elements.append(Figure(_draw(values, metric, material)))
    elements.append(
        Table(
            caption="Cost per success: all spend, retries and failures included, over all successes",
            headers=(material.arm_word, "cost per success", "method"),
            rows=tuple(
                (str(arm), estimate(summary.cost_per_success, "USD"), summary.cost_per_success.method)
                for arm, summary in material.summaries.items()
            ),
            is_text=True,
        )
    )
    return Section(id="spending", title="Cost against success", elements=tuple(elements))


def _spend_and_success(metric: str, material: Material) -> Values:
    """Return what a mode spends and how often it succeeds, in each scenario and in all together."""
    spend, success = material.grids[metric], material.grids[SUCCESS]
    cells = sorted(spend.keys() & success.keys(), key=lambda cell: (cell[0] != POOLED, cell[0], str(cell[1])))
    return [
        {
            "scenario": scenario or "all scenarios",
            "mode": str(arm),
            "spend": spend[scenario, arm].mean,
            "success": success[scenario, arm].mean,
            "n": spend[scenario, arm].n,
            "size": "all scenarios" if scenario == POOLED else "one scenario",
        }
        for scenario, arm in cells[:MOST_MARKS]
    ]


def _draw(values: Values, metric: str, material: Material) -> Chart:
    """Draw spend against success: small for each scenario, large for all together."""
    label, unit = material.metrics.label(metric), material.metrics.unit(metric)
    chart = (
        alt.Chart()
        .mark_point(filled=True)
        .encode(
            x=alt.X(
                "spend:Q",
                title=axis_title(f"mean {label} of a measured row", unit),
                scale=alt.Scale(zero=True),
                axis=alt.Axis(tickCount=6),
            ),
            y=alt.Y("success:Q", title="success", axis=alt.Axis(format=".0%"), scale=alt.Scale(domain=[0, 1])),
            color=mode_color(material.arm_names),
            size=alt.Size(
                "size:O", scale=alt.Scale(domain=["all scenarios", "one scenario"], range=[220, 35]), legend=legend()
            ),
            opacity=alt.OpacityValue(0.5, condition={"test": "datum.size == 'all scenarios'", "value": 1}),
            tooltip=[alt.Tooltip(f"{name}:N") for name in ("mode", "scenario", "spend", "success", "n")],
        )
        .properties(height=320)
    )
    return chart_of("spend-success", _title(label), _describe(values, metric, material), chart, values)


def _describe(values: Values, metric: str, material: Material) -> str:
    unit = material.metrics.unit(metric)
    pooled = "; ".join(
        f"{value['mode']} {amount(value['spend'], unit)} at {100 * value['success']:.0f} %"
        for value in values
        if value["size"] == "all scenarios"
    )
    return f"{_title(material.metrics.label(metric))}. {pooled}."


def _title(label: str) -> str:
    return f"Mean {label} against success"
