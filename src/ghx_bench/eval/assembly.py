"""The one place where everything is put together: a configuration in, a run out."""

import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, chdir
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from ghx_bench._base.errors import InputError
from ghx_bench._base.extras import require_extra
from ghx_bench.agents.agent_threads import ThreadedProvider
from ghx_bench.agents.controls.nop import NopProvider
from ghx_bench.agents.controls.prying import ProbeAnalyzer, PryingProvider
from ghx_bench.agents.controls.reference import ReferenceProvider, Solutions
from ghx_bench.agents.controls.replay import ReplayProvider
from ghx_bench.agents.controls.solution import Solution, SolutionFile
from ghx_bench.agents.drivers.installation import AGENTS_FOLDER, find_launch
from ghx_bench.agents.drivers.recipe import recipe_names
from ghx_bench.agents.processes.sandbox import Ring, require_sandbox
from ghx_bench.eval.catalogue import Catalogue
from ghx_bench.eval.fixtures.library import FixtureLibrary
from ghx_bench.eval.modes.definitions import Definitions, ModeDefinition
from ghx_bench.eval.modes.resolver import open_modes
from ghx_bench.eval.project.config import EvalConfig, ModelTraffic, definitions_of
from ghx_bench.eval.project.custom_scorers import load_scorers, scorers_named_in
from ghx_bench.eval.project.loop_agent import LOOP, LoopOptions, route_models
from ghx_bench.eval.project.object_references import is_reference
from ghx_bench.eval.project.recipe_agents import (
    VENDORS,
    ModelOptions,
    has_recipe,
    model_vendor,
    read_options,
    recipe_of,
)
from ghx_bench.eval.project.user_agents import (
    BadAgentError,
    agent_at,
    installed_agent,
    installed_agents,
    recordings_of,
    split_replay,
)
from ghx_bench.eval.provenance import circumstances_of, ingredients_of
from ghx_bench.eval.scenario.eval_scenario import EvalScenario
from ghx_bench.eval.scoring.checkpoints import CheckpointScorer
from ghx_bench.eval.scoring.expectation_analyzer import ExpectationAnalyzer
from ghx_bench.eval.scoring.github_collectors import eval_collectors
from ghx_bench.eval.scoring.tool_categories import GitHubToolClassifier, resolve_github_command
from ghx_bench.eval.stages.sandbox_stage import Sandboxes, SandboxPlan
from ghx_bench.profiler.analyzers import MeteringAnalyzer, ModelReplayAnalyzer, inline_analyzers
from ghx_bench.profiler.cell import NO_MODEL
from ghx_bench.profiler.config import AgentEntry
from ghx_bench.profiler.contracts import Analyzer, Executor, Lifecycle, SessionProvider
from ghx_bench.profiler.errors import NotPicklableError, UnknownNameError
from ghx_bench.profiler.events import Observer
from ghx_bench.profiler.evidence import Mode
from ghx_bench.profiler.executors import LocalExecutor
from ghx_bench.profiler.model_calls import WireKind
from ghx_bench.profiler.runner.instruments import Instruments, Setup, TakeTurn, let_all_in
from ghx_bench.profiler.scenario import ScenarioSets
from ghx_bench.profiler.selection import select_scenarios
from ghx_bench.profiler.store.record import control_kind_of_name
from ghx_bench.profiler.suite import SuitePlan, SuiteResult, control_kind_of, matrix_of, run_planned, sends_spec

if TYPE_CHECKING:
    from ghx_bench.agents.metering.meter import ModelProvider

COMMON_ENVIRONMENT: Mapping[str, str] = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TERM": "dumb", "TZ": "UTC"}
"""What every session starts from; nothing of the user's own that could make two machines differ."""


class MissingSolutionError(InputError):
    """The reference agent has no solution to follow."""

    code = "MISSING_SOLUTION"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSpec:
    """What the instruments and modes of an evaluation are built from: records only, so that it can be pickled.

    It holds no token: those of github.com are in the environment of whoever builds.
    """

    config: EvalConfig
    """Which agents, by their names or references and with their options; which modes; and where they work."""
    project: Path
    """The folder that paths in the configuration start from."""
    scenarios: tuple[EvalScenario, ...]
    modes: tuple[ModeDefinition, ...]
    """Those that the configuration brings."""
    fixtures: FixtureLibrary
    solutions: Mapping[str, SolutionFile]
    """By scenario; empty unless the reference agent is measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent that can be evaluated, and how it is made."""

    description: str
    provider: type[SessionProvider]
    make: Callable[[EvaluationSpec, AgentEntry], SessionProvider]


AGENTS: Mapping[str, Agent] = {
    "reference": Agent(
        description="follows the solution of each scenario, with real tools",
        provider=ReferenceProvider,
        make=lambda spec, _: ReferenceProvider(_solutions_in(spec)),
    ),
    "nop": Agent(
        description="does nothing: whatever it passes proves nothing",
        provider=NopProvider,
        make=lambda _, __: NopProvider(),
    ),
    "prying": Agent(
        description="looks for the answers and for the bench: what it finds, agents can find",
        provider=PryingProvider,
        make=lambda _, __: PryingProvider(),
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
    """A run that is ready to start: everything was checked that can be without running."""

    spec: EvaluationSpec
    plan: SuitePlan[EvalScenario]
    setup: Setup[EvalScenario]
    executor: Executor

    async def run(
        self, *, observers: Sequence[Observer] = (), resume: Path | None = None, accept_changes: bool = False
    ) -> SuiteResult:
        """Measure every cell, or those that a run has left; of that one, say whether what it is made of may change."""
        if sends_spec(self.executor):
            self._require_sendable_agents()
        return await run_planned(
            self.plan,
            instruments=self.setup.instruments,
            observers=observers,
            executor=self.executor,
            open_elsewhere=partial(open_setup_elsewhere, self.spec),
            resume=resume,
            accept_changes=accept_changes,
            started_in=self.spec.project,
            ingredients=ingredients_of(
                self.spec.config,
                project=self.spec.project,
                agents=dict(zip(self.setup.instruments.providers, _agent_entries(self.spec.config), strict=True)),
                scenarios=self.spec.scenarios,
                fixtures=self.spec.fixtures,
                solutions=self.spec.solutions,
                definitions=Definitions(self.spec.modes),
                modes=self.setup.modes,
            ),
            circumstances=await anyio.to_thread.run_sync(circumstances_of, self.spec.project),
        )

    def _require_sendable_agents(self) -> None:
        for entry in self.spec.config.chosen_agents:
            if entry.id.startswith("__main__:"):
                raise NotPicklableError(
                    f"agent {entry.id}: is defined in the script that was started, and workers are other processes; "
                    "name its file or module"
                )


@asynccontextmanager
async def assemble(
    catalogue: Catalogue, *, environ: Mapping[str, str], project: Path, executor: Executor | None = None
) -> AsyncGenerator[Evaluation]:
    """Put together the run that a catalogue's configuration asks for; the modes' folders live as long as the block.

    `project` is the folder that paths of the configuration start from; the run may be resumed from another.
    """
    config = catalogue.config
    scenarios = await select_scenarios(config.scenarios, catalogue.load, _sets_for(catalogue))
    is_referred = any(entry.id == ReferenceProvider.name for entry in config.chosen_agents)
    spec = EvaluationSpec(
        config=config,
        project=project,
        scenarios=scenarios,
        modes=definitions_of(config),
        fixtures=catalogue.library,
        solutions=catalogue.solution_files() if is_referred else {},
    )
    if is_referred:
        _require_solutions(spec, catalogue)
    async with open_setup(spec, environ=environ) as setup:
        by_id = {each.id: each for each in scenarios}
        matrix = matrix_of(config, scenario_ids=tuple(by_id), agents=tuple(setup.instruments.providers))
        plan = SuitePlan(config=config, scenarios=by_id, modes=setup.modes, matrix=matrix)
        yield Evaluation(
            spec=spec,
            plan=plan,
            setup=setup,
            executor=executor or LocalExecutor(config.execution.max_concurrency),
        )


@asynccontextmanager
async def open_setup(spec: EvaluationSpec, *, environ: Mapping[str, str]) -> AsyncGenerator[Setup[EvalScenario]]:
    """Hold the instruments and modes that a spec describes; the current folder is the project's."""
    config = spec.config
    if config.target != "twin" and any(entry.id == PryingProvider.name for entry in config.chosen_agents):
        raise InputError("the agent prying pushes what GitHub should refuse; run it on the embedded GitHub only")
    if config.sandbox == "bwrap":
        await _require_isolation(config, spec.project)
    async with open_modes(spec.modes, environ=environ) as modes, AsyncExitStack() as threads:
        lifecycle, take_turn = _choose_stage(spec, environ)
        providers = _make_agents(spec, environ)
        for each in providers.values():
            if isinstance(each, ThreadedProvider):
                threads.push_async_callback(each.aclose)
        instruments = Instruments(
            providers=providers,
            scorer=CheckpointScorer(load_scorers(scorers_named_in(spec.scenarios), config.scorers)),
            lifecycle=lifecycle,
            collectors=eval_collectors(),
            analyzers=_choose_analyzers(config, providers),
            classify=GitHubToolClassifier(modes.server_names),
            environment=COMMON_ENVIRONMENT,
            take_turn=take_turn,
        )
        resolved = {name: _with_ring(await modes.resolve(name), config.sandbox) for name in config.modes}
        yield Setup(instruments=instruments, modes=resolved)


@asynccontextmanager
async def open_setup_elsewhere(spec: EvaluationSpec) -> AsyncGenerator[Setup[EvalScenario]]:
    """Hold the same in a worker that is a process of its own: in the project's folder, and with its own environment."""
    if not spec.project.is_dir():
        raise InputError(f"{spec.project}: the folder of the run's project is not here, where cells are to be measured")
    with chdir(spec.project):
        async with open_setup(spec, environ=os.environ) as setup:
            yield setup


def _choose_analyzers(config: EvalConfig, agents: Mapping[str, SessionProvider]) -> tuple[Analyzer[EvalScenario], ...]:
    """Return what looks at the sessions of a run, with what is found out about some agents alone."""
    replaying = () if config.model_traffic.replay is None else (ModelReplayAnalyzer(),)
    prying = (ProbeAnalyzer(),) if any(isinstance(each, PryingProvider) for each in agents.values()) else ()
    always = (*inline_analyzers(resolve_github_command), MeteringAnalyzer())
    return *always, *replaying, ExpectationAnalyzer(), *prying


def _sets_for(catalogue: Catalogue) -> ScenarioSets | None:
    """Return the sets; where scenarios are named, only if a set is too, since nothing else may be in the way."""
    choice = catalogue.config.scenarios
    if not choice.ids:
        return catalogue.sets
    return None if choice.set is None else catalogue.written_sets


def _agent_entries(config: EvalConfig) -> list[AgentEntry]:
    """Return the agents of a run, in the order in which they are made."""
    return [each for chosen in config.chosen_agents for each in split_replay(chosen)]


def _make_agents(spec: EvaluationSpec, environ: Mapping[str, str]) -> Mapping[str, SessionProvider]:
    """Make the agents that the configuration names, by the names that their rows have."""
    made: dict[str, SessionProvider] = {}
    places: dict[str, str] = {}
    for entry in _agent_entries(spec.config):
        provider = _make_agent(entry, spec, environ)
        name = entry.name or provider.name
        _check_name(name, entry)
        kind = control_kind_of(name, provider)  # now, so that a plan is refused for what its run would be
        if kind is None and getattr(provider, "is_metered", False) is not True:
            _refuse_traffic(entry, spec.config.model_traffic)
        if name in made:
            raise BadAgentError(f"{entry.id}: its name is {name!r}, as that of {places[name]} is; give one a `name`")
        made[name], places[name] = provider, entry.id
    return made


def _refuse_traffic(entry: AgentEntry, traffic: ModelTraffic) -> None:
    """Refuse to record or replay the model traffic of an agent that has a way to its model of its own."""
    if traffic.record or traffic.replay is not None:
        flag, done = ("--record-model", "recorded") if traffic.record else ("--replay-model", "replayed")
        raise InputError(
            f"{flag}: agent {entry.id}: its model calls do not go through the meter, and cannot be {done}; leave out "
            "the agent, or the flag"
        )


def _make_agent(entry: AgentEntry, spec: EvaluationSpec, environ: Mapping[str, str]) -> SessionProvider:
    """Make one agent: one of ours, one with a recipe, or another, which gets a thread of its own."""
    if entry.id in AGENTS:
        return AGENTS[entry.id].make(spec, entry)
    if entry.id == LOOP:
        return _make_loop(entry, spec, environ)
    if has_recipe(entry.id):
        return _make_recipe_agent(entry, spec, environ)
    if is_reference(entry.id):
        return ThreadedProvider(agent_at(entry.id, entry.options))
    installed = installed_agents()
    if entry.id in installed:
        return ThreadedProvider(installed_agent(installed[entry.id], entry.options))
    raise UnknownNameError("agent", entry.id, known=[*AGENTS, LOOP, *recipe_names(), *installed])


def _make_recipe_agent(entry: AgentEntry, spec: EvaluationSpec, environ: Mapping[str, str]) -> SessionProvider:
    """Make an agent as its recipe says: the program that is installed here, and the way to its model."""
    recipe, options = recipe_of(entry.id), read_options(entry, ModelOptions)
    if recipe.protocol == "acp":
        require_extra("agents", for_what=f"agent {recipe.name}")
    # Imported here: the SDK of the protocol and the meter take longer to load than all the rest of a plan.
    from ghx_bench.agents.drivers.recipe_protocols import provider_class  # noqa: PLC0415 - see above

    make, launch = provider_class(recipe), find_launch(recipe, spec.project / AGENTS_FOLDER)
    if recipe.wire is None:
        return make(recipe, launch)
    _require_model(recipe.name, spec)
    return make(
        recipe,
        launch,
        _find_model_provider(recipe.wire, options, spec, environ),
        vendor=VENDORS[recipe.wire].name if options.base_url is None else None,
        budgets=spec.config.budget,
        service=spec.config.model_service,
        records=spec.config.model_traffic.record,
    )


def _make_loop(entry: AgentEntry, spec: EvaluationSpec, environ: Mapping[str, str]) -> SessionProvider:
    """Make the plain agent, with a way to each model of the run."""
    require_extra("loop", for_what=f"agent {LOOP}")
    options = read_options(entry, LoopOptions)
    _require_model(LOOP, spec)
    routes = route_models(spec.config.model_ids, options)
    # Imported here: the libraries of the vendors take seconds to load.
    from ghx_bench.agents.drivers.loop import LoopProvider  # noqa: PLC0415 - see above

    return LoopProvider(
        routes,
        {route.wire: _find_model_provider(route.wire, options, spec, environ) for route in routes.values()},
        limits=options,
        budgets=spec.config.budget,
        service=spec.config.model_service,
        records=spec.config.model_traffic.record,
    )


def _find_model_provider(
    wire: WireKind, options: ModelOptions, spec: EvaluationSpec, environ: Mapping[str, str]
) -> "ModelProvider":
    """Return who answers the calls of a wire: a vendor of models, or the recording that is replayed."""
    from ghx_bench.agents.metering.meter import ModelProvider  # noqa: PLC0415 - it takes longer to load than the rest of a plan
    from ghx_bench.agents.metering.model_replay import replay_traffic  # noqa: PLC0415 - the same

    if (replayed := spec.config.model_traffic.replay) is not None:
        return replay_traffic(replayed)
    who = model_vendor(wire, options)
    return ModelProvider.at(who.name, who.base_url, key_variable=who.key_env, environment=environ)


def _require_model(agent: str, spec: EvaluationSpec) -> None:
    if NO_MODEL in spec.config.model_ids:
        raise InputError(f"agent {agent}: needs a model; name it with --model, or under `models`")


def _check_name(name: str, entry: AgentEntry) -> None:
    """Refuse the name of a control for another agent, and for a control a name that does not begin with its own.

    Of rows without the record of their run, reports know by the name alone that they say nothing about agents. What
    reports write between the names of an agent, its mode and its run is refused as well.
    """
    for separator in (" / ", " @ "):
        if separator in name:
            raise BadAgentError(
                f"{entry.id}: its name is {name!r}, and reports write {separator!r} between names; give it another"
            )
    if entry.id in AGENTS and name.partition(":")[0] != entry.id:
        raise BadAgentError(
            f"{entry.id}: is a control agent, which keeps its name; leave out the name {name!r}, or begin it with "
            f"'{entry.id}:'"
        )
    if entry.id not in AGENTS and control_kind_of_name(name) is not None:
        raise BadAgentError(f"{entry.id}: its name is {name!r}, which is that of a control agent; give it another")


def _choose_stage(spec: EvaluationSpec, environ: Mapping[str, str]) -> tuple[Lifecycle[EvalScenario], TakeTurn]:
    """Return what prepares the GitHub that agents work on, and what lets as many of them work there as get along."""
    # Imported here: the embedded server and its seeds are more than a third of all that a run loads, and github.com
    # needs none of it.
    fixtures = spec.config.fixtures
    if spec.config.target == "github":
        from ghx_bench.eval.stages.github_stage import LiveLifecycle  # noqa: PLC0415 - see above

        live = LiveLifecycle(fixtures, spec.scenarios, spec.fixtures, environ)
        return live, live.turn
    from ghx_bench.eval.stages.twin_stage import TwinLifecycle  # noqa: PLC0415 - see above

    hosts = spec.config.reachable_hosts
    sandboxes = _sandboxes_for(spec) if spec.config.sandbox == "bwrap" else None
    twin = TwinLifecycle(fixtures.repo, spec.scenarios, spec.fixtures, reachable_hosts=hosts, sandboxes=sandboxes)
    return twin, let_all_in


async def _require_isolation(config: EvalConfig, project: Path) -> None:
    """Refuse a run whose sessions cannot be isolated as its configuration says."""
    if config.target != "twin":
        raise InputError("`sandbox: bwrap` is for runs on the embedded GitHub; use `sandbox: plain` on github.com")
    if domains := [host for host in config.reachable_hosts if host.startswith(".")]:
        raise InputError(
            f"reachable_hosts: {domains[0]!r} stands for all hosts of a domain, and `sandbox: bwrap` has a way to each "
            "host that is named; name the hosts"
        )
    if absent := [each for each in config.visible_paths if not (project / each).exists()]:
        raise InputError(f"visible_paths: there is no {absent[0]}; correct it, or leave it out")
    await anyio.to_thread.run_sync(require_sandbox)


def _with_ring(mode: Mode, ring: Ring) -> Mode:
    """Return a mode whose rows, and with them reports, say what its sessions were kept from."""
    return replace(mode, facts={**mode.facts, "sandbox": ring})


def _sandboxes_for(spec: EvaluationSpec) -> Sandboxes:
    """Return what makes the sandboxes of sessions: they see none of the files that the run is made of."""
    config = spec.config
    folders = (spec.project, *config.scenario_dirs, *config.fixtures.folders, config.output.results_dir)
    return Sandboxes(
        SandboxPlan(
            visible=tuple(spec.project / each for each in config.visible_paths),
            hidden=tuple((spec.project / each).resolve() for each in folders),
            reachable_hosts=config.reachable_hosts,
            reachable_ports=config.reachable_ports,
        )
    )


def _solutions_in(spec: EvaluationSpec) -> Solutions:
    """Return how the reference agent finds a solution: in the mode's name, or that of a mode it extends."""
    definitions = Definitions(spec.modes)

    def find(scenario_id: str, mode: str) -> Solution | None:
        file = spec.solutions.get(scenario_id)
        return None if file is None else file.solution_for(*(each.name for each in definitions.lineage(mode)))

    return find


def _require_solutions(spec: EvaluationSpec, catalogue: Catalogue) -> None:
    """Refuse a run of the reference agent in which a cell has nothing to follow."""
    find = _solutions_in(spec)
    for scenario in spec.scenarios:
        without = [mode for mode in spec.config.modes if find(scenario.id, mode) is None]
        if without:
            raise MissingSolutionError(
                f"{catalogue.solution_path(scenario.id)}: the reference agent finds no solution for "
                f"{'mode' if len(without) == 1 else 'modes'} {', '.join(without)}; write one there, leave the mode out "
                "with --mode, or run another agent with --agent"
            )
