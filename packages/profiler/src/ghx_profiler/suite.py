"""The whole run: every cell of the matrix, measured once, its row on disk, come what may."""

import hashlib
import secrets
import sys
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, cast, get_args

from pydantic import JsonValue
from pydantic_core import to_json, to_jsonable_python

from ghx_base.clock import timestamp
from ghx_base.errors import ungrouped
from ghx_profiler.config import Execution, ProfileConfig
from ghx_profiler.contracts import Executor, ModeResolver, SessionProvider
from ghx_profiler.control_kinds import ControlKind
from ghx_profiler.errors import BadMatrixError, NotPicklableError, UnknownNameError
from ghx_profiler.events import Observer
from ghx_profiler.evidence import Mode
from ghx_profiler.executors import LocalExecutor, RayExecutor
from ghx_profiler.executors.ray_cluster import require_cluster
from ghx_profiler.machine import versions_here
from ghx_profiler.plan.blocks import Share
from ghx_profiler.plan.cell import Matrix
from ghx_profiler.plan.selection import select_scenarios
from ghx_profiler.plan.shards import Shard
from ghx_profiler.runner.head import Head
from ghx_profiler.runner.instruments import Instruments, OpenSetup, Setup
from ghx_profiler.runner.redaction import Redaction
from ghx_profiler.runner.worker import RunSpec, require_picklable
from ghx_profiler.scenario import S, ScenarioLoader, ScenarioSets
from ghx_profiler.store.provenance import ProvenanceRecord, code_of, make_provenance
from ghx_profiler.store.record import AgentRecord, MatrixRecord, ModeDetails, RunRecord, host_here
from ghx_profiler.store.run_store import RunStore, create_run, resume_run


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteResult:
    """What a run came to; the rows are in its directory."""

    run_id: str
    directory: Path
    total: int
    measured: int
    left: int = 0
    """How many cells were not started, or not finished, because the run has spent what it may."""
    stopped_by: str | None = None
    """Which limit of its budget the run has reached, in words."""

    @property
    def failed(self) -> int:
        """How many cells could not be measured."""
        return self.total - self.measured - self.left


@dataclass(frozen=True, slots=True, kw_only=True)
class SuitePlan(Generic[S]):
    """A run that was checked as far as that goes without running it; what was loaded for that is not loaded again."""

    config: ProfileConfig
    scenarios: Mapping[str, S]
    modes: Mapping[str, Mode]
    matrix: Matrix


async def run_profile_suite(
    config: ProfileConfig,
    *,
    loader: ScenarioLoader[S],
    modes: ModeResolver,
    instruments: Instruments[S],
    sets: ScenarioSets | None = None,
    observers: Sequence[Observer] = (),
    executor: Executor | None = None,
    build_instruments: Callable[[], Instruments[S]] | None = None,
    resume: Path | None = None,
    accept_changes: bool = False,
    run_id: str | None = None,
) -> SuiteResult:
    """Measure every scenario in every mode with every agent and model, and write one durable row for each.

    1. Everything a user may have got wrong is checked before a directory is made: the selection of scenarios (the
       loader is called once), the modes, the matrix.
    2. The run directory is made, or with `resume` taken up, and locked. The plan is in `run.json` before any cell.
    3. The run's and the modes' scopes are entered; if that fails, no cell is started.
    4. One canary per agent and mode is measured and thrown away; if one cannot be measured, no cell is started.
    5. The executor runs the cells that have no row yet; each ends with its row on disk, however it went.

    An executor whose workers are other processes needs `build_instruments`, which can be pickled (a function of a
    module will do) and makes there what `instruments` is here.

    Cancelling this call (Ctrl-C does) stops starting cells, cancels those that run, keeps what they spent, marks the
    run as interrupted, and lets the cancellation go on; the same call with `resume` runs the rest. Agents, scenarios
    and modes have to be what they were, unless `accept_changes` allows others.
    """
    agents = choose_agents(config, tuple(instruments.providers))
    plan = await plan_suite(config, loader=loader, modes=modes, sets=sets, agents=agents)
    executor = executor or executor_of(config.execution)
    if build_instruments is not None and sends_spec(executor):
        named_modes = {f"mode {name!r}": mode for name, mode in plan.modes.items()}
        require_picklable({"build_instruments": build_instruments, **named_modes})
    return await run_planned(
        plan,
        instruments=instruments,
        observers=observers,
        executor=executor,
        open_elsewhere=None if build_instruments is None else partial(_open_built, build_instruments, plan.modes),
        resume=resume,
        accept_changes=accept_changes,
        run_id=run_id,
    )


def choose_agents(config: ProfileConfig, known: Sequence[str]) -> tuple[str, ...]:
    """Return the agents that a configuration chooses among those there are; all of them unless it names some."""
    for entry in config.agents:
        if entry.id not in known:
            raise UnknownNameError("agent", entry.id, known=known)
        if entry.name is not None or entry.options:
            raise BadMatrixError(
                f"agent {entry.id!r}: its name and its options are in the code that makes it; leave them out here"
            )
    return tuple(entry.id for entry in config.agents) or tuple(known)


async def plan_suite(
    config: ProfileConfig,
    *,
    loader: ScenarioLoader[S],
    modes: ModeResolver,
    agents: Sequence[str],
    sets: ScenarioSets | None = None,
) -> SuitePlan[S]:
    """Check everything that is checked before a run makes its directory: the first step of `run_profile_suite`.

    `agents` are the names of those that are measured.
    """
    scenarios = {each.id: each for each in await select_scenarios(config.scenarios, loader, sets)}
    matrix = matrix_of(config, scenario_ids=tuple(scenarios), agents=agents)
    resolved = {name: await modes.resolve(name) for name in config.modes}
    return SuitePlan(config=config, scenarios=scenarios, modes=resolved, matrix=matrix)


def matrix_of(config: ProfileConfig, *, scenario_ids: Sequence[str], agents: Sequence[str]) -> Matrix:
    """Return the cells that a configuration asks for of these scenarios and agents."""
    return Matrix(
        agents=tuple(agents),
        models=config.model_ids,
        modes=config.modes,
        scenario_ids=tuple(scenario_ids),
        repetitions=config.execution.repetitions,
        order=config.execution.order,
        seed=config.execution.seed,
        shard=None if config.execution.shard is None else Shard.parse(config.execution.shard),
    )


async def run_planned(
    plan: SuitePlan[S],
    *,
    instruments: Instruments[S],
    observers: Sequence[Observer] = (),
    executor: Executor | None = None,
    open_elsewhere: OpenSetup[S] | None = None,
    resume: Path | None = None,
    accept_changes: bool = False,
    run_id: str | None = None,
    most_workers: int | None = None,
    started_in: Path | None = None,
    ingredients: Callable[[Setup[S]], Mapping[str, str]] | None = None,
    environment: Mapping[str, JsonValue] | None = None,
) -> SuiteResult:
    """Run what was planned: all further steps of `run_profile_suite`.

    `open_elsewhere` opens in another process what the instruments and the modes of the plan are here; an executor may
    do that in up to `most_workers` processes. `started_in` is
    kept in `run.json`: the folder that paths of the configuration start from. So is what `ingredients` finds, which the
    caller knows to affect results in addition to scenarios, modes and the agents' code, by name with a version or a
    digest: resuming refuses others unless `accept_changes` is set, and so do workers elsewhere, where it is called as
    well; and
    `environment`, which may change.
    """
    config, matrix = plan.config, plan.matrix
    executor = executor or executor_of(config.execution)
    if sends_spec(executor):
        _require_sendable(plan, open_elsewhere)
    record = _record_of(plan, instruments=instruments, run_id=run_id, started_in=started_in)
    setup = Setup(instruments=instruments, modes=plan.modes)
    find_parts = partial(_find_parts, agents=matrix.agents, started_in=started_in, ingredients=ingredients)
    parts = find_parts(setup)
    provenance = _provenance_of(record, config, parts, environment or {})
    place = None if started_in is None else str(started_in)
    record = record.model_copy(update={"started_in": place, "provenance": (provenance,)})
    if resume is None:
        opening = create_run(config.output.results_dir, record)
    else:
        opening = resume_run(resume, record, frozenset(matrix.cells()), accept_changes=accept_changes)
    with opening as store, ungrouped():
        head = Head(
            config=config,
            matrix=matrix,
            scenarios=plan.scenarios,
            spec=replace(
                _spec_of(plan, store, setup, open_elsewhere, most_workers), parts=parts, find_parts=find_parts
            ),
            setup=setup,
            observers=observers,
            executor=executor,
            store=store,
        )
        await head.run()
        left = len(matrix) - len(store.done)
        return SuiteResult(
            run_id=store.record.run_id,
            directory=store.directory.path,
            total=len(matrix),
            measured=store.measured,
            left=left if head.stopped_by is not None else 0,
            stopped_by=head.stopped_by if left else None,
        )


def _find_parts(
    setup: Setup[S],
    *,
    agents: Sequence[str],
    started_in: Path | None,
    ingredients: Callable[[Setup[S]], Mapping[str, str]] | None,
) -> dict[str, str]:
    """Return what a run is made of here, by name: the code of its agents, and the ingredients that its caller knows."""
    providers = setup.instruments.providers
    code = {f"agent {name}: {what}": value for name in agents for what, value in code_of(providers[name], started_in)}
    return {**code, **({} if ingredients is None else ingredients(setup))}


def executor_of(execution: Execution) -> Executor:
    """Return the executor of a configuration; raise before the run is created if it is unavailable."""
    address = execution.ray_address
    if execution.executor == "local" or (execution.executor is None and address is None):
        return LocalExecutor(execution.max_concurrency)
    require_cluster(address)
    return RayExecutor(max_concurrency=execution.max_concurrency, address=address)


def sends_spec(executor: Executor | None) -> bool:
    """Return whether an executor sends its spec to other processes, so that everything in it has to be picklable."""
    return bool(getattr(executor, "sends_spec", False))


def _require_sendable(plan: SuitePlan[Any], open_elsewhere: OpenSetup[Any] | None) -> None:
    """Refuse a run whose workers are other processes, if what they are built from cannot be sent to them."""
    if open_elsewhere is None:
        agents = ", ".join(map(repr, plan.matrix.agents))
        raise NotPicklableError(
            f"agent {agents}: is an object of this process, and the workers of this executor are others; pass "
            "`build_instruments`, a function of a module that makes it there"
        )
    types = {name: cast("type[object]", type(each)) for name, each in plan.scenarios.items()}
    scenarios = {f"scenario {name!r} (a {each.__name__})": each for name, each in types.items()}
    require_picklable({**scenarios, "the instruments": open_elsewhere})


@asynccontextmanager
async def _open_built(
    build: Callable[[], Instruments[S]],
    modes: Mapping[str, Mode],
    share: Share,  # noqa: ARG001 - a profile has no limits that are shared
) -> AsyncGenerator[Setup[S]]:
    yield Setup(instruments=build(), modes=modes)


def _spec_of(
    plan: SuitePlan[S],
    store: RunStore,
    setup: Setup[S],
    open_elsewhere: OpenSetup[S] | None,
    most_workers: int | None,
) -> RunSpec[S]:
    """Return what workers are built from: here, from what is at hand."""
    return RunSpec(
        run_id=store.record.run_id,
        directory=store.directory.path,
        scenario_types={scenario_id: type(scenario) for scenario_id, scenario in plan.scenarios.items()},
        setup=setup,
        scenarios=plan.scenarios,
        open_elsewhere=open_elsewhere,
        agent_versions={agent.name: agent.version for agent in store.record.agents},
        provenance_id=store.record.provenance[-1].id if store.record.provenance else None,
        retries=plan.config.execution.retries,
        session_limits=plan.config.limits,
        keeps_sessions=plan.config.output.session_export,
        opening_s=plan.config.execution.open_timeout_s,
        most_workers=most_workers,
        spent_before=store.spend.copy(),
        priced_model=plan.matrix.models[0],
    )


def _record_of(
    plan: SuitePlan[Any], *, instruments: Instruments[Any], run_id: str | None, started_in: Path | None
) -> RunRecord:
    """Freeze the plan: what is to be run, and how it will be judged."""
    now = timestamp(instruments.clock.now())
    moment = "".join(filter(str.isalnum, now[:19]))
    shard = plan.matrix.shard
    part = "" if shard is None else f"_{shard.number}of{shard.count}"
    return RunRecord(
        run_id=run_id or f"run_{moment}_{secrets.token_hex(3)}{part}",
        created_at=now,
        provider=", ".join(plan.matrix.agents),
        agents=tuple(_agent_record(name, instruments.providers[name]) for name in plan.matrix.agents),
        matrix=MatrixRecord.of(plan.matrix),
        analysis=plan.config.analysis.model_dump(mode="json"),
        config=plan.config.model_dump(mode="json"),
        scenarios=tuple(scenario.to_wire() for scenario in plan.scenarios.values()),
        modes={name: _fingerprint(mode, started_in) for name, mode in plan.modes.items()},
        mode_details={name: _details(mode, instruments.secrets_of(mode)) for name, mode in plan.modes.items()},
        versions=versions_here(),
        host=host_here(),
    )


def _provenance_of(
    record: RunRecord, config: ProfileConfig, ingredients: Mapping[str, str], environment: Mapping[str, JsonValue]
) -> ProvenanceRecord:
    """Return the provenance of a run, as far as it is not in its own record."""
    here: dict[str, JsonValue] = {
        "versions": dict(record.versions),
        "host": dict(record.host),
        "maxConcurrency": config.execution.max_concurrency,
    }
    return make_provenance(
        record.created_at,
        {"ghx-bench": record.versions["ghxBench"], **ingredients},
        {**here, **environment},
    )


def control_kind_of(name: str, provider: SessionProvider) -> ControlKind | None:
    """Return what an agent does if it is a control; raise for a kind that there is not."""
    kind: object = getattr(provider, "control_kind", None)
    if kind not in (None, *get_args(ControlKind)):
        raise BadMatrixError(
            f"agent {name!r}: its control_kind is {kind!r}; leave it out, or use one of "
            f"{', '.join(get_args(ControlKind))}"
        )
    return cast("ControlKind | None", kind)


def control_names(providers: Mapping[str, SessionProvider]) -> set[str]:
    """Return which of these agents are controls."""
    return {name for name, provider in providers.items() if control_kind_of(name, provider) is not None}


def _agent_record(name: str, provider: SessionProvider) -> AgentRecord:
    version: object = getattr(provider, "version", None)
    return AgentRecord(
        name=name,
        version=None if version is None else str(version),
        control_kind=control_kind_of(name, provider),
    )


def _fingerprint(mode: Mode, project: Path | None) -> str:
    """Return what is the same as long as a mode is; its environment, with tokens and folders, may differ."""
    content = to_json([mode.instructions, dict(mode.settings)], fallback=str)
    # Tools and servers are named by whole paths: a project that was moved or cloned has the same modes, and so has one
    # whose Python is in another folder on another machine. Their versions are recorded elsewhere.
    if sys.prefix != sys.base_prefix:
        content = content.replace(to_json(sys.prefix)[1:-1], b"PYTHON")
    if project is not None:
        content = content.replace(to_json(str(project))[1:-1], b".")
    return hashlib.sha256(content).hexdigest()[:16]


def _details(mode: Mode, secrets: Iterable[str]) -> ModeDetails:
    # As on rows: values that are not JSON are written as text.
    details = ModeDetails(instructions=mode.instructions, facts=to_jsonable_python(dict(mode.facts), fallback=str))
    return Redaction.of(secrets).record(details)
