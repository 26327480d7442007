"""The one place where everything is put together: a configuration in, a run out."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from ghx_bench._base.errors import InputError
from ghx_bench.agents.nop import NopProvider
from ghx_bench.agents.reference import ReferenceProvider
from ghx_bench.agents.replay import ReplayProvider
from ghx_bench.eval.catalogue import Catalogue
from ghx_bench.eval.modes.resolver import Modes, open_modes
from ghx_bench.eval.project.config import EvalConfig, definitions_of
from ghx_bench.eval.project.object_references import is_reference
from ghx_bench.eval.project.user_agents import (
    BadAgentError,
    agent_at,
    installed_agent,
    installed_agents,
    recordings_of,
    split_replay,
)
from ghx_bench.eval.scenario.eval_scenario import EvalScenario
from ghx_bench.eval.scoring.checkpoints import CheckpointScorer
from ghx_bench.eval.scoring.github_collectors import eval_collectors
from ghx_bench.eval.scoring.tool_categories import GitHubToolClassifier, resolve_github_command
from ghx_bench.profiler.analyzers import inline_analyzers
from ghx_bench.profiler.cell import Matrix
from ghx_bench.profiler.config import AgentEntry
from ghx_bench.profiler.contracts import Executor, Lifecycle, SessionProvider
from ghx_bench.profiler.errors import UnknownNameError
from ghx_bench.profiler.events import Observer
from ghx_bench.profiler.executors import LocalExecutor
from ghx_bench.profiler.runner.instruments import Instruments, TakeTurn, let_all_in
from ghx_bench.profiler.scenario import ScenarioSets
from ghx_bench.profiler.store.record import control_kind_of_name
from ghx_bench.profiler.suite import SuitePlan, SuiteResult, plan_suite, run_planned

COMMON_ENVIRONMENT: Mapping[str, str] = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TERM": "dumb", "TZ": "UTC"}
"""What every session starts from; nothing of the user's own that could make two machines differ."""


class MissingSolutionError(InputError):
    """The reference agent has no solution to follow."""

    code = "MISSING_SOLUTION"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingredients:
    """What an agent may be made from."""

    config: EvalConfig
    catalogue: Catalogue
    modes: Modes


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent that can be evaluated, and how it is made."""

    description: str
    provider: type[SessionProvider]
    make: Callable[[Ingredients, AgentEntry], SessionProvider]


AGENTS: Mapping[str, Agent] = {
    "reference": Agent(
        description="follows the solution of each scenario, with real tools",
        provider=ReferenceProvider,
        make=lambda given, _: ReferenceProvider(given.catalogue.solutions(given.modes.lineage)),
    ),
    "nop": Agent(
        description="does nothing: whatever it passes proves nothing",
        provider=NopProvider,
        make=lambda _, __: NopProvider(),
    ),
    "replay": Agent(
        description="makes the tool calls of another run again, which --replay or its option `run` names",
        provider=ReplayProvider,
        make=lambda _, entry: ReplayProvider(recordings_of(entry.options)),
    ),
}
"""The agents by name that come with the package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """A run that is ready to start."""

    config: EvalConfig
    catalogue: Catalogue
    modes: Modes
    instruments: Instruments[EvalScenario]
    executor: Executor

    async def plan(self) -> SuitePlan[EvalScenario]:
        """Check everything that can be checked without running, and return what would be run."""
        plan = await plan_suite(
            self.config,
            loader=self.catalogue.load,
            modes=self.modes,
            sets=self._sets(),
            agents=tuple(self.instruments.providers),
        )
        if any(entry.id == ReferenceProvider.name for entry in self.config.chosen_agents):
            _require_solutions(plan.matrix, self.catalogue, self.modes)
        return plan

    async def run(
        self, *, observers: Sequence[Observer] = (), resume: Path | None = None, started_in: Path | None = None
    ) -> SuiteResult:
        """Measure every cell, or those that a run has left; what can be refused is refused before any of it.

        `started_in` is the folder that paths of the configuration start from; the run may be resumed from another.
        """
        return await run_planned(
            await self.plan(),
            instruments=self.instruments,
            observers=observers,
            executor=self.executor,
            resume=resume,
            started_in=started_in,
        )

    def _sets(self) -> ScenarioSets | None:
        """Return the sets; where scenarios are named, only if a set is too, since nothing else may be in the way."""
        choice = self.config.scenarios
        if not choice.ids:
            return self.catalogue.sets
        return None if choice.set is None else self.catalogue.written_sets


@asynccontextmanager
async def assembled(catalogue: Catalogue, *, environ: Mapping[str, str]) -> AsyncGenerator[Evaluation]:
    """Put together the run that a catalogue's configuration asks for; the modes' folders live as long as the block."""
    config = catalogue.config
    async with open_modes(definitions_of(config), environ=environ) as modes:
        lifecycle, take_turn = _place_of(config, catalogue, environ)
        instruments = Instruments(
            providers=_make_agents(Ingredients(config=config, catalogue=catalogue, modes=modes)),
            scorer=CheckpointScorer(catalogue.scorers),
            lifecycle=lifecycle,
            collectors=eval_collectors(),
            analyzers=inline_analyzers(resolve_github_command),
            classify=GitHubToolClassifier(modes.server_names),
            environment=COMMON_ENVIRONMENT,
            take_turn=take_turn,
        )
        executor = LocalExecutor(config.execution.max_concurrency)
        yield Evaluation(config=config, catalogue=catalogue, modes=modes, instruments=instruments, executor=executor)


def _make_agents(given: Ingredients) -> Mapping[str, SessionProvider]:
    """Make the agents that the configuration names, by the names that their rows have."""
    made: dict[str, SessionProvider] = {}
    places: dict[str, str] = {}
    for entry in (each for chosen in given.config.chosen_agents for each in split_replay(chosen)):
        provider = _make_agent(entry, given)
        name = entry.name or provider.name
        _check_name(name, entry)
        if name in made:
            raise BadAgentError(f"{entry.id}: its name is {name!r}, as that of {places[name]} is; give one a `name`")
        made[name], places[name] = provider, entry.id
    return made


def _make_agent(entry: AgentEntry, given: Ingredients) -> SessionProvider:
    """Make one agent: one of ours, or another."""
    if entry.id in AGENTS:
        return AGENTS[entry.id].make(given, entry)
    if is_reference(entry.id):
        return agent_at(entry.id, entry.options)
    installed = installed_agents()
    if entry.id in installed:
        return installed_agent(installed[entry.id], entry.options)
    raise UnknownNameError("agent", entry.id, known=[*AGENTS, *installed])


def _check_name(name: str, entry: AgentEntry) -> None:
    """Refuse the name of a control for another agent, and for a control a name that does not begin with its own.

    Of rows without the record of their run, reports know by the name alone that they say nothing about agents.
    """
    if entry.id in AGENTS and name.partition(":")[0] != entry.id:
        raise BadAgentError(
            f"{entry.id}: is a control agent, which keeps its name; leave out the name {name!r}, or begin it with "
            f"'{entry.id}:'"
        )
    if entry.id not in AGENTS and control_kind_of_name(name) is not None:
        raise BadAgentError(f"{entry.id}: its name is {name!r}, which is that of a control agent; give it another")


def _place_of(
    config: EvalConfig, catalogue: Catalogue, environ: Mapping[str, str]
) -> tuple[Lifecycle[EvalScenario], TakeTurn]:
    """Return what prepares the GitHub that agents work on, and what lets as many of them work there as get along."""
    # Imported here: the embedded server and its seeds are more than a third of all that a run loads, and github.com
    # needs none of it.
    if config.target == "github":
        from ghx_bench.eval.stages.github_stage import LiveLifecycle  # noqa: PLC0415 - see above

        live = LiveLifecycle(config.fixtures, catalogue.scenarios, catalogue.library, environ)
        return live, live.turn
    from ghx_bench.eval.stages.twin_stage import TwinLifecycle  # noqa: PLC0415 - see above

    return TwinLifecycle(config.fixtures.repo, catalogue.scenarios, catalogue.library), let_all_in


def _require_solutions(matrix: Matrix, catalogue: Catalogue, modes: Modes) -> None:
    """Refuse a run of the reference agent in which a cell has nothing to follow."""
    solution = catalogue.solutions(modes.lineage)
    for scenario_id in matrix.scenario_ids:
        without = [mode for mode in matrix.modes if solution(scenario_id, mode) is None]
        if without:
            raise MissingSolutionError(
                f"{catalogue.solution_path(scenario_id)}: the reference agent finds no solution for "
                f"{'mode' if len(without) == 1 else 'modes'} {', '.join(without)}; write one there, leave the mode out "
                "with --mode, or run another agent with --agent"
            )
