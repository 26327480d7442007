"""A worker: the scopes of a run and its modes, and the cells that are measured inside of them."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic

import anyio
import anyio.lowlevel
from anyio import to_thread

from ghx_bench._base.errors import InputError
from ghx_bench._base.wire import JsonObject
from ghx_bench.profiler.analysis import SessionAnalysisBundle
from ghx_bench.profiler.blocks import CellFiles, CellInterrupted, CellMeasured, PlacedCell, Receive
from ghx_bench.profiler.causes import describe_error, error_code
from ghx_bench.profiler.cell import NO_MODEL
from ghx_bench.profiler.errors import ScopeError
from ghx_bench.profiler.events import CellRetried, CellStarted
from ghx_bench.profiler.evidence import Mode
from ghx_bench.profiler.outcome import Completed, Outcome, RowContext, row_of
from ghx_bench.profiler.row import Incident
from ghx_bench.profiler.runner.deadlines import set_deadline
from ghx_bench.profiler.runner.instruments import Instruments
from ghx_bench.profiler.runner.iteration import Task, iterate
from ghx_bench.profiler.runner.pricing import load_prices
from ghx_bench.profiler.runner.redaction import Redaction
from ghx_bench.profiler.scenario import S


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec(Generic[S]):
    """What a worker of a run is built from: a `WorkerSpec`.

    It can be pickled if `build_instruments` and `read_scenario` can, as functions of a module and partials of them.
    """

    run_id: str
    directory: Path
    modes: Mapping[str, Mode]
    build_instruments: Callable[[], Instruments[S]]
    read_scenario: Callable[[JsonObject], S]
    agent_versions: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    retries: int | None = None
    """Instead of each scenario's own `allowedRetries`."""
    keeps_sessions: bool = True
    priced_model: str = NO_MODEL
    """A model of the run, whose price is looked up once before time is measured."""

    @asynccontextmanager
    async def open(self, receive: Receive) -> AsyncGenerator["RunWorker[S]"]:
        """Hold a worker inside the scopes of the run and its modes; a failing clean-up is told, never raised."""
        instruments = self.build_instruments()
        failure: BaseException | None = None
        with anyio.CancelScope() as scope:
            try:
                async with AsyncExitStack() as scopes:
                    try:
                        await self._enter(scopes, instruments)
                        await to_thread.run_sync(load_prices, self.priced_model)
                        yield RunWorker(spec=self, instruments=instruments, receive=receive)
                    except BaseException as error:
                        failure = error
                        raise
                    finally:
                        # Shielded: Ctrl-C must not skip taking away servers, worlds and fixtures of others' GitHub.
                        set_deadline(scope, instruments.limits.cleanup_s, shielded=True)
            except BaseException as error:
                if error is failure:
                    raise
                await self._report_incident(error, receive)
        if scope.cancelled_caught:
            late = TimeoutError("clearing away took longer than it may and was cancelled")
            await self._report_incident(late, receive)
        if failure is not None:
            # A scope has swallowed it, or raised something else on the way out.
            raise failure

    async def _enter(self, scopes: AsyncExitStack, instruments: Instruments[S]) -> None:
        lifecycle, what = instruments.lifecycle, "the run"
        try:
            await scopes.enter_async_context(lifecycle.run(self.directory))
            for mode in self.modes.values():
                what = f"mode {mode.name!r}"
                await scopes.enter_async_context(lifecycle.mode(mode))
        except InputError:
            raise  # what a user wrote is wrong: that is told as such, and not as something that went wrong
        except Exception as error:
            raise ScopeError(f"{what} could not be prepared, no cell was started: {self.describe(error)}") from error

    async def _report_incident(self, error: BaseException, receive: Receive) -> None:
        incident = Incident(where="run scope", code=error_code(error), message=self.describe(error))
        with anyio.CancelScope(shield=True):
            await receive(incident)

    def describe(self, error: BaseException) -> str:
        """Return what went wrong outside any cell in words, without the secrets of the modes."""
        secrets = (secret for mode in self.modes.values() for secret in mode.secrets)
        return Redaction.of(secrets).text(describe_error(error))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWorker(Generic[S]):
    """Measures cells; what it needs of the run is in its spec."""

    spec: RunSpec[S]
    instruments: Instruments[S]
    receive: Receive
    _scenarios: dict[str, S] = field(default_factory=dict[str, S])

    async def measure(self, placed: PlacedCell, scenario: JsonObject) -> None:
        """Measure one cell in its turn and report how that went."""
        async with self.instruments.take_turn(placed.cell):
            # While it waited for its turn, the run may have been called off.
            await anyio.lowlevel.checkpoint_if_cancelled()
            await self.receive(CellStarted(at=self.instruments.clock.now(), cell=placed.cell))
            mode = self.spec.modes[placed.cell.mode]
            task = Task(cell=placed.cell, scenario=self._read(scenario), mode=mode, instruments=self.instruments)
            outcome = await self._iterate(task)
            await self.receive(self._result_of(outcome, task, placed.start_order))

    async def _iterate(self, task: Task[S]) -> Outcome:
        """Measure a cell; if the run is interrupted meanwhile, report what it had spent."""
        retries = task.scenario.allowed_retries if self.spec.retries is None else self.spec.retries

        async def retrying(attempt: int, error: str, pause_s: float) -> None:
            now = self.instruments.clock.now()
            await self.receive(CellRetried(at=now, cell=task.cell, attempt=attempt, error=error, pause_s=pause_s))

        try:
            # Agents that never wait would otherwise never let an interruption in.
            await anyio.lowlevel.checkpoint()
            return await iterate(task, retries=retries, retrying=retrying)
        except anyio.get_cancelled_exc_class():
            trace = task.conversation.trace if task.conversation and self.spec.keeps_sessions else None
            with anyio.CancelScope(shield=True):
                await self.receive(CellInterrupted(cell=task.cell, attempts=task.spent(), trace=trace))
            raise

    def _result_of(self, outcome: Outcome, task: Task[S], start_order: int) -> CellMeasured:
        version = self.spec.agent_versions.get(task.cell.agent)
        context = RowContext(run_id=self.spec.run_id, agent_version=version, start_order=start_order)
        row = row_of(outcome, task.attempts, self.instruments.clock.now(), context)
        trace = outcome.evidence.trace if outcome.evidence and self.spec.keeps_sessions else None
        files = CellFiles(row=row, trace=trace, analysis=_bundle_of(outcome))
        units = {metric.name: metric.unit for metric in outcome.metrics if metric.unit}
        return CellMeasured(cell=task.cell, files=files, was_scored=isinstance(outcome, Completed), metric_units=units)

    def _read(self, record: JsonObject) -> S:
        """Return a scenario, which is validated once and not for each of its cells."""
        key = str(record["id"])
        if key not in self._scenarios:
            self._scenarios[key] = self.spec.read_scenario(record)
        return self._scenarios[key]


def _bundle_of(outcome: Outcome) -> SessionAnalysisBundle | None:
    if not outcome.analyses or outcome.evidence is None or outcome.evidence.trace is None:
        return None
    return SessionAnalysisBundle(
        session_id=outcome.evidence.trace.session_id,
        scenario_id=outcome.cell.scenario_id,
        mode=outcome.cell.mode,
        model=outcome.cell.model,
        agent=outcome.cell.agent,
        results={result.analyzer: result for result in outcome.analyses},
    )
