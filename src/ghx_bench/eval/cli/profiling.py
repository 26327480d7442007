"""What `ghx-bench profile` does once its command line is read."""

import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import anyio
from pydantic import Field

from ghx_bench._base.commandline import INTERRUPTED
from ghx_bench._base.errors import InputError
from ghx_bench.documents.section import Distinct, Name
from ghx_bench.eval.cli.exits import exit_code
from ghx_bench.eval.cli.measuring import measure, show
from ghx_bench.eval.cli.resuming import made_by_evaluation, settings_of
from ghx_bench.eval.project.python_objects import load_target
from ghx_bench.profiler.config import ProfileConfig, load_config
from ghx_bench.profiler.errors import RunMismatchError
from ghx_bench.profiler.profile import Profile
from ghx_bench.profiler.store.directory import RunDirectory
from ghx_bench.profiler.store.record import RunRecord, read_record
from ghx_bench.profiler.suite import SuiteResult

_MOST_NAMED = 3


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
    from ghx_bench.profiler.reports.data.reading import read_sources
    from ghx_bench.profiler.reports.data.sources import open_run

    show(result, read_sources([open_run(result.directory)], with_findings=False), as_json=order.as_json)
    return exit_code(unmeasured=result.failed)


def _run(order: Order, profile: Profile[Any], config: ProfileConfig) -> SuiteResult:
    return measure(
        lambda observers: profile.run(config, observers=observers, resume=order.resume),
        log_json=order.log_json,
        resume_command=lambda directory: ["ghx-bench", "profile", order.target, "--resume", str(directory)],
    )


def _config_of(order: Order, profile: Profile[Any]) -> ProfileConfig:
    """Start from the run that is resumed, or the file, or the profile's own; flags override each."""
    if order.resume is not None:
        return _resumed_config(order.resume, order, profile).with_overrides(order.flags)
    if order.config is None:
        return profile.default_config().with_overrides(order.flags)
    file = load_config(order.config, ProfileFile)
    return file.with_overrides({"--mode": file.modes or tuple(mode.name for mode in profile.modes), **_given(order)})


def _given(order: Order) -> Mapping[str, object]:
    return {flag: value for flag, value in order.flags.items() if value is not None}


def _resumed_config(run: Path, order: Order, profile: Profile[Any]) -> ProfileConfig:
    if order.config is not None:
        raise InputError("--config goes with a new run; a resumed one has its settings in its run.json")
    record = read_record(RunDirectory(run).record)
    if made_by_evaluation(record):
        command = shlex.join(["ghx-bench", "resume", str(run)])
        raise RunMismatchError(f"{run}: this run was made by an evaluation; resume it with `{command}`")
    if differences := tuple(_foreign_parts(record, profile)):
        command = f"ghx-bench profile FILE --resume {shlex.quote(str(run))}"
        raise RunMismatchError(
            f"{run}: this run was made by another profile ({'; '.join(differences)}); resume it with that one, "
            f"`{command}`, or start a new run"
        )
    return settings_of(record, run, ProfileFile)


def _foreign_parts(record: RunRecord, profile: Profile[Any]) -> Iterator[str]:
    """Yield what a run has that the profile does not: then another one made it."""
    agent = profile.instruments.provider.name
    if record.provider != agent:
        yield f"agent {record.provider!r}, here {agent!r}"
    planned = {"scenario": record.matrix.scenario_ids, "mode": record.matrix.modes}
    here = {
        "scenario": {scenario.id for scenario in profile.scenarios},
        "mode": {mode.name for mode in profile.modes},
    }
    for what, names in planned.items():
        absent = [name for name in names if name not in here[what]]
        yield from (f"{what} {name!r} is not here" for name in absent[:_MOST_NAMED])
        if len(absent) > _MOST_NAMED:
            yield f"{len(absent) - _MOST_NAMED} more"
