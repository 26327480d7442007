"""Modes of a project, open for what is measured of them without a model."""

import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import anyio

from ghx_bench.modes.definitions import Definitions
from ghx_bench.modes.resolver import PATIENCE_S, Modes, open_modes
from ghx_bench.modes.waiting import Waiting
from ghx_bench.project.config import definitions_of
from ghx_bench.project.config_file import project_config

T = TypeVar("T")
_TOLD_AGAIN_S = 1.0
_SHOWN_CHARACTERS = 60


def run_with_modes(
    names: Sequence[str],
    config: Path | None,
    measure: Callable[[Modes, Mapping[str, Sequence[str]]], Awaitable[T]],
) -> T:
    """Call a function with the modes of a project, and with the names of each one and of what it extends.

    A name that there is not is said before anything is started.
    """
    own = definitions_of(project_config(config))
    definitions = Definitions(own)
    lineages = {name: [each.name for each in definitions.lineage(name)] for name in names}

    async def run() -> T:
        async with (
            open_modes(own, environ=os.environ, longest_start_s=PATIENCE_S) as modes,
            tell_waiting(modes.waiting),
        ):
            return await measure(modes, lineages)

    return anyio.run(run)


@asynccontextmanager
async def tell_waiting(waiting: Waiting) -> AsyncGenerator[None]:
    """Say on standard error, where that is a terminal, what is being waited for; the line is gone on leaving."""
    if not sys.stderr.isatty():
        yield
        return

    async def tell() -> None:
        started = anyio.current_time()
        while True:
            await anyio.sleep(_TOLD_AGAIN_S)
            what = (waiting.longest or "measuring")[:_SHOWN_CHARACTERS]
            sys.stderr.write(f"\r\x1b[K{anyio.current_time() - started:.0f} s, waiting for {what}")
            sys.stderr.flush()

    async with anyio.create_task_group() as beside:
        beside.start_soon(tell)
        try:
            yield
        finally:
            beside.cancel_scope.cancel()
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
