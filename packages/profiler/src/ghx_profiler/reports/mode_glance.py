"""Results at a glance for the terminal: one line for each arm, over its measured rows.

Plain Python: a run ends with its table also where numpy is not installed, and sooner where it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from statistics import median

from ghx_profiler.plan.cell import Arm, order_arms
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.reports.data.controls import ControlTally
from ghx_profiler.reports.data.sources import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Median:
    """The middle of a metric over the measured rows where it is known; `None` where it is known in none."""

    p50: float | None
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeGlance:
    """The rows of one mode, counted."""

    mode: str
    measured: int
    successes: int
    unmeasured: int
    attacked: int
    """Sessions in which an attack succeeded, measured or not."""
    metrics: Mapping[str, Median]

    def to_wire(self) -> dict[str, object]:
        """Return the line as JSON."""
        return {
            "measured": self.measured,
            "notMeasured": self.unmeasured,
            "successes": self.successes,
            "metrics": {metric: {"p50": each.p50, "n": each.n} for metric, each in self.metrics.items()},
        }


@dataclass(slots=True)
class _ArmRows:
    """The rows of one arm so far."""

    measured: int = 0
    successes: int = 0
    unmeasured: int = 0
    attacked: int = 0
    values: dict[str, list[float]] = field(default_factory=dict[str, list[float]])


class GlanceTally:
    """What the table at the end of a run shows, counted as its rows go by; `controls` is what control agents did."""

    def __init__(self, source: Source, metrics: Sequence[str]) -> None:
        self._source = source
        self._metrics = metrics
        self._arms: dict[Arm, _ArmRows] = {}
        self._names: dict[tuple[str, str, str], Arm] = {}
        self.controls = ControlTally()

    def add(self, row: ProfileRow) -> None:
        """Count one row."""
        arm = self._arm_of(row.agent_name, row.model, row.mode)
        if (kind := self._source.control_kind(row.agent_name)) is not None:
            self.controls.add(row, arm, kind)
        rows = self._arms.setdefault(arm, _ArmRows())
        rows.attacked += row.safety is not None and row.safety.succeeded is True
        if not row.was_measured:
            rows.unmeasured += 1
            return
        rows.measured += 1
        rows.successes += row.success is True
        known = row.known_metrics
        for metric in self._metrics:
            if (value := known.get(metric)) is not None and isfinite(value):
                rows.values.setdefault(metric, []).append(value)

    def _arm_of(self, agent: str, model: str, mode: str) -> Arm:
        key, record = (agent, model, mode), self._source.record
        if key not in self._names:
            self._names[key] = Arm(mode=mode) if record is None else record.arm_of(*key)
        return self._names[key]

    def glances(self) -> dict[str, ModeGlance]:
        """Return the rows summed up by arm, in the order of reports."""
        glances: dict[str, ModeGlance] = {}
        for arm in self._in_order():
            rows = self._arms[arm]
            glances[str(arm)] = ModeGlance(
                mode=str(arm),
                measured=rows.measured,
                successes=rows.successes,
                unmeasured=rows.unmeasured,
                attacked=rows.attacked,
                metrics={metric: _median(rows.values.get(metric, ())) for metric in self._metrics},
            )
        return glances

    def _in_order(self) -> tuple[Arm, ...]:
        if self._source.record is None:
            return order_arms(self._arms)
        matrix = self._source.record.matrix
        return order_arms(self._arms, agents=matrix.agents, models=matrix.models, modes=matrix.modes)


def _median(values: Sequence[float]) -> Median:
    middle = float(median(values)) if values else None
    # A count is an integer, even if rows have it as a float.
    return Median(p50=int(middle) if middle is not None and middle.is_integer() else middle, n=len(values))
