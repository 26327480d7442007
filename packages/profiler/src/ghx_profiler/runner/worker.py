"""A worker: the scopes of a run and its modes, and the cells that are measured inside of them."""

import json
import pickle
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic

import anyio
import anyio.lowlevel
from anyio import to_thread

from ghx_base.errors import InputError
from ghx_base.files.scratch import ScratchFolder
from ghx_base.problems import one_line
from ghx_base.wire import JsonObject
from ghx_profiler.contracts import scope_of_run
from ghx_profiler.errors import ClusterError, NotPicklableError, ScopeError
from ghx_profiler.events import CellRetried, CellStarted
from ghx_profiler.machine import MachineRecord, describe_machine, name_machine
from ghx_profiler.plan.blocks import WHOLE, CellFiles, CellInterrupted, CellMeasured, PlacedCell, Receive, Share
from ghx_profiler.plan.cell import NO_MODEL, Cell
from ghx_profiler.records.activity import SessionActivity
from ghx_profiler.records.analysis import SessionAnalysisBundle
from ghx_profiler.records.causes import Cause, RunBudgetError, describe_error, error_code
from ghx_profiler.records.outcome import Completed, Failed, Outcome, RowContext, row_of
from ghx_profiler.records.row import Attempt, Incident
from ghx_profiler.records.trace import SessionTrace
from ghx_profiler.runner.deadlines import Suspensions, set_deadline
from ghx_profiler.runner.instruments import OpenSetup, Setup
from ghx_profiler.runner.iteration import Task, iterate
from ghx_profiler.runner.pricing import load_prices
from ghx_profiler.runner.spend import Spend
from ghx_profiler.scenario import S
from ghx_profiler.session_limits import SessionLimits
from ghx_profiler.store.directory import RunDirectory

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec(Generic[S]):
    """What a worker of a run is built from: a `WorkerSpec`.

    A worker in this process uses what is at hand. Pickled, the spec leaves that behind: a worker elsewhere opens its
    own by `open_elsewhere`, and reads scenarios from their records.
    """

    run_id: str
    directory: Path
    scenario_types: Mapping[str, type[S]]
    """By id: a record is read as the type that the loader gave its scenario."""
    setup: Setup[S] | None = None
    scenarios: Mapping[str, S] = field(default_factory=dict[str, S])
    """At hand as the setup is: the way over its record may leave out what a scenario holds."""
    open_elsewhere: OpenSetup[S] | None = None
    agent_versions: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    provenance_id: str | None = None
    retries: int | None = None
    """Instead of each scenario's own `allowedRetries`."""
    session_limits: SessionLimits = field(default_factory=SessionLimits)
    keeps_sessions: bool = True
    opening_s: float | None = None
    """Instead of the instruments' own limit."""
    most_workers: int | None = None
    spent_before: Spend = field(default_factory=Spend)
    """By the run, which may have been interrupted before."""
    parts: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the run is made of where it was started, by name, with versions and digests."""
    find_parts: Callable[[Setup[S]], Mapping[str, str]] | None = None
    """Finds the same where a worker is."""
    priced_model: str = NO_MODEL
    """A model of the run, whose price is looked up once before time is measured."""

    def __reduce__(self) -> tuple[Callable[[], "RunSpec[S]"], tuple[()]]:
        """Return what unpickles as this spec without what is at hand."""
        if self.open_elsewhere is None:
            raise NotPicklableError("the instruments of this run are objects of this process, and cannot be sent")
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return partial(RunSpec, **{**values, "setup": None, "scenarios": {}}), ()

    @asynccontextmanager
    async def open(
        self, receive: Receive, *, machine: str | None = None, share: Share = WHOLE
    ) -> AsyncGenerator["RunWorker[S]"]:
        """Open a worker inside the scopes of the run and its modes; a failing clean-up is reported, never raised."""
        name = machine or name_machine()
        if self.setup is not None:
            async with self._open_with(self._limit_opening(self.setup), receive, name, self.directory) as worker:
                yield worker
            return
        assert self.open_elsewhere is not None  # noqa: S101 - a spec without it cannot be pickled
        with ScratchFolder() as scratch:
            # The run's directory is another's to write, and may be on another machine: a folder stands in for it.
            here = RunDirectory(scratch / self.directory.name)
            here.path.mkdir()
            here.spent_before.write_text(json.dumps(asdict(self.spent_before)))
            async with self.open_elsewhere(share) as setup:
                await to_thread.run_sync(self._require_same_parts, setup, name)
                async with self._open_with(self._limit_opening(setup), receive, name, here.path) as worker:
                    yield worker

    def _require_same_parts(self, setup: Setup[S], machine: str) -> None:
        """Refuse to measure with other programs, files and code than the run was started with."""
        parts = dict[str, str]() if self.find_parts is None else self.find_parts(setup)
        # Of modules, only those that are loaded are known, and here these are fewer.
        if changed := [name for name, value in self.parts.items() if parts.get(name, value) != value]:
            differences = ", ".join(
                f"{name} {parts[name]} instead of {self.parts[name]}" for name in changed[:_MOST_NAMED]
            )
            raise ClusterError(
                f"machine {machine}: is not made of what the run was started with ({differences}"
                f"{', ...' if len(changed) > _MOST_NAMED else ''}); install the same there"
            )

    def _limit_opening(self, setup: Setup[S]) -> Setup[S]:
        return setup if self.opening_s is None else setup.with_opening_limit(self.opening_s)

    @asynccontextmanager
    async def _open_with(
        self, setup: Setup[S], receive: Receive, machine: str, directory: Path
    ) -> AsyncGenerator["RunWorker[S]"]:
        failure: BaseException | None = None
        with anyio.CancelScope() as scope:
            try:
                async with AsyncExitStack() as scopes:
                    try:
                        await self._enter(scopes, setup, directory)
                        await to_thread.run_sync(load_prices, self.priced_model)
                        suspensions = Suspensions()
                        with suspensions.watch():
                            yield RunWorker(
                                spec=self,
                                setup=setup,
                                receive=receive,
                                suspensions=suspensions,
                                machine=machine,
                                stand_in=None if self.setup is not None else RunDirectory(directory),
                                machine_record=describe_machine(),
                            )
                    except BaseException as error:
                        failure = error
                        raise
                    finally:
                        # Shielded: Ctrl-C must not skip the removal of servers, worlds and fixtures on the real GitHub.
                        set_deadline(scope, setup.instruments.limits.cleanup_s, shielded=True)
            except BaseException as error:
                if error is failure:
                    raise
                await _report_incident(error, setup, receive)
        if scope.cancelled_caught:
            late = TimeoutError("clearing away took longer than it may and was cancelled")
            await _report_incident(late, setup, receive)
        if failure is not None:
            # A scope has swallowed it, or raised something else on the way out.
            raise failure

    async def _enter(self, scopes: AsyncExitStack, setup: Setup[S], directory: Path) -> None:
        lifecycle, what = setup.instruments.lifecycle, "the run"
        try:
            await scopes.enter_async_context(lifecycle.run(directory))
            for name, provider in setup.instruments.providers.items():
                what = f"agent {name!r}"
                await scopes.enter_async_context(scope_of_run(provider, directory))
            for mode in setup.modes.values():
                what = f"mode {mode.name!r}"
                await scopes.enter_async_context(lifecycle.mode(mode))
        except InputError:
            raise  # user input error: reported as one, and not as an incident
        except Exception as error:
            raise ScopeError(f"{what} could not be prepared, no cell was started: {setup.describe(error)}") from error


async def _report_incident(error: BaseException, setup: Setup[Any], receive: Receive) -> None:
    incident = Incident(where="run scope", code=error_code(error), message=setup.describe(error))
    with anyio.CancelScope(shield=True):
        await receive(incident)


def require_picklable(parts: Mapping[str, object]) -> None:
    """Raise `NotPicklableError` with the first of these parts, by their names for people, that cannot be sent."""
    for name, part in parts.items():
        # Pickled by its name, which in another process leads to another script.
        if getattr(part, "__module__", None) == "__main__":
            raise NotPicklableError(f"{name}: is defined in the script that was started; move it into a module")
        try:
            pickle.dumps(part)
        except Exception as error:
            # Plugin call: what a user's own object raises when it is pickled may be anything.
            reason = one_line(describe_error(error))
            raise NotPicklableError(f"{name}: cannot be sent to workers in other processes ({reason})") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWorker(Generic[S]):
    """Measures cells; what it needs of the run is in its spec."""

    spec: RunSpec[S]
    setup: Setup[S]
    receive: Receive
    suspensions: Suspensions
    machine: str
    """What rows call the place where this worker is."""
    machine_record: MachineRecord
    stand_in: RunDirectory | None = None
    """Where instruments write what belongs into the run's directory, if that is elsewhere."""
    _sent: set[Path] = field(default_factory=set[Path])
    _scenarios: dict[str, S] = field(default_factory=dict[str, S])

    async def measure(self, placed: PlacedCell, scenario: JsonObject) -> None:
        """Measure one cell in its turn and report how that went."""
        instruments = self.setup.instruments
        async with instruments.take_turn(placed.cell):
            # While it waited for its turn, the run may have been called off.
            await anyio.lowlevel.checkpoint_if_cancelled()
            try:
                await self.receive(CellStarted(at=instruments.clock.now(), cell=placed.cell))
            except RunBudgetError:
                return  # the cells that run come to their end, and this one is measured when the run is resumed
            mode = self.setup.modes[placed.cell.mode]
            task = Task(
                cell=placed.cell,
                scenario=self._read(scenario),
                mode=mode,
                instruments=instruments,
                suspensions=self.suspensions,
                session_limits=self.spec.session_limits,
                attempts=list(placed.lost_attempts),
            )
            outcome = await self._iterate(task)
            if isinstance(outcome, Failed) and outcome.cause is Cause.RUN_BUDGET:
                spent = describe_error(outcome.error)
                trace = self._file_of(outcome.evidence.trace if outcome.evidence else None)
                attempts = tuple(task.attempts)
                await self.receive(CellInterrupted(cell=task.cell, attempts=attempts, trace=trace, stopped_by=spent))
                return
            measured = self._result_of(outcome, task, placed.start_order)
            # Most runs write nothing there: a thread and three listings for each cell would be for nothing.
            if self.stand_in is not None and self.stand_in.has_folders:
                others = await to_thread.run_sync(self._take_files, self.stand_in, task.cell)
                measured = replace(measured, files=replace(measured.files, others=others))
            await self.receive(measured)

    async def _iterate(self, task: Task[S]) -> Outcome:
        """Measure a cell; if the run is interrupted meanwhile, report what it had spent."""
        retries = task.scenario.allowed_retries if self.spec.retries is None else self.spec.retries

        async def report_retry(attempt: Attempt, pause_s: float) -> None:
            now, error = self.setup.instruments.clock.now(), attempt.error or ""
            await self.receive(
                CellRetried(at=now, cell=task.cell, attempt=attempt.number, error=error, pause_s=pause_s, made=attempt)
            )

        try:
            # Agents that never wait would otherwise never let an interruption in.
            await anyio.lowlevel.checkpoint()
            return await iterate(task, retries=retries, report_retry=report_retry)
        except anyio.get_cancelled_exc_class():
            trace = self._file_of(task.conversation.trace if task.conversation else None)
            with anyio.CancelScope(shield=True):
                await self.receive(CellInterrupted(cell=task.cell, attempts=task.list_attempts(), trace=trace))
            raise

    def _result_of(self, outcome: Outcome, task: Task[S], start_order: int) -> CellMeasured:
        version = self.spec.agent_versions.get(task.cell.agent)
        context = RowContext(
            run_id=self.spec.run_id,
            agent_version=version,
            provenance_id=self.spec.provenance_id,
            start_order=start_order,
            machine=self.machine,
        )
        row = row_of(outcome, task.attempts, self.setup.instruments.clock.now(), context)
        analysis = _bundle_of(outcome)
        files = CellFiles(
            row=row,
            trace=self._file_of(outcome.evidence.trace if outcome.evidence else None),
            analysis=None if analysis is None else analysis.to_bytes(),
            activity=self._file_of(outcome.activity),
        )
        units = {metric.name: metric.unit for metric in outcome.metrics if metric.unit}
        return CellMeasured(
            cell=task.cell,
            files=files,
            was_scored=isinstance(outcome, Completed),
            metric_units=units,
            machine=self.machine_record,
        )

    def _file_of(self, session: SessionTrace | SessionActivity | None) -> bytes | None:
        return session.to_bytes() if session is not None and self.spec.keeps_sessions else None

    def _take_files(self, directory: RunDirectory, cell: Cell) -> Mapping[str, bytes]:
        """Return the files of a cell, which are not kept here, and those of all cells that were not sent yet."""
        paths = [path for path in directory.brought_along(cell) if path not in self._sent]
        content = {path.relative_to(directory.path).as_posix(): path.read_bytes() for path in paths}
        for path in paths:
            if path.stem.partition(".")[0] == cell.path.name:
                path.unlink()
            else:
                self._sent.add(path)
        return content

    def _read(self, record: JsonObject) -> S:
        """Return a scenario, which is validated once and not for each of its cells."""
        key = str(record["id"])
        if key not in self._scenarios:
            at_hand = self.spec.scenarios.get(key)
            self._scenarios[key] = self.spec.scenario_types[key].model_validate(record) if at_hand is None else at_hand
        return self._scenarios[key]


def _bundle_of(outcome: Outcome) -> SessionAnalysisBundle | None:
    if not outcome.analyses or outcome.evidence is None or outcome.evidence.trace is None:
        return None
    bundle = SessionAnalysisBundle(
        session_id=outcome.evidence.trace.session_id,
        scenario_id=outcome.cell.scenario_id,
        mode=outcome.cell.mode,
        model=outcome.cell.model,
        agent=outcome.cell.agent,
        results={result.analyzer: result for result in outcome.analyses},
    )
    return outcome.redaction.record(bundle, keeping=("sessionId", "scenarioId", "mode", "model", "agent"))
