"""Differences: charts of the planned comparisons with their intervals, and tables of all."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ghx_profiler.records.metric_table import MetricTable
from ghx_profiler.reports.data.material import Material
from ghx_profiler.reports.render.charts import LONGEST_LABEL, Values, alt, chart_of, is_bounded, legend
from ghx_profiler.reports.report_document import Chart, Element, Figure, Note, Paragraph, Section, Table
from ghx_profiler.reports.wording import (
    amount,
    change,
    confidence_of,
    counts,
    describe_family,
    other_target,
    p_value,
    signed,
)
from ghx_profiler.stats.methods.scales import format_reduction
from ghx_profiler.stats.observations import SUCCESS
from ghx_profiler.stats.plan import PLACES, Target
from ghx_profiler.stats.result_records import ModeComparison, PairedAnalysis, TargetResult, Unit


def section(material: Material) -> Section:
    """Show paired differences: charts of the planned ones, tables of all."""
    title = "All comparisons, with intervals, p-values, power and the plan"
    return Section(id="differences", title=title, elements=tuple(_elements(material)))


def _elements(material: Material) -> Iterator[Element]:
    if not material.comparisons:
        return
    has_pooled_agents = any(len(agents) > 1 for agents in material.tally.agents.values())
    pairing = "scenario, agent and model" if has_pooled_agents else "scenario and model"
    pairing = pairing.replace("scenario", "variant", 1) if material.has_variants else pairing
    yield Paragraph(
        f"Rows are paired within {pairing}; every scenario weighs the same. A change is that of the first from the "
        "second: +10 % is more, -10 % less. The shaded band is the planned margin, inside which modes count as "
        "equivalent."
    )
    yield from _forests(material)
    target, metrics = material.plan.target, material.metrics
    yield Note(
        "Success is compared over all rows, and one that could not be measured is a failure (intention to treat). "
        "Amounts are compared over measured rows (per protocol). The other choice of rows follows, folded."
    )
    overall = [each.comparison for run in material.run_comparisons for each in run.verdicts]
    if overall:
        yield from _comparison_tables(metrics, f"Runs over all modes together, {PLACES[target]}", overall, target)
    primary = material.primary
    if primary:
        caption = f"Planned comparisons {PLACES[target]}. {describe_family(primary)}"
        yield from _comparison_tables(metrics, caption, primary, target)
        yield from _notes(metrics, primary)
        other = other_target(target)
        pairs = [(each, each.headline) for each in primary]
        yield _result_table(metrics, f"Planned comparisons {PLACES[other]}", pairs, other, is_folded=True)
        yield from _other_rows(material, primary, target)
    exploratory = [each for each in material.comparisons if each.family == "exploratory"]
    if exploratory:
        caption = f"Exploratory comparisons {PLACES[target]}. {describe_family(exploratory)}"
        pairs = [(each, each.headline) for each in exploratory]
        yield _result_table(metrics, caption, pairs, target, is_folded=True)


def _other_rows(material: Material, primary: Sequence[ModeComparison], target: Target) -> Iterator[Table]:
    """Show what other choices of rows give."""
    rates = [(each, each.second_view) for each in primary if each.metric == SUCCESS]
    amounts = [(each, each.second_view) for each in primary if each.metric != SUCCESS]
    both = [(each, each.both_succeeded) for each in primary if each.both_succeeded is not None]
    tables = (
        ("Success per protocol, {}: rows that could not be measured are left out", rates),
        ("Amounts over all attempts, {}: with what rows spent that could not be measured", amounts),
        ("Amounts of rows that succeeded only, {}", both),
    )
    for caption, analyses in tables:
        if analyses:
            yield _result_table(material.metrics, caption.format(PLACES[target]), analyses, target, is_folded=True)


def _forests(material: Material) -> Iterator[Figure | Note]:
    overall = [each.comparison for run in material.run_comparisons for each in run.metrics]
    planned = [*overall, *(each for each in material.comparisons if each.metric in material.plan.primary)]
    rates = [each for each in planned if each.unit == "percentage points"]
    amounts = [each for each in planned if each.unit == "percent"]
    margin = material.plan.margin_pct
    charts = (
        forest(
            rates,
            material.metrics,
            name="forest-success",
            title="Success: right of 0 the first succeeds more often",
            axis="more often, percentage points",
            margin=margin,
        ),
        forest(
            amounts,
            material.metrics,
            name="forest-amounts",
            title="Amounts: right of 0 the first needs less",
            axis="less, %",
            margin=margin,
        ),
    )
    yield from (Figure(chart) for chart in charts if chart is not None)
    undrawn = [each for each in amounts if each.reduction_pct is None and each.p is not None]
    if undrawn:
        labels = "; ".join(label_of(each, material.metrics) for each in undrawn)
        yield Note(
            f"Not drawn, for the second mode's mean is not above 0 and there is nothing to take per cent of: {labels}. "
            "The table has the differences in the metric's own unit."
        )


_Analyses = Sequence[tuple[ModeComparison, PairedAnalysis]]


def _comparison_tables(
    metrics: MetricTable, caption: str, comparisons: Sequence[ModeComparison], target: Target
) -> Iterator[Table]:
    """Show what comparisons found, and then how."""
    pairs = [(each, each.headline) for each in comparisons]
    yield _result_table(metrics, caption, pairs, target)
    yield Table(
        caption="How they were made: power, effect sizes and methods",
        headers=("comparison", "left out", "smallest effect it could show", "Hedges' g", "method"),
        rows=tuple(_method_line(metrics, comparison, analysis, target) for comparison, analysis in pairs),
        is_text=True,
        is_folded=True,
    )


def _result_table(
    metrics: MetricTable, caption: str, analyses: _Analyses, target: Target, *, is_folded: bool = False
) -> Table:
    return Table(
        caption=caption,
        headers=("comparison", "change", "interval", "confidence", "p", "p adjusted", "verdict", "tasks", "rows"),
        rows=tuple(_result_line(metrics, comparison, analysis, target) for comparison, analysis in analyses),
        is_folded=is_folded,
        is_list=True,
    )


def _result_line(
    metrics: MetricTable, comparison: ModeComparison, analysis: PairedAnalysis, target: Target
) -> tuple[str, ...]:
    result, own_unit = analysis.of(target), metrics.unit(comparison.metric)
    return (
        label_of(comparison, metrics),
        change_of(result, analysis.unit, own_unit),
        interval_of(result, analysis.unit, own_unit),
        confidence_of(result.confidence),
        p_value(result.p),
        p_value(result.p_adjusted),
        result.verdict,
        str(analysis.n),
        f"{analysis.rows_a} vs {analysis.rows_b}",
    )


def _method_line(
    metrics: MetricTable, comparison: ModeComparison, analysis: PairedAnalysis, target: Target
) -> tuple[str, ...]:
    result, own_unit = analysis.of(target), metrics.unit(comparison.metric)
    left_out = Counter[str]()
    for each in analysis.left_out:
        left_out[each.cause] += each.rows
    return (
        label_of(comparison, metrics),
        counts(left_out) or "none",
        smallest_effect_of(result, analysis.unit, own_unit),
        hedges_g_of(analysis),
        result.reason if result.verdict == "not estimable" and result.reason else result.method,
    )


def _notes(metrics: MetricTable, comparisons: Sequence[ModeComparison]) -> Iterator[Note]:
    by_note: dict[str, list[str]] = {}
    for comparison in comparisons:
        for note_text in comparison.notes:
            note = note_text.replace(comparison.metric, metrics.label(comparison.metric))
            name = f"{metrics.label(comparison.metric)}, {comparison.a} vs {comparison.b}"
            by_note.setdefault(note, []).append(name)
    for note, names in by_note.items():
        yield Note(f"{note[:1].upper()}{note[1:]}. ({'; '.join(names)})")


_NOT_ESTIMABLE = "not estimable"


def change_of(result: TargetResult, unit: Unit, own_unit: str) -> str:
    """Return the change: how much more the first has, or less."""
    if result.reduction_pct is None and result.raw is not None:
        return signed(-result.raw.reduction, amount(abs(result.raw.reduction), own_unit))
    return change(result.reduction_pct, unit)


def interval_of(result: TargetResult, unit: Unit, own_unit: str) -> str:
    """Return the interval of the change; open ends are marked, and a missing interval is stated."""
    if result.verdict == _NOT_ESTIMABLE:
        return _NOT_ESTIMABLE
    is_raw = result.reduction_pct is None and result.raw is not None
    low, high = (result.raw.low, result.raw.high) if is_raw and result.raw else (result.low, result.high)
    if low is None and high is None:
        return "without bounds"

    def say(bound: float | None) -> str:
        if bound is None:
            return "?"
        if is_raw:
            return signed(-bound, amount(abs(bound), own_unit))
        # The unit is in the next column; a multiple must be marked as one.
        return change(bound, unit).removesuffix(" %").removesuffix(" points")

    return f"{say(high)} to {say(low)}"


def smallest_effect_of(result: TargetResult, unit: Unit, own_unit: str) -> str:
    """Return the smallest effect that the sample could have shown, or the reason without one."""
    if result.mde is not None:
        return format_reduction(result.mde, unit, points="points")
    if result.raw is not None and result.raw.mde is not None:
        smallest = amount(result.raw.mde, own_unit)
        return smallest if result.reason is None else f"an increase of {smallest}; nothing can be lower than 0"
    return _NOT_ESTIMABLE if result.verdict == _NOT_ESTIMABLE else result.reason or "cannot be told"


def hedges_g_of(analysis: PairedAnalysis) -> str:
    """Return the standardised effect, or the reason without one."""
    g, variance = analysis.effect_sizes.hedges_g, analysis.variance
    if g is not None:
        return f"{g:z.2f}"
    has_repetitions = variance.within_a is not None or variance.within_b is not None
    return "no repetition varies" if has_repetitions else "no repetitions"


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


def forest(
    comparisons: Sequence[ModeComparison], metrics: MetricTable, *, name: str, title: str, axis: str, margin: float
) -> Chart | None:
    """Draw paired differences with their intervals, no difference at 0, the planned margin shaded.

    A bar beyond the chart ends in an arrow: one wide interval must not make all others a dot.
    """
    estimable = [each for each in comparisons if each.reduction_pct is not None][:_MOST_COMPARISONS]
    if not estimable:
        return None
    farthest = max(abs(each.reduction_pct or 0.0) for each in estimable)
    # As far from 0 as the estimates need, and some of their intervals.
    reach = min(max(_ROOM * farthest, _ROOM * margin, _LEAST_REACH), max(_MOST_REACH, margin))
    values = [_forest_value(each, label_of(each, metrics), reach) for each in estimable]
    arrows = [
        {**{name: value[name] for name in ("label", "verdict", "words")}, "end": side * reach, "side": side}
        for value in values
        for side in value["beyond"]
    ]
    words = [word for word in _VERDICTS if any(each.verdict == word for each in estimable)]
    colors = alt.Scale(domain=words, range=[_VERDICTS[word] for word in words])
    color = alt.Color("verdict:N", scale=colors, legend=legend())
    layers = [
        *_ground(axis, margin),
        *_estimates(color, axis, has_intervals=any(map(is_bounded, values))),
        *([_arrows(arrows, color)] if arrows else ()),
    ]
    layered = alt.layer(*layers).properties(height=26 * len(values))
    sentences = "; ".join(
        f"{label_of(each, metrics)} {change(each.reduction_pct, each.unit)}" for each in estimable[:_MOST_SENTENCES]
    )
    more = " Arrows: reaches beyond the chart." if arrows else ""
    return chart_of(name, f"{title}.{more}" if arrows else title, f"{title}. {sentences}.{more}", layered, values)


def _ground(axis: str, margin: float) -> "Iterator[alt.Chart]":
    """Yield what estimates are seen against: the margin, and no difference."""
    band = alt.Chart(alt.Data(values=[{"from": -margin, "to": margin}])).mark_rect(opacity=0.12, color="#7a828c")
    yield band.encode(x=alt.X("from:Q", title=axis), x2=alt.X2("to:Q"))
    yield alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(strokeDash=[4, 3]).encode(x=alt.X("zero:Q"))


def _estimates(color: "alt.Color", axis: str, *, has_intervals: bool) -> "Iterator[alt.Chart]":
    """Yield intervals, where there are any, and the estimates that lie on the chart."""
    base = alt.Chart().encode(y=_label_axis(), color=color, tooltip=[alt.Tooltip("words:N", title="verdict")])
    if has_intervals:
        lines = base.transform_filter("datum.low != null && datum.high != null").mark_rule(strokeWidth=2)
        yield lines.encode(x=alt.X("low:Q", title=axis), x2=alt.X2("high:Q"))
    opacity = alt.OpacityValue(0, condition={"test": "datum.isWithin", "value": 1})
    points = base.mark_point(filled=True, size=80)
    yield points.encode(x=alt.X("change:Q", title=axis), opacity=opacity)


def label_of(comparison: ModeComparison, metrics: MetricTable) -> str:
    """Name a comparison by its metric and its modes."""
    label = metrics.label(comparison.metric)
    # Shared parts of both arms are named once: charts have little room for names.
    agent_a, _, mode_a = comparison.a.rpartition(" / ")
    agent_b, _, mode_b = comparison.b.rpartition(" / ")
    if agent_a and agent_a == agent_b:
        return f"{label}, {agent_a}: {mode_a} vs {mode_b}"
    if agent_a and agent_b and mode_a == mode_b:
        return f"{label}, {mode_a}: {agent_a} vs {agent_b}"
    return f"{label}: {comparison.a} vs {comparison.b}"


_ROOM = 2.5
_LEAST_REACH = 50.0
_MOST_REACH = 400.0
_MOST_SENTENCES = 12


def _forest_value(each: ModeComparison, label: str, reach: float) -> dict[str, Any]:
    """Return what is drawn of a comparison, better to the right: more success, or less of an amount."""
    better = -1 if each.higher_is_better else 1
    at, one, other = (None if end is None else better * end for end in (each.reduction_pct, each.low, each.high))
    low, high = (one, other) if better > 0 else (other, one)

    def if_in_range(value: float | None) -> float | None:
        return None if value is None else max(-reach, min(value, reach))

    ends = [value for value in (at, low, high) if value is not None]
    return {
        "label": label,
        "change": if_in_range(at),
        "low": if_in_range(low),
        "high": if_in_range(high),
        "isWithin": abs(at or 0.0) <= reach,
        "verdict": each.verdict,
        "words": each.words,
        "beyond": [side for side in (-1, 1) if any(side * end > reach for end in ends)],
    }


def _arrows(values: Values, color: "alt.Color") -> "alt.Chart":
    shape = alt.ShapeValue("triangle-right", condition={"test": "datum.side < 0", "value": "triangle-left"})
    return (
        alt.Chart(alt.Data(values=values))
        .mark_point(filled=True, size=120, opacity=1)
        .encode(
            x=alt.X("end:Q"),
            y=_label_axis(),
            shape=shape,
            color=color,
            tooltip=[alt.Tooltip("words:N", title="verdict")],
        )
    )


def _label_axis() -> "alt.Y":
    return alt.Y("label:N", sort=None, title=None, axis=alt.Axis(labelLimit=LONGEST_LABEL))
