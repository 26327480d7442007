"""The table that a run ends with in the terminal."""

from collections.abc import Mapping

from rich.markup import escape
from rich.table import Table

from ghx_bench.eval.scoring.github_metrics import EVAL_METRICS
from ghx_bench.profiler.metric_table import Metric
from ghx_bench.profiler.reports.data.mode_glance import ModeGlance

_SHORT_MS = 1000

_COLUMNS = EVAL_METRICS.shown_in("terminal")

SHOWN_METRICS = tuple(metric.name for metric in _COLUMNS)
"""What the table shows, as far as it is known."""


def glance_table(glances: Mapping[str, ModeGlance]) -> Table:
    """Return one line for each mode: its successes, and the medians of what is known in any of them."""
    columns = [each for each in _COLUMNS if any(glance.metrics[each.name].n for glance in glances.values())]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("mode", "success"):
        table.add_column(title, no_wrap=True)
    for column in columns:
        table.add_column(f"{column.heading or column.label} p50", justify="right")
    for mode in sorted(glances):
        glance = glances[mode]
        unmeasured = f", {glance.unmeasured} not measured" if glance.unmeasured else ""
        success = f"{glance.successes}/{glance.measured}{unmeasured}"
        table.add_row(escape(mode), success, *(_cell(column, glance) for column in columns))
    return table


def _cell(metric: Metric, glance: ModeGlance) -> str:
    median = glance.metrics[metric.name]
    if median.p50 is None:
        return "unknown"
    partly = f" (n={median.n})" if median.n < glance.measured else ""
    return f"{_amount(median.p50, metric.unit)}{partly}"


def _amount(value: float, unit: str) -> str:
    match unit:
        case "ms":
            return f"{value:,.0f} ms" if value < _SHORT_MS else f"{value / 1000:,.1f} s"
        case "USD":
            return f"${value:,.4f}"
        case "tokens":
            return f"{value:,.0f}"
        case _:
            return f"{value:,g}"
