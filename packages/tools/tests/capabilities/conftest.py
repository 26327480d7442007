"""A world to call capabilities in, and a caller; whatever was called, the token appears in no envelope and no log."""

import logging
from collections.abc import Generator
from pathlib import Path

import pytest
from capability_calls import Ghx

from ghx_twin.pytest_plugin import GitHubTwin
from ghx_twin.seed.worlds import open_world
from ghx_twin.world import World

WORLD = Path(__file__).parent / "world.yaml"


@pytest.fixture(scope="session")
def seeded_world() -> Generator[World]:
    """The world of `world.yaml`; every test gets a fork of it, which takes milliseconds."""
    with open_world(WORLD) as world:
        yield world


@pytest.fixture
def github_world(seeded_world: World) -> Generator[World]:
    with seeded_world.fork() as world:
        yield world


@pytest.fixture
def ghx(github_twin: GitHubTwin, caplog: pytest.LogCaptureFixture) -> Generator[Ghx]:
    caplog.set_level(logging.DEBUG)
    caller = Ghx(twin=github_twin, token=github_twin.token)
    yield caller
    for envelope in caller.envelopes:
        assert github_twin.token not in str(envelope.to_wire())
        assert github_twin.token not in repr(envelope)
    assert github_twin.token not in caplog.text
