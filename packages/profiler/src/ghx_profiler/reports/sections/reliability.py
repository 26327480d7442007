"""Reliability: how surely each mode succeeds over k repetitions, pass^k and pass@k."""

from collections.abc import Mapping

from ghx_profiler.plan.cell import Arm
from ghx_profiler.reports.data.material import Material
from ghx_profiler.reports.render.charts import Values, alt, chart_of, is_bounded, mode_color
from ghx_profiler.reports.report_document import Chart, Figure, Note, Paragraph, Section, Table
from ghx_profiler.reports.wording import percent
from ghx_profiler.stats.result_records import Estimate, ModeSummary


def section(material: Material) -> Section:
    """Show pass^k and pass@k."""
    chart = None if len(material.observations) == 1 else pass_curves(material.summaries)
    if chart is None:
        text = Paragraph("There are no repetitions to tell reliability from.")
        return Section(id="reliability", title="Reliability", elements=(text,))
    lines = tuple(
        (f"{arm}, k = {point.k}", _share(point.pass_hat_k), _share(point.pass_at_k), str(point.pass_hat_k.n))
        for arm, summary in material.summaries.items()
        for point in summary.pass_curve
    )
    points = [point for summary in material.summaries.values() for point in summary.pass_curve]
    confidence = points[0].pass_hat_k.confidence
    methods = sorted({each.method for point in points for each in (point.pass_hat_k, point.pass_at_k)}, key=len)
    table = Table(
        caption=f"pass^k and pass@k with {100 * confidence:.3g} % intervals ({'; or: '.join(methods)})",
        headers=("mode and k", "all k succeed (pass^k)", "any of k succeeds (pass@k)", "rows"),
        rows=lines,
        is_folded=True,
    )
    convention = Note(
        "pass^k is estimated without bias from the repetitions of each scenario and averaged over scenarios, for every "
        "k that all scenarios have repetitions for. The bands are intervals of pass^k."
    )
    return Section(id="reliability", title="Reliability", elements=(Figure(chart), convention, table))


def _share(value: Estimate) -> str:
    interval = "" if value.low is None else f" ({percent(value.low)} to {percent(value.high)})"
    return f"{percent(value.estimate)}{interval}"


_CURVES = ["all k succeed: pass^k", "any of k succeeds: pass@k"]


def pass_curves(summaries: Mapping[Arm, ModeSummary]) -> Chart | None:
    """Draw the chance that all k (pass^k) and that any of k repetitions succeed (pass@k)."""
    values: Values = [
        {"mode": str(arm), "k": point.k, "curve": curve, "share": each.estimate, "low": each.low, "high": each.high}
        for arm, summary in summaries.items()
        for point in summary.pass_curve
        for curve, each in zip(_CURVES, (point.pass_hat_k, point.pass_at_k), strict=True)
    ]
    if not values:
        return None
    title = "How reliably each mode succeeds over k repetitions: solid, all of k (pass^k); dashed, any of k (pass@k)"
    whole = alt.Scale(domain=[0, 1])
    color = mode_color(list(map(str, summaries)))
    x = alt.X("k:O", title="k repetitions", axis=alt.Axis(labelAngle=0))
    band = (
        alt.Chart()
        .transform_filter("datum.curve == 'all k succeed: pass^k' && datum.low != null && datum.high != null")
        .mark_area(opacity=0.15)
        .encode(x=x, y=alt.Y("low:Q", scale=whole), y2=alt.Y2("high:Q"), color=color)
    )
    line = (
        alt.Chart()
        .mark_line(point=alt.OverlayMarkDef(size=40))
        .encode(
            x=x,
            y=alt.Y("share:Q", scale=whole, title="share of scenarios' repetitions", axis=alt.Axis(format=".0%")),
            color=color,
            strokeDash=alt.StrokeDash("curve:N", scale=alt.Scale(domain=_CURVES, range=[[1, 0], [4, 3]]), legend=None),
            tooltip=[alt.Tooltip(f"{name}:N") for name in ("mode", "curve", "k", "share", "low", "high")],
        )
    )
    ends = "; ".join(
        f"{value['mode']} {100 * value['share']:.0f} % at k {value['k']}"
        for value in values
        if "pass^k" in value["curve"] and value["share"] is not None
    )
    layers = [band, line] if any(is_bounded(value) for value in values if "pass^k" in value["curve"]) else [line]
    return chart_of("pass-k", title, f"{title}. pass^k: {ends}.", alt.layer(*layers).properties(height=280), values)
