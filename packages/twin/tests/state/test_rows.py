"""The records of a query as a sequence: indexed and sliced like any other."""

from collections.abc import Generator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghx_twin.commands import users
from ghx_twin.state.records import User
from ghx_twin.state.rows import Rows
from ghx_twin.world import World

PLACES = st.none() | st.integers(-12, 12)


@pytest.fixture(scope="module")
def world() -> Generator[World]:
    with World.create() as world:
        with world.acting(None) as act:
            for number in range(9):
                users.create_user(act, login=f"user-{number}")
        yield world


@given(start=PLACES, stop=PLACES, step=st.none() | st.integers(-3, 3).filter(bool))
def test_any_slice_is_that_of_a_list(world: World, start: int | None, stop: int | None, step: int | None) -> None:
    rows, whole = Rows(world.database, User, "ORDER BY id"), world.database.all(User)

    assert rows[start:stop:step] == whole[start:stop:step]


@pytest.mark.parametrize("place", range(-10, 11))
def test_any_index_is_that_of_a_list(world: World, place: int) -> None:
    rows, whole = Rows(world.database, User, "ORDER BY id"), world.database.all(User)
    if -len(whole) <= place < len(whole):
        assert rows[place] == whole[place]
    else:
        with pytest.raises(IndexError):
            rows[place]
