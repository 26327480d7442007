"""Cells in this process, so many at a time."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import anyio

from ghx_bench.profiler.cell import Cell


@dataclass(frozen=True, slots=True)
class LocalExecutor:
    """Runs up to `max_concurrency` cells at once, as tasks of this process."""

    max_concurrency: int = 1

    async def run(self, cells: Sequence[Cell], work: Callable[[Cell], Awaitable[None]]) -> None:
        """Do the work for every cell, starting them in order."""
        waiting = iter(cells)

        async def worker() -> None:
            for cell in waiting:
                await work(cell)

        async with anyio.create_task_group() as workers:
            for _ in range(min(self.max_concurrency, len(cells))):
                workers.start_soon(worker)
