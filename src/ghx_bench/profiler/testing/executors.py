"""The rules of `Executor`, to be run against any implementation."""

from collections.abc import Awaitable, Callable

import anyio
import anyio.lowlevel

from ghx_bench.profiler.cell import Cell
from ghx_bench.profiler.contracts import Executor
from ghx_bench.profiler.testing.samples import sample_cell
from ghx_bench.profiler.testing.suite import ContractSuite, HookNotWrittenError, Probe, skip_without


class ExecutorContract(ContractSuite):
    """What must hold of every executor: write `make_executor`, and `max_concurrency` if it has one."""

    max_concurrency: int | None = None
    """How many cells the executor under test may run at the same time."""

    def make_executor(self) -> Executor:
        """Return the executor under test; required."""
        raise HookNotWrittenError("make_executor()")

    def make_cells(self) -> list[Cell]:
        """Return more cells than can run at the same time."""
        return [sample_cell(iteration=number) for number in range(20)]

    def test_every_cell_is_worked_on_once(self) -> None:
        """No row is missing, none is written twice."""
        done: list[int] = []

        async def work(cell: Cell) -> None:
            await anyio.lowlevel.checkpoint()
            done.append(cell.iteration)

        self._run_all(work)
        expected = [cell.iteration for cell in self.make_cells()]
        assert sorted(done) == expected, (
            f"Executor.run: must do the work for every cell once, did it for {sorted(done)}"
        )

    def test_cells_are_started_in_order(self) -> None:
        """The order is part of the design: a service that drifts must hit all modes alike."""
        started: list[int] = []

        async def work(cell: Cell) -> None:
            started.append(cell.iteration)
            await anyio.lowlevel.checkpoint()

        self._run_all(work)
        assert started == sorted(started), f"Executor.run: must start cells in the order given, started {started}"

    def test_no_cells_are_no_work(self) -> None:
        """A run that is resumed may have nothing left to do."""

        async def work(cell: Cell) -> None:
            raise AssertionError(f"Executor.run: must do no work without cells, and did it for {cell}")

        async def rule() -> None:
            with self.soon("Executor.run: must end at once without cells"):
                await self.make_executor().run([], work)

        self.run_rule(rule)

    def test_not_more_cells_run_than_may(self) -> None:
        """Services have limits, and machines have."""
        limit = self.max_concurrency
        if limit is None:
            skip_without("max_concurrency")
        running: set[Cell] = set()
        most = 0

        async def work(cell: Cell) -> None:
            nonlocal most
            running.add(cell)
            most = max(most, len(running))
            for _ in self.make_cells():
                await anyio.lowlevel.checkpoint()  # time enough for all others to start, if they may
            running.discard(cell)

        self._run_all(work)
        assert most <= limit, f"Executor.run: must run {limit} cells at the same time at most, ran {most}"

    def test_what_work_raises_stops_the_run(self) -> None:
        """Work raises only for what must stop everything, such as a full disk."""
        first = self.make_cells()[0]

        async def work(cell: Cell) -> None:
            if cell == first:
                raise Probe
            await anyio.sleep_forever()

        async def rule() -> bool:
            came_out = False
            with self.soon("Executor.run: must stop, and cancel the other cells, when work raises"):
                try:
                    await self.make_executor().run(self.make_cells(), work)
                except* Probe:
                    came_out = True
            return came_out

        assert self.run_rule(rule), "Executor.run: must raise what work raised, alone or in a group"

    def test_cancelling_stops_what_runs_and_starts_nothing_more(self) -> None:
        """Ctrl-C ends the run, and the cells that run write down what they know."""
        running: set[Cell] = set()
        late: list[Cell] = []

        async def rule() -> bool:
            has_begun = anyio.Event()
            scope = anyio.CancelScope()

            async def work(cell: Cell) -> None:
                if scope.cancel_called:
                    late.append(cell)
                running.add(cell)
                has_begun.set()
                try:
                    await anyio.sleep_forever()
                finally:
                    running.discard(cell)

            async def cancel() -> None:
                await has_begun.wait()
                scope.cancel()

            with self.soon("Executor.run: must end when it is cancelled"):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(cancel)
                    with scope:
                        await self.make_executor().run(self.make_cells(), work)
            return scope.cancelled_caught

        was_cancelled = self.run_rule(rule)
        assert was_cancelled, "Executor.run: must let a cancellation through, and swallowed it"
        assert not running, f"Executor.run: must cancel the cells that run, and left {len(running)} of them"
        assert not late, f"Executor.run: must start no cells once it is cancelled, and started {len(late)}"

    def _run_all(self, work: Callable[[Cell], Awaitable[None]]) -> None:
        async def rule() -> None:
            with self.soon("Executor.run: must end when all work is done"):
                await self.make_executor().run(self.make_cells(), work)

        self.run_rule(rule)
