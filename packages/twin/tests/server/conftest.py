"""A served fork of one seeded world for every test here, and clients that know its tokens."""

from collections.abc import Generator

import httpx2
import pytest
from asgi_client import AsgiClient
from raw_http import RawClient
from rest_world import Seeded, seeded
from served_world import Served

from ghx_twin.server.hosting import Hosting
from ghx_twin.server.loopback import Server


@pytest.fixture(scope="session")
def parent() -> Generator[Seeded]:
    made = seeded()
    with made.world:
        yield made


@pytest.fixture
def fork(parent: Seeded) -> Generator[Seeded]:
    with parent.world.fork() as world:
        yield Seeded(world, parent.people, parent.ids, parent.shas)


@pytest.fixture
def served(fork: Seeded, github_server: Server) -> Generator[Served]:
    github_server.add(fork.world)
    yield Served(github_server, fork.world, fork)
    github_server.remove(fork.world)


@pytest.fixture
def client(served: Served) -> Generator[httpx2.Client]:
    with served.client() as client:
        yield client


@pytest.fixture
def raw(served: Served) -> Generator[RawClient]:
    client = RawClient(served.server.url, served.token())
    yield client
    client.close()


@pytest.fixture
def hosting() -> Hosting:
    return Hosting()


@pytest.fixture
def asgi(hosting: Hosting) -> Generator[AsgiClient]:
    client = AsgiClient(hosting)
    yield client
    client.close()
