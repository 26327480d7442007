"""Modes of a project, open for what is measured of them without a model."""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import anyio

from ghx_bench.eval.modes.definitions import Definitions
from ghx_bench.eval.modes.resolver import Modes, open_modes
from ghx_bench.eval.project.config import definitions_of
from ghx_bench.eval.project.config_file import project_config

T = TypeVar("T")


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
        async with open_modes(own, environ=os.environ) as modes:
            return await measure(modes, lineages)

    return anyio.run(run)
