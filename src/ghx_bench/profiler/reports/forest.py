"""The chart of paired differences, each with its interval."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt

from ghx_bench.profiler.reports.charts import LONGEST_LABEL, Values, chart_of, is_bounded, legend
from ghx_bench.profiler.reports.document import Chart
from ghx_bench.profiler.reports.wording import metric_name, reduction
from ghx_bench.profiler.stats.records import ModeComparison

_VERDICTS = {
    "better": "#2f9e6e",
    "worse": "#c2453d",
    "lower": "#8a63c9",
    "higher": "#e08a1e",
    "equivalent": "#4269d0",
    "inconclusive": "#7a828c",
    "not estimable": "#7a828c",
}
_MOST_COMPARISONS = 200


def forest(comparisons: Sequence[ModeComparison], *, name: str, title: str, axis: str, margin: float) -> Chart | None:
    """Draw paired differences with their intervals, no difference at 0, the planned margin shaded.

    What reaches beyond the chart ends in an arrow: one wide interval must not make all others a dot.
    """
    shown = [each for each in comparisons if each.reduction_pct is not None][:_MOST_COMPARISONS]
    if not shown:
        return None
    reach = _reach(shown, margin)
    values = [_forest_value(each, reach) for each in shown]
    arrows = [_arrow(value, side, reach) for value in values for side in value["beyond"]]
    words = [word for word in _VERDICTS if any(each.verdict == word for each in shown)]
    colors = alt.Scale(domain=words, range=[_VERDICTS[word] for word in words])
    color = alt.Color("verdict:N", scale=colors, legend=legend())
    layers = [*_ground(axis, margin), *_estimates(values, color, axis), *([_arrows(arrows, color)] if arrows else ())]
    drawn = alt.layer(*layers).properties(height=26 * len(values))
    sentences = "; ".join(
        f"{label_of(each)} {reduction(each.reduction_pct, each.unit)}" for each in shown[:_MOST_SENTENCES]
    )
    more = " Arrows: reaches beyond the chart." if arrows else ""
    return chart_of(name, f"{title}.{more}" if arrows else title, f"{title}. {sentences}.{more}", drawn)


def _ground(axis: str, margin: float) -> Iterator[alt.Chart]:
    """Yield what estimates are seen against: the margin, and no difference."""
    band = alt.Chart(alt.Data(values=[{"from": -margin, "to": margin}])).mark_rect(opacity=0.12, color="#7a828c")
    yield band.encode(x=alt.X("from:Q", title=axis), x2="to:Q")
    yield alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(strokeDash=[4, 3]).encode(x="zero:Q")


def _estimates(values: Values, color: alt.Color, axis: str) -> Iterator[alt.Chart]:
    """Yield intervals, where there are any, and the estimates that lie on the chart."""
    base = alt.Chart(alt.Data(values=values)).encode(
        y=_label_axis(), color=color, tooltip=[alt.Tooltip("words:N", title="verdict")]
    )
    if any(is_bounded(value) for value in values):
        lines = base.transform_filter("datum.low != null && datum.high != null").mark_rule(strokeWidth=2)
        yield lines.encode(x=alt.X("low:Q", title=axis), x2="high:Q")
    seen = alt.condition("datum.isWithin", alt.value(1), alt.value(0))
    points = base.mark_point(filled=True, size=80)
    yield points.encode(x=alt.X("reduction:Q", title=axis), opacity=seen)


def label_of(comparison: ModeComparison) -> str:
    """Name a comparison by its metric and its modes."""
    return f"{metric_name(comparison.metric)}: {comparison.a} vs {comparison.b}"


def _reach(shown: Sequence[ModeComparison], margin: float) -> float:
    """Return how far from 0 a forest goes: as far as the estimates need, and some of their intervals."""
    farthest = max(abs(each.reduction_pct or 0.0) for each in shown)
    return min(max(_ROOM * farthest, _ROOM * margin, _LEAST_REACH), max(_MOST_REACH, margin))


_ROOM = 2.5
_LEAST_REACH = 50.0
_MOST_REACH = 400.0
_MOST_SENTENCES = 12


def _forest_value(each: ModeComparison, reach: float) -> dict[str, Any]:
    def within(value: float | None) -> float | None:
        return None if value is None else max(-reach, min(value, reach))

    ends = [value for value in (each.reduction_pct, each.low, each.high) if value is not None]
    return {
        "label": label_of(each),
        "reduction": within(each.reduction_pct),
        "low": within(each.low),
        "high": within(each.high),
        "isWithin": abs(each.reduction_pct or 0.0) <= reach,
        "verdict": each.verdict,
        "words": each.words,
        "beyond": [side for side in (-1, 1) if any(side * end > reach for end in ends)],
    }


def _arrow(value: Mapping[str, Any], side: int, reach: float) -> dict[str, Any]:
    told = {name: value[name] for name in ("label", "verdict", "words")}
    return {**told, "end": side * reach, "side": side}


def _arrows(values: Values, color: alt.Color) -> alt.Chart:
    shape = alt.condition("datum.side < 0", alt.value("triangle-left"), alt.value("triangle-right"))
    return (
        alt.Chart(alt.Data(values=values))
        .mark_point(filled=True, size=120, opacity=1)
        .encode(x="end:Q", y=_label_axis(), shape=shape, color=color, tooltip=[alt.Tooltip("words:N", title="verdict")])
    )


def _label_axis() -> alt.Y:
    return alt.Y("label:N", sort=None, title=None, axis=alt.Axis(labelLimit=LONGEST_LABEL))
