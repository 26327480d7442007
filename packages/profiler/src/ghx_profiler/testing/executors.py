"""The rules of `Executor`, to be run against any implementation."""

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import product

import anyio

from ghx_base.clock import timestamp
from ghx_base.wire import JsonObject
from ghx_profiler.contracts import Executor
from ghx_profiler.errors import ScopeError
from ghx_profiler.events import CellStarted
from ghx_profiler.machine import name_machine
from ghx_profiler.plan.blocks import (
    WHOLE,
    Block,
    CellFiles,
    CellInterrupted,
    CellMeasured,
    Message,
    PlacedCell,
    Receive,
    Share,
    blocks_of,
)
from ghx_profiler.plan.cell import Cell
from ghx_profiler.records.metrics import CustomMetric
from ghx_profiler.records.outcome import Completed, RowContext, row_of
from ghx_profiler.records.row import Attempt, ProfileRow
from ghx_profiler.records.score import Score
from ghx_profiler.testing.contract_suite import ContractSuite, MissingHookError, Probe, skip_without
from ghx_profiler.testing.samples import sample_cell, sample_evidence, sample_scenario

_MODES = ("one-mode", "other-mode", "third-mode", "fourth-mode")
_REPETITIONS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSpec:
    """A `WorkerSpec` that can be pickled, whose workers sleep for a while and call that a cell."""

    works_for_s: float = 0.0
    can_be_opened: bool = True
    most_workers: int | None = None

    @asynccontextmanager
    async def open(
        self,
        receive: Receive,
        *,
        machine: str | None = None,
        share: Share = WHOLE,  # noqa: ARG002 - the contract's signature
    ) -> AsyncGenerator["SampleWorker"]:
        """Hold a worker, or refuse to."""
        if not self.can_be_opened:
            raise ScopeError("this worker cannot be opened")
        yield SampleWorker(works_for_s=self.works_for_s, receive=receive, machine=machine or name_machine())


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleWorker:
    """Reports when each cell began and ended by the clock that all processes of a machine share."""

    works_for_s: float
    receive: Receive
    machine: str

    async def measure(self, placed: PlacedCell, scenario: JsonObject) -> None:
        """Sleep, and record the times."""
        assert scenario["id"] == placed.cell.scenario_id, "Worker.measure: must get the scenario of its cell"
        await self.receive(CellStarted(at=datetime.now(UTC), cell=placed.cell))
        began = time.monotonic_ns()
        try:
            await anyio.sleep(self.works_for_s)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self.receive(CellInterrupted(cell=placed.cell, attempts=()))
            raise
        row = _row_of(placed, (began, time.monotonic_ns()), self.machine)
        await self.receive(CellMeasured(cell=placed.cell, files=CellFiles(row=row), was_scored=True))


def _row_of(placed: PlacedCell, span_ns: tuple[int, int], machine: str) -> ProfileRow:
    now = datetime.now(UTC)
    span = tuple(CustomMetric(name, value) for name, value in zip(("began_ns", "ended_ns"), span_ns, strict=True))
    outcome = Completed(
        cell=placed.cell,
        started_at=now,
        evidence=sample_evidence(cell=placed.cell),
        score=Score(success=True),
        metrics=span,
    )
    attempt = Attempt(number=1, started_at=timestamp(now))
    context = RowContext(run_id="sample-run", agent_version=None, start_order=placed.start_order, machine=machine)
    return row_of(outcome, [attempt], now, context)


@dataclass(slots=True)
class _MessageRecorder:
    """The messages of the workers so far."""

    messages: list[Message] = field(default_factory=list[Message])

    async def receive(self, message: Message) -> None:
        self.messages.append(message)

    @property
    def started(self) -> list[Cell]:
        return [message.cell for message in self.messages if isinstance(message, CellStarted)]

    @property
    def rows(self) -> list[ProfileRow]:
        return [message.files.row for message in self.messages if isinstance(message, CellMeasured)]

    @property
    def interrupted(self) -> list[Cell]:
        return [message.cell for message in self.messages if isinstance(message, CellInterrupted)]


class ExecutorContract(ContractSuite):
    """What must hold of every executor: write `make_executor`, and `max_concurrency` if it has one."""

    max_concurrency: int | None = None
    """How many cells the executor under test may run at the same time."""

    def make_executor(self) -> Executor:
        """Return the executor under test; required."""
        raise MissingHookError("make_executor()")

    def make_blocks(self) -> Sequence[Block]:
        """Return blocks with more cells than can run at the same time."""
        scenario = sample_scenario()
        cells = [
            sample_cell(scenario_id=scenario.id, mode=mode, iteration=repetition)
            for repetition, mode in product(range(_REPETITIONS), _MODES)
        ]
        placed = [PlacedCell(cell=cell, start_order=place) for place, cell in enumerate(cells)]
        return blocks_of(placed, {scenario.id: scenario.to_wire()})

    def test_every_cell_comes_back_once(self) -> None:
        """No row is missing, none is there twice, and each has the position of its cell in the run."""
        recorder = self._run_all()
        expected = {placed.cell: placed.start_order for block in self.make_blocks() for placed in block.cells}
        measured = sorted((row.start_order or 0, str(row.cell)) for row in recorder.rows)
        right = measured == sorted((place, str(cell)) for cell, place in expected.items())
        assert right, f"Workers.run: must have every cell measured once, got {[name for _, name in measured]}"

    def test_cells_of_a_block_are_started_in_their_order(self) -> None:
        """The order is part of the design: a service that drifts must hit all arms alike."""
        started = self._run_all().started
        for block in self.make_blocks():
            cells = [placed.cell for placed in block.cells]
            order = [cell for cell in started if cell in cells]
            modes = [cell.mode for cell in order]
            assert order == cells, f"Workers.run: must start the cells of a block in their order, started {modes}"

    def test_the_cells_of_a_block_are_measured_on_one_machine(self) -> None:
        """Its arms are compared with each other: on two machines, their difference would be one of machines."""
        recorder = self._run_all(SampleSpec(works_for_s=0.005))
        for block in self.make_blocks():
            cells = {placed.cell for placed in block.cells}
            places = {row.machine for row in recorder.rows if row.cell in cells}
            assert len(places) == 1, f"Workers.run: must measure the cells of a block in one place, used {len(places)}"

    def test_no_blocks_are_no_work(self) -> None:
        """A run that is resumed may have nothing left to do."""
        recorder = self._run_all(blocks=())
        assert not recorder.messages, f"Workers.run: must do no work without blocks, and told of {recorder.messages}"

    def test_workers_run_blocks_more_than_once(self) -> None:
        """Warm-ups come first, one after the other, then all cells."""
        first, *others = self.make_blocks()
        recorder = _MessageRecorder()

        async def rule() -> None:
            with self.soon("Workers.run: must be able to be called again"):
                async with self.make_executor().open(SampleSpec(), recorder.receive) as workers:
                    await workers.run([first])
                    await workers.run(others)

        self.run_rule(rule)
        expected = sum(len(block.cells) for block in (first, *others))
        assert len(recorder.rows) == expected, (
            f"Workers.run: must measure {expected} cells in two calls, did {len(recorder.rows)}"
        )

    def test_not_more_cells_run_than_may(self) -> None:
        """Services have limits, and machines have."""
        limit = self.max_concurrency
        if limit is None:
            skip_without("max_concurrency")
        recorder = self._run_all(SampleSpec(works_for_s=0.02))
        changes = [(row.metrics["began_ns"] or 0, 1) for row in recorder.rows]
        changes += [(row.metrics["ended_ns"] or 0, -1) for row in recorder.rows]
        running = most = 0
        for _, change in sorted(changes):
            running += change
            most = max(most, running)
        assert most <= limit, f"Workers.run: must run {limit} cells at the same time at most, ran {most}"

    def test_a_worker_that_cannot_be_opened_stops_the_run(self) -> None:
        """No cell is started where nothing could be prepared, and the reason is reported."""
        recorder = _MessageRecorder()

        async def rule() -> bool:
            came_out = False
            with self.soon("Executor.open: must end when a worker cannot be opened"):
                try:
                    async with self.make_executor().open(SampleSpec(can_be_opened=False), recorder.receive) as workers:
                        await workers.run(self.make_blocks())
                except* ScopeError:
                    came_out = True
            return came_out

        assert self.run_rule(rule), "Executor.open: must raise what a worker cannot be opened for"
        assert not recorder.started, "Executor.open: must start no cell when a worker cannot be opened"

    def test_what_receive_raises_stops_the_run(self) -> None:
        """It raises only for what must stop everything, such as a full disk."""

        async def receive(message: Message) -> None:
            if isinstance(message, CellMeasured):
                raise Probe

        async def rule() -> bool:
            came_out = False
            with self.soon("Workers.run: must stop when a result cannot be taken"):
                try:
                    async with self.make_executor().open(SampleSpec(works_for_s=0.01), receive) as workers:
                        await workers.run(self.make_blocks())
                except* Probe:
                    came_out = True
            return came_out

        assert self.run_rule(rule), "Workers.run: must raise what `receive` raised, alone or in a group"

    def test_cancelling_stops_what_runs_and_starts_nothing_more(self) -> None:
        """Ctrl-C ends the run, and the spending of the running cells is reported."""
        recorder = _MessageRecorder()
        late: list[Cell] = []

        async def rule() -> bool:
            are_busy = anyio.Event()
            scope = anyio.CancelScope()

            async def receive(message: Message) -> None:
                if isinstance(message, CellStarted) and scope.cancel_called:
                    late.append(message.cell)
                await recorder.receive(message)
                # Not before all are at work: what another process started at the same moment is not yet known here.
                if len(recorder.started) == (self.max_concurrency or 1):
                    are_busy.set()

            async def cancel() -> None:
                await are_busy.wait()
                scope.cancel()

            with self.soon("Workers.run: must end when it is cancelled"):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(cancel)
                    with scope:
                        async with self.make_executor().open(SampleSpec(works_for_s=3600), receive) as workers:
                            await workers.run(self.make_blocks())
            return scope.cancelled_caught

        assert self.run_rule(rule), "Workers.run: must let a cancellation through, and swallowed it"
        lost = set(recorder.started) - set(recorder.interrupted) - set(late)
        assert not lost, f"Workers.run: must tell of every cell that was cut off, and lost {len(lost)}"
        assert not late, f"Workers.run: must start no cells once it is cancelled, and started {len(late)}"

    def _run_all(self, spec: SampleSpec | None = None, blocks: Sequence[Block] | None = None) -> _MessageRecorder:
        recorder = _MessageRecorder()

        async def rule() -> None:
            with self.soon("Workers.run: must end when all cells are measured"):
                async with self.make_executor().open(spec or SampleSpec(), recorder.receive) as workers:
                    await workers.run(self.make_blocks() if blocks is None else blocks)

        self.run_rule(rule)
        return recorder
