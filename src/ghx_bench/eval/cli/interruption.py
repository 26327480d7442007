"""Ctrl-C and SIGTERM: once to stop in order, twice to stop at once."""

import os
import signal
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import psutil
from anyio.abc import TaskStatus

from ghx_bench._base.commandline import INTERRUPTED

T = TypeVar("T")


async def interruptible(work: Callable[[], Awaitable[T]], abandon: Callable[[], None]) -> T:
    """Do the work; the first signal cancels it and, once it has cleaned up, raises `KeyboardInterrupt`.

    On the second, the work's processes are killed, `abandon` has the last word, and this process ends.
    """
    async with anyio.create_task_group() as tasks:
        with anyio.CancelScope() as scope:
            await tasks.start(_watch, scope, abandon)
            result = await work()
            tasks.cancel_scope.cancel()
            return result
        tasks.cancel_scope.cancel()
    raise KeyboardInterrupt


async def _watch(scope: anyio.CancelScope, abandon: Callable[[], None], *, task_status: TaskStatus[None]) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _signal in signals:
            if scope.cancel_called:
                # The user insists; every row so far is on disk.
                for child in psutil.Process().children(recursive=True):
                    child.kill()
                abandon()
                os._exit(INTERRUPTED)
            scope.cancel()
