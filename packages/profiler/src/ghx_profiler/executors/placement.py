"""Which block of cells is measured on which machine."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from ghx_base.wire import JsonObject
from ghx_profiler.plan.blocks import Block, PlacedCell, blocks_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A cell that a machine is to measure, and the record of its scenario."""

    placed: PlacedCell
    scenario: JsonObject


class Placement:
    """Deals out the cells of a run: a block belongs to the machine that has taken its first cell.

    A machine takes whichever comes first in the order of the run: the next cell of its own blocks, or the next block
    that is nobody's. Interleaved, it then works off a block before it takes another; where whole modes follow one
    another, it takes the first cells of many blocks, and comes back to these later.
    """

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._waiting = deque(sorted(blocks, key=_start_order))
        self._own: dict[str, list[tuple[int, int, Assignment]]] = {}
        self._count = 0

    def take(self, machine: str) -> Assignment | None:
        """Return the next cell for a machine; `None` if no cell is left for it."""
        own = self._own.setdefault(machine, [])
        if self._waiting and (not own or _start_order(self._waiting[0]) < own[0][0]):
            block = self._waiting.popleft()
            for placed in block.cells:
                self._count += 1  # distinguishes entries with the same place, which cannot be compared
                heappush(own, (placed.start_order, self._count, Assignment(placed=placed, scenario=block.scenario)))
        return heappop(own)[2] if own else None

    def give_back(self, machine: str, running: Iterable[Assignment]) -> None:
        """Take everything away from a machine: its running cells, and all others of its blocks, can be assigned again.

        The cells that are left of a block stay together.
        """
        left = [*running, *(assignment for *_, assignment in self._own.pop(machine, ()))]
        scenarios = {each.placed.cell.scenario_id: each.scenario for each in left}
        blocks = blocks_of(sorted((each.placed for each in left), key=lambda each: each.start_order), scenarios)
        self._waiting = deque(sorted((*blocks, *self._waiting), key=_start_order))

    def left(self) -> Iterator[PlacedCell]:
        """Yield the unassigned cells."""
        for block in self._waiting:
            yield from block.cells
        for own in self._own.values():
            for *_, assignment in own:
                yield assignment.placed


def _start_order(block: Block) -> int:
    return block.cells[0].start_order
