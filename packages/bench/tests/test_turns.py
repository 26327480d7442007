"""Turns: who keeps to their own works together, the others alone, and nobody waits for ever."""

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghx_bench.stages.github_stage import Turns


@given(alone=st.lists(st.booleans(), min_size=1, max_size=12), pauses=st.lists(st.integers(0, 5), min_size=12))
def test_whoever_is_to_be_alone_is_and_everybody_gets_their_turn(alone: list[bool], pauses: list[int]) -> None:
    inside: list[bool] = []
    done: list[int] = []

    async def visit(turns: Turns, place: int) -> None:
        async with turns.exclusive() if alone[place] else turns.shared_access():
            inside.append(alone[place])
            for _ in range(pauses[place]):
                await anyio.lowlevel.checkpoint()
                assert len(inside) == 1 or not any(inside)
            inside.remove(alone[place])
        done.append(place)

    async def main() -> None:
        turns = Turns()
        async with anyio.create_task_group() as tasks:
            for place in range(len(alone)):
                tasks.start_soon(visit, turns, place)

    anyio.run(main)
    assert sorted(done) == list(range(len(alone)))


@pytest.mark.anyio
async def test_those_who_keep_to_their_own_are_there_at_the_same_time() -> None:
    turns, are_together = Turns(), False
    with anyio.move_on_after(5):  # would wait for ever
        async with turns.shared_access(), turns.shared_access():
            are_together = True

    assert are_together


@pytest.mark.anyio
async def test_whoever_stops_waiting_is_in_nobodys_way() -> None:
    turns = Turns()
    async with turns.shared_access():
        with anyio.CancelScope() as waiting:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(anyio.lowlevel.checkpoint)
                waiting.cancel()
                async with turns.exclusive():
                    raise AssertionError("somebody else is there")
        async with turns.shared_access():
            pass
    async with turns.exclusive():
        pass
