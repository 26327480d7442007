"""A served fork of one seeded world for every test, a clone to stand in, and each `gh` that is here."""

import os
import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest
from gh_client import BUNDLED, SYSTEM, GhClient, bundled_gh, system_gh

from ghx_twin.commands.pulls import reviews
from ghx_twin.pytest_plugin import GitHubTwin
from ghx_twin.queries import lookup
from ghx_twin.seed.worlds import open_world
from ghx_twin.server.loopback import Server
from ghx_twin.viewer import Viewer
from ghx_twin.world import World

SEED = Path(__file__).with_name("widgets.yaml")


@pytest.fixture(scope="session")
def widgets() -> Generator[World]:
    """The world that all tests here start from: octo has reviewed #7 and is asked to do so again."""
    with open_world(SEED) as world:
        pull = lookup.pull(world, lookup.repository(world, None, "acme", "widgets"), 7)
        with world.acting(Viewer(user=lookup.user(world, "hubot"))) as act:
            reviews.request_reviews(act, pull, users=[lookup.user(world, "octo")])
        yield world


@pytest.fixture
def github_world(widgets: World) -> Generator[World]:
    """A copy of it for one test."""
    with widgets.fork() as world:
        yield world


@pytest.fixture(scope="session")
def widgets_clone(widgets: World, github_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of acme/widgets; git's names for objects are the same in every fork of the world."""
    folder = tmp_path_factory.mktemp("clone") / "widgets"
    environment = github_server.client_environment(widgets, "octo").over(os.environ)
    address = "https://github.com/acme/widgets.git"
    subprocess.run(["git", "clone", "--quiet", address, str(folder)], env=environment, check=True)
    return folder


@pytest.fixture
def clone(widgets_clone: Path, tmp_path: Path) -> Path:
    """The test's own clone of acme/widgets."""
    return shutil.copytree(widgets_clone, tmp_path / "widgets", symlinks=True)


@pytest.fixture(params=[BUNDLED] if system_gh() is None else [BUNDLED, SYSTEM])
def program(request: pytest.FixtureRequest) -> Path:
    """Each `gh` of this machine: the bundled one, and an older one where it is installed."""
    found = bundled_gh() if request.param == BUNDLED else system_gh()
    assert found is not None
    return found


@pytest.fixture
def gh(program: Path, github_twin: GitHubTwin, clone: Path) -> GhClient:
    """`gh` as octo, an owner of acme, in a clone of acme/widgets."""
    return GhClient(program=program, twin=github_twin, directory=clone, environment=github_twin.environment)


@pytest.fixture
def new_gh(github_twin: GitHubTwin, clone: Path) -> GhClient:
    """The bundled `gh`, where the version makes no difference."""
    return GhClient(program=bundled_gh(), twin=github_twin, directory=clone, environment=github_twin.environment)
