"""`ghx-bench resume`: the cells that an interrupted run has left."""

from __future__ import annotations

import shlex
import sys
from contextlib import chdir, redirect_stdout
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ghx_base.errors import FlagError, InputError
from ghx_bench.cli.flags import (
    AsJson,
    Debug,
    GateFlags,
    KeepWorldsFlag,
    LimitFlags,
    LogFile,
    RunPath,
    Switch,
    show_tracebacks,
)

if TYPE_CHECKING:  # loaded when the command runs, not for its --help
    from ghx_bench.project.config import EvalConfig
    from ghx_profiler.store.record import RunRecord
    from ghx_profiler.suite import SuiteResult

_AS_BEFORE = LimitFlags()
_JUDGED_AS_BEFORE = GateFlags()


def resume(
    run: RunPath,
    /,
    *,
    profile: str | None = None,
    log_json: LogFile = None,
    limits: LimitFlags = _AS_BEFORE,
    keep_worlds: KeepWorldsFlag = None,
    yes: Switch = False,
    accept_changes: bool = False,
    gates: GateFlags = _JUDGED_AS_BEFORE,
    report: bool = True,
    debug: Debug = False,
    as_json: AsJson = False,
) -> int:
    """Run the cells that an interrupted run has left, in the folder where it was started.

    Parameters
    ----------
    run
        The directory of the run, its id, `latest`, or a blessed one by its name.
    profile
        For a run of `ghx-bench profile` that does not say where its profile is, or whose profile was moved: the Python
        file with it, as `ghx-bench profile` takes it.
    log_json
        Write every event as a line of JSON to this file (`-` for standard error).
    keep_worlds
        Keep the worlds that sessions leave on the embedded GitHub from here on: those of cells that were not solved
        (failed), or all; as the run was started unless given.
    yes
        Run agents whose model calls are paid for without a limit of --max-usd.
    accept_changes
        Go on though agents, tools, servers, fixtures, scenarios or solutions are not what they were; the run keeps a
        record of both, and rows say which they were made with.
    report
        Write the report when all cells are done; `ghx-bench report` does that for the run of a profile.
    debug
        Show the tracebacks of errors.
    as_json
        Print the result as JSON.
    """
    show_tracebacks(debug)
    from ghx_bench.cli.running.measuring import is_evaluation, record_of, result_of_older_run, show_result
    from ghx_bench.cli.verdicts.judging import judging_of_flags

    record = record_of(run)
    if record.imported is not None:
        raise InputError(f"{run}: was imported from {record.imported.file}; there is nothing to resume")
    if is_evaluation(record) and profile is not None:
        raise FlagError("--profile", f"{run} was made by an evaluation, which needs none; leave it out")
    if not is_evaluation(record) and keep_worlds is not None:
        raise FlagError("--keep-worlds", f"{run} was made by a profile, whose sessions have no world; leave it out")
    finished = result_of_older_run(run, record)
    if finished is not None and log_json is not None:
        print(f"note: --log-json: nothing of {run} is left to measure, and nothing is logged", file=sys.stderr)
    if is_evaluation(record):
        return _resume_evaluation(
            run,
            record,
            finished,
            {**asdict(limits), "fail_on": gates.fail_on, "against": gates.against, "keep_worlds": keep_worlds},
            gates=gates,
            is_agreed=yes,
            accept_changes=accept_changes,
            log_json=log_json,
            with_report=report,
            as_json=as_json,
        )
    judging = judging_of_flags(gates, shard=record.matrix.shard)
    if finished is not None:
        return show_result(finished, as_json=as_json, judging=judging)
    return _resume_profile(
        run,
        record,
        profile,
        changes=asdict(limits),
        judging=judging,
        accept_changes=accept_changes,
        log_json=log_json,
        as_json=as_json,
    )


def _resume_evaluation(
    run: Path,
    record: RunRecord,
    finished: SuiteResult | None,
    changes: dict[str, Any],
    *,
    gates: GateFlags,
    is_agreed: bool,
    accept_changes: bool,
    log_json: str | None,
    with_report: bool,
    as_json: bool,
) -> int:
    from ghx_bench.catalogue import Catalogue
    from ghx_bench.cli.running.measuring import settings_of, show_result
    from ghx_bench.cli.running.run import run_evaluation, write_report
    from ghx_bench.cli.verdicts.judging import judging_of
    from ghx_bench.project.baselines import baselines_file
    from ghx_bench.project.config import EvalConfig

    settings = settings_of(record, run, EvalConfig).override(**changes)
    if finished is not None:
        judging, _ = judging_of(settings, gates, baselines=baselines_file())
        report = partial(write_report, settings.output.reports_dir) if with_report else None
        return show_result(finished, as_json=as_json, judging=judging, report=report)
    here, home = Path.cwd(), _home_of(run, record, settings)
    if not home.samefile(here):
        print(f"note: this run was started in {home}, and goes on there", file=sys.stderr)
        run, log_json = here / run, log_json if log_json in (None, "-") else str(here / log_json)
    with chdir(home):
        # What a project's own scorers print must not get between the lines of --json.
        with redirect_stdout(sys.stderr):
            judging, settings = judging_of(settings, gates, baselines=baselines_file())
            catalogue = Catalogue(settings)
        return run_evaluation(
            catalogue,
            resume=run,
            is_agreed=is_agreed,
            accept_changes=accept_changes,
            log_json=log_json,
            with_report=with_report,
            as_json=as_json,
            judging=judging,
        )


def _resume_profile(
    run: Path, record: RunRecord, reference: str | None, *, changes: dict[str, Any], **shown: Any
) -> int:
    from ghx_bench.cli.running.profile import load_profile, run_profile, settings_of_profile
    from ghx_profiler.errors import RunMismatchError

    place = reference or record.config.get("profile")
    if not isinstance(place, str):
        command = f"ghx-bench resume {shlex.quote(str(run))} --profile FILE"
        raise RunMismatchError(f"{run}: this run was made by a profile; resume it with its file, `{command}`")
    # What the user's own code prints must not get between the lines of --json.
    with redirect_stdout(sys.stderr):
        profile = load_profile(place)
    config = settings_of_profile(record, run, profile).override(**changes)
    return run_profile(profile, config, place, resume=run, **shown)


def _home_of(run: Path, record: RunRecord, config: EvalConfig) -> Path:
    """Return the folder in which an evaluation goes on, because the files of its project are there.

    That is the one where it was started or, if the project has been moved since, or it has none, the current one.
    """
    from ghx_bench.project.object_references import file_of
    from ghx_bench.project.user_agents import replayed_run
    from ghx_profiler.errors import RunMismatchError

    here = Path.cwd()
    # What the run needs of its project. Scenarios and fixtures of the package are wherever the package is.
    agents = config.chosen_agents
    replayed = (config.model_traffic.replay, *map(replayed_run, agents))
    references = (config.scorers, *(file_of(each.id) for each in agents), *replayed)
    own = [*config.scenario_dirs, *config.fixtures.folders, *config.mode_files, *filter(None, references)]
    started_in = here if record.started_in is None or all(map(Path.is_absolute, own)) else Path(record.started_in)
    for folder in (started_in, here):
        missing = [path for path in own if not (folder / path).exists()]
        if not missing:
            return folder
    lost = missing[0]
    if lost.is_absolute():
        remedy = "put it back"
    elif record.started_in is None:
        remedy = "resume it in the folder where it was started"
    else:
        remedy = (
            f"nor is it in {record.started_in}, where it was started; resume it in the folder where its project is now"
        )
    raise RunMismatchError(f"{run}: it was made with {lost}, which is not here; {remedy}")
