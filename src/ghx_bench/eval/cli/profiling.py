"""What `ghx-bench profile` does once its command line is read."""

import json
import os
import shlex
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import anyio
from rich.console import Console

from ghx_bench._base.errors import ungrouped
from ghx_bench.eval.cli.glance import glance_table
from ghx_bench.eval.cli.interruption import INTERRUPTED, interruptible
from ghx_bench.eval.targets import load_target
from ghx_bench.profiler.config import ProfileConfig, load_config
from ghx_bench.profiler.events import Event, Observer, RunStarted
from ghx_bench.profiler.profile import Profile
from ghx_bench.profiler.progress import JsonLog, choose_observer
from ghx_bench.profiler.reports.glance import glance_at
from ghx_bench.profiler.store.directory import RunDirectory
from ghx_bench.profiler.store.record import read_record
from ghx_bench.profiler.store.rows import read_rows
from ghx_bench.profiler.suite import SuiteResult

NOT_ALL_MEASURED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What the command line asked for."""

    target: str
    config: Path | None
    flags: Mapping[str, object]
    resume: Path | None
    log_json: str | None
    dry_run: bool
    as_json: bool


def run_order(order: Order) -> int:
    """Run it, show it, and return the exit code."""
    profile = cast("Profile[Any]", load_target(order.target, Profile, default="profile"))
    config = _config_of(order, profile)
    if order.dry_run:
        print(config.model_dump_json(indent=2))  # noqa: T201 - this command's output
        return 0
    for note in config.notes():
        print(f"note: {note}", file=sys.stderr)  # noqa: T201 - the command line
    directories: list[Path] = []

    def remember(event: Event) -> None:
        if isinstance(event, RunStarted):
            directories.append(event.directory)

    try:
        with ExitStack() as displays:
            observers = [remember, *_observers(order, displays)]
            with ungrouped():
                result = anyio.run(interruptible, lambda: profile.run(config, observers=observers, resume=order.resume))
    except KeyboardInterrupt:
        return _say_how_to_resume(order.target, directories)
    _show(result, as_json=order.as_json)
    return NOT_ALL_MEASURED if result.failed else 0


def _config_of(order: Order, profile: Profile[Any]) -> ProfileConfig:
    """Start from the run that is resumed, or the file, or the profile's own; flags override each."""
    if order.resume is not None:
        base = ProfileConfig.model_validate(read_record(RunDirectory(order.resume).record).config)
    elif order.config is not None:
        base = load_config(order.config)
    else:
        base = profile.default_config()
    return base.with_overrides(order.flags)


def _observers(order: Order, displays: ExitStack) -> list[Observer]:
    observers: list[Observer] = []
    if order.log_json != "-":
        observers.append(displays.enter_context(choose_observer(sys.stderr, environment=os.environ)))
    if order.log_json is not None:
        observers.append(displays.enter_context(JsonLog.open(order.log_json)))
    return observers


def _say_how_to_resume(target: str, directories: list[Path]) -> int:
    print("interrupted", file=sys.stderr)  # noqa: T201 - the command line
    for directory in directories:
        command = shlex.join(["ghx-bench", "profile", target, "--resume", str(directory)])
        print(f"every finished cell is on disk; go on with: {command}", file=sys.stderr)  # noqa: T201 - the same
    return INTERRUPTED


def _show(result: SuiteResult, *, as_json: bool) -> None:
    glances = glance_at(read_rows(RunDirectory(result.directory).rows))
    if as_json:
        modes = {mode: glance.to_wire() for mode, glance in glances.items()}
        counts = {"total": result.total, "measured": result.measured, "failed": result.failed}
        print(json.dumps({"runId": result.run_id, "directory": str(result.directory), **counts, "modes": modes}))  # noqa: T201 - this command's output
        return
    console = Console()
    console.print(glance_table(glances))
    failed = f", {result.failed} could not be measured" if result.failed else ""
    console.print(f"\n{result.measured} cells measured{failed}: {result.directory}", markup=False, highlight=False)
