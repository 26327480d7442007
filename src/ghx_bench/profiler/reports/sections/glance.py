"""Results at a glance: each mode by itself."""

from collections.abc import Iterator, Sequence

from ghx_bench.profiler.metric_table import UNKNOWN, MetricTable
from ghx_bench.profiler.reports.data.material import Material
from ghx_bench.profiler.reports.report_document import Section, Table
from ghx_bench.profiler.reports.wording import (
    amount,
    bounds,
    confidence_of,
    counts,
    percent,
    rate,
)
from ghx_bench.profiler.stats.result_records import MetricSummary, ModeSummary


def section(material: Material) -> Section:
    """Show each mode by itself."""
    summaries, metrics, table = tuple(material.summaries.values()), material.glance_metrics, material.metrics
    lines = tuple(
        (
            summary.mode,
            rate(summary.success),
            *(_middle(summary.metrics.get(metric), table.unit(metric)) for metric in metrics),
        )
        for summary in summaries
    )
    confidence = confidence_of(1 - material.plan.alpha)
    medians = Table(
        caption="Medians over all measured rows of a mode with a known value, n rows each; success with Wilson's "
        f"{confidence} interval",
        headers=(material.arm_word, "success", *(f"{table.label(metric)} p50" for metric in metrics)),
        rows=lines,
    )
    return Section(
        id="glance",
        title="Results at a glance",
        elements=(medians, _success(summaries, material.arm_word), *_metrics(summaries, table)),
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


def _metrics(summaries: Sequence[ModeSummary], table: MetricTable) -> Iterator[Table]:
    for summary in summaries:
        yield Table(
            caption=f"Every metric of {summary.mode}",
            headers=("metric", "n", "left out", "p50", "interval of p50", "p90", "mean", "interval of mean", "sd"),
            rows=tuple(_metric_line(name, metric, table.unit(name)) for name, metric in summary.metrics.items()),
            is_folded=True,
        )


def _metric_line(name: str, metric: MetricSummary, unit: str) -> tuple[str, ...]:
    middle, mean = metric.median_interval, metric.mean_interval
    return (
        name,
        str(metric.n),
        counts(metric.left_out_causes) or "0",
        amount(metric.p50, unit),
        f"{bounds(middle.low, middle.high, unit)} ({confidence_of(middle.confidence)})",
        amount(metric.p90, unit),
        amount(metric.mean, unit),
        f"{bounds(mean.low, mean.high, unit)} ({confidence_of(mean.confidence)}, clustered)",
        amount(metric.sd, unit),
    )
