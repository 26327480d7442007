"""What agents work in: a private copy of the embedded world for each attempt at a cell."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from ghx_bench.eval.fixtures.embedded import (
    AGENT,
    DEFAULT_REPO,
    MAINTAINER,
    embedded_world,
    open_client,
    seed_embedded,
)
from ghx_bench.eval.fixtures.library import FixtureLibrary
from ghx_bench.eval.scenario.binding import RUN_ID, bind
from ghx_bench.eval.scenario.eval_scenario import EvalScenario, required_fixtures
from ghx_bench.eval.scenario.manifest import FixtureManifest
from ghx_bench.eval.stages.handles import StageHandles, keep_path, private_folder
from ghx_bench.profiler.cell import Cell
from ghx_bench.profiler.evidence import Mode, Stage
from ghx_bench.twin.server.loopback import Server, served
from ghx_bench.twin.world import World


class TwinLifecycle:
    """Seeds one world for the run, and gives each attempt at a cell a fork of it.

    A fork costs milliseconds and belongs to one attempt, so that resetting and reseeding between iterations, which
    scenarios may ask for, hold by construction.
    """

    def __init__(
        self,
        repo: str | None,
        scenarios: Sequence[EvalScenario],
        library: FixtureLibrary,
        *,
        reachable_hosts: Sequence[str] = (),
    ) -> None:
        self._repo, self._scenarios, self._library = repo or DEFAULT_REPO, scenarios, library
        self._reachable_hosts = reachable_hosts
        self._running: _Running | None = None

    @asynccontextmanager
    async def run(self, directory: Path) -> AsyncGenerator[None]:
        """Serve a seeded world from before the first cell to after the last; every scenario must fit into it."""
        names = required_fixtures(self._scenarios)
        # The world outlives the server: while one of its threads answers a request, the world must not be closed.
        with embedded_world(self._repo) as world:
            async with served() as server:
                # Here, since it takes 50 ms, which the first cell would be measured with.
                await anyio.to_thread.run_sync(server.prepare_certificates)
                manifest = await seed_embedded(server, world, self._repo, names, library=self._library)
                # Bound here only to see that it can be: one that cannot must not be found out after an hour of cells.
                for scenario in self._scenarios:
                    bind(scenario, manifest, {RUN_ID: directory.name})
                self._running = _Running(run_id=directory.name, server=server, world=world, manifest=manifest)
                try:
                    yield
                finally:
                    self._running = None

    @asynccontextmanager
    async def mode(self, mode: Mode) -> AsyncGenerator[None]:  # noqa: ARG002 - the contract's signature
        """Hold nothing: modes share the seeded world, of which only forks are changed."""
        yield

    @asynccontextmanager
    async def cell(self, cell: Cell, scenario: EvalScenario, mode: Mode) -> AsyncGenerator[Stage[EvalScenario]]:  # noqa: ARG002 - the contract's signature
        """Fork the world, bind the scenario to it, and take both away afterwards."""
        running = self._running
        assert running is not None  # noqa: S101 - the contract: cells are inside the run
        bound = bind(scenario, running.manifest, {RUN_ID: running.run_id})
        async with running.fork() as (world, folder):
            client = running.server.client_environment(
                world, AGENT, directory=folder / "home", reachable_hosts=self._reachable_hosts
            )
            environment = {**client.variables, **client.git_variables}
            keep_path(Path(environment["HOME"]), mode)
            yield Stage(
                scenario=bound.scenario,
                environment=environment,
                directory=folder / "work",
                facts={"target": "twin", "repo": running.manifest.repo, "bindings": dict(bound.values)},
                secrets=frozenset({environment["GITHUB_TOKEN"]}),
                handles=StageHandles(
                    agent=AGENT,
                    observer=lambda: open_client(running.server, world, MAINTAINER),
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
    async def fork(self) -> AsyncGenerator[tuple[World, Path]]:
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
