"""What crosses between a run and its workers: blocks of cells one way, results and events the other.

Everything here is a record that can be pickled, so that a worker may be a task, a process or another machine.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field

from ghx_base.wire import JsonObject
from ghx_profiler.events import CellRetried, CellStarted
from ghx_profiler.machine import MachineRecord
from ghx_profiler.plan.cell import Cell
from ghx_profiler.records.row import Attempt, Incident, ProfileRow


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedCell:
    """A cell and its place in the order of the whole run."""

    cell: Cell
    start_order: int
    lost_attempts: tuple[Attempt, ...] = ()
    """Those on machines that were lost meanwhile, which stay on the row; and those that were made before on these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The cells of one (scenario, repetition) that are still to be measured, in their order: the unit of placement.

    `scenario` is the record as it stands in `run.json`: a worker never calls the loader.
    """

    scenario: JsonObject
    cells: tuple[PlacedCell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Which of how many workers of a run one is: together they keep to what the run may do at a time."""

    number: int = 1
    count: int = 1

    def of(self, limit: int) -> int:
        """Return the part of a limit that is this worker's; all parts add up to it."""
        return limit // self.count + (self.number <= limit % self.count)


WHOLE = Share()
"""That of a worker which is the only one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFiles:
    """What one cell leaves on disk.

    All but the row is file content: the writer need not read it, and it may come from another machine.
    """

    row: ProfileRow
    trace: bytes | None = None
    analysis: bytes | None = None
    activity: bytes | None = None
    others: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """What was written elsewhere for the run's directory, by the path there: recorded traffic, kept worlds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellMeasured:
    """A cell came to its end, one way or the other; it counts as done once its row is on disk."""

    cell: Cell
    files: CellFiles
    was_scored: bool
    """Whether the agent had its turn and the scorer has spoken, rather than something being in the way."""
    metric_units: Mapping[str, str] = field(default_factory=dict[str, str])
    """The units of the metrics that collectors found, by name."""
    machine: MachineRecord | None = None
    """What the machine is that the row names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellInterrupted:
    """A cell was cancelled, or the run's budget is spent; it has no row and is run again on resuming.

    What it spent is not forgotten.
    """

    cell: Cell
    attempts: tuple[Attempt, ...]
    trace: bytes | None = None
    stopped_by: str | None = None
    """Which limit of the run's budget its session reached, in words; `None` if the run was interrupted."""


Message = CellStarted | CellRetried | CellMeasured | CellInterrupted | Incident
"""A message of a worker; an incident is an error outside any cell that changed no result."""

Receive = Callable[[Message], Awaitable[None]]
"""Takes a message at the head of the run; when it has returned from `CellMeasured`, the row is on disk.

What it raises must stop the whole run: the disk is full, or a warm-up failed. A `RunBudgetError` for `CellStarted` may
instead be taken as: this cell is not to be measured.
"""


def blocks_of(cells: Iterable[PlacedCell], scenarios: Mapping[str, JsonObject]) -> tuple[Block, ...]:
    """Return cells by scenario and repetition; blocks, and the cells in each, stand in the order given."""
    grouped: dict[tuple[str, int], list[PlacedCell]] = {}
    for placed in cells:
        grouped.setdefault((placed.cell.scenario_id, placed.cell.iteration), []).append(placed)
    return tuple(
        Block(scenario=scenarios[scenario_id], cells=tuple(members)) for (scenario_id, _), members in grouped.items()
    )
