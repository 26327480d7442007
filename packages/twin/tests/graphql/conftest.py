"""A seeded world for every test: a fork of one that is built once."""

from collections.abc import Iterator

import pytest
from graphql_world import Town, build_town, live_through


@pytest.fixture(scope="session")
def seeded() -> Iterator[Town]:
    town = build_town()
    yield town
    town.world.close()


@pytest.fixture
def town(seeded: Town) -> Iterator[Town]:
    forked = Town(seeded.world.fork(), seeded.people)
    yield forked
    forked.world.close()


@pytest.fixture(scope="session")
def lived() -> Iterator[Town]:
    """A world in which everything has happened that a timeline can tell of."""
    town = build_town()
    live_through(town)
    yield town
    town.world.close()
