"""The table that a run ends with in the terminal."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rich.markup import escape
from rich.table import Table

from ghx_bench.profiler.reports.glance import ModeGlance


@dataclass(frozen=True, slots=True)
class _Column:
    title: str
    metric: str
    write: Callable[[float], str]

    def cell(self, glance: ModeGlance) -> str:
        middle = glance.median(self.metric)
        if middle is None:
            return "unknown"
        partly = f" (n={glance.known(self.metric)})" if glance.known(self.metric) < glance.measured else ""
        return self.write(middle) + partly


def _seconds(ms: float) -> str:
    return f"{ms:,.0f} ms" if ms < _SHORT_MS else f"{ms / 1000:,.1f} s"


_SHORT_MS = 1000

_COLUMNS = (
    _Column("wall p50", "latency_wall_ms", _seconds),
    _Column("active tokens p50", "tokens_active", lambda value: f"{value:,.0f}"),
    _Column("tool calls p50", "tool_calls_total", lambda value: f"{value:,g}"),
    _Column("turns p50", "agent_turns", lambda value: f"{value:,g}"),
    _Column("API calls p50", "api_calls", lambda value: f"{value:,g}"),
    _Column("cost p50", "cost_total_usd", lambda value: f"${value:,.4f}"),
)

SHOWN_METRICS = tuple(column.metric for column in _COLUMNS)
"""What the table shows, as far as anybody knows it."""


def glance_table(glances: Mapping[str, ModeGlance]) -> Table:
    """Return one line for each mode: its successes, and the medians of what is known in any of them."""
    columns = [column for column in _COLUMNS if any(glance.known(column.metric) for glance in glances.values())]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("mode", "success"):
        table.add_column(title, no_wrap=True)
    for column in columns:
        table.add_column(column.title, justify="right")
    for mode in sorted(glances):
        glance = glances[mode]
        table.add_row(escape(mode), _success(glance), *(column.cell(glance) for column in columns))
    return table


def _success(glance: ModeGlance) -> str:
    unmeasured = f", {glance.unmeasured} not measured" if glance.unmeasured else ""
    return f"{glance.successes}/{glance.measured}{unmeasured}"
