"""Cells in this process, a fixed number at a time."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from ghx_profiler.contracts import Worker, WorkerSpec
from ghx_profiler.plan.blocks import Block, Receive


@dataclass(frozen=True, slots=True)
class LocalExecutor:
    """Runs up to `max_concurrency` cells at once, as tasks of this process that share one worker."""

    max_concurrency: int = 1

    @asynccontextmanager
    async def open(self, spec: WorkerSpec, receive: Receive) -> AsyncGenerator["LocalWorkers"]:
        """Hold the one worker."""
        async with spec.open(receive) as worker:
            yield LocalWorkers(worker=worker, max_concurrency=self.max_concurrency)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalWorkers:
    """The tasks of this process."""

    worker: Worker
    max_concurrency: int

    async def run(self, blocks: Sequence[Block]) -> None:
        """Measure every cell, started in the order of the run."""
        # By place rather than block by block: a sequential run goes through all blocks once for each mode, and with
        # several cells at a time the next block begins while the slowest cell of the last one is still running.
        placed = [(cell, block.scenario) for block in blocks for cell in block.cells]
        waiting = iter(sorted(placed, key=lambda each: each[0].start_order))

        async def work() -> None:
            for cell, scenario in waiting:
                await self.worker.measure(cell, scenario)

        async with anyio.create_task_group() as tasks:
            for _ in range(min(self.max_concurrency, len(placed))):
                tasks.start_soon(work)
