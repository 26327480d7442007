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
from ghx_bench.eval.checkpoints import CheckpointScorer
from ghx_bench.eval.classification import GitHubToolClassifier, resolve_github_command
from ghx_bench.eval.collectors import eval_collectors
from ghx_bench.eval.config import EvalConfig
from ghx_bench.eval.live import LiveLifecycle
from ghx_bench.eval.modes import Modes, definitions_of, open_modes
from ghx_bench.eval.recordings import recordings_of
from ghx_bench.eval.scenario import EvalScenario
from ghx_bench.eval.staging import TwinLifecycle
from ghx_bench.profiler.analyzers import inline_analyzers
from ghx_bench.profiler.cell import Matrix
from ghx_bench.profiler.contracts import Lifecycle, SessionProvider
from ghx_bench.profiler.errors import UnknownNameError
from ghx_bench.profiler.events import Observer
from ghx_bench.profiler.instruments import Instruments
from ghx_bench.profiler.scenario import ScenarioSets
from ghx_bench.profiler.suite import SuiteResult, plan_suite, run_profile_suite

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


AGENTS: Mapping[str, Callable[[Ingredients], SessionProvider]] = {
    "reference": lambda given: ReferenceProvider(given.catalogue.solutions(given.modes.lineage)),
    "nop": lambda _: NopProvider(),
    "replay": lambda given: ReplayProvider(recordings_of(given.config.provider.options)),
}
"""The agents by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """A run that is ready to start."""

    config: EvalConfig
    catalogue: Catalogue
    modes: Modes
    instruments: Instruments[EvalScenario]

    async def plan(self) -> Matrix:
        """Check everything that can be checked without running, and return the cells that would be run."""
        matrix = await plan_suite(self.config, loader=self.catalogue.load, modes=self.modes, sets=self._sets())
        if self.instruments.provider.name == ReferenceProvider.name:
            _require_solutions(matrix, self.catalogue, self.modes)
        return matrix

    async def run(self, *, observers: Sequence[Observer] = (), resume: Path | None = None) -> SuiteResult:
        """Measure every cell, or those that a run has left; what can be refused is refused before any of it."""
        await self.plan()
        return await run_profile_suite(
            self.config,
            loader=self.catalogue.load,
            modes=self.modes,
            instruments=self.instruments,
            sets=self._sets(),
            observers=observers,
            resume=resume,
        )

    def _sets(self) -> ScenarioSets | None:
        """Return the sets, unless scenarios are named: then no other scenario may be in the way."""
        return None if self.config.scenarios.ids else self.catalogue.sets


@asynccontextmanager
async def assembled(config: EvalConfig, *, environ: Mapping[str, str]) -> AsyncGenerator[Evaluation]:
    """Put a run together; the folders with the modes' tools live as long as the block."""
    catalogue = Catalogue(config)
    async with open_modes(definitions_of(config), environ=environ) as modes:
        instruments = Instruments(
            provider=_provider(Ingredients(config=config, catalogue=catalogue, modes=modes)),
            scorer=CheckpointScorer(catalogue.scorers),
            lifecycle=_lifecycle(config, catalogue, environ),
            collectors=eval_collectors(),
            analyzers=inline_analyzers(resolve_github_command),
            classify=GitHubToolClassifier(modes.server_names),
            environment=COMMON_ENVIRONMENT,
        )
        yield Evaluation(config=config, catalogue=catalogue, modes=modes, instruments=instruments)


def _provider(given: Ingredients) -> SessionProvider:
    name = given.config.provider.id
    make = AGENTS.get(name)
    if make is None:
        raise UnknownNameError("agent", name, known=AGENTS)
    return make(given)


def _lifecycle(config: EvalConfig, catalogue: Catalogue, environ: Mapping[str, str]) -> Lifecycle[EvalScenario]:
    if config.target == "github":
        return LiveLifecycle(config.fixtures, catalogue.scenarios, catalogue.library, environ)
    return TwinLifecycle(config.fixtures.repo, catalogue.scenarios, catalogue.library)


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
