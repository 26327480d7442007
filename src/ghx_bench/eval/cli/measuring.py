"""Measuring from the command line: live display, interruption, and the table at the end."""

import json
import os
import shlex
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import anyio
from rich.console import Console

from ghx_bench._base.errors import ungrouped
from ghx_bench.eval.cli.glance import SHOWN_METRICS, glance_table
from ghx_bench.eval.cli.interruption import interruptible
from ghx_bench.eval.project.gates import Verdict
from ghx_bench.profiler.events import Event, Observer, RunStarted
from ghx_bench.profiler.progress import JsonLog, choose_observer
from ghx_bench.profiler.reports.data.controls import alarms
from ghx_bench.profiler.reports.data.mode_glance import glance_at
from ghx_bench.profiler.reports.data.reading import ReadRows
from ghx_bench.profiler.suite import SuiteResult

_WIDEST_TABLE = 1_000


def measure(
    start: Callable[[Sequence[Observer]], Awaitable[SuiteResult]],
    *,
    log_json: str | None,
    resume_command: Callable[[Path], Sequence[str]],
) -> SuiteResult:
    """Run it and show how it goes; an interruption says how to go on, and passes as `KeyboardInterrupt`."""
    directories: list[Path] = []

    def remember(event: Event) -> None:
        if isinstance(event, RunStarted):
            directories.append(event.directory)

    def say_how_to_resume() -> None:
        print("interrupted", file=sys.stderr)  # noqa: T201 - the command line
        for directory in directories:
            command = shlex.join(resume_command(directory))
            print(f"every finished cell is on disk; go on with: {command}", file=sys.stderr)  # noqa: T201 - the same

    try:
        with ExitStack() as displays, ungrouped():
            observers = [remember, *_observers(log_json, displays)]
            return anyio.run(interruptible, lambda: start(observers), say_how_to_resume)
    except KeyboardInterrupt:
        say_how_to_resume()
        raise


def _observers(log_json: str | None, displays: ExitStack) -> list[Observer]:
    observers: list[Observer] = []
    if log_json != "-":
        observers.append(displays.enter_context(choose_observer(sys.stderr, environment=os.environ)))
    if log_json is not None:
        log = JsonLog.open(log_json)
        displays.callback(_close, log, log_json)
        observers.append(log)
    return observers


def _close(log: JsonLog, place: str) -> None:
    """Close the log; one that could not be written to its end is told, and costs nothing else."""
    try:
        with log:
            pass
    except OSError as error:
        reason = error.strerror or type(error).__name__
        print(f"note: {place}: the log is not complete: {reason}", file=sys.stderr)  # noqa: T201 - the command line


def show(result: SuiteResult, read: ReadRows, *, as_json: bool, gates: Sequence[Verdict] = ()) -> None:
    """Print what a run came to: a table for people, or JSON with what gates said."""
    controls = read.tally.controls
    glances = glance_at(read.columns.observations, SHOWN_METRICS)
    if as_json:
        modes = {mode: glance.to_wire() for mode, glance in glances.items()}
        counts = {"total": result.total, "measured": result.measured, "notMeasured": result.failed}
        objections = {"controlObjections": [each.to_wire() for each in controls.objections]}
        said = {**objections, "gates": [each.to_wire() for each in gates]}
        told = {"runId": result.run_id, "directory": str(result.directory), **counts, "modes": modes, **said}
        print(json.dumps(told))  # noqa: T201 - this command's output
        return
    console = Console()
    table = glance_table(glances)
    # A line that is too long for the terminal can still be read, numbers that were cut off cannot.
    wanted = console.measure(table, options=console.options.update(max_width=_WIDEST_TABLE)).maximum
    console.width = max(console.width, wanted)
    console.print(table)
    failed = f", {result.failed} could not be measured" if result.failed else ""
    measured = f"{result.measured} cell{'' if result.measured == 1 else 's'} measured"
    console.print(f"\n{measured}{failed}: {result.directory}", markup=False, highlight=False, soft_wrap=True)
    for alarm in alarms(controls.objections):
        console.print(f"WARNING: {alarm}", style="bold red", markup=False, highlight=False, soft_wrap=True)
