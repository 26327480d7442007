"""Pytest fixtures: a world of GitHub, and a server that real clients can use.

```python
def test_my_tool_opens_an_issue(github_twin):
    subprocess.run(["my-tool", "open-issue"], env=github_twin.environment, check=True)
    assert github_twin.world.database.count(Issue) == 1
```
Installed with this package, nothing to switch on. `@pytest.mark.github_seed("seed.yaml")` starts the world from a seed.
"""

import os
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # every test run of everybody who has this package imports this module: it must cost nothing
    from ghx_twin.server.clients.environment import ClientEnvironment
    from ghx_twin.server.loopback import Server
    from ghx_twin.state.records import User
    from ghx_twin.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubTwin:
    """A served world, and what a client needs to use it as its first user."""

    url: str
    user: str
    token: str
    environment: dict[str, str]
    world: "World"
    server: "Server"

    def environment_of(self, login: str) -> dict[str, str]:
        """Return the environment of a client that acts as another user."""
        from ghx_twin.queries import lookup  # noqa: PLC0415 - loaded by the tests that use it only

        return _client(self.world, self.server, lookup.user(self.world, login)).over(os.environ)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", "github_seed(path): the seed that `github_world` starts from")


@pytest.fixture
def github_world(request: pytest.FixtureRequest) -> "Generator[World]":
    """Yield a world of the test's own: one user, `octocat`, or what the `github_seed` marker names."""
    from ghx_base.errors import InputError  # noqa: PLC0415 - the same
    from ghx_twin.seed.worlds import open_world  # noqa: PLC0415 - loaded by the tests that use it only

    seed = _seed(request)
    try:
        world = open_world(seed)
    except InputError as error:
        pytest.fail(f"github_seed: {error}", pytrace=False)
    with world:
        yield world


@pytest.fixture(scope="session")
def github_server() -> "Generator[Server]":
    """Yield the server that all worlds of a test run share; the token selects the world."""
    from ghx_twin.server import graphql  # noqa: PLC0415 - the same
    from ghx_twin.server.loopback import Server  # noqa: PLC0415 - the same

    graphql.load()  # before the server does, in a thread
    with Server() as server:
        yield server


@pytest.fixture
def github_twin(github_world: "World", github_server: "Server") -> "Generator[GitHubTwin]":
    """Yield `github_world` behind real sockets, with the environment that makes `gh`, `git` and libraries use it."""
    from ghx_twin.seed.worlds import person  # noqa: PLC0415 - the same

    user = person(github_world, None)
    github_server.add(github_world, is_default=True)
    environment = _client(github_world, github_server, user)
    yield GitHubTwin(
        url=github_server.url,
        user=user.login,
        token=environment.variables["GH_TOKEN"],
        environment=environment.over(os.environ),
        world=github_world,
        server=github_server,
    )
    github_server.remove(github_world)


def _client(world: "World", server: "Server", user: "User") -> "ClientEnvironment":
    """Return what a client needs to act as a user, with the user's own token where the seed gives one."""
    from ghx_twin.server.tokens import own_token  # noqa: PLC0415 - the same

    return server.client_environment(world, user, token=own_token(server.hosting, world, user))


def _seed(request: pytest.FixtureRequest) -> Path | None:
    """Return the seed that the marker names, next to the test."""
    marker = request.node.get_closest_marker("github_seed")
    if marker is None:
        return None
    match marker.args, marker.kwargs:
        case ((str() | Path() as path,), {}) if not marker.kwargs:
            return request.path.parent / path
        case _:
            pytest.fail('github_seed takes one path: @pytest.mark.github_seed("seed.yaml")', pytrace=False)
