"""The head of a run: it has cells measured, is the only writer of the run directory, and informs observers."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Generic, assert_never

import anyio

from ghx_base.errors import OperationError, ungrouped
from ghx_base.garbage import without_collecting_loaded
from ghx_profiler.config import ProfileConfig
from ghx_profiler.contracts import Executor, Workers
from ghx_profiler.errors import CanaryError
from ghx_profiler.events import (
    ArmProgress,
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
from ghx_profiler.machine import unique_name
from ghx_profiler.plan.blocks import CellFiles, CellInterrupted, CellMeasured, Message, PlacedCell, blocks_of
from ghx_profiler.plan.cell import Arm, Cell, Matrix
from ghx_profiler.records.causes import RunBudgetError, error_code
from ghx_profiler.records.row import Incident
from ghx_profiler.runner.instruments import Setup
from ghx_profiler.runner.worker import RunSpec
from ghx_profiler.scenario import S
from ghx_profiler.store.record import Interruption, RunStatus
from ghx_profiler.store.run_store import RunStore


@dataclass(slots=True, kw_only=True)
class Head(Generic[S]):
    """A run whose plan is checked and whose store is open."""

    config: ProfileConfig
    matrix: Matrix
    scenarios: Mapping[str, S]
    spec: RunSpec[S]
    setup: Setup[S]
    observers: Sequence[Observer]
    executor: Executor
    store: RunStore
    _interrupted: list[CellInterrupted] = field(default_factory=list[CellInterrupted])
    _incidents: list[Incident] = field(default_factory=list[Incident])
    stopped_by: str | None = None
    """Which limit of the run's budget is reached, in words; no cell is started then."""

    def _progress_of(self, arm: Arm) -> ArmProgress:
        agent, model, counts = arm.agent or "", arm.model or "", self.store.verdict_counts
        return ArmProgress(
            agent=agent,
            model=model,
            mode=arm.mode,
            name=str(self.store.record.arm_of(agent, model, arm.mode)),
            ok=counts[arm, True],
            wrong=counts[arm, False],
            failed=counts[arm, None],
        )

    async def run(self) -> None:
        """Run to the end, and write down how it ended."""
        # Before slow steps: after an interruption the user needs to know the directory.
        self._emit(
            RunStarted(
                at=self.setup.instruments.clock.now(),
                run_id=self.store.record.run_id,
                directory=self.store.directory.path,
                matrix=self.matrix,
                provider=self.store.record.provider,
                max_concurrency=self.config.execution.max_concurrency,
                done=len(self.store.done),
                arms=tuple(map(self._progress_of, self.matrix.arms)),
            )
        )
        try:
            # An executor elsewhere cannot refuse a single cell: there, what is refused stops the run.
            with suppress(RunBudgetError), ungrouped():
                # A shard may have no block at all: then there is nothing to start servers for.
                if len(self.matrix):
                    async with self.executor.open(self.spec, self._receive) as workers:
                        with without_collecting_loaded():
                            await self._run_cells(workers)
            # After the last append nothing else would notice a missing file of rows.
            self.store.rows.require_in_place()
        except anyio.get_cancelled_exc_class():
            self._finish("interrupted")
            raise
        except BaseException:
            self._finish("failed")
            raise
        left = len(self.matrix) - len(self.store.done)
        if left and self.stopped_by is not None:
            message = f"{self.stopped_by}: {left} of {len(self.matrix)} cells were not measured"
            self._note(Incident(where="budget", code=RunBudgetError.code, message=message))
            self._finish("interrupted")
            return
        # An executor that leaves cells undone, or a scope that swallows why, must not make a run complete.
        self._finish("failed" if left else "complete")

    async def _run_cells(self, workers: Workers) -> None:
        placed = self.matrix.placed()
        left = [PlacedCell(cell=cell, start_order=place) for place, cell in placed if cell not in self.store.done]
        scenarios = {scenario_id: scenario.to_wire() for scenario_id, scenario in self.scenarios.items()}
        if self.config.execution.warmup:
            # One after the other: after the first failure the others must not cost anything.
            for canary in self._canaries([placed.cell for placed in left]):
                await workers.run(blocks_of([PlacedCell(cell=canary, start_order=0)], scenarios))
        await workers.run(blocks_of(left, scenarios))

    def _canaries(self, left: Sequence[Cell]) -> Iterator[Cell]:
        """Yield a warm-up for each agent in each mode that has cells left: the first of them, measured for nothing."""
        first = {(cell.agent, cell.mode): cell for cell in reversed(left)}
        for each in product(self.matrix.agents, self.matrix.modes):
            if each in first:
                yield replace(first[each], iteration=0, is_canary=True)

    async def _receive(self, message: Message) -> None:
        """Process a message of a worker; a result is on disk when this returns."""
        match message:
            case CellStarted() if (spent := self._find_excess()) is not None:
                raise RunBudgetError(spent)
            case CellStarted(at=at, cell=cell) if cell.is_canary:
                self._emit(CanaryStarted(at=at, cell=cell))
            case CellStarted() | CellRetried():
                self._emit(message)
            case CellMeasured(cell=cell) if cell.is_canary:
                self.store.spend.add(message.files.row.attempts)
                self.store.keep_files(message.files.others)
                self._judge_canary(message)
            case CellMeasured(cell=cell) if cell in self.store.done:
                pass  # a machine that was given up as lost is late: the first row counts
            case CellMeasured(cell=cell):
                files = self._record_machine(message)
                # First on disk, then to observers: an observer's "done" must be true after a crash.
                await self.store.add(files)
                self.store.log_error(files.row, cell)
                self._record_units(message.metric_units)
                self._emit(CellFinished(at=self.setup.instruments.clock.now(), cell=cell, row=files.row))
            case CellInterrupted():
                self._interrupted.append(message)
                self.store.spend.add(message.attempts)
                self.stopped_by = self.stopped_by or message.stopped_by
            case Incident():
                self._note(message)
            case _:
                assert_never(message)

    def _find_excess(self) -> str | None:
        self.stopped_by = self.stopped_by or self.store.spend.find_excess(self.config.budget.run)
        return self.stopped_by

    def _record_machine(self, measured: CellMeasured) -> CellFiles:
        """Keep in `run.json`, before the first row of a machine, what that machine is; return the files of the cell.

        A run may be resumed elsewhere, on a machine of the same name: its rows then have another machine.
        """
        files, machine, known = measured.files, measured.machine, self.store.record.machines
        if files.row.machine is None or machine is None:
            return files
        name = unique_name(files.row.machine, machine, known)
        if name not in known:
            self.store.update(machines={**known, name: machine})
        if name == files.row.machine:
            return files
        return replace(files, row=files.row.model_copy(update={"machine": name}))

    def _record_units(self, units: Mapping[str, str]) -> None:
        """Keep in `run.json`, once for a run and not on each row, what collectors measure their metrics in."""
        known = self.store.record.metric_units
        if not units.keys() <= known.keys():
            self.store.update(metric_units={**units, **known})

    def _judge_canary(self, canary: CellMeasured) -> None:
        """Refuse to go on after a warm-up that could not be measured; a wrong answer is fine."""
        cell, row = canary.cell, canary.files.row
        if not canary.was_scored:
            self.store.log_error(row, cell)
            who = f"agent {cell.agent!r} in " if len(self.matrix.agents) > 1 else ""
            raise CanaryError(
                f"the warm-up of {who}mode {cell.mode!r} with scenario {cell.scenario_id!r} could not be measured, "
                f"no cell was started: {row.attempts[-1].error} ({row.cause}){self._keep_canary(canary)}"
                f"{'' if row.traceback is None else f'; its traceback: {self.store.directory.error_log}'}"
            )
        self._emit(CanaryFinished(at=self.setup.instruments.clock.now(), cell=cell, cost_usd=row.spent_usd))

    def _keep_canary(self, canary: CellMeasured) -> str:
        """Keep the session of a warm-up that failed, though nothing else of it, and return where it is, in words."""
        if canary.files.trace is None:
            return ""
        try:
            self.store.keep_session(canary.cell, canary.files.trace)
        except OperationError as error:
            return f"; its session could not be kept: {error}"
        return f"; its session: {self.store.directory.session(canary.cell)}"

    def _finish(self, status: RunStatus) -> None:
        """Write down how the run ended; if even that fails, resuming still finds every row."""
        spent = [
            Interruption(cell=str(each.cell.path), attempts=each.attempts)
            for each in self._interrupted
            if each.attempts
        ]
        with suppress(OperationError):
            self.store.update(
                status=status,
                interruptions=(*self.store.record.interruptions, *spent),
                problems=(*self.store.record.problems, *self._incidents),
            )
        for each in self._interrupted:
            if each.trace is not None and not each.cell.is_canary:
                with suppress(OperationError):
                    self.store.keep_session(each.cell, each.trace)
        self._emit(
            RunFinished(
                at=self.setup.instruments.clock.now(),
                run_id=self.store.record.run_id,
                directory=self.store.directory.path,
                status=status,
                measured=self.store.measured,
                failed=len(self.store.done) - self.store.measured,
            )
        )

    def _emit(self, event: Event) -> None:
        for observer in self.observers:
            try:
                observer(event)
            except Exception as error:  # noqa: BLE001 - plugin call: a broken display must not cost the run
                where = f"observer {getattr(observer, '__qualname__', type(observer).__name__)}"
                self._note(Incident(where=where, code=error_code(error), message=self.setup.describe(error)))

    def _note(self, incident: Incident) -> None:
        # Once: an observer that is broken is so at every event.
        if incident not in self._incidents:
            self._incidents.append(incident)
