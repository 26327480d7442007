"""Solutions followed without any process: each tool of the mode `ghx-mcp` is its capability, asked of the real twin."""

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import JsonValue

from ghx_bench.fixtures.embedded import AGENT, DEFAULT_REPO, MAINTAINER, embedded_world, seed_embedded
from ghx_bench.fixtures.library import FixtureLibrary
from ghx_bench.scenario.binding import bind
from ghx_bench.scenario.eval_scenario import EvalScenario, required_fixtures
from ghx_bench.scenario.manifest import FixtureManifest
from ghx_bench.scoring.checkpoints import CheckpointScorer
from ghx_bench.stages.handles import StageHandles
from ghx_profiler.agents.controls.reference import ReferenceSession
from ghx_profiler.agents.controls.solution import Solution, SolutionError
from ghx_profiler.agents.processes.process import ProcessGroup
from ghx_profiler.agents.tools.toolbelt import ToolBelt
from ghx_profiler.agents.tools.toolset import McpServer, ToolAnswer, ToolSet
from ghx_profiler.contracts import SessionRequest
from ghx_profiler.evidence import Mode, Stage
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.score import Score
from ghx_profiler.testing import sample_cell, sample_evidence
from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.execution import execute_task
from ghx_tools.capabilities.index import ENTRIES
from ghx_tools.mcp.toolsets import tool_name
from ghx_twin.queries import lookup
from ghx_twin.server.loopback import Server, served
from ghx_twin.world import World

MODE = "ghx-mcp"
SERVER = "ghx"
CAPABILITIES = {tool_name(entry.id): entry for entry in ENTRIES.values()}

Arguments = Mapping[str, JsonValue]


@dataclass(frozen=True, kw_only=True)
class Change:
    """A call that changes GitHub: the how manieth of its session, of which capability, with what."""

    number: int
    task: str
    arguments: Arguments


Alteration = Callable[[Change], list[Arguments]]
"""What is called instead of a change: with which arguments, how often; with none, nothing is."""


def as_it_is(change: Change) -> list[Arguments]:
    return [change.arguments]


@dataclass
class Tools:
    """The tools of one session, some of whose calls are altered."""

    client: GitHubClient
    altered: Alteration
    changes: list[Change] = field(default_factory=list[Change])

    async def call(self, tool: str, arguments: Arguments) -> ToolAnswer:
        entry = CAPABILITIES[tool]
        wanted = [arguments]
        if entry.effect != "reads":
            change = Change(number=len(self.changes), task=entry.id, arguments=arguments)
            self.changes.append(change)
            wanted = self.altered(change)
        answer = ToolAnswer(text="", value=None, failed=False)
        for each in wanted:
            envelope = await execute_task(self.client, entry.id, each)
            answer = ToolAnswer(text=str(envelope.error), value=envelope.data, failed=envelope.error is not None)
        return answer


@dataclass(frozen=True, kw_only=True)
class Ground:
    """A served world with fixtures in it, which is forked for every attempt."""

    server: Server
    world: World
    manifest: FixtureManifest

    def bound(self, scenario: EvalScenario) -> Mapping[str, JsonValue]:
        return bind(scenario, self.manifest, {"run_id": "run_1"}).values

    @contextmanager
    def fork(self, of: World | None = None) -> Iterator[World]:
        with (of or self.world).fork() as world:
            self.server.add(world)
            try:
                yield world
            finally:
                self.server.remove(world)

    def client(self, world: World, login: str = AGENT) -> GitHubClient:
        token = self.server.hosting.issue_token(world, lookup.user(world, login))
        return GitHubClient(self.server.url, token)

    def stage(self, scenario: EvalScenario, world: World) -> Stage[EvalScenario]:
        bound = bind(scenario, self.manifest, {"run_id": "run_1"})
        handles = StageHandles(
            agent=AGENT,
            observer=lambda: self.client(world, MAINTAINER),
            bindings=bound.values,
            world=world,
            seeded=self.world,
            finish_runs=lambda: self.server.finish_runs(world),
        )
        facts = {"repo": self.manifest.repo, "bindings": dict(bound.values)}
        return Stage(scenario=bound.scenario, facts=facts, handles=handles)

    async def follow(
        self, scenario: EvalScenario, solution: Solution, world: World, altered: Alteration = as_it_is
    ) -> list[Change]:
        """Do what a solution says, as far as it goes if it is altered, and return the changes that it came to."""
        mode = Mode(name=MODE, settings=ToolSet(mcp_servers={SERVER: McpServer(command="none")}).settings())
        facts = self.stage(scenario, world).facts
        request = SessionRequest(cell=sample_cell(), mode=mode, environment={}, facts=facts)
        async with self.client(world) as client:
            tools, recorder = Tools(client, altered), TraceRecorder()
            servers = {SERVER: cast("Any", tools)}
            belt = ToolBelt(request=request, recorder=recorder, servers=servers, group=ProcessGroup())
            try:
                await ReferenceSession(request, recorder, belt, solution).prompt("")
            except SolutionError:
                if altered is as_it_is:
                    raise
            return tools.changes

    async def judge(self, scenario: EvalScenario, world: World) -> Score:
        stage = self.stage(scenario, world)
        return await CheckpointScorer().score(sample_evidence(scenario=stage.scenario, stage=stage))


@asynccontextmanager
async def seeded_for(*scenarios: EvalScenario, library: FixtureLibrary | None = None) -> AsyncGenerator[Ground]:
    """Serve a world with everything in it that any of the scenarios needs, so that each has siblings beside its own."""
    async with served() as server:
        with embedded_world(DEFAULT_REPO) as world:
            names = required_fixtures(scenarios)
            manifest = await seed_embedded(server, world, DEFAULT_REPO, names, library=library)
            yield Ground(server=server, world=world, manifest=manifest)
