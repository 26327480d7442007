"""Which machine measured which rows, how long cells took there, and which blocks were not kept together."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from ghx_base.problems import plural
from ghx_profiler.machine import MachineRecord
from ghx_profiler.records.metric_table import UNKNOWN
from ghx_profiler.records.row import ProfileRow

HEADERS = ("machine", "what it is", "cells", "wall time of a cell", "against others, same cases")
"""Of the table that `MachineTally.lines` fills."""

_SPLIT = ""
_Case = tuple[str, str, str, str]


@dataclass(slots=True)
class _WallTimes:
    """Wall times that are added up, and so are their logarithms."""

    n: int = 0
    total_ms: float = 0.0
    logs: float = 0.0

    def add(self, wall_ms: float) -> None:
        self.n, self.total_ms, self.logs = self.n + 1, self.total_ms + wall_ms, self.logs + math.log(wall_ms)


@dataclass(slots=True)
class MachineTally:
    """Rows by machine, counted as they go by; no row is kept."""

    cells: Counter[str] = field(default_factory=Counter[str])
    """Rows without a machine are not counted."""
    _times: dict[_Case, dict[str, _WallTimes]] = field(
        default_factory=lambda: defaultdict[_Case, dict[str, _WallTimes]](dict)
    )
    _places: dict[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])
    """The machine of each block, by scenario and repetition."""
    _names: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, row: ProfileRow) -> None:
        """Count one row."""
        if row.machine is None:
            return
        # Once for all rows: with every row's own copy of the name, a million blocks would hold a million of them.
        machine = self._names.setdefault(row.machine, row.machine)
        self.cells[machine] += 1
        block = row.scenario_id, row.iteration
        if self._places.setdefault(block, machine) != machine:
            self._places[block] = _SPLIT
        if row.was_measured and row.timing.wall_ms:
            case = row.scenario_id, row.mode, row.model, row.agent_name
            self._times[case].setdefault(machine, _WallTimes()).add(row.timing.wall_ms)

    @property
    def split_blocks(self) -> int:
        """How many blocks have rows of more than one machine."""
        return sum(place == _SPLIT for place in self._places.values())

    def compare_speed(self, machine: str) -> float | None:
        """Return how long a machine takes for a cell, as a multiple of the time of others for the same case.

        A case is a scenario in a mode, by an agent with a model. Machines get different blocks, so that the mean over
        all of their cells would measure scenarios rather than machines. `None` where no case was measured on this
        and on another one.
        """
        n, logs = 0, 0.0
        for walls in self._times.values():
            here, others = walls.get(machine), [each for name, each in walls.items() if name != machine]
            if here is not None and others:
                mean_of_others = sum(each.logs for each in others) / sum(each.n for each in others)
                n, logs = n + here.n, logs + here.logs - here.n * mean_of_others
        return math.exp(logs / n) if n else None

    def lines(self, records: Mapping[str, MachineRecord]) -> tuple[tuple[str, ...], ...]:
        """Return a line for each machine: what it is, its cells, what they took, and how that compares."""
        return tuple(self._line(name, records.get(name)) for name in sorted(self.cells))

    def _line(self, name: str, record: MachineRecord | None) -> tuple[str, ...]:
        walls = [here for each in self._times.values() if (here := each.get(name)) is not None]
        n, speed = sum(each.n for each in walls), self.compare_speed(name)
        return (
            name,
            UNKNOWN if record is None else str(record),
            f"{self.cells[name]:,}",
            f"{sum(each.total_ms for each in walls) / n / 1000:.2f} s (mean of {n:,})" if n else UNKNOWN,
            UNKNOWN if speed is None else f"{speed:.2f} x",
        )

    def remarks(self) -> tuple[str, ...]:
        """Return the remarks on rows of several machines."""
        remarks = (
            "A block, all modes of one scenario and repetition, is measured on one machine, whose speed is then the "
            "same for all that is compared. Machines have different blocks: compare them by the last column, which is "
            "of the same scenario in the same mode.",
        )
        if not (split := self.split_blocks):
            return remarks
        return (
            *remarks,
            f"{plural(split, 'block')} of {len(self._places):,} {'has' if split == 1 else 'have'} rows of more than "
            "one machine, as when one was lost or the run was resumed elsewhere: differences of time within them are "
            "also differences of machines.",
        )
