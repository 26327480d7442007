"""The one place where everything is put together: a configuration in, a run out."""

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, chdir
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import anyio.to_thread

from ghx_base.errors import InputError
from ghx_bench.agent_factory import (
    SOLUTION_FOLLOWERS,
    EvaluationSpec,
    agent_entries,
    make_agents,
    solutions_in,
)
from ghx_bench.catalogue import Catalogue
from ghx_bench.modes.definitions import Definitions
from ghx_bench.modes.resolver import open_modes
from ghx_bench.modes.session_programs import LendPrograms
from ghx_bench.project.config import EvalConfig, definitions_of
from ghx_bench.project.custom_scorers import load_scorers, scorers_named_in
from ghx_bench.provenance import circumstances_of, ingredients_of
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_bench.scoring.checkpoints import CheckpointScorer
from ghx_bench.scoring.expectation_analyzer import ExpectationAnalyzer
from ghx_bench.scoring.github_collectors import eval_collectors
from ghx_bench.scoring.purity_analyzer import PurityAnalyzer
from ghx_bench.scoring.tool_categories import GitHubToolClassifier, resolve_github_command
from ghx_bench.snoop import ProbeAnalyzer, SnoopProvider
from ghx_bench.stages.sandbox_stage import Sandboxes, SandboxPlan
from ghx_profiler.agents.agent_threads import ThreadedProvider
from ghx_profiler.agents.processes.sandbox import Ring, require_sandbox
from ghx_profiler.analyzers import (
    MeteringAnalyzer,
    ModelReplayAnalyzer,
    RefusedHostsAnalyzer,
    inline_analyzers,
)
from ghx_profiler.contracts import Analyzer, Executor, Lifecycle, SessionProvider
from ghx_profiler.errors import NotPicklableError
from ghx_profiler.events import Observer
from ghx_profiler.evidence import Mode
from ghx_profiler.plan.blocks import WHOLE, Share
from ghx_profiler.plan.selection import select_scenarios
from ghx_profiler.runner.instruments import Instruments, Setup, TakeTurn, no_limit
from ghx_profiler.scenario import ScenarioSets
from ghx_profiler.suite import SuitePlan, SuiteResult, executor_of, matrix_of, run_planned, sends_spec

COMMON_ENVIRONMENT: Mapping[str, str] = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TERM": "dumb", "TZ": "UTC"}
"""What every session starts from; nothing of the user's own that could make two machines differ."""


class MissingSolutionError(InputError):
    """The reference agent has no solution to follow."""

    code = "MISSING_SOLUTION"


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
            most_workers=_most_workers(self.spec.config),
            resume=resume,
            accept_changes=accept_changes,
            started_in=self.spec.project,
            ingredients=partial(_find_ingredients, self.spec),
            environment=await anyio.to_thread.run_sync(circumstances_of, self.spec.project),
        )

    def _require_sendable_agents(self) -> None:
        for entry in self.spec.config.chosen_agents:
            if entry.id.startswith("__main__:"):
                raise NotPicklableError(
                    f"agent {entry.id}: is defined in the script that was started, and workers are other processes; "
                    "name its file or module"
                )


def _find_ingredients(spec: EvaluationSpec, setup: Setup[EvalScenario]) -> Mapping[str, str]:
    return ingredients_of(
        spec.config,
        project=spec.project,
        agents=dict(zip(setup.instruments.providers, agent_entries(spec.config), strict=True)),
        scenarios=spec.scenarios,
        fixtures=spec.fixtures,
        solutions=spec.solutions,
        definitions=Definitions(spec.modes),
        modes=setup.modes,
    )


@asynccontextmanager
async def assemble(
    catalogue: Catalogue, *, environ: Mapping[str, str], project: Path, executor: Executor | None = None
) -> AsyncGenerator[Evaluation]:
    """Put together the run that a catalogue's configuration asks for; the modes' folders live as long as the block.

    `project` is the folder that paths of the configuration start from; the run may be resumed from another.
    """
    config = catalogue.config
    if config.execution.shard is not None and config.target == "github":
        raise InputError(
            "--shard: the cells of a run on github.com share a repository and take turns there, which shards cannot; "
            "run it as a whole"
        )
    scenarios = await select_scenarios(config.scenarios, catalogue.load, _sets_for(catalogue))
    is_referred = any(entry.id in SOLUTION_FOLLOWERS for entry in config.chosen_agents)
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
            executor=executor or executor_of(config.execution),
        )


@asynccontextmanager
async def open_setup(spec: EvaluationSpec, *, environ: Mapping[str, str]) -> AsyncGenerator[Setup[EvalScenario]]:
    """Hold the instruments and modes that a spec describes; the current folder is the project's."""
    config = spec.config
    if config.target != "twin" and any(entry.id == SnoopProvider.name for entry in config.chosen_agents):
        raise InputError("the agent prying pushes what GitHub should refuse; run it on the embedded GitHub only")
    if config.sandbox == "bwrap":
        await _require_isolation(config, spec.project)
    async with open_modes(spec.modes, environ=environ) as modes, AsyncExitStack() as threads:
        lifecycle, take_turn = _choose_stage(spec, environ, modes.lend)
        providers = make_agents(spec, environ)
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
async def open_setup_elsewhere(spec: EvaluationSpec, share: Share = WHOLE) -> AsyncGenerator[Setup[EvalScenario]]:
    """Hold the same in a worker that is a process of its own: in the project's folder, and with its own environment.

    Of what all workers together may ask of a model service, it asks for its share.
    """
    if not spec.project.is_dir():
        raise InputError(f"{spec.project}: the folder of the run's project is not here, where cells are to be measured")
    limits = {name: share.of(limit) for name, limit in spec.config.model_service if limit is not None}
    service = spec.config.model_service.model_copy(update=limits)
    spec = replace(spec, config=spec.config.model_copy(update={"model_service": service}))
    with chdir(spec.project):
        async with open_setup(spec, environ=os.environ) as setup:
            yield setup


def _most_workers(config: EvalConfig) -> int | None:
    """Return on how many machines a run may be measured: on github.com one, and elsewhere each has to have a share."""
    if config.target == "github":
        return 1
    return min((limit for _, limit in config.model_service if limit is not None), default=None)


def _choose_analyzers(config: EvalConfig, agents: Mapping[str, SessionProvider]) -> tuple[Analyzer[EvalScenario], ...]:
    """Return what looks at the sessions of a run, with what is found out about some agents alone."""
    replaying = () if config.model_traffic.replay is None else (ModelReplayAnalyzer(),)
    probe_analyzers = (ProbeAnalyzer(),) if any(isinstance(each, SnoopProvider) for each in agents.values()) else ()
    always = (*inline_analyzers(resolve_github_command), MeteringAnalyzer(), RefusedHostsAnalyzer())
    return *always, *replaying, ExpectationAnalyzer(), PurityAnalyzer(), *probe_analyzers


def _sets_for(catalogue: Catalogue) -> ScenarioSets | None:
    """Return the sets; where scenarios are named, only if a set is too, since nothing else may be in the way."""
    choice = catalogue.config.scenarios
    if not choice.ids:
        return catalogue.sets
    return None if choice.set is None else catalogue.written_sets


def _choose_stage(
    spec: EvaluationSpec, environ: Mapping[str, str], lend_programs: LendPrograms
) -> tuple[Lifecycle[EvalScenario], TakeTurn]:
    """Return what prepares the GitHub that agents work on, and what lets as many of them work there as get along."""
    # Imported here: the emulator and its seeds are more than a third of all that a run loads, and github.com
    # needs none of it.
    fixtures = spec.config.fixtures
    if spec.config.target == "github":
        from ghx_bench.stages.github_stage import LiveLifecycle  # noqa: PLC0415 - see above

        live = LiveLifecycle(fixtures, spec.scenarios, spec.fixtures, environ, lend_programs=lend_programs)
        return live, live.turn
    from ghx_bench.stages.twin_stage import TwinLifecycle  # noqa: PLC0415 - see above

    hosts = spec.config.reachable_hosts
    sandboxes = _sandboxes_for(spec) if spec.config.sandbox == "bwrap" else None
    twin = TwinLifecycle(
        fixtures.repo,
        spec.scenarios,
        spec.fixtures,
        reachable_hosts=hosts,
        sandboxes=sandboxes,
        keep_worlds=spec.config.output.keep_worlds,
        lend_programs=lend_programs,
    )
    return twin, no_limit


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


def _require_solutions(spec: EvaluationSpec, catalogue: Catalogue) -> None:
    """Refuse a run of the reference agent in which a cell has nothing to follow."""
    find = solutions_in(spec)
    for scenario in spec.scenarios:
        without = [mode for mode in spec.config.modes if find(scenario.id, mode) is None]
        if without:
            raise MissingSolutionError(
                f"{catalogue.solution_path(scenario.id)}: the reference agent finds no solution for "
                f"{'mode' if len(without) == 1 else 'modes'} {', '.join(without)}; write one there, leave the mode out "
                "with --mode, or run another agent with --agent"
            )
