"""What agents work in: a private copy of the embedded world for each attempt at a cell."""

import shlex
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.to_thread
from pydantic import JsonValue

from ghx_bench._base.scratch import ScratchFolder
from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.eval.fixtures.embedded import AGENT, DEFAULT_REPO, MAINTAINER, embedded_world, seed_embedded
from ghx_bench.eval.fixtures.library import FixtureLibrary
from ghx_bench.eval.scenario.binding import RUN_ID, bind
from ghx_bench.eval.scenario.eval_scenario import EvalScenario
from ghx_bench.eval.scenario.manifest import FixtureManifest
from ghx_bench.profiler.cell import Cell
from ghx_bench.profiler.evidence import Mode, Stage
from ghx_bench.twin.journal import Entry
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.server.loopback import Server, served
from ghx_bench.twin.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class StageHandles:
    """What scorers and collectors may use while the stage stands."""

    agent: str
    """The login that the agent acts as."""
    observer: Callable[[], AbstractAsyncContextManager[GitHubClient]]
    """Opens the bench's own access to GitHub, with an identity that is not the agent's."""
    bindings: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """What the variables of the scenario stand for."""
    world: World | None = None
    seeded: World | None = None
    """The world before the agent touched it; both are None on github.com."""

    @property
    def journal(self) -> Iterable[Entry] | None:
        """What was asked of the world, by whomever; None where nobody keeps a journal."""
        return None if self.world is None else tuple(self.world.journal)


Scenarios = Callable[[], Sequence[EvalScenario]]
"""Tells the scenarios of a run, once they are loaded."""


def required_fixtures(scenarios: Iterable[EvalScenario]) -> tuple[str, ...]:
    """Return the names of the fixtures that scenarios need, each once."""
    return tuple(dict.fromkeys(name for each in scenarios if each.fixture for name in each.fixture.requires))


class TwinLifecycle:
    """Seeds one world for the run, and gives each attempt at a cell a fork of it.

    A fork costs milliseconds and nobody else sees it, so that resetting and reseeding between iterations, which
    scenarios may ask for, hold by construction.
    """

    def __init__(self, repo: str | None, scenarios: Scenarios, library: FixtureLibrary) -> None:
        self._repo, self._scenarios, self._library = repo or DEFAULT_REPO, scenarios, library
        self._running: _Running | None = None

    @asynccontextmanager
    async def run(self, directory: Path) -> AsyncGenerator[None]:
        """Serve a seeded world from before the first cell to after the last; every scenario must fit into it."""
        scenarios = self._scenarios()
        names = required_fixtures(scenarios)
        # The world outlives the server: while one of its threads answers a request, the world must not be closed.
        with embedded_world(self._repo) as world:
            async with served() as server:
                manifest = await seed_embedded(server, world, self._repo, names, library=self._library)
                for scenario in scenarios:
                    bind(scenario, manifest, {RUN_ID: directory.name})
                self._running = _Running(run_id=directory.name, server=server, world=world, manifest=manifest)
                try:
                    yield
                finally:
                    self._running = None

    @asynccontextmanager
    async def mode(self, mode: Mode) -> AsyncGenerator[None]:  # noqa: ARG002 - the contract's signature
        """Hold nothing: modes share the seeded world, which nobody changes."""
        yield

    @asynccontextmanager
    async def cell(self, cell: Cell, scenario: EvalScenario, mode: Mode) -> AsyncGenerator[Stage[EvalScenario]]:  # noqa: ARG002 - the contract's signature
        """Fork the world, bind the scenario to it, and take both away afterwards."""
        running = self._running
        assert running is not None  # noqa: S101 - the contract: cells are inside the run
        bound = bind(scenario, running.manifest, {RUN_ID: running.run_id})
        async with running.forked() as (world, folder):
            environment = running.server.client_environment(world, AGENT, directory=folder / "home").variables
            keep_path(Path(environment["HOME"]), mode)
            yield Stage(
                scenario=bound.scenario,
                environment=environment,
                directory=folder / "work",
                facts={"target": "twin", "repo": running.manifest.repo, "bindings": dict(bound.values)},
                secrets=frozenset({environment["GITHUB_TOKEN"]}),
                handles=StageHandles(
                    agent=AGENT,
                    observer=lambda: running.client(world, MAINTAINER),
                    bindings=bound.values,
                    world=world,
                    seeded=running.world,
                ),
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    """A run's server, its seeded world, and where the fixtures are in it."""

    run_id: str
    server: Server
    world: World
    manifest: FixtureManifest

    @asynccontextmanager
    async def forked(self) -> AsyncGenerator[tuple[World, Path]]:
        """Hold a served fork of the world, and a private folder with one to work in."""
        with ExitStack() as held:
            folder = held.enter_context(await anyio.to_thread.run_sync(private_folder))
            world = held.enter_context(self.world.fork())
            held.callback(self.server.remove, world)
            self.server.add(world)
            try:
                yield world, folder
            finally:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(held.pop_all().close)

    def client(self, world: World, login: str) -> GitHubClient:
        """Return access to a world as somebody."""
        token = self.server.hosting.issue_token(world, lookup.user(world, login))
        return GitHubClient(self.server.url, token)


def keep_path(home: Path, mode: Mode) -> None:
    """Let login shells keep the mode's path too: the machine's own profile would put every tool there is on it."""
    path = mode.environment.get("PATH")
    if path is not None:
        for name in (".bash_profile", ".profile", ".zprofile"):
            (home / name).write_text(f"export PATH={shlex.quote(path)}\n", encoding="utf-8")


def private_folder() -> ScratchFolder:
    """Return a new folder of one attempt's own, with an empty one in it to work in."""
    folder = ScratchFolder()
    (folder.path / "work").mkdir()
    return folder
