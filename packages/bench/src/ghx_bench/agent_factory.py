"""Agents by name, and how each is made: nothing else makes concrete agents."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ghx_base.errors import InputError
from ghx_base.extras import require_extra
from ghx_bench.fixtures.library import FixtureLibrary
from ghx_bench.modes.definitions import Definitions, ModeDefinition
from ghx_bench.project.config import EvalConfig
from ghx_bench.project.config_sections import ModelTraffic
from ghx_bench.project.loop_agent import LOOP, LoopOptions, RouteOptions, route_model, route_models
from ghx_bench.project.object_references import is_reference
from ghx_bench.project.recipe_agents import (
    VENDORS,
    ModelOptions,
    has_recipe,
    model_vendor,
    read_options,
    recipe_of,
)
from ghx_bench.project.user_agents import (
    AgentFunction,
    BadAgentError,
    agent_at,
    installed_agent,
    installed_agents,
    recordings_of,
    split_replay,
)
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_bench.scenario.scenario_changes import BENIGN
from ghx_bench.snoop import SnoopProvider
from ghx_profiler.agents.agent_threads import ThreadedProvider
from ghx_profiler.agents.controls.gullible import GullibleProvider, InjectedTexts
from ghx_profiler.agents.controls.nop import NopProvider
from ghx_profiler.agents.controls.reference import ReferenceProvider, Solutions
from ghx_profiler.agents.controls.replay import ReplayProvider
from ghx_profiler.agents.controls.solution import Solution, SolutionFile
from ghx_profiler.agents.drivers.installation import AGENTS_FOLDER, find_launch
from ghx_profiler.agents.drivers.recipe import Recipe, recipe_names
from ghx_profiler.agents.metering.model_budget import Spending
from ghx_profiler.agents.metering.service_queue import ServiceQueue
from ghx_profiler.config import AgentEntry
from ghx_profiler.contracts import SessionProvider
from ghx_profiler.control_kinds import control_kind_of_name
from ghx_profiler.errors import UnknownNameError
from ghx_profiler.plan.cell import NO_MODEL
from ghx_profiler.records.model_calls import WireKind
from ghx_profiler.scenario import scenario_of, variant_of
from ghx_profiler.suite import control_kind_of

if TYPE_CHECKING:
    from ghx_profiler.agents.drivers.recipe_provider import RecipeProvider
    from ghx_profiler.agents.metering.meter import ModelProvider


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSpec:
    """What the instruments and modes of an evaluation are built from: records only, so that it can be pickled.

    It holds no tokens: those of github.com are in the environment of the process that builds the run.
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
        make=lambda spec, _: ReferenceProvider(solutions_in(spec)),
    ),
    "nop": Agent(
        description="does nothing: whatever it passes proves nothing",
        provider=NopProvider,
        make=lambda _, __: NopProvider(),
    ),
    "prying": Agent(
        description="looks for the answers and for the bench: what it finds, agents can find",
        provider=SnoopProvider,
        make=lambda _, __: SnoopProvider(),
    ),
    "gullible": Agent(
        description="follows solutions, and then what planted texts say: it trips every threat",
        provider=GullibleProvider,
        make=lambda spec, _: GullibleProvider(solutions_in(spec, follows_orders=False), planted_texts_in(spec)),
    ),
    "replay": Agent(
        description="makes the tool calls of another run again, which --replay or its option `run` names",
        provider=ReplayProvider,
        make=lambda _, entry: ReplayProvider(recordings_of(entry.options)),
    ),
}
"""The agents by name that come with the package."""


SOLUTION_FOLLOWERS = (ReferenceProvider.name, GullibleProvider.name)
"""The agents that need solutions."""

_OPENAI: frozenset[WireKind] = frozenset({"openai-chat", "openai-responses"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shared:
    """What the metered agents of a run have in common, since they spend from one budget, and may share a key."""

    run_spending: Spending
    queue: ServiceQueue


def agent_entries(config: EvalConfig) -> list[AgentEntry]:
    """Return the agents of a run, in the order in which they are made."""
    return [each for chosen in config.chosen_agents for each in split_replay(chosen)]


def make_agents(spec: EvaluationSpec, environ: Mapping[str, str]) -> Mapping[str, SessionProvider]:
    """Make the agents that the configuration names, by the names that their rows have."""
    agents: dict[str, SessionProvider] = {}
    places: dict[str, str] = {}
    shared = _Shared(
        run_spending=Spending(budget=spec.config.budget.run, scope="run"),
        queue=ServiceQueue(spec.config.model_service),
    )
    for entry in agent_entries(spec.config):
        provider = _make_agent(entry, spec, environ, shared)
        name = entry.name or provider.name
        _check_name(name, entry)
        kind = control_kind_of(name, provider)  # now, so that a plan is refused for what its run would be
        if kind is None and getattr(provider, "is_metered", False) is not True:
            _refuse_traffic(entry, spec.config.model_traffic)
        if name in agents:
            raise BadAgentError(f"{entry.id}: its name is {name!r}, as that of {places[name]} is; give one a `name`")
        agents[name], places[name] = provider, entry.id
    return agents


def _make_agent(
    entry: AgentEntry, spec: EvaluationSpec, environ: Mapping[str, str], shared: _Shared
) -> SessionProvider:
    """Make one agent: one of ours, one with a recipe, or another, which gets a thread of its own."""
    if entry.id in AGENTS:
        return AGENTS[entry.id].make(spec, entry)
    if entry.id == LOOP:
        return _make_loop(entry, spec, environ, shared)
    if has_recipe(entry.id):
        return _make_recipe_agent(entry, spec, environ, shared)
    if is_reference(entry.id):
        return _make_own_agent(agent_at(entry.id, entry.options), entry, spec, environ, shared)
    installed = installed_agents()
    if entry.id in installed:
        return _make_own_agent(installed_agent(installed[entry.id], entry.options), entry, spec, environ, shared)
    raise UnknownNameError("agent", entry.id, known=[*AGENTS, LOOP, *recipe_names(), *installed])


def _make_own_agent(
    agent: SessionProvider | AgentFunction,
    entry: AgentEntry,
    spec: EvaluationSpec,
    environ: Mapping[str, str],
    shared: _Shared,
) -> SessionProvider:
    """Give an agent of the user's a thread of its own and, if it is a function, the ways to its models."""
    if not isinstance(agent, AgentFunction):
        return ThreadedProvider(agent)
    route_options = {name: value for name, value in entry.options.items() if name in RouteOptions.model_fields}
    options = read_options(entry.model_copy(update={"options": route_options}), RouteOptions)
    if route_options:
        _require_model(entry.name or entry.id, spec)
    models = [each for each in spec.config.model_ids if each != NO_MODEL]
    routes = {model: route for model in models if (route := route_model(model, options)) is not None}
    wires = {route.wire for route in routes.values()}
    if options.wire is None and wires & _OPENAI:  # clients of OpenAI's models choose between two APIs
        wires |= _OPENAI
    from ghx_profiler.agents.drivers.python_function import FunctionProvider  # noqa: PLC0415 - it loads the meter

    return FunctionProvider(
        agent.function,
        arguments=agent.arguments,
        routes=routes,
        providers={wire: _find_model_provider(wire, options, spec, environ) for wire in VENDORS if wire in wires},
        budgets=spec.config.budget,
        run_spending=shared.run_spending,
        queue=shared.queue,
        records=spec.config.model_traffic.record,
    )


def _make_recipe_agent(
    entry: AgentEntry, spec: EvaluationSpec, environ: Mapping[str, str], shared: _Shared
) -> SessionProvider:
    """Make an agent as its recipe says: the program that is installed here, and the way to its model."""
    recipe, options = recipe_of(entry.id), read_options(entry, ModelOptions)
    if recipe.protocol == "acp":
        require_extra("agents", for_what=f"agent {recipe.name}")
    make, launch = recipe_provider_class(recipe), find_launch(recipe, spec.project / AGENTS_FOLDER)
    if recipe.wire is None:
        return make(recipe, launch)
    _require_model(recipe.name, spec)
    return make(
        recipe,
        launch,
        {wire: _find_model_provider(wire, options, spec, environ) for wire in recipe.wires},
        vendor=VENDORS[recipe.wire].name if options.base_url is None else None,
        budgets=spec.config.budget,
        run_spending=shared.run_spending,
        queue=shared.queue,
        records=spec.config.model_traffic.record,
    )


def recipe_provider_class(recipe: Recipe) -> "type[RecipeProvider]":
    """Return what opens sessions of an agent that speaks what its recipe says."""
    # Imported here: the SDK of the protocol takes a moment to load and belongs to an extra, which commands do without.
    if recipe.protocol == "command":
        from ghx_profiler.agents.drivers.command import CommandProvider  # noqa: PLC0415 - see above

        return CommandProvider
    from ghx_profiler.agents.drivers.acp import AcpProvider  # noqa: PLC0415 - see above

    return AcpProvider


def _make_loop(entry: AgentEntry, spec: EvaluationSpec, environ: Mapping[str, str], shared: _Shared) -> SessionProvider:
    """Make the plain agent, with a way to each model of the run."""
    require_extra("loop", for_what=f"agent {LOOP}")
    options = read_options(entry, LoopOptions)
    _require_model(LOOP, spec)
    routes = route_models(spec.config.model_ids, options)
    # Imported here: the libraries of the vendors take seconds to load.
    from ghx_profiler.agents.drivers.loop import LoopProvider  # noqa: PLC0415 - see above

    return LoopProvider(
        routes,
        {route.wire: _find_model_provider(route.wire, options, spec, environ) for route in routes.values()},
        limits=options,
        budgets=spec.config.budget,
        run_spending=shared.run_spending,
        queue=shared.queue,
        records=spec.config.model_traffic.record,
    )


def _find_model_provider(
    wire: WireKind, options: ModelOptions, spec: EvaluationSpec, environ: Mapping[str, str]
) -> "ModelProvider":
    """Return the provider of model calls of a wire format: a vendor, or the recording that is replayed."""
    from ghx_profiler.agents.metering.meter import ModelProvider  # noqa: PLC0415 - it takes longer to load than the rest of a plan
    from ghx_profiler.agents.metering.model_replay import replay_traffic  # noqa: PLC0415 - the same

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


def _refuse_traffic(entry: AgentEntry, traffic: ModelTraffic) -> None:
    """Refuse to record or replay the model traffic of an agent that has a way to its model of its own."""
    if traffic.record or traffic.replay is not None:
        flag, done = ("--record-model", "recorded") if traffic.record else ("--replay-model", "replayed")
        raise InputError(
            f"{flag}: agent {entry.id}: its model calls do not go through the meter, and cannot be {done}; leave out "
            "the agent, or the flag"
        )


def solutions_in(spec: EvaluationSpec, *, follows_orders: bool = True) -> Solutions:
    """Return how the reference agent finds a solution: in the mode's name, or that of a mode it extends.

    In a benign variant the solution ends with what the maintainer asks for, unless the agent decides that by itself.
    """
    definitions = Definitions(spec.modes)

    def find(scenario_id: str, mode: str) -> Solution | None:
        file = spec.solutions.get(scenario_of(scenario_id))
        solution = None if file is None else file.solution_for(*(each.name for each in definitions.lineage(mode)))
        if solution is None or not follows_orders:
            return solution
        return solution.with_order if variant_of(scenario_id) == BENIGN else solution.model_copy(update={"obey": ()})

    return find


def planted_texts_in(spec: EvaluationSpec) -> InjectedTexts:
    """Return how the gullible agent knows the texts that it believes."""
    threats = {each.id: each.known_extensions.threat for each in spec.scenarios}

    def find(scenario_id: str) -> Sequence[str]:
        threat = threats.get(scenario_id)
        return () if threat is None else threat.texts

    return find
