"""At a glance: success and what it takes, arm by arm, as a row of small charts; then the numbers behind them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import floor, log

from ghx_profiler.records.metric_table import UNKNOWN
from ghx_profiler.reports.data.material import Material
from ghx_profiler.reports.report_document import (
    Interval,
    IntervalChart,
    IntervalCharts,
    Note,
    Section,
    Table,
)
from ghx_profiler.reports.wording import (
    TIMES,
    amount,
    bounds,
    confidence_of,
    counts,
    percent,
    rate,
    ratio,
)
from ghx_profiler.stats.result_records import MetricSummary, ModeComparison, ModeSummary

_DRAWN = ("tokens_active", "latency_wall_ms", "cost_total_usd", "api_calls", "agent_turns", "tool_calls_total")
"""Charts in addition to success: the first known metrics of these."""
_MOST_DRAWN = 4
_WIDEST = log(20)
_NARROWEST = log(1.25)
"""An axis of ratios reaches this far from 1 at least: amounts that hardly differ are drawn close to each other."""
_ROOM = 1.08
_ALL = 100
_Share = Callable[[float | None], float | None]
"""Where on its axis a number stands: 0 at the worse end, 1 at the better one."""


def section(material: Material) -> Section:
    """Draw success and amounts of each arm, with their intervals."""
    confidence = confidence_of(1 - material.plan.alpha)
    explained = f"Lines are {confidence} intervals: of success, and of the median."
    if material.comparisons:
        explained = (
            f"Better is to the right. Lines are intervals of at least {confidence} confidence. Amounts are held "
            f"against the reference within each task: {TIMES}2 is twice as much."
        )
    charts = (_success_chart(material), *_amount_charts(material))
    return Section(id="glance", title="Results at a glance", elements=(IntervalCharts(charts=charts), Note(explained)))


def _success_chart(material: Material) -> IntervalChart:
    rates = {str(arm): summary.success for arm, summary in material.summaries.items()}
    least = min((floor(10 * (each.low or 0.0)) / 10 for each in rates.values() if each.rate is not None), default=0.0)

    def share(value: float | None) -> float | None:
        return None if value is None else (value - least) / (1 - least or 1.0)

    lines = tuple(
        Interval(
            name=arm,
            label=percent(each.rate),
            words=rate(each),
            at=share(each.rate),
            low=share(each.low),
            high=share(each.high),
        )
        for arm, each in rates.items()
    )
    better = "more is better" if material.comparisons else ""
    return IntervalChart(title="solved", better=better, lines=lines, worse_end=percent(least), better_end=percent(1.0))


def _amount_charts(material: Material) -> Iterator[IntervalChart]:
    summaries = material.summaries.values()
    known = [metric for metric in _DRAWN if any((each := of.metrics.get(metric)) and each.mean for of in summaries)]
    for metric in known[:_MOST_DRAWN]:
        # If an arm is compared with several, the first of them is the reference.
        compared = {each.a: each for each in reversed(material.comparisons) if each.metric == metric}
        ratios = {arm: ratio for arm, each in compared.items() if (ratio := _ratios(each)) is not None}
        yield _ratio_chart(material, metric, compared, ratios) if ratios else _median_chart(material, metric)


_Ratios = tuple[float, float | None, float | None]
"""How many times as much, and its interval."""


def _ratios(comparison: ModeComparison) -> _Ratios | None:
    """Return the ratio of A to B; `None` if it is undefined."""
    # 100 % less is nothing at all, which a logarithmic axis has no place for.
    at, low, high = (
        None if reduction is None or reduction >= _ALL else 1 - reduction / _ALL
        for reduction in (comparison.reduction_pct, comparison.high, comparison.low)
    )
    return None if at is None else (at, low, high)


def _ratio_chart(
    material: Material, metric: str, compared: Mapping[str, ModeComparison], ratios: Mapping[str, _Ratios]
) -> IntervalChart:
    """Draw the ratio of each arm to its reference, on a logarithmic axis."""
    ends = [log(value) for each in ratios.values() for value in each if value is not None]
    above, below = (min(max(_ROOM * end, _NARROWEST), _WIDEST) for end in (max(ends), -min(ends)))

    def share(value: float | None) -> float | None:
        return None if value is None else min(max((above - log(value)) / (above + below), 0.0), 1.0)

    unit, references = material.metrics.unit(metric), {each.b: each for each in compared.values()}
    lines: list[Interval] = []
    for arm in material.arm_names:
        if (ratio := ratios.get(arm)) is not None:
            lines.append(_ratio_line(arm, ratio, share, compared[arm].b))
        elif arm in references and arm not in compared:
            label = amount(references[arm].headline.center_b, unit)
            lines.append(Interval(name=arm, label=label, words=label, at=share(1.0)))
        else:
            lines.append(Interval(name=arm, label=UNKNOWN, words=UNKNOWN, at=None))
    reference = next(iter(references)) if len(references) == 1 else material.reference_run or "the reference"
    return IntervalChart(
        title=material.metrics.label(metric),
        better="less is better",
        lines=tuple(lines),
        mark=(share(1.0) or 0.0, f"as {reference}"),
    )


def _ratio_line(arm: str, ratios: _Ratios, share: _Share, reference: str) -> Interval:
    at, low, high = ratios
    span = "" if low is None or high is None else f" ({ratio(low)} to {ratio(high)})"
    words = f"{ratio(at)}{span} of {reference}"
    return Interval(name=arm, label=ratio(at), words=words, at=share(at), low=share(low), high=share(high))


def _median_chart(material: Material, metric: str) -> IntervalChart:
    """Draw medians if no arms are compared."""
    known = {str(arm): summary.metrics.get(metric) for arm, summary in material.summaries.items()}
    ends = [end for each in known.values() if each for end in (each.p50, each.median_interval.high) if end]
    most, unit = _ROOM * max(ends, default=1.0), material.metrics.unit(metric)

    def share(value: float | None) -> float | None:
        return None if value is None else 1 - value / most

    lines: list[Interval] = []
    for arm, each in known.items():
        if each is None or each.p50 is None:
            lines.append(Interval(name=arm, label=UNKNOWN, words=UNKNOWN, at=None))
            continue
        reach = each.median_interval
        words = f"{amount(each.p50, unit)} ({bounds(reach.low, reach.high, unit)})"
        lines.append(
            Interval(
                name=arm,
                label=amount(each.p50, unit),
                words=words,
                at=share(each.p50),
                low=share(reach.low),
                high=share(reach.high),
            )
        )
    return IntervalChart(
        title=material.metrics.label(metric),
        lines=tuple(lines),
        worse_end=amount(most, unit),
        better_end="0",
    )


def numbers(material: Material) -> Section:
    """Show the numbers of each arm by itself."""
    summaries, metrics, table = tuple(material.summaries.values()), material.glance_metrics, material.metrics
    lines = tuple(
        (
            summary.mode,
            rate(summary.success),
            *(_middle(summary.metrics.get(metric), table.unit(metric)) for metric in metrics),
        )
        for summary in summaries
    )
    medians = Table(
        caption="Medians over all measured rows with a known value, n rows each; success with Wilson's interval",
        headers=(material.arm_word, "success", *(table.label(metric) for metric in metrics)),
        rows=lines,
    )
    return Section(
        id="numbers",
        title=f"Every number, by {material.arm_word}",
        elements=(medians, _success(summaries, material.arm_word), *_metrics(summaries, material)),
    )


def _middle(summary: MetricSummary | None, unit: str) -> str:
    if summary is None or summary.p50 is None:
        return f"{UNKNOWN} (n 0)"
    return f"{amount(summary.p50, unit)} (n {summary.n})"


def _success(summaries: Sequence[ModeSummary], arm_word: str) -> Table:
    return Table(
        caption="Success by intention to treat (a row that could not be measured is a failure) and per protocol "
        "(such rows are left out)",
        headers=(arm_word, "intention to treat", "per protocol", "left out per protocol", "for tasks like these"),
        rows=tuple(
            (
                summary.mode,
                rate(summary.success),
                rate(summary.success.per_protocol),
                counts(summary.success.per_protocol.left_out_causes) or "none",
                _clustered_interval(summary),
            )
            for summary in summaries
        ),
    )


def _clustered_interval(summary: ModeSummary) -> str:
    clustered = summary.success.clustered
    if clustered.low is None or clustered.high is None:
        return clustered.reason or UNKNOWN
    return f"{percent(clustered.low)} to {percent(clustered.high)} (clustered by scenario)"


def _metrics(summaries: Sequence[ModeSummary], material: Material) -> Iterator[Table]:
    confidence, table = confidence_of(1 - material.plan.alpha), material.metrics
    for summary in summaries:
        yield Table(
            caption=f"Every metric of {summary.mode}, with {confidence} intervals, of the mean clustered by scenario",
            headers=("metric", "rows", "left out", "median", "interval", "90th percentile", "mean", "interval", "sd"),
            rows=tuple(
                _metric_line(table.label(name), metric, table.unit(name)) for name, metric in summary.metrics.items()
            ),
            is_folded=True,
        )


def _metric_line(name: str, metric: MetricSummary, unit: str) -> tuple[str, ...]:
    middle, mean = metric.median_interval, metric.mean_interval
    return (
        name,
        str(metric.n),
        counts(metric.left_out_causes) or "0",
        amount(metric.p50, unit),
        bounds(middle.low, middle.high, unit),
        amount(metric.p90, unit),
        amount(metric.mean, unit),
        bounds(mean.low, mean.high, unit),
        amount(metric.sd, unit),
    )
