"""Recorded sessions that are replayed."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from pydantic import JsonValue

from ghx_bench._base.errors import InputError
from ghx_bench.agents.replay import ReplayProvider
from ghx_bench.eval.config import ProviderChoice
from ghx_bench.profiler.cell import Cell
from ghx_bench.profiler.store.directory import RunDirectory
from ghx_bench.profiler.store.traces import NoTraceError, parse_trace
from ghx_bench.profiler.trace import SessionTrace

RUN = "run"
"""The key of `provider.options` that names the run whose sessions are made again."""


def replayed_run(choice: ProviderChoice) -> Path | None:
    """Return the folder of the run that is replayed, if the agent is the one that does so."""
    named = choice.options.get(RUN)
    return Path(named) if choice.id == ReplayProvider.name and isinstance(named, str) else None


def recordings_of(options: Mapping[str, JsonValue]) -> Callable[[Cell], SessionTrace | None]:
    """Return how the replaying agent finds the session of a cell: the same cell of another run."""
    named = options.get(RUN)
    if not isinstance(named, str):
        raise InputError(f"provider.options.{RUN}: name the run whose sessions are to be replayed, as --replay does")
    directory = RunDirectory(Path(named))
    if not directory.record.is_file():
        raise InputError(f"provider.options.{RUN}: {named} is not the folder of a run")

    return partial(recorded_session, directory)


def recorded_session(directory: RunDirectory, cell: Cell) -> SessionTrace | None:
    """Return the trace of a cell of a run, where one was kept; raise `InputError` with its file if it is none."""
    path = directory.session(cell)
    if not path.is_file():
        return None
    try:
        return parse_trace(path.read_bytes())
    except NoTraceError as error:
        raise InputError(f"{path}: {error}") from error
