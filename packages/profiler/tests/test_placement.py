"""Which block goes where, without any machine."""

from collections import defaultdict
from itertools import product

from ghx_profiler.executors.placement import Assignment, Placement
from ghx_profiler.plan.blocks import Block, PlacedCell, Share, blocks_of
from ghx_profiler.plan.cell import Cell, Matrix, Order

MODES = ("plain", "fancy")


def blocks(repetitions: int, order: Order = "interleaved") -> tuple[Block, ...]:
    matrix = Matrix(
        agents=("one",), models=("m",), modes=MODES, scenario_ids=("a-001",), repetitions=repetitions, order=order
    )
    placed = [PlacedCell(cell=cell, start_order=place) for place, cell in matrix.placed()]
    return blocks_of(placed, {"a-001": {"id": "a-001"}})


def take_in_turns(placement: Placement, machines: tuple[str, ...]) -> dict[Cell, str]:
    """Return where each cell is measured, if machines ask one after the other."""
    homes: dict[Cell, str] = {}
    left = list(machines)
    while left:
        for machine in tuple(left):
            assignment = placement.take(machine)
            if assignment is None:
                left.remove(machine)
            else:
                homes[assignment.placed.cell] = machine
    return homes


def test_the_cells_of_a_block_go_to_one_machine_in_any_order_of_the_run() -> None:
    orders: tuple[Order, ...] = ("interleaved", "sequential")
    for order in orders:
        homes = take_in_turns(Placement(blocks(6, order)), ("x", "y"))

        by_block: defaultdict[int, set[str]] = defaultdict(set)
        for cell, machine in homes.items():
            by_block[cell.iteration].add(machine)
        assert len(homes) == 12
        assert all(len(machines) == 1 for machines in by_block.values())
        assert set(homes.values()) == {"x", "y"}, "both have work"


def test_where_modes_follow_one_another_no_second_mode_starts_before_the_first_is_placed() -> None:
    placement = Placement(blocks(4, "sequential"))

    taken = [placement.take(machine) for _, machine in product(range(4), ("x", "y"))]

    modes = [each.placed.cell.mode for each in taken if each is not None]
    assert modes == [MODES[0]] * 4 + [MODES[1]] * 4


def test_what_a_lost_machine_had_is_taken_by_others_and_stays_together() -> None:
    placement = Placement(blocks(3))
    ran = placement.take("x")
    kept = placement.take("y")
    assert ran is not None
    assert kept is not None

    placement.give_back("x", [ran])
    again = [placement.take("z") for _ in range(4)]

    assert placement.take("x") is None
    cells = [each.placed.cell for each in again if each is not None]
    assert [cell.iteration for cell in cells] == [0, 0, 2, 2], "first what was begun"
    assert kept.placed.cell.iteration == 1
    assert [each.cell.iteration for each in placement.left()] == [1]


def test_the_parts_of_a_limit_add_up_to_it() -> None:
    for limit, count in product(range(1, 12), range(1, 12)):
        parts = [Share(number=number, count=count).of(limit) for number in range(1, count + 1)]
        assert sum(parts) == limit
        assert max(parts) - min(parts) <= 1


def test_no_blocks_are_no_assignments() -> None:
    placement = Placement(())

    assert placement.take("x") is None
    placement.give_back("x", list[Assignment]())
    assert list(placement.left()) == []
