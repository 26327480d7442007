"""What `ghx-bench profile` does once its command line is read."""

import json
import os
import shlex
import sys
from collections.abc import Mapping
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import anyio
from pydantic import Field, ValidationError
from rich.console import Console

from ghx_bench._base.commandline import INTERRUPTED
from ghx_bench._base.errors import InputError, ungrouped
from ghx_bench.eval.cli.exits import NOT_ALL_MEASURED
from ghx_bench.eval.cli.glance import glance_table
from ghx_bench.eval.cli.interruption import interruptible
from ghx_bench.eval.targets import load_target
from ghx_bench.profiler.config import ProfileConfig, load_config
from ghx_bench.profiler.errors import RunMismatchError
from ghx_bench.profiler.events import Event, Observer, RunStarted
from ghx_bench.profiler.profile import Profile
from ghx_bench.profiler.progress import JsonLog, choose_observer
from ghx_bench.profiler.reports.glance import glance_at
from ghx_bench.profiler.section import Distinct, Name
from ghx_bench.profiler.store.directory import RunDirectory
from ghx_bench.profiler.store.record import read_record
from ghx_bench.profiler.store.rows import read_rows
from ghx_bench.profiler.suite import SuiteResult


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


class ProfileFile(ProfileConfig):
    """A configuration file for a profile, which has modes of its own."""

    modes: Annotated[tuple[Name, ...], Distinct] = Field(default=(), description="The modes to run; all unless given.")


def run_order(order: Order) -> int:
    """Run it, show it, and return the exit code."""
    # What the user's own code prints must not get between the lines of `--json`.
    with redirect_stdout(sys.stderr):
        profile = cast("Profile[Any]", load_target(order.target, Profile, default="profile"))
        config = _config_of(order, profile)
    if order.dry_run:
        print(anyio.run(profile.describe, config))  # noqa: T201 - this command's output
        return 0
    for note in config.notes():
        print(f"note: {note}", file=sys.stderr)  # noqa: T201 - the command line
    try:
        with redirect_stdout(sys.stderr):
            result = _run(order, profile, config)
    except KeyboardInterrupt:
        return INTERRUPTED
    _show(result, as_json=order.as_json)
    return NOT_ALL_MEASURED if result.failed else 0


def _run(order: Order, profile: Profile[Any], config: ProfileConfig) -> SuiteResult:
    directories: list[Path] = []

    def remember(event: Event) -> None:
        if isinstance(event, RunStarted):
            directories.append(event.directory)

    def say_how_to_resume() -> None:
        print("interrupted", file=sys.stderr)  # noqa: T201 - the command line
        for directory in directories:
            command = shlex.join(["ghx-bench", "profile", order.target, "--resume", str(directory)])
            print(f"every finished cell is on disk; go on with: {command}", file=sys.stderr)  # noqa: T201 - the same

    try:
        with ExitStack() as displays, ungrouped():
            observers = [remember, *_observers(order, displays)]
            return anyio.run(
                interruptible,
                lambda: profile.run(config, observers=observers, resume=order.resume),
                say_how_to_resume,
            )
    except KeyboardInterrupt:
        say_how_to_resume()
        raise


def _config_of(order: Order, profile: Profile[Any]) -> ProfileConfig:
    """Start from the run that is resumed, or the file, or the profile's own; flags override each."""
    if order.resume is not None:
        return _resumed_config(order).with_overrides(order.flags)
    if order.config is None:
        return profile.default_config().with_overrides(order.flags)
    file = load_config(order.config, ProfileFile)
    return file.with_overrides({"--mode": file.modes or tuple(mode.name for mode in profile.modes), **_given(order)})


def _given(order: Order) -> Mapping[str, object]:
    return {flag: value for flag, value in order.flags.items() if value is not None}


def _resumed_config(order: Order) -> ProfileConfig:
    if order.config is not None:
        raise InputError("--config goes with a new run; a resumed one has its settings in its run.json")
    record = read_record(RunDirectory(order.resume or Path()).record)
    try:
        return ProfileFile.model_validate(record.config)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = "/".join(map(str, first["loc"]))
        raise RunMismatchError(
            f"{order.resume}: its settings are of another version ({where}: {first['msg']})"
        ) from None


def _observers(order: Order, displays: ExitStack) -> list[Observer]:
    observers: list[Observer] = []
    if order.log_json != "-":
        observers.append(displays.enter_context(choose_observer(sys.stderr, environment=os.environ)))
    if order.log_json is not None:
        observers.append(displays.enter_context(JsonLog.open(order.log_json)))
    return observers


def _show(result: SuiteResult, *, as_json: bool) -> None:
    glances = glance_at(read_rows(RunDirectory(result.directory).rows))
    if as_json:
        modes = {mode: glance.to_wire() for mode, glance in glances.items()}
        counts = {"total": result.total, "measured": result.measured, "notMeasured": result.failed}
        print(json.dumps({"runId": result.run_id, "directory": str(result.directory), **counts, "modes": modes}))  # noqa: T201 - this command's output
        return
    console = Console()
    console.print(glance_table(glances))
    failed = f", {result.failed} could not be measured" if result.failed else ""
    measured = f"{result.measured} cell{'' if result.measured == 1 else 's'} measured"
    console.print(f"\n{measured}{failed}: {result.directory}", markup=False, highlight=False)
