"""Results at a glance: one line for each mode, over its measured rows."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

from ghx_bench.profiler.row import ProfileRow

GLANCE_METRICS = ("latency_wall_ms", "tokens_active", "tool_calls_total", "agent_turns", "cost_total_usd")


@dataclass(slots=True)
class ModeGlance:
    """The rows of one mode, counted; the median of a metric is over the measured rows where it is known."""

    mode: str
    metrics: Sequence[str] = GLANCE_METRICS
    measured: int = 0
    successes: int = 0
    unmeasured: int = 0
    values: dict[str, list[float]] = field(default_factory=lambda: defaultdict[str, list[float]](list))

    def add(self, row: ProfileRow) -> None:
        """Count one row."""
        if not row.was_measured:
            self.unmeasured += 1
            return
        self.measured += 1
        self.successes += row.success is True
        known = row.known_metrics
        for metric in self.metrics:
            if metric in known:
                self.values[metric].append(known[metric])

    def median(self, metric: str) -> float | None:
        """Return the median where the metric is known at all."""
        values = self.values.get(metric)
        return median(values) if values else None

    def known(self, metric: str) -> int:
        """Return in how many rows the metric is known."""
        return len(self.values.get(metric, ()))

    def to_wire(self) -> dict[str, object]:
        """Return the line as JSON."""
        medians = {metric: {"p50": self.median(metric), "n": self.known(metric)} for metric in self.metrics}
        return {
            "measured": self.measured,
            "notMeasured": self.unmeasured,
            "successes": self.successes,
            "metrics": medians,
        }


def glance_at(rows: Iterable[ProfileRow], metrics: Sequence[str] = GLANCE_METRICS) -> dict[str, ModeGlance]:
    """Sum up the rows by mode, in the order the modes appear."""
    glances: dict[str, ModeGlance] = {}
    for row in rows:
        glances.setdefault(row.mode, ModeGlance(row.mode, metrics)).add(row)
    return glances
