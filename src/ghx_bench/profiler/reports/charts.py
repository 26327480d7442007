"""The charts, as Vega-Lite made with altair: aggregates only, at most 5,000 marks each."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

import altair as alt

from ghx_bench.profiler.reports.document import Chart
from ghx_bench.profiler.reports.escaping import visible
from ghx_bench.profiler.reports.grid import POOLED, Grid
from ghx_bench.profiler.reports.wording import amount, metric_name
from ghx_bench.profiler.stats.records import ModeSummary

MOST_MARKS = 5_000
_PALETTE = ("#4269d0", "#e08a1e", "#2f9e6e", "#c2453d", "#8a63c9", "#1c9ab0", "#9c6b4e", "#7a828c")
_MARKS_OF_A_SPREAD = 3
LONGEST_LABEL = 260

Values = list[dict[str, Any]]


def distribution(metric: str, grid: Grid, modes: Sequence[str]) -> Chart | None:
    """Draw a metric by scenario and mode: middle half, middle 90 %, median."""
    scenarios = scenarios_shown(grid, modes)
    values: Values = [
        {
            "scenario": scenario or "all scenarios",
            "mode": mode,
            **{name: getattr(spread, name) for name in ("n", "low", "p25", "p50", "p75", "high")},
        }
        for scenario in scenarios
        for mode in modes
        if (spread := grid.get((scenario, mode))) is not None
    ]
    if not values:
        return None
    title = f"{metric_name(metric).capitalize()} by scenario and mode"
    is_log = all(value["low"] > 0 for value in values)
    scale = alt.Scale(type="log", nice=False, padding=8) if is_log else alt.Scale(zero=True)
    base = alt.Chart(alt.Data(values=values)).encode(
        y=alt.Y("scenario:N", sort=None, title=None, axis=alt.Axis(labelLimit=LONGEST_LABEL)),
        yOffset=alt.YOffset("mode:N", sort=list(modes)),
        color=_mode_color(modes),
        tooltip=[alt.Tooltip(f"{each}:{kind}") for each, kind in _SPREAD_FIELDS],
    )
    axis = f"{metric_name(metric)}{_unit(metric)}{', log scale' if is_log else ''}"
    layers = alt.layer(
        base.mark_rule(opacity=0.6).encode(
            x=alt.X("low:Q", title=axis, scale=scale, axis=alt.Axis(tickCount=6)), x2="high:Q"
        ),
        base.mark_bar(opacity=0.55, size=8).encode(x=alt.X("p25:Q", scale=scale), x2="p75:Q"),
        base.mark_tick(thickness=2, size=10).encode(x=alt.X("p50:Q", scale=scale)),
    )
    pooled = "; ".join(
        f"{value['mode']} median {amount(metric, value['p50'])}, n {value['n']}"
        for value in values
        if value["scenario"] == "all scenarios"
    )
    height = 14 * max(len(values), 2) + 6 * len(scenarios)
    description = f"{title}. All scenarios: {pooled}."
    return chart_of(f"distribution-{_file(metric)}", title, description, layers.properties(height=height))


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


def scenarios_shown(grid: Grid, modes: Sequence[str]) -> tuple[str, ...]:
    """Return the scenarios a distribution has room for, all of them together first."""
    scenarios = sorted({scenario for scenario, _ in grid if scenario != POOLED})
    room = min(_MOST_SCENARIOS, MOST_MARKS // (_MARKS_OF_A_SPREAD * max(1, len(modes))) - 1)
    return (POOLED, *scenarios[:room])


_MOST_SCENARIOS = 60


def pass_curves(modes: Mapping[str, ModeSummary]) -> Chart | None:
    """Draw the chance that all k (pass^k) and that any of k repetitions succeed (pass@k)."""
    values: Values = [
        {"mode": mode, "k": point.k, "curve": curve, "share": each.estimate, "low": each.low, "high": each.high}
        for mode, summary in modes.items()
        for point in summary.pass_curve
        for curve, each in (("all k succeed: pass^k", point.pass_hat_k), ("any of k succeeds: pass@k", point.pass_at_k))
    ]
    if not values:
        return None
    title = "How reliably each mode succeeds over k repetitions"
    data, whole = alt.Data(values=values), alt.Scale(domain=[0, 1])
    x = alt.X("k:O", title="k repetitions", axis=alt.Axis(labelAngle=0))
    band = (
        alt.Chart(data)
        .transform_filter("datum.curve == 'all k succeed: pass^k' && datum.low != null && datum.high != null")
        .mark_area(opacity=0.15)
        .encode(x=x, y=alt.Y("low:Q", scale=whole), y2="high:Q", color=_mode_color(list(modes)))
    )
    line = (
        alt.Chart(data)
        .mark_line(point=alt.OverlayMarkDef(size=40))
        .encode(
            x=x,
            y=alt.Y("share:Q", scale=whole, title="share of scenarios' repetitions", axis=alt.Axis(format=".0%")),
            color=_mode_color(list(modes)),
            strokeDash=alt.StrokeDash("curve:N", legend=_dashes()),
            tooltip=[alt.Tooltip(f"{name}:N") for name in ("mode", "curve", "k", "share", "low", "high")],
        )
    )
    ends = "; ".join(
        f"{value['mode']} {100 * value['share']:.0f} % at k {value['k']}"
        for value in values
        if "pass^k" in value["curve"] and value["share"] is not None
    )
    layers = [band, line] if any(is_bounded(value) for value in values if "pass^k" in value["curve"]) else [line]
    return chart_of("pass-k", title, f"{title}. pass^k: {ends}.", alt.layer(*layers).properties(height=280))


def spend_against_success(metric: str, spend: Grid, success: Grid, modes: Sequence[str]) -> Chart | None:
    """Draw what a mode spends against how often it succeeds: small for each scenario, large for all together."""
    cells = sorted(spend.keys() & success.keys(), key=lambda cell: (cell[0] != POOLED, cell))[:MOST_MARKS]
    values: Values = [
        {
            "scenario": scenario or "all scenarios",
            "mode": mode,
            "spend": spend[scenario, mode].mean,
            "success": success[scenario, mode].mean,
            "n": spend[scenario, mode].n,
            "size": "all scenarios" if scenario == POOLED else "one scenario",
        }
        for scenario, mode in cells
    ]
    if not values:
        return None
    title = f"Mean {metric_name(metric)} against success"
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_point(filled=True)
        .encode(
            x=alt.X(
                "spend:Q",
                title=f"mean {metric_name(metric)} of a measured row{_unit(metric)}",
                scale=alt.Scale(zero=True),
                axis=alt.Axis(tickCount=6),
            ),
            y=alt.Y("success:Q", title="success", axis=alt.Axis(format=".0%"), scale=alt.Scale(domain=[0, 1])),
            color=_mode_color(modes),
            size=alt.Size(
                "size:O", scale=alt.Scale(domain=["all scenarios", "one scenario"], range=[220, 35]), legend=legend()
            ),
            opacity=alt.condition("datum.size == 'all scenarios'", alt.value(1), alt.value(0.5)),
            tooltip=[alt.Tooltip(f"{name}:N") for name in ("mode", "scenario", "spend", "success", "n")],
        )
        .properties(height=320)
    )
    pooled = "; ".join(
        f"{value['mode']} {amount(metric, value['spend'])} at {100 * value['success']:.0f} %"
        for value in values
        if value["size"] == "all scenarios"
    )
    return chart_of("spend-success", title, f"{title}. {pooled}.", chart)


def failures_by_cause(failures: Counter[tuple[str, str]], modes: Sequence[str]) -> Chart | None:
    """Draw how many rows of each mode were no success, by why."""
    if not failures:
        return None
    values: Values = [
        {"mode": mode, "cause": cause, "rows": count} for (mode, cause), count in sorted(failures.items())
    ][:MOST_MARKS]
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_bar()
        .encode(
            y=alt.Y("mode:N", sort=list(modes), title=None, axis=alt.Axis(labelLimit=LONGEST_LABEL)),
            x=alt.X("rows:Q", title="rows without success", axis=alt.Axis(tickMinStep=1)),
            color=alt.Color("cause:N", scale=alt.Scale(range=list(_PALETTE)), legend=legend()),
            tooltip=[alt.Tooltip(f"{name}:N") for name in ("mode", "cause", "rows")],
        )
        .properties(height=34 * len({mode for mode, _ in failures}))
    )
    said = "; ".join(f"{value['mode']}: {value['rows']} {value['cause']}" for value in values[:12])
    return chart_of("failures", "Rows without success, by cause", f"Rows without success by cause. {said}.", chart)


def is_bounded(value: Mapping[str, Any]) -> bool:
    """Say whether an interval can be drawn; a chart of none at all complains."""
    return value["low"] is not None and value["high"] is not None


def chart_of(name: str, title: str, description: str, chart: alt.Chart | alt.LayerChart | alt.FacetChart) -> Chart:
    """Return a chart with its specification, as wide as there is room."""
    sized = chart.properties(width="container")
    # Checked against the schema in the tests; at run time that would only cost time.
    spec: dict[str, Any] = sized.to_dict(validate=False)
    return Chart(name=name, title=title, description=visible(description), spec=cast("dict[str, Any]", _shown(spec)))


def _shown(value: object) -> object:
    """Return a specification without control characters: one of them ends the process that draws it."""
    match value:
        case str():
            return visible(value)
        case list():
            return [_shown(each) for each in cast("list[object]", value)]
        case dict():
            return {visible(key): _shown(each) for key, each in cast("dict[str, object]", value).items()}
        case _:
            return value


def _mode_color(modes: Sequence[str]) -> alt.Color:
    colors = [_PALETTE[number % len(_PALETTE)] for number in range(len(modes))]
    return alt.Color("mode:N", scale=alt.Scale(domain=list(modes), range=colors), legend=legend())


def legend() -> alt.Legend:
    """Return a legend above a chart."""
    return alt.Legend(orient="top", title=None, labelLimit=LONGEST_LABEL, columns=2, symbolOpacity=1)


def _dashes() -> alt.Legend:
    return alt.Legend(
        orient="top",
        title=None,
        columns=1,
        labelLimit=LONGEST_LABEL,
        symbolType="stroke",
        symbolStrokeColor="#7a828c",
        symbolStrokeWidth=2,
    )


def _unit(metric: str) -> str:
    if metric.endswith("_ms"):
        return ", ms"
    return ", USD" if metric.endswith("_usd") else ""


def _file(metric: str) -> str:
    return "".join(character if character.isascii() and character.isalnum() else "-" for character in metric)
