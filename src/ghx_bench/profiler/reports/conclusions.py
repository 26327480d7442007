"""The first sections of a report: what was shown, each mode at a glance, differences with their intervals."""

from collections import Counter
from collections.abc import Iterator, Sequence

from ghx_bench.profiler.reports.cautions import cautions
from ghx_bench.profiler.reports.differences import hedges_g_of, interval_of, reduction_of, smallest_effect_of
from ghx_bench.profiler.reports.document import (
    Block,
    Figure,
    Note,
    Section,
    Table,
    Text,
    Verdicts,
    Warning,  # noqa: A004 - the report's word; the builtin is not used here
)
from ghx_bench.profiler.reports.forest import forest, label_of
from ghx_bench.profiler.reports.glance import GLANCE_METRICS
from ghx_bench.profiler.reports.material import Material
from ghx_bench.profiler.reports.proof import proof
from ghx_bench.profiler.reports.statements import (
    PLACES,
    family,
    other_target,
    sentences,
    tenor,
    warnings_of_modes,
    why_nothing_elsewhere,
)
from ghx_bench.profiler.reports.wording import (
    UNKNOWN,
    amount,
    bounds,
    confidence_of,
    counts,
    metric_name,
    p_value,
    percent,
    rate,
)
from ghx_bench.profiler.stats.observations import SUCCESS
from ghx_bench.profiler.stats.plan import Target
from ghx_bench.profiler.stats.records import MetricSummary, ModeComparison, ModeSummary, PairedAnalysis


def verdicts(material: Material) -> Section:
    """Say what was shown, in sentences."""
    return Section(id="verdicts", title="Verdicts", blocks=tuple(_verdicts(material)))


def _verdicts(material: Material) -> Iterator[Block]:
    yield from cautions(material)
    if not len(material.observations):
        yield Warning("There are no rows: nothing was measured, and nothing can be concluded.")
        return
    yield from map(Warning, warnings_of_modes(material))
    if material.is_control:
        yield from proof(material)
        return
    if not material.primary:
        yield Text(f"There is one mode, {material.modes[0]}: nothing to compare it with. Its results follow.")
        return
    yield Text(tenor(material))
    yield Verdicts(sentences(material.primary))
    target = material.plan.target
    if (why := why_nothing_elsewhere(material)) is not None:
        yield Warning(why)
    else:
        yield Note(f"These verdicts hold {PLACES[target]}. Differences lists those {PLACES[other_target(target)]}.")


def glance(material: Material) -> Section:
    """Show each mode by itself."""
    summaries = tuple(material.summaries.values())
    lines = tuple(
        (
            summary.mode,
            rate(summary.success),
            *(_middle(metric, summary.metrics.get(metric)) for metric in GLANCE_METRICS),
        )
        for summary in summaries
    )
    confidence = confidence_of(1 - material.plan.alpha)
    table = Table(
        caption="Medians over all measured rows of a mode with a known value, n rows each; success with Wilson's "
        f"{confidence} interval",
        headers=("mode", "success", *(f"{metric_name(metric)} p50" for metric in GLANCE_METRICS)),
        rows=lines,
    )
    return Section(id="glance", title="Results at a glance", blocks=(table, _success(summaries), *_metrics(summaries)))


def _middle(metric: str, summary: MetricSummary | None) -> str:
    if summary is None or summary.p50 is None:
        return f"{UNKNOWN} (n 0)"
    return f"{amount(metric, summary.p50)} (n {summary.n})"


def _success(summaries: Sequence[ModeSummary]) -> Table:
    return Table(
        caption="Success by intention to treat (a row that could not be measured is a failure) and per protocol "
        "(such rows are left out)",
        headers=("mode", "intention to treat", "per protocol", "left out per protocol", "for tasks like these"),
        rows=tuple(
            (
                summary.mode,
                rate(summary.success),
                rate(summary.success.per_protocol),
                counts(summary.success.per_protocol.left_out_causes) or "none",
                _clustered(summary),
            )
            for summary in summaries
        ),
    )


def _clustered(summary: ModeSummary) -> str:
    clustered = summary.success.clustered
    if clustered.low is None or clustered.high is None:
        return clustered.reason or UNKNOWN
    return f"{percent(clustered.low)} to {percent(clustered.high)} (clustered by scenario)"


def _metrics(summaries: Sequence[ModeSummary]) -> Iterator[Table]:
    for summary in summaries:
        yield Table(
            caption=f"Every metric of {summary.mode}",
            headers=("metric", "n", "left out", "p50", "interval of p50", "p90", "mean", "interval of mean", "sd"),
            rows=tuple(_metric_line(name, metric) for name, metric in summary.metrics.items()),
            is_folded=True,
        )


def _metric_line(name: str, metric: MetricSummary) -> tuple[str, ...]:
    middle, mean = metric.median_interval, metric.mean_interval
    return (
        name,
        str(metric.n),
        counts(metric.left_out_causes) or "0",
        amount(name, metric.p50),
        f"{bounds(name, middle.low, middle.high)} ({confidence_of(middle.confidence)})",
        amount(name, metric.p90),
        amount(name, metric.mean),
        f"{bounds(name, mean.low, mean.high)} ({confidence_of(mean.confidence)}, clustered)",
        amount(name, metric.sd),
    )


def differences(material: Material) -> Section:
    """Show paired differences: charts of the planned ones, tables of all."""
    return Section(id="differences", title="Differences", blocks=tuple(_differences(material)))


def _differences(material: Material) -> Iterator[Block]:
    if not material.comparisons:
        why = "control runs are not compared" if material.is_control else "there are no two modes to compare"
        yield Text(f"No differences are shown: {why}.")
        return
    yield Text(
        "Rows are paired within scenario and model; every scenario weighs the same. A reduction is positive when the "
        "first mode is lower. The shaded band is the planned margin, inside which modes count as equivalent."
    )
    yield from _forests(material)
    target, primary = material.plan.target, material.primary
    other = other_target(target)
    yield Note(
        "Success is compared over all rows, and one that could not be measured is a failure (intention to treat). "
        "Amounts are compared over measured rows (per protocol). The other choice of rows follows, folded."
    )
    yield _comparison_table(f"Planned comparisons {PLACES[target]}. {family(primary)}", primary, target)
    yield from _notes(primary)
    yield _comparison_table(f"Planned comparisons {PLACES[other]}", primary, other, is_folded=True)
    yield from _other_rows(primary, target)
    exploratory = [each for each in material.comparisons if each.family == "exploratory"]
    if exploratory:
        caption = f"Exploratory comparisons {PLACES[target]}. {family(exploratory)}"
        yield _comparison_table(caption, exploratory, target, is_folded=True)


def _other_rows(primary: Sequence[ModeComparison], target: Target) -> Iterator[Table]:
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
            yield _analysis_table(caption.format(PLACES[target]), analyses, target)


def _forests(material: Material) -> Iterator[Figure | Note]:
    rates = [each for each in material.primary if each.unit == "percentage points"]
    amounts = [each for each in material.primary if each.unit == "percent"]
    margin = material.plan.margin_pct
    charts = (
        forest(
            rates,
            name="forest-success",
            title="Paired differences in success: left of 0 the first mode succeeds more often",
            axis="reduction, percentage points",
            margin=margin,
        ),
        forest(
            amounts,
            name="forest-amounts",
            title="Paired differences in amounts: right of 0 the first mode needs less",
            axis="reduction, %",
            margin=margin,
        ),
    )
    yield from (Figure(chart) for chart in charts if chart is not None)
    undrawn = [each for each in amounts if each.reduction_pct is None and each.p is not None]
    if undrawn:
        named = "; ".join(map(label_of, undrawn))
        yield Note(
            f"Not drawn, for the second mode's mean is not above 0 and there is nothing to take per cent of: {named}. "
            "The table has the differences in the metric's own unit."
        )


_COMPARISON_HEADERS = (
    "comparison",
    "reduction",
    "interval",
    "p",
    "p adjusted",
    "verdict",
    "scenarios",
    "rows",
    "left out",
    "smallest effect it could show",
    "Hedges' g",
    "method",
)


def _comparison_table(
    caption: str, comparisons: Sequence[ModeComparison], target: Target, *, is_folded: bool = False
) -> Table:
    pairs = [(each, each.headline) for each in comparisons]
    return _analysis_table(caption, pairs, target, is_folded=is_folded)


def _analysis_table(
    caption: str,
    analyses: Sequence[tuple[ModeComparison, PairedAnalysis]],
    target: Target,
    *,
    is_folded: bool = True,
) -> Table:
    return Table(
        caption=caption,
        headers=_COMPARISON_HEADERS,
        rows=tuple(_comparison_line(comparison, analysis, target) for comparison, analysis in analyses),
        is_folded=is_folded,
    )


def _comparison_line(comparison: ModeComparison, analysis: PairedAnalysis, target: Target) -> tuple[str, ...]:
    result = analysis.of(target)
    left_out = Counter[str]()
    for each in analysis.left_out:
        left_out[each.cause] += each.rows
    return (
        label_of(comparison),
        reduction_of(comparison.metric, result, analysis.unit),
        interval_of(comparison.metric, result, analysis.unit),
        p_value(result.p),
        p_value(result.p_adjusted),
        result.verdict,
        str(analysis.n),
        f"{analysis.rows_a} vs {analysis.rows_b}",
        counts(left_out) or "none",
        smallest_effect_of(comparison.metric, result, analysis.unit),
        hedges_g_of(analysis),
        result.reason if result.verdict == "not estimable" and result.reason else result.method,
    )


def _notes(comparisons: Sequence[ModeComparison]) -> Iterator[Note]:
    by_note: dict[str, list[str]] = {}
    for comparison in comparisons:
        for note in comparison.notes:
            name = f"{metric_name(comparison.metric)}, {comparison.a} vs {comparison.b}"
            by_note.setdefault(note, []).append(name)
    for note, names in by_note.items():
        yield Note(f"{note[:1].upper()}{note[1:]}. ({'; '.join(names)})")
