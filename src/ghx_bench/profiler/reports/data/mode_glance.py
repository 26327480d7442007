"""Results at a glance for the terminal: one line for each mode, over its measured rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ghx_bench.profiler.stats.observations import Observations, default_order


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
    metrics: Mapping[str, Median]

    def to_wire(self) -> dict[str, object]:
        """Return the line as JSON."""
        return {
            "measured": self.measured,
            "notMeasured": self.unmeasured,
            "successes": self.successes,
            "metrics": {metric: {"p50": each.p50, "n": each.n} for metric, each in self.metrics.items()},
        }


def glance_at(observations: Observations, metrics: Sequence[str]) -> dict[str, ModeGlance]:
    """Sum up the rows by mode, in the order of reports."""
    glances: dict[str, ModeGlance] = {}
    for arm in default_order(observations.arm.known):
        rows = observations.arm.are(arm)
        measured = rows & observations.was_measured
        glances[str(arm)] = ModeGlance(
            mode=str(arm),
            measured=int(np.count_nonzero(measured)),
            successes=int(np.count_nonzero(rows & (observations.success == 1))),
            unmeasured=int(np.count_nonzero(rows & ~observations.was_measured)),
            metrics={metric: _median(observations.column(metric, "per-protocol")[rows]) for metric in metrics},
        )
    return glances


def _median(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Median:
    known = values[~np.isnan(values)]
    middle = float(np.median(known)) if known.size else None
    # Columns are floats; a count is told as one.
    return Median(p50=int(middle) if middle is not None and middle.is_integer() else middle, n=known.size)
