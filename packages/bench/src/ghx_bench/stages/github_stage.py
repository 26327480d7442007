"""What agents work in on github.com: fixtures in one configured repository, reset or made again as scenarios ask."""

import hashlib
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.to_thread

from ghx_base.errors import InputError
from ghx_bench.fixtures.embedded import DEFAULT_REPO, embedded_world
from ghx_bench.fixtures.fixture_document import Actor
from ghx_bench.fixtures.library import FixtureLibrary
from ghx_bench.fixtures.manager import FixtureManager
from ghx_bench.fixtures.marks import DEFAULT_SEEDING
from ghx_bench.fixtures.repository_access import author_token, live_clients
from ghx_bench.fixtures.repository_claims import claim_repository
from ghx_bench.fixtures.seeding import sample_resource
from ghx_bench.modes.session_programs import LendPrograms, lend_unchecked
from ghx_bench.project.config_sections import FixtureChoice
from ghx_bench.scenario.binding import RUN_ID, bind
from ghx_bench.scenario.eval_scenario import EvalScenario, FixtureRequirements, required_fixtures
from ghx_bench.scenario.extensions import Workspace
from ghx_bench.scenario.manifest import FixtureManifest, load_fixture_manifest, write_fixture_manifest
from ghx_bench.stages.checkout import check_out, clone
from ghx_bench.stages.github_environment import LiveHub, hub_from_environment, live_environment, with_host
from ghx_bench.stages.handles import StageHandles, keep_path, path_of, private_folder
from ghx_bench.stages.injection import CanaryWatches, secret_variables
from ghx_bench.stages.tool_check import check_tools
from ghx_profiler.evidence import Mode, Stage
from ghx_profiler.plan.cell import Cell
from ghx_tools.capabilities.client import GitHubClient
from ghx_twin.server.loopback import served

_NOT_IN_A_SEED_ID = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_SEED_ID = 120


@dataclass(slots=True, kw_only=True)
class _Running:
    """A run's access to GitHub and where its fixtures are."""

    run_id: str
    clients: Mapping[Actor, GitHubClient]
    login: str
    manager: FixtureManager
    manifest: FixtureManifest
    used_by: dict[str, str | None] = field(default_factory=dict[str, str | None])
    """The mode that last worked on each of the shared fixtures; None after a warm-up."""
    begun: set[Cell] = field(default_factory=set[Cell])
    """The cells that were attempted: another attempt gets shared fixtures that no earlier one has changed."""


class LiveLifecycle:
    """Works in one repository of a real GitHub, and touches only what carries the fixtures' label there.

    A scenario that asks for fixtures of its own gets them, with their own branches, and they are closed afterwards.
    All others share the run's fixtures and therefore take turns, whatever concurrency was asked for. Scenarios that do
    not say that they are independent are alone in the repository while they run, since their agents may come across
    what is another's. An executor that runs cells concurrently has to hold `turn` for each.
    """

    def __init__(
        self,
        choice: FixtureChoice,
        scenarios: Sequence[EvalScenario],
        library: FixtureLibrary,
        environ: Mapping[str, str],
        *,
        lend_programs: LendPrograms = lend_unchecked,
    ) -> None:
        if choice.repo is None:
            raise InputError("name the repository that a run on github.com may work in: --repo, or fixtures.repo")
        author_token(environ, choice)  # refuses what is missing before anything is done
        self._repo, self._choice = choice.repo, choice
        self._scenarios, self._library, self._environ = scenarios, library, with_host(environ)
        self._hub: LiveHub = hub_from_environment(self._environ)
        self._lend_programs = lend_programs
        self._turns, self._sharing = Turns(), anyio.Lock()
        self._running: _Running | None = None

    @asynccontextmanager
    async def turn(self, cell: Cell) -> AsyncGenerator[None]:
        """Hold the right to work on a cell: no cell that would be in its way has one meanwhile."""
        scenario = next(each for each in self._scenarios if each.id == cell.scenario_id)
        access = self._turns.shared_access() if scenario.known_extensions.independent else self._turns.exclusive()
        shares = scenario.fixture is not None and scenario.fixture.requires and not _has_its_own(scenario)
        async with access, self._sharing if shares else nullcontext():
            yield

    @asynccontextmanager
    async def run(self, directory: Path) -> AsyncGenerator[None]:
        """Find the fixtures, or create them if configured; they are not removed at the end."""
        self._require_fitting()
        with claim_repository(self._repo, by=directory.name):
            async with live_clients(self._environ, self._choice) as clients:
                manager = FixtureManager(self._repo, clients, self._library)
                people = await manager.people()
                self._running = _Running(
                    run_id=directory.name,
                    clients=clients,
                    login=people["agent"].login,
                    manager=manager,
                    manifest=await self._find_shared(manager),
                )
                try:
                    yield
                finally:
                    self._running = None

    @asynccontextmanager
    async def mode(self, mode: Mode) -> AsyncGenerator[None]:
        """Have the tools of the mode answer on an emulator; hold nothing.

        All modes are open at once, so that what is to happen between them happens before cells.
        """
        with embedded_world() as world:
            async with served() as server:
                server.add(world)
                await check_tools(mode, server, world, DEFAULT_REPO, is_live=True)
        yield

    @asynccontextmanager
    async def cell(self, cell: Cell, scenario: EvalScenario, mode: Mode) -> AsyncGenerator[Stage[EvalScenario]]:
        """Prepare the fixtures as the scenario asks, and give the agent an environment of its own."""
        running = self._running
        assert running is not None  # noqa: S101 - the contract: cells are inside the run
        async with AsyncExitStack() as stack:
            manifest = await self._prepare_fixtures(running, cell, scenario.fixture, stack)
            folder = stack.enter_context(await anyio.to_thread.run_sync(private_folder))
            bound = bind(scenario, manifest, {RUN_ID: running.run_id})
            lent = await stack.enter_async_context(self._lend_programs(mode))
            mode = lent.mode
            environment = {**live_environment(folder, self._hub, login=running.login), **path_of(mode)}
            keep_path(Path(environment["HOME"]), mode)
            if workspace := bound.scenario.known_extensions.workspace:
                await anyio.to_thread.run_sync(self._check_out, workspace, folder / "work", environment)
            threat = bound.scenario.known_extensions.threat
            watches = CanaryWatches.for_session(threat.canary, is_closed_in=False) if threat and threat.canary else None
            yield Stage(
                scenario=bound.scenario,
                environment={**environment, **secret_variables(threat)},
                directory=folder / "work",
                own_folder=folder,
                facts={"target": "github", "repo": self._repo, "bindings": dict(bound.values)},
                secrets=frozenset({environment["GITHUB_TOKEN"], author_token(self._environ, self._choice)}),
                handles=StageHandles(
                    agent=running.login,
                    observer=lambda: nullcontext(running.clients["author"]),
                    bindings=bound.values,
                    watches=watches,
                ),
                watch_model_request=None if watches is None else watches.watch_model_request,
                check_tools=lent.check,
            )

    def _check_out(self, workspace: Workspace, folder: Path, environment: Mapping[str, str]) -> None:
        # Again for each attempt: fixtures move their branches, and others can push.
        clone(workspace, folder, environment, host=f"https://{self._hub.host}")
        check_out(workspace, folder, environment)

    def _require_fitting(self) -> None:
        """Refuse scenarios that do not fit the fixtures they will get, before anything is made."""
        own = [each for each in self._scenarios if _has_its_own(each)]
        samples = {name: sample_resource(self._library.get(name), self._repo) for name in required_fixtures(own)}
        manifest = FixtureManifest(seed_id=DEFAULT_SEEDING, created_at="never", repo=self._repo, fixtures=samples)
        _bind_all(own, manifest)

    async def _find_shared(self, manager: FixtureManager) -> FixtureManifest:
        """Return where the fixtures are that iterations share, with those made that are missing if that is wished."""
        path = self._choice.manifest
        shared_manifest = load_fixture_manifest(path) if path.is_file() else None
        shared = [each for each in self._scenarios if not _has_its_own(each)]
        missing = [
            name
            for name in required_fixtures(shared)
            if shared_manifest is None or name not in shared_manifest.fixtures
        ]
        if missing and not self._choice.seed_if_missing:
            raise InputError(
                f"{path}: there is no fixture {missing[0]!r} yet; make it with `ghx-bench fixture seed`, or let the "
                "run do it with fixtures.seed_if_missing"
            )
        _seeding_of(manager, shared_manifest)  # refuses a manifest of another repository, before anything is touched
        if shared_manifest is not None and not missing:
            _bind_all(shared, shared_manifest)  # the same for what does not fit it
        await manager.prepare(self._ours(required_fixtures(self._scenarios)))
        manifest = await _seeding_of(manager, shared_manifest).seed(missing)
        if missing:
            write_fixture_manifest(path, manifest)
        _bind_all(shared, manifest)
        return manifest

    async def _prepare_fixtures(
        self, running: _Running, cell: Cell, fixture: FixtureRequirements | None, stack: AsyncExitStack
    ) -> FixtureManifest:
        if fixture is None or not fixture.requires:
            return running.manifest
        if fixture.seed_per_iteration:
            manager = running.manager.seeding(_seed_id(running, cell))
            stack.push_async_callback(_clean_up, manager)  # before anything is made, since that may be interrupted
            return await manager.seed(fixture.requires)
        dirty = self._dirty(running, cell, fixture)
        running.begun.add(cell)  # before the reset, which may fail half-way: the next attempt then resets again
        if dirty:
            running.manifest = await _seeding_of(running.manager, running.manifest).reset(dirty)
            write_fixture_manifest(self._choice.manifest, running.manifest)
        running.used_by |= dict.fromkeys(fixture.requires, None if cell.is_canary else cell.mode)
        return running.manifest

    def _ours(self, names: Sequence[str]) -> Sequence[str]:
        """Return the fixtures that have files; those made by hand stand in a manifest only, and cannot be put back."""
        return [name for name in names if name in self._library.names]

    def _dirty(self, running: _Running, cell: Cell, fixture: FixtureRequirements) -> Sequence[str]:
        """Return which of the shared fixtures have to be put back before this attempt."""
        if fixture.reseed_per_iteration:
            return fixture.requires
        if cell in running.begun:
            return self._ours(fixture.requires)
        if not self._choice.reseed_between_modes:
            return ()
        return [name for name in fixture.requires if running.used_by.get(name) != cell.mode]


def _has_its_own(scenario: EvalScenario) -> bool:
    return scenario.fixture is not None and scenario.fixture.seed_per_iteration


def _bind_all(scenarios: Sequence[EvalScenario], manifest: FixtureManifest) -> None:
    """Refuse what cannot be bound; of the values, nothing is kept."""
    for scenario in scenarios:
        bind(scenario, manifest, {RUN_ID: ""})


def _seeding_of(manager: FixtureManager, manifest: FixtureManifest | None) -> FixtureManager:
    return manager.seeding(DEFAULT_SEEDING if manifest is None else manifest.seed_id, manifest)


def _seed_id(running: _Running, cell: Cell) -> str:
    """Name the fixtures of one cell: readable, and different for every cell, warm-ups included."""
    words = f"{running.run_id}-{cell.mode}-{cell.scenario_id}-{cell.iteration}"
    digest = hashlib.sha256(f"{cell} {cell.is_canary}".encode()).hexdigest()[:8]
    return f"{_NOT_IN_A_SEED_ID.sub('-', words)[:_LONGEST_SEED_ID]}-{digest}"


async def _clean_up(manager: FixtureManager) -> None:
    with anyio.CancelScope(shield=True):
        await manager.cleanup()


class Turns:
    """Lets independent scenarios run together, and all others one at a time.

    A scenario that waits for exclusive access runs before later ones, so that none waits forever.
    """

    def __init__(self) -> None:
        self._changed = anyio.Condition()
        self._inside = 0
        self._waiting_to_be_alone = 0
        self._is_closed = False

    @asynccontextmanager
    async def shared_access(self) -> AsyncGenerator[None]:
        """Hold shared access, for an independent scenario."""
        async with self._changed:
            while self._is_closed or self._waiting_to_be_alone:
                await self._changed.wait()
            self._inside += 1
        try:
            yield
        finally:
            await self._leave()

    @asynccontextmanager
    async def exclusive(self) -> AsyncGenerator[None]:
        """Be there alone."""
        async with self._changed:
            self._waiting_to_be_alone += 1
            try:
                while self._inside:
                    await self._changed.wait()
                self._inside, self._is_closed = 1, True
            finally:
                self._waiting_to_be_alone -= 1
                self._changed.notify_all()
        try:
            yield
        finally:
            await self._leave()

    async def _leave(self) -> None:
        with anyio.CancelScope(shield=True):
            async with self._changed:
                self._inside -= 1
                self._is_closed = False
                self._changed.notify_all()
