from collections.abc import Iterator

import pytest
from rest_world import Client, Seeded, seeded


@pytest.fixture(scope="session")
def parent() -> Iterator[Seeded]:
    """The seeded world that every test forks; nobody writes to it."""
    made = seeded()
    with made.world:
        yield made


@pytest.fixture
def world(parent: Seeded) -> Iterator[Seeded]:
    with parent.world.fork() as fork:
        yield Seeded(fork, parent.people, parent.ids, parent.shas, parent.apps)


@pytest.fixture
def ann(world: Seeded) -> Client:
    return world.client("ann")
