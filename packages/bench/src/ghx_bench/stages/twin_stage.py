"""What agents work in: a private copy of the embedded world for each attempt at a cell."""

from collections.abc import AsyncGenerator, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
from pydantic import JsonValue

from ghx_base.documents import Complaint
from ghx_base.files.scratch import ScratchFolder
from ghx_bench.fixtures.embedded import (
    AGENT,
    DEFAULT_REPO,
    MAINTAINER,
    embedded_world,
    open_client,
    seed_embedded,
)
from ghx_bench.fixtures.library import FixtureLibrary, mixed_world
from ghx_bench.fixtures.seed_worlds import SeededWorld, known_repositories, seed_world
from ghx_bench.modes.request_origins import SHELL, RequestOrigins, server_token
from ghx_bench.modes.session_programs import LendPrograms, lend_unchecked
from ghx_bench.project.config_sections import KeepWorlds
from ghx_bench.scenario.binding import RUN_ID, BindingError, bind
from ghx_bench.scenario.eval_scenario import EvalScenario, required_fixtures
from ghx_bench.scenario.extensions import Workspace
from ghx_bench.scenario.placeholders import FAULTS_PLACE
from ghx_bench.scenario.threat import Threat
from ghx_bench.scenario.workspace_references import workspace_errors
from ghx_bench.stages.checkout import check_out, clone, copy_clone
from ghx_bench.stages.handles import StageHandles, keep_path, path_of, private_folder
from ghx_bench.stages.injection import (
    CanaryWatches,
    inject,
    injected_changes,
    injection_errors,
    injection_faults,
    is_injected_at_rest,
    secret_variables,
)
from ghx_bench.stages.sandbox_stage import Sandboxes
from ghx_bench.stages.saved_worlds import WorldSaver
from ghx_bench.stages.tool_check import check_tools
from ghx_profiler.agents.tools.toolset import ToolSet
from ghx_profiler.evidence import Mode, Stage
from ghx_profiler.plan.cell import Cell
from ghx_profiler.store.directory import RunDirectory
from ghx_twin.commands.kernel import user_signature
from ghx_twin.faults import Fault
from ghx_twin.git import program
from ghx_twin.queries import lookup
from ghx_twin.seed.faults import find_misfit
from ghx_twin.server.loopback import Server, served
from ghx_twin.viewer import EVERY_SCOPE
from ghx_twin.watch import AnswerWatch, SentWatch
from ghx_twin.world import World


class TwinLifecycle:
    """Seeds the worlds of a run, and gives each attempt at a cell a fork of its scenario's.

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
        sandboxes: Sandboxes | None = None,
        keep_worlds: KeepWorlds | None = None,
        lend_programs: LendPrograms = lend_unchecked,
    ) -> None:
        self._repo, self._scenarios, self._library = repo or DEFAULT_REPO, scenarios, library
        self._reachable_hosts, self._sandboxes = reachable_hosts, sandboxes
        self._keep_worlds: KeepWorlds | None = keep_worlds
        self._lend_programs = lend_programs
        self._running: _Running | None = None

    @asynccontextmanager
    async def run(self, directory: Path) -> AsyncGenerator[None]:
        """Serve seeded worlds from before the first cell to after the last; every scenario must fit into its own."""
        with ExitStack() as stack:
            # A world outlives the server: while one of its threads answers a request, the world must not be closed.
            async with served() as server:
                # Here, since it takes 50 ms, which the first cell would be measured with.
                await anyio.to_thread.run_sync(server.prepare_certificates)
                running = _Running(
                    run_id=directory.name,
                    server=server,
                    worlds=await self._make_worlds(server, stack),
                    clones=Clones(stack.enter_context(ScratchFolder())),
                    keeper=self._keep_worlds and WorldSaver(RunDirectory(directory), self._keep_worlds),
                )
                # Bound here only to see that it can be: one that cannot must not be found out after an hour of cells.
                for scenario in self._scenarios:
                    await anyio.to_thread.run_sync(running.prepare, scenario, world_of(scenario, self._library))
                self._running = running
                try:
                    yield
                finally:
                    self._running = None

    @asynccontextmanager
    async def mode(self, mode: Mode) -> AsyncGenerator[None]:
        """Have the tools of the mode answer; hold nothing: modes share the seeded world, of which forks are changed."""
        running = self._running
        assert running is not None  # noqa: S101 - the contract: modes are inside the run
        usual = running.worlds[None]
        await check_tools(
            mode,
            running.server,
            usual.world,
            usual.manifest.repo,
            sandboxes=self._sandboxes,
            reachable_hosts=self._reachable_hosts,
        )
        yield

    @asynccontextmanager
    async def cell(self, cell: Cell, scenario: EvalScenario, mode: Mode) -> AsyncGenerator[Stage[EvalScenario]]:  # noqa: ARG002 - the contract's signature
        """Fork the world, bind the scenario to it, and take both away afterwards."""
        running = self._running
        assert running is not None  # noqa: S101 - the contract: cells are inside the run
        seeded = running.worlds[world_of(scenario, self._library)]
        bound = bind(scenario, seeded.manifest, {RUN_ID: running.run_id})
        async with self._lend_programs(mode) as lent, running.fork(seeded, bound.scenario) as (world, folder):
            mode = lent.mode
            scopes = scenario.known_extensions.token_scopes
            granted = EVERY_SCOPE if scopes is None else scopes
            client = running.server.client_environment(
                world,
                seeded.agent,
                token_name=SHELL,
                scopes=granted,
                directory=folder / "home",
                reachable_hosts=self._reachable_hosts,
            )
            threat = bound.scenario.known_extensions.threat
            environment = {**client.variables, **client.git_variables, **secret_variables(threat), **path_of(mode)}
            tools, person = ToolSet.of(mode), lookup.user(world, seeded.agent)
            # Of the same user and scopes: a server sees and may do what the shell does, and is distinguished from it.
            tokens = {
                each: running.server.hosting.issue_token(world, person, granted, name=server_token(each))
                for each in tools.mcp_servers
            }
            watches = self._watch(world, seeded.agent, threat)
            if threat is not None:
                world.answer_watch = AnswerWatch(seeded.agent, threat.texts)
            keep_path(Path(environment["HOME"]), mode)
            ring = self._sandboxes.open(folder, environment, mode) if self._sandboxes else nullcontext()
            async with ring:
                handles = replace(
                    running.handles(world, seeded, bound.values), watches=watches, origins=RequestOrigins(tools)
                )
                yield Stage(
                    scenario=bound.scenario,
                    environment=environment,
                    server_environments={name: client.exchange_token(token) for name, token in tokens.items()},
                    directory=folder / "work",
                    own_folder=folder,
                    facts={
                        "target": "twin",
                        "repo": seeded.manifest.repo,
                        "bindings": dict(bound.values),
                        **({} if scopes is None else {"tokenScopes": list(scopes)}),
                    },
                    secrets=frozenset({environment["GITHUB_TOKEN"], *tokens.values()}),
                    handles=handles,
                    watch_model_request=None if watches is None else watches.watch_model_request,
                    check_tools=lent.check,
                    count_refused_hosts=handles.count_refused_hosts,
                    count_not_implemented=handles.count_not_implemented,
                    measure_tool_use=handles.measure_tool_use,
                    observe=handles.observe,
                    keep=running.keeper and partial(running.keeper.save, seeded, handles, folder / "work"),
                )

    def _watch(self, world: World, agent: str, threat: Threat | None) -> CanaryWatches | None:
        """Watch what an agent sends for the canary of a threat, if that has one."""
        if threat is None or threat.canary is None:
            return None
        watches = CanaryWatches.for_session(threat.canary, is_closed_in=self._sandboxes is not None)
        world.watch = SentWatch(agent, watches.sent)
        return watches

    async def _make_worlds(self, server: Server, stack: ExitStack) -> Mapping[str | None, SeededWorld]:
        """Make the worlds that scenarios need: those of seeds by the names of their fixtures, and the usual one."""
        names = required_fixtures(self._scenarios)
        usual = [name for name in names if name not in self._library.names or self._library.get(name).world is None]
        world = stack.enter_context(embedded_world(self._repo))
        manifest = await seed_embedded(server, world, self._repo, usual, library=self._library)
        worlds: dict[str | None, SeededWorld] = {
            None: SeededWorld(world=world, manifest=manifest, agent=AGENT, observer=MAINTAINER)
        }
        for name in [each for each in names if each not in usual]:
            seeded = await anyio.to_thread.run_sync(seed_world, self._library.entry(name))
            stack.enter_context(seeded.world)
            worlds[name] = seeded
        return worlds


def world_of(scenario: EvalScenario, library: FixtureLibrary) -> str | None:
    """Return the fixture that is the whole world of a scenario; None where it has the usual one."""
    requires, known = scenario.fixture.requires if scenario.fixture is not None else (), library.documents
    if mistake := mixed_world(requires, known):
        raise BindingError.about(f"scenario {scenario.id}", [mistake])
    return next((name for name in requires if name in known and known[name].world is not None), None)


def fault_errors(faults: Sequence[Fault], seeded: SeededWorld) -> Iterator[Complaint]:
    """Yield what is wrong with faults in their world: changes that nobody in it could make, or the agent would."""
    for index, fault in enumerate(faults):
        place = (*FAULTS_PLACE, index, "change")
        if problem := find_misfit(seeded.world, fault):
            yield Complaint(tokens=place, reason=problem)
        elif any(each.actor.casefold() == seeded.agent.casefold() for each in fault.changes):
            reason = f"{seeded.agent} is the agent, who would be blamed for the change"
            yield Complaint(tokens=place, reason=reason, suggestion=f"name another user, such as {seeded.observer}")


@dataclass(frozen=True, slots=True)
class Clones:
    """Clones of what workspaces name, each made once and kept in a folder for as long as the run takes."""

    folder: Path
    made: dict[tuple[World, str, str | None, str | None], Path] = field(
        default_factory=dict[tuple[World, str, str | None, str | None], Path]
    )

    def find(self, seeded: SeededWorld, workspace: Workspace) -> Path:
        """Return the clone of a workspace, made now if this is the first to ask."""
        world = seeded.world
        key = (world, workspace.repo, workspace.branch, workspace.upstream)
        if key not in self.made:
            place = self.folder / str(len(self.made))
            _clone_from(seeded, workspace, place)
            self.made[key] = place
        return self.made[key]

    def check_out(self, seeded: SeededWorld, workspace: Workspace, folder: Path, *, is_shared: bool = True) -> None:
        """Make an empty folder the checkout that a workspace describes; of a world that others share, cloned once."""
        if is_shared:
            copy_clone(self.find(seeded, workspace), folder)
        else:
            folder.rmdir()
            _clone_from(seeded, workspace, folder)
        check_out(workspace, folder, program.environment())


def _clone_from(seeded: SeededWorld, workspace: Workspace, place: Path) -> None:
    world = seeded.world
    names = [each for each in (workspace.repo, workspace.upstream) if each is not None]
    records = {name: lookup.repository(world, None, *name.split("/")) for name in names}
    sources = {name: world.git(record).path for name, record in records.items()}
    # The log of a ref says who moved it, and would name the user of this machine.
    agent = user_signature(lookup.user(world, seeded.agent), world.database.now())
    identity = {"GIT_COMMITTER_NAME": agent.name, "GIT_COMMITTER_EMAIL": agent.email}
    clone(workspace, place, program.environment(identity), sources=sources)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    """A run's server, its seeded worlds, and where the fixtures are in them."""

    run_id: str
    server: Server
    worlds: Mapping[str | None, SeededWorld]
    clones: Clones
    keeper: WorldSaver | None

    def prepare(self, scenario: EvalScenario, world: str | None) -> None:
        """Refuse a scenario that does not fit its world, and clone what its workspace names."""
        seeded = self.worlds[world]
        bound = bind(scenario, seeded.manifest, {RUN_ID: self.run_id}).scenario
        if workspace := bound.known_extensions.workspace:
            if errors := list(workspace_errors(workspace, known_repositories(seeded.world, viewer=seeded.agent))):
                raise BindingError.about(f"scenario {scenario.id}", errors)
            self.clones.find(seeded, workspace)
        faults = fault_errors(bound.known_extensions.faults, seeded)
        if errors := [*faults, *injection_errors(bound, seeded)]:
            raise BindingError.about(f"scenario {scenario.id}", errors)

    def handles(self, world: World, seeded: SeededWorld, bindings: Mapping[str, JsonValue]) -> StageHandles:
        """Return what may be done with a served fork of a world."""

        @contextmanager
        def fork() -> Generator[StageHandles]:
            with world.fork() as copy:
                copy.seal()
                self.server.add(copy)
                try:
                    yield self.handles(copy, seeded, bindings)
                finally:
                    self.server.remove(copy)

        return StageHandles(
            agent=seeded.agent,
            observer=lambda: open_client(self.server, world, seeded.observer),
            bindings=bindings,
            world=world,
            seeded=seeded.world,
            finish_runs=lambda: self.server.finish_runs(world),
            open_as=lambda login: open_client(self.server, world, login),
            fork=fork,
        )

    @asynccontextmanager
    async def fork(self, seeded: SeededWorld, scenario: EvalScenario) -> AsyncGenerator[tuple[World, Path]]:
        """Hold a served fork of a world, and a private folder with one to work in, which may be a checkout."""
        with ExitStack() as stack:
            folder = stack.enter_context(await anyio.to_thread.run_sync(private_folder))
            world = stack.enter_context(seeded.world.fork())
            if is_planted := is_injected_at_rest(scenario):
                refused = await anyio.to_thread.run_sync(lambda: list(inject(world, injected_changes(scenario))))
                if refused:
                    raise BindingError.about(f"scenario {scenario.id}", refused)
            if workspace := scenario.known_extensions.workspace:
                # What was planted before the session is in its checkout as well.
                source = replace(seeded, world=world) if is_planted else seeded
                check_out = partial(self.clones.check_out, is_shared=not is_planted)
                await anyio.to_thread.run_sync(check_out, source, workspace, folder / "work")
            stack.callback(self.server.remove, world)
            self.server.add(world)
            # The bench looks at the result through the same server, and must see what is there.
            world.faults.spare(seeded.observer)
            world.faults.add(*seeded.world.faults.scripted, *scenario.known_extensions.faults)
            world.faults.add(*injection_faults(scenario))
            world.seal()  # a change that nobody made would be compared with nobody
            try:
                yield world, folder
            finally:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(stack.pop_all().close)
