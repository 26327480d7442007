"""A run on its way: scopes, canaries, cells, and how it ended."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic

import anyio
import anyio.lowlevel
from anyio import to_thread

from ghx_bench._base.errors import InputError, OperationError
from ghx_bench.profiler.analysis import SessionAnalysisBundle
from ghx_bench.profiler.causes import describe_error, error_code
from ghx_bench.profiler.cell import Cell, Matrix
from ghx_bench.profiler.config import ProfileConfig
from ghx_bench.profiler.contracts import Executor
from ghx_bench.profiler.errors import CanaryError, ScopeError
from ghx_bench.profiler.events import (
    CanaryFinished,
    CanaryStarted,
    CellFinished,
    CellRetried,
    CellStarted,
    Event,
    Observer,
    RunFinished,
    RunStarted,
)
from ghx_bench.profiler.evidence import Mode
from ghx_bench.profiler.outcome import Failed, Outcome, RowContext, row_of
from ghx_bench.profiler.row import Incident
from ghx_bench.profiler.runner.deadlines import allow
from ghx_bench.profiler.runner.instruments import Instruments
from ghx_bench.profiler.runner.iteration import Task, iterate
from ghx_bench.profiler.runner.pricing import load_prices
from ghx_bench.profiler.runner.redaction import Redaction
from ghx_bench.profiler.scenario import S
from ghx_bench.profiler.store.record import Interruption, RunStatus
from ghx_bench.profiler.store.run import CellFiles, RunStore


class _NotDone(Exception):  # noqa: N818 - never shown: a run that ended by itself has cells left
    """The cells were not run to the end, and nobody said why."""


@dataclass(slots=True, kw_only=True)
class Running(Generic[S]):
    """A run whose plan is checked and whose store is open."""

    config: ProfileConfig
    matrix: Matrix
    scenarios: Mapping[str, S]
    modes: Mapping[str, Mode]
    instruments: Instruments[S]
    observers: Sequence[Observer]
    executor: Executor
    store: RunStore
    _interrupted: list[Task[Any]] = field(default_factory=list[Task[Any]])
    _problems: list[Incident] = field(default_factory=list[Incident])

    async def run(self) -> None:
        """Run to the end, and say on disk how it ended."""
        # Before anything takes time: whoever interrupts the preparations has to know the directory.
        self._tell(
            RunStarted(
                at=self._now(),
                run_id=self.store.record.run_id,
                directory=self.store.directory.path,
                matrix=self.matrix,
                provider=self.instruments.provider.name,
                max_concurrency=self.config.execution.max_concurrency,
                done=len(self.store.done),
            )
        )
        try:
            await self._run_in_scopes()
        except anyio.get_cancelled_exc_class():
            self._finish("interrupted")
            raise
        except BaseException:
            self._finish("failed")
            raise
        self._finish("complete" if len(self.store.done) == len(self.matrix) else "failed")

    async def _run_in_scopes(self) -> None:
        """Run the cells inside the scopes of the run and its modes; a failing clean-up is noted, never raised."""
        failure: BaseException | None = _NotDone()
        with anyio.CancelScope() as scope:
            try:
                async with AsyncExitStack() as scopes:
                    try:
                        await self._enter(scopes)
                        await self._run_cells()
                        failure = None
                    except BaseException as error:
                        failure = error
                        raise
                    finally:
                        allow(scope, self.instruments.limits.cleanup_s, shielded=True)
            except BaseException as error:
                if error is failure:
                    raise
                self._note("run scope", error)
        if scope.cancelled_caught:
            self._note("run scope", TimeoutError("clearing away took longer than it may and was cancelled"))
        if failure is not None:
            # A scope has swallowed it, or raised something else on the way out.
            raise failure

    async def _enter(self, scopes: AsyncExitStack) -> None:
        lifecycle, what = self.instruments.lifecycle, "the run"
        try:
            await scopes.enter_async_context(lifecycle.run(self.store.directory.path))
            for mode in self.modes.values():
                what = f"mode {mode.name!r}"
                await scopes.enter_async_context(lifecycle.mode(mode))
        except InputError:
            raise  # what somebody wrote is wrong: that is told as such, and not as something that went wrong
        except Exception as error:
            raise ScopeError(f"{what} could not be prepared, no cell was started: {self._said(error)}") from error

    async def _run_cells(self) -> None:
        order = {cell: place for place, cell in enumerate(self.matrix.cells())}
        left = [cell for cell in order if cell not in self.store.done]
        await to_thread.run_sync(load_prices, self.matrix.models[0])
        if self.config.execution.warmup:
            await self._warm_up(left)

        async def work(cell: Cell) -> None:
            await self._run_cell(cell, order[cell])

        await self.executor.run(left, work)

    async def _warm_up(self, left: Sequence[Cell]) -> None:
        """Measure the first cell of each mode and throw the result away; a wrong answer is fine, a failure is not."""
        first = {cell.mode: cell for cell in reversed(left)}
        for mode in filter(first.__contains__, self.modes):
            cell = Cell(
                model=first[mode].model, mode=mode, scenario_id=first[mode].scenario_id, iteration=0, is_canary=True
            )
            self._tell(CanaryStarted(at=self._now(), cell=cell))
            task = self._task(cell)
            outcome = await self._iterate(task)
            if isinstance(outcome, Failed):
                raise CanaryError(
                    f"the warm-up of mode {mode!r} with scenario {cell.scenario_id!r} could not be measured, no cell "
                    f"was started: {task.attempts[-1].error} ({outcome.cause}){self._kept_for_looking_at(outcome)}"
                )
            self._tell(CanaryFinished(at=self._now(), cell=cell))

    def _kept_for_looking_at(self, failed: Failed) -> str:
        """Keep the session of a warm-up that failed, though nothing else of it, and say where it is."""
        trace = failed.evidence.trace if failed.evidence and self.config.output.session_export else None
        if trace is None:
            return ""
        try:
            self.store.keep_session(failed.cell, trace)
        except OperationError as error:
            return f"; its session could not be kept: {error}"
        return f"; its session: {self.store.directory.session(failed.cell)}"

    async def _run_cell(self, cell: Cell, start_order: int) -> None:
        self._tell(CellStarted(at=self._now(), cell=cell))
        task = self._task(cell)
        outcome = await self._iterate(task)
        run_id, provider = self.store.record.run_id, self.instruments.provider.name
        context = RowContext(run_id=run_id, provider=provider, start_order=start_order)
        row = row_of(outcome, task.attempts, self._now(), context)
        trace = outcome.evidence.trace if outcome.evidence and self.config.output.session_export else None
        await self.store.add(CellFiles(row=row, trace=trace, analysis=_bundle_of(outcome)))
        self._tell(CellFinished(at=self._now(), cell=cell, row=row))

    def _task(self, cell: Cell) -> Task[S]:
        scenario, mode = self.scenarios[cell.scenario_id], self.modes[cell.mode]
        return Task(cell=cell, scenario=scenario, mode=mode, instruments=self.instruments)

    async def _iterate(self, task: Task[S]) -> Outcome:
        """Measure a cell; if the run is interrupted meanwhile, remember what it had spent."""
        retries = self.config.execution.retries

        def retrying(attempt: int, error: str, pause_s: float) -> None:
            self._tell(CellRetried(at=self._now(), cell=task.cell, attempt=attempt, error=error, pause_s=pause_s))

        try:
            # Agents that never wait would otherwise never let an interruption in.
            await anyio.lowlevel.checkpoint()
            return await iterate(
                task, retries=task.scenario.allowed_retries if retries is None else retries, retrying=retrying
            )
        except anyio.get_cancelled_exc_class():
            self._interrupted.append(task)
            raise

    def _finish(self, status: RunStatus) -> None:
        """Write down how the run ended; if even that fails, resuming still finds every row."""
        cut_off = [(task.cell, task.spent()) for task in self._interrupted]
        spent = [Interruption(cell=str(cell.path), attempts=attempts) for cell, attempts in cut_off if attempts]
        with suppress(OperationError):
            self.store.update(
                status=status,
                interruptions=(*self.store.record.interruptions, *spent),
                problems=(*self.store.record.problems, *self._problems),
            )
        for task in self._interrupted:
            trace = task.conversation.trace if task.conversation else None
            if trace is not None and not task.cell.is_canary and self.config.output.session_export:
                with suppress(OperationError):
                    self.store.keep_session(task.cell, trace)
        self._tell(
            RunFinished(
                at=self._now(),
                run_id=self.store.record.run_id,
                directory=self.store.directory.path,
                status=status,
                measured=self.store.measured,
                failed=len(self.store.done) - self.store.measured,
            )
        )

    def _tell(self, event: Event) -> None:
        for observer in self.observers:
            try:
                observer(event)
            except Exception as error:  # noqa: BLE001 - plugin call: a broken display must not cost the run
                self._note(f"observer {getattr(observer, '__qualname__', type(observer).__name__)}", error)

    def _note(self, where: str, error: BaseException) -> None:
        problem = Incident(where=where, code=error_code(error), message=self._said(error))
        if problem not in self._problems:
            self._problems.append(problem)

    def _said(self, error: BaseException) -> str:
        """Say what went wrong outside any cell, without the secrets of the modes."""
        secrets = (mode.secrets for mode in self.modes.values())
        return Redaction.of(frozenset[str]().union(*secrets)).text(describe_error(error))

    def _now(self) -> datetime:
        return self.instruments.clock.now()


def _bundle_of(outcome: Outcome) -> SessionAnalysisBundle | None:
    if not outcome.analyses or outcome.evidence is None or outcome.evidence.trace is None:
        return None
    return SessionAnalysisBundle(
        session_id=outcome.evidence.trace.session_id,
        scenario_id=outcome.cell.scenario_id,
        mode=outcome.cell.mode,
        model=outcome.cell.model,
        results={result.analyzer: result for result in outcome.analyses},
    )
