"""Runs of real agents whose model is the scripted endpoint: what each is to do is the solution of its scenario."""

import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from ghx_bench.agent_factory import recipe_provider_class
from ghx_bench.assembly import assemble
from ghx_bench.catalogue import Catalogue
from ghx_bench.modes.definitions import Definitions
from ghx_bench.project.config import EvalConfig, definitions_of
from ghx_profiler.agents.controls.reference import bindings_of
from ghx_profiler.agents.controls.solution import Solution
from ghx_profiler.agents.drivers.installation import find_launch
from ghx_profiler.agents.drivers.recipe import Recipe
from ghx_profiler.agents.metering.meter import ModelProvider
from ghx_profiler.agents.metering.metered_session import MeteredSession
from ghx_profiler.agents.testing import Script, ScriptedEndpoint
from ghx_profiler.config import Budget, Budgets
from ghx_profiler.contracts import Session, SessionRequest
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.model_calls import WireKind
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.store.rows import read_rows

REAL_KEY = "the-real-key-of-the-model"
MODEL = "scripted-1"


class MeteredAgentSession(Session, Protocol):
    """A session of an agent that is metered."""

    recorder: TraceRecorder

    @property
    def tap(self) -> MeteredSession | None: ...


class MeteredAgent(Protocol):
    """An agent whose model calls go through a meter."""

    @property
    def name(self) -> str: ...

    @property
    def facts(self) -> Mapping[str, Any]: ...

    def run(self, directory: Path) -> AbstractAsyncContextManager[None]: ...

    def session(self, request: SessionRequest) -> AbstractAsyncContextManager[MeteredAgentSession]: ...


MakeAgent = Callable[[Mapping[WireKind, ModelProvider]], MeteredAgent]


@dataclass
class ScriptedAgent:
    """An agent whose model does what the solution of each cell says."""

    inner: MeteredAgent
    endpoint: ScriptedEndpoint
    find_solution: Callable[[str, str], Solution]
    scripts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """What scripts say beside that, by mode."""
    sessions: dict[str, str] = field(default_factory=dict[str, str])
    """The meter's name of each session, by that of its trace."""

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def facts(self) -> Mapping[str, Any]:
        return self.inner.facts

    @asynccontextmanager
    async def run(self, directory: Path) -> AsyncGenerator[None]:
        async with self.inner.run(directory):
            yield

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator[MeteredAgentSession]:
        async with self.inner.session(request) as session:
            assert session.tap is not None
            self.sessions[session.recorder.session_id] = session.tap.id
            said = dict(self.scripts.get(request.mode.name, {}))
            solution = said.pop("solution", None) or self.find_solution(request.cell.scenario_id, request.mode.name)
            script = Script(session=session.tap.id, solution=solution, bindings=bindings_of(request), **said)
            self.endpoint.add(script)
            yield session


@dataclass(frozen=True)
class Ran:
    """What came of a run."""

    rows: Sequence[ProfileRow]
    endpoint: ScriptedEndpoint
    agents: Mapping[str, ScriptedAgent]
    directory: Path

    def claimed(self, row: ProfileRow) -> TokenUsage:
        """Return the tokens that the endpoint claimed in the session of a row."""
        return self.endpoint.claimed_usage(session=self.agents[row.agent].sessions[row.session_id or ""])


async def run_scripted(
    recipes: Sequence[Recipe | MakeAgent],
    results: Path,
    *,
    agents_folder: Path = Path("nowhere"),
    scenarios: Sequence[str] = ("issue-triage-001",),
    modes: Sequence[str] = ("baseline",),
    repetitions: int = 1,
    concurrency: int = 1,
    scripts: Mapping[str, Mapping[str, Any]] | None = None,
    solved_as: str | None = None,
    timeout_ms: int | None = None,
    session_budget: Budget | None = None,
    **settings: Any,
) -> Ran:
    """Evaluate agents on the embedded GitHub, their models scripted with the solution of each cell.

    Those without a recipe are made by a function of the providers of their models.

    `scripts` are fields of `Script` by mode, with which a mode may have another solution, and faults. `solved_as` is
    the mode whose solutions are followed, where that is not the mode itself or one that it extends; `timeout_ms`
    stands instead of that of the scenarios; `session_budget` is for agents with a recipe.
    """
    config = EvalConfig.model_validate(
        {
            "modes": list(modes),
            "models": [MODEL],
            # In their place: how a run describes its agents is made of these entries.
            "agents": [{"id": "nop", "name": f"nop:{number}"} for number in range(len(recipes))],
            "scenarios": {"ids": list(scenarios)},
            "execution": {"repetitions": repetitions, "warmup": False, "max_concurrency": concurrency, "retries": 0},
            "output": {"results_dir": str(results)},
            **settings,
        }
    )
    catalogue, definitions = Catalogue(config), Definitions(definitions_of(config))

    def find_solution(scenario_id: str, mode: str) -> Solution:
        lineage = [solved_as] if solved_as else [each.name for each in definitions.lineage(mode)]
        found = catalogue.solution_files()[scenario_id].solution_for(*lineage)
        assert found is not None, f"{scenario_id} has no solution for {mode}"
        return found

    async with ScriptedEndpoint.open() as endpoint, AsyncExitStack() as scopes:
        agents: dict[str, ScriptedAgent] = {}
        for recipe in recipes:
            wired = endpoint.providers(key=REAL_KEY)
            if isinstance(recipe, Recipe):
                launch = find_launch(recipe, agents_folder)
                provider: MeteredAgent = recipe_provider_class(recipe)(
                    recipe,
                    launch,
                    wired,
                    budgets=Budgets(session=session_budget or Budget()),
                )
            else:
                provider = recipe(wired)
            agents[provider.name] = ScriptedAgent(provider, endpoint, find_solution, scripts or {})
        evaluation = await scopes.enter_async_context(assemble(catalogue, environ=os.environ, project=Path.cwd()))
        instruments = replace(evaluation.setup.instruments, providers=agents)
        plan = replace(evaluation.plan, matrix=replace(evaluation.plan.matrix, agents=tuple(agents)))
        if timeout_ms is not None:
            shorter = {id_: each.model_copy(update={"timeout_ms": timeout_ms}) for id_, each in plan.scenarios.items()}
            plan = replace(plan, scenarios=shorter)
        ready = replace(evaluation, setup=replace(evaluation.setup, instruments=instruments), plan=plan)
        result = await ready.run()
        return Ran(list(read_rows(result.directory / "rows.jsonl")), endpoint, agents, result.directory)
