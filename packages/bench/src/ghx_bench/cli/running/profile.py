"""`ghx-bench profile`: measure an agent described in a Python file."""

from __future__ import annotations

import shlex
import sys
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, redirect_stdout
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from cyclopts import Parameter

from ghx_base.errors import FlagError, InputError
from ghx_bench.cli.flags import AsJson, Debug, GateFlags, LogFile, MeasuringFlags, Switch, show_tracebacks

if TYPE_CHECKING:  # loaded when the command runs, not for its --help
    from ghx_bench.cli.verdicts.judging import Judging
    from ghx_profiler.config import ProfileFile
    from ghx_profiler.contracts import SessionProvider
    from ghx_profiler.events import Observer
    from ghx_profiler.profile import Profile
    from ghx_profiler.runner.instruments import Instruments
    from ghx_profiler.store.record import RunRecord
    from ghx_profiler.suite import SuiteResult

_AS_CONFIGURED = MeasuringFlags()
_NOT_JUDGED = GateFlags()
_MOST_NAMED = 3
_SPELLED_NOW = {
    "--results-dir": "--output-dir",
    "--warmup": "--skip-warmup, or nothing",
    "--resume": "`ghx-bench resume RUN`",
}
"""Flags of version 0.1, and how `run` and `resume` have always spelled them."""


def profile(
    file: str,
    /,
    *,
    config: Path | None = None,
    agent: list[str] | None = None,
    measuring: MeasuringFlags = _AS_CONFIGURED,
    gates: GateFlags = _NOT_JUDGED,
    log_json: LogFile = None,
    dry_run: Switch = False,
    debug: Debug = False,
    as_json: AsJson = False,
    results_dir: Annotated[str | None, Parameter(show=False)] = None,
    warmup: Annotated[bool | None, Parameter(show=False)] = None,
    resume: Annotated[Path | None, Parameter(show=False)] = None,
    agent_option: Annotated[list[str] | None, Parameter(show=False)] = None,
) -> int:
    """Measure an agent of your own, described in a Python file.

    Every scenario and mode of the profile is run, unless some are named. An interrupted run is taken up again by
    `ghx-bench resume`.

    Parameters
    ----------
    file
        A Python file, or `module:name`, or `file.py:name`, with a `Profile` in it (called `profile` unless named).
    config
        A YAML file with the run's settings; the flags below override it.
    agent
        An agent of the profile, by its name; repeat for several. All of them unless given.
    log_json
        Write every event as a line of JSON to this file (`-` for standard error).
    dry_run
        Print what would be run, and stop.
    debug
        Show the tracebacks of errors.
    as_json
        Print the result as JSON.
    results_dir
        The former name of --output-dir.
    warmup
        The former opposite of --skip-warmup.
    resume
        The former `ghx-bench resume RUN`.
    agent_option
        Of `run`: refused.
    """
    from ghx_bench.cli.running.measuring import record_of, say_notes
    from ghx_bench.cli.verdicts.judging import judging_of_flags
    from ghx_profiler.suite import choose_agents, control_names, matrix_of

    show_tracebacks(debug)
    if agent_option:
        raise FlagError("--agent-option", "the agents of a profile get their options in its code; change them there")
    former = {"--results-dir": results_dir, "--warmup": warmup, "--resume": resume}
    for flag, value in former.items():
        if value is not None:
            print(f"note: {flag} will go in the next release; write {_SPELLED_NOW[flag]}", file=sys.stderr)
    if resume is not None and config is not None:
        raise InputError("--config goes with a new run; a resumed one has its settings in its run.json")
    # What the user's own code prints must not get between the lines of --json.
    with redirect_stdout(sys.stderr):
        loaded = load_profile(file)
        settings = (
            _settings(config, loaded) if resume is None else settings_of_profile(record_of(resume), resume, loaded)
        )
        try:
            settings = settings.override(results_dir=results_dir, warmup=warmup, agent=agent, **asdict(measuring))
        except FlagError as error:
            # The former names of flags are those of fields.
            raise FlagError(error.flag.replace("results_dir", "--results-dir"), error.reason) from None
    judging = judging_of_flags(gates, settings.output.results_dir, shard=settings.execution.shard)
    if judging.against is not None:
        providers = loaded.instruments.providers
        # A profile has no quarantine, for which alone its scenarios would count.
        matrix = matrix_of(settings, scenario_ids=("any",), agents=choose_agents(settings, tuple(providers)))
        judging.require_comparable(matrix, controls=control_names(providers))
    if dry_run:
        import anyio

        print(anyio.run(loaded.describe, settings))
        return 0
    if resume is None:
        say_notes(settings)
    return run_profile(loaded, settings, file, resume=resume, log_json=log_json, as_json=as_json, judging=judging)


def load_profile(reference: str) -> Profile[Any]:
    """Import the profile that a reference leads to."""
    from ghx_bench.project.object_references import load_reference
    from ghx_profiler.profile import Profile

    return cast("Profile[Any]", load_reference(reference, Profile, default="profile"))


def run_profile(
    profile: Profile[Any],
    config: ProfileFile,
    reference: str,
    *,
    resume: Path | None,
    accept_changes: bool = False,
    log_json: str | None,
    as_json: bool,
    judging: Judging,
) -> int:
    """Run a profile, show what came of it, and return the exit code; the run keeps where its profile is."""
    from ghx_bench.cli.running.measuring import conclude, measure_and_show
    from ghx_bench.project.object_references import reference_beside

    place = reference_beside(reference, Path.cwd())  # whole, since the run may be resumed in another folder
    recorded_config = config.model_copy(update={"profile": place})
    arms = (
        len(recorded_config.modes)
        * len(recorded_config.models)
        * len(recorded_config.agents or profile.instruments.providers)
    )
    # Of one arm, or a part of the cells, there is no verdict, and the statistics need not be loaded.
    report = conclude if arms > 1 and recorded_config.execution.shard is None else None

    async def measure(observers: Sequence[Observer]) -> SuiteResult:
        async with _agents_in_threads(profile) as threaded:
            return await threaded.run(
                recorded_config,
                observers=observers,
                resume=resume,
                accept_changes=accept_changes,
                build_instruments=partial(_build_instruments, place),
            )

    return measure_and_show(measure, log_json=log_json, as_json=as_json, judging=judging, report=report)


def _build_instruments(reference: str) -> Instruments[Any]:
    """Return the instruments of a profile in a process that is there for its cells alone, and ends with them."""
    instruments = load_profile(reference).instruments
    return replace(instruments, providers={name: _in_thread(each) for name, each in instruments.providers.items()})


def _in_thread(provider: SessionProvider) -> SessionProvider:
    """Return an agent that cannot block the bench; ours do not."""
    from ghx_profiler.agents.agent_threads import ThreadedProvider

    return (
        provider
        if type(provider).__module__.startswith(("ghx_bench.", "ghx_profiler."))
        else ThreadedProvider(provider)
    )


@asynccontextmanager
async def _agents_in_threads(profile: Profile[Any]) -> AsyncGenerator[Profile[Any]]:
    """Yield a profile whose agents cannot block the bench, as `run` has them."""
    from ghx_profiler.agents.agent_threads import ThreadedProvider

    async with AsyncExitStack() as threads:
        providers = dict(profile.instruments.providers)
        for name, provider in providers.items():
            providers[name] = threaded = _in_thread(provider)
            if isinstance(threaded, ThreadedProvider):
                threads.push_async_callback(threaded.aclose)
        yield replace(profile, instruments=replace(profile.instruments, providers=providers))


def _settings(file: Path | None, profile: Profile[Any]) -> ProfileFile:
    """Return the settings in a file, or the profile's own; without any modes named there, all of the profile's."""
    from ghx_profiler.config import ProfileFile, load_config

    if file is None:
        return ProfileFile(modes=profile.default_config().modes)
    settings = load_config(file, ProfileFile)
    return settings if settings.modes else settings.override(mode=[mode.name for mode in profile.modes])


def settings_of_profile(record: RunRecord, run: Path, profile: Profile[Any]) -> ProfileFile:
    """Return the settings that a run was started with; raise if it was not made by this profile."""
    from ghx_bench.cli.running.measuring import is_evaluation, settings_of
    from ghx_profiler.config import ProfileFile
    from ghx_profiler.errors import RunMismatchError

    if is_evaluation(record):
        command = shlex.join(["ghx-bench", "resume", str(run)])
        raise RunMismatchError(f"{run}: this run was made by an evaluation; resume it with `{command}`")
    if differences := tuple(_foreign_parts(record, profile)):
        command = f"ghx-bench resume {shlex.quote(str(run))} --profile FILE"
        raise RunMismatchError(
            f"{run}: this run was made by another profile ({'; '.join(differences)}); resume it with that one, "
            f"`{command}`, or start a new run"
        )
    return settings_of(record, run, ProfileFile)


def _foreign_parts(record: RunRecord, profile: Profile[Any]) -> Iterator[str]:
    """Yield what a run has that the profile does not: then another one made it."""
    agents = ", ".join(profile.instruments.providers)
    if not {agent.name for agent in record.agents} <= set(profile.instruments.providers):
        yield f"agent {record.provider!r}, here {agents!r}"
    planned = {"scenario": () if profile.loader else record.matrix.scenario_ids, "mode": record.matrix.modes}
    here = {
        "scenario": {scenario.id for scenario in profile.scenarios},
        "mode": {mode.name for mode in profile.modes},
    }
    for what, names in planned.items():
        absent = [name for name in names if name not in here[what]]
        yield from (f"{what} {name!r} is not here" for name in absent[:_MOST_NAMED])
        if len(absent) > _MOST_NAMED:
            yield f"{len(absent) - _MOST_NAMED} more"
