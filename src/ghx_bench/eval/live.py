"""What agents work in on github.com: fixtures in one configured repository, reset or made anew as scenarios ask."""

import hashlib
import re
import shutil
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.to_thread

from ghx_bench._base.errors import InputError
from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.environment import Connection, connection_from_environment
from ghx_bench.eval.binding import bind
from ghx_bench.eval.config import FixtureChoice
from ghx_bench.eval.fixtures.drafts import Actor
from ghx_bench.eval.fixtures.identities import author_token, live_clients
from ghx_bench.eval.fixtures.library import FixtureLibrary
from ghx_bench.eval.fixtures.manager import FixtureManager
from ghx_bench.eval.fixtures.marks import DEFAULT_SEEDING
from ghx_bench.eval.live_environment import live_environment
from ghx_bench.eval.manifest import FixtureManifest, load_fixture_manifest, write_fixture_manifest
from ghx_bench.eval.scenario import EvalScenario, FixtureRequirements
from ghx_bench.eval.staging import Scenarios, StageHandles, keep_path, private_folder, required_fixtures
from ghx_bench.eval.variables import RUN_ID
from ghx_bench.profiler.cell import Cell
from ghx_bench.profiler.evidence import Mode, Stage

_NOT_IN_A_SEED_ID = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_SEED_ID = 120


@dataclass(slots=True, kw_only=True)
class _Running:
    """A run's access to GitHub and where its fixtures are."""

    run_id: str
    clients: Mapping[Actor, GitHubClient]
    connection: Connection
    login: str
    manifest: FixtureManifest
    turn: anyio.Lock = field(default_factory=anyio.Lock)
    used_by: dict[str, str] = field(default_factory=dict[str, str])
    """The mode that last worked on each of the shared fixtures."""


class LiveLifecycle:
    """Works in one repository of a real GitHub, and touches only what carries the fixtures' label there.

    A scenario that asks for fixtures of its own gets them, with their own branches, and they are closed afterwards.
    All others share the run's fixtures and therefore take turns, whatever concurrency was asked for.
    """

    def __init__(
        self, choice: FixtureChoice, scenarios: Scenarios, library: FixtureLibrary, environ: Mapping[str, str]
    ) -> None:
        if choice.repo is None:
            raise InputError("name the repository that a run on github.com may work in: --repo, or fixtures.repo")
        author_token(environ, choice)  # refuses what is missing before anything is done
        self._repo, self._choice = choice.repo, choice
        self._scenarios, self._library, self._environ = scenarios, library, environ
        self._running: _Running | None = None

    @asynccontextmanager
    async def run(self, directory: Path) -> AsyncGenerator[None]:
        """Find the fixtures, or make them if the configuration says so; nothing is removed at the end."""
        async with live_clients(self._environ, self._choice) as clients:
            login = (await clients["agent"].get("/user")).data["login"]
            self._running = _Running(
                run_id=directory.name,
                clients=clients,
                connection=connection_from_environment(self._environ),
                login=login,
                manifest=await self._shared(clients),
            )
            try:
                yield
            finally:
                self._running = None

    @asynccontextmanager
    async def mode(self, mode: Mode) -> AsyncGenerator[None]:  # noqa: ARG002 - the contract's signature
        """Hold nothing: all modes are open at once, so that what is to happen between them happens before cells."""
        yield

    @asynccontextmanager
    async def cell(self, cell: Cell, scenario: EvalScenario, mode: Mode) -> AsyncGenerator[Stage[EvalScenario]]:
        """Prepare the fixtures as the scenario asks, and give the agent an environment of its own."""
        running = self._running
        assert running is not None  # noqa: S101 - the contract: cells are inside the run
        async with AsyncExitStack() as held:
            manifest = await self._prepared(running, cell, scenario.fixture, held)
            folder = await anyio.to_thread.run_sync(private_folder)
            held.callback(shutil.rmtree, folder, ignore_errors=True)
            bound = bind(scenario, manifest, {RUN_ID: running.run_id})
            environment = live_environment(folder, running.connection, self._environ, login=running.login)
            keep_path(Path(environment["HOME"]), mode)
            yield Stage(
                scenario=bound.scenario,
                environment=environment,
                directory=folder / "work",
                facts={"target": "github", "repo": self._repo, "bindings": dict(bound.values)},
                handles=StageHandles(
                    agent=running.login,
                    observer=lambda: nullcontext(running.clients["author"]),
                    bindings=bound.values,
                ),
            )

    async def _shared(self, clients: Mapping[Actor, GitHubClient]) -> FixtureManifest:
        """Return where the fixtures are that iterations share, with those made that are missing if that is wished."""
        path = self._choice.manifest
        known = load_fixture_manifest(path) if path.is_file() else None
        shared = [each for each in self._scenarios() if not each.fixture or not each.fixture.seed_per_iteration]
        missing = [name for name in required_fixtures(shared) if known is None or name not in known.fixtures]
        if missing and not self._choice.seed_if_missing:
            raise InputError(
                f"{path}: there is no fixture {missing[0]!r} yet; make it with `ghx-bench fixture seed`, or let the "
                "run do it with fixtures.seed_if_missing"
            )
        manifest = await self._manager(clients, known).seed(missing)
        if missing:
            write_fixture_manifest(path, manifest)
        for scenario in shared:
            bind(scenario, manifest, {RUN_ID: ""})  # what does not fit is told before any cell
        return manifest

    def _manager(self, clients: Mapping[Actor, GitHubClient], known: FixtureManifest | None) -> FixtureManager:
        seed_id = DEFAULT_SEEDING if known is None else known.seed_id
        return FixtureManager(self._repo, clients, self._library, seed_id=seed_id, known=known)

    async def _prepared(
        self, running: _Running, cell: Cell, fixture: FixtureRequirements | None, held: AsyncExitStack
    ) -> FixtureManifest:
        if fixture is None or not fixture.requires:
            return running.manifest
        if fixture.seed_per_iteration:
            manager = FixtureManager(self._repo, running.clients, self._library, seed_id=_seed_id(running, cell))
            held.push_async_callback(_clean_up, manager)  # before anything is made, since that may be interrupted
            return await manager.seed(fixture.requires)
        await held.enter_async_context(running.turn)
        dirty = fixture.requires if fixture.reseed_per_iteration else self._left_by_other_modes(running, cell, fixture)
        if dirty:
            running.manifest = await self._manager(running.clients, running.manifest).reset(dirty)
            write_fixture_manifest(self._choice.manifest, running.manifest)
        running.used_by |= dict.fromkeys(fixture.requires, cell.mode)
        return running.manifest

    def _left_by_other_modes(self, running: _Running, cell: Cell, fixture: FixtureRequirements) -> list[str]:
        if not self._choice.reseed_between_modes:
            return []
        return [name for name in fixture.requires if running.used_by.get(name) != cell.mode]


def _seed_id(running: _Running, cell: Cell) -> str:
    """Name the fixtures of one cell: readable, and different for every cell, warm-ups included."""
    words = f"{running.run_id}-{cell.mode}-{cell.scenario_id}-{cell.iteration}"
    digest = hashlib.sha256(f"{cell} {cell.is_canary}".encode()).hexdigest()[:8]
    return f"{_NOT_IN_A_SEED_ID.sub('-', words)[:_LONGEST_SEED_ID]}-{digest}"


async def _clean_up(manager: FixtureManager) -> None:
    with anyio.CancelScope(shield=True):
        await manager.cleanup()
