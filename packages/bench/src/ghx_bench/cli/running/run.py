"""`ghx-bench run`: scenarios, worlds, agents, checkpoints, rows, a report."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ghx_base.clock import SystemClock, timestamp
from ghx_base.errors import OperationError
from ghx_bench.cli.flags import (
    AsJson,
    Debug,
    EvaluationFlags,
    GateFlags,
    LogFile,
    MeasuringFlags,
    Switch,
    show_tracebacks,
)

if TYPE_CHECKING:  # loaded when the command runs, not for its --help
    from ghx_bench.catalogue import Catalogue
    from ghx_bench.cli.running.measuring import Verdict
    from ghx_bench.cli.verdicts.judging import Judging
    from ghx_profiler.events import Observer
    from ghx_profiler.reports.data.reading import ReadRows
    from ghx_profiler.suite import SuiteResult

_AS_CONFIGURED = MeasuringFlags()
_AS_EVALUATED = EvaluationFlags()
_AS_JUDGED = GateFlags()


def run(
    *,
    config: Path | None = None,
    evaluation: EvaluationFlags = _AS_EVALUATED,
    measuring: MeasuringFlags = _AS_CONFIGURED,
    gates: GateFlags = _AS_JUDGED,
    agent_option: list[str] | None = None,
    category: list[str] | None = None,
    difficulty: list[str] | None = None,
    yes: Switch = False,
    dry_run: Switch = False,
    log_json: LogFile = None,
    report: bool = True,
    debug: Debug = False,
    as_json: AsJson = False,
) -> int:
    """Run scenarios with an agent in every mode, and report what came of it.

    With neither a configuration nor flags, the `default` scenarios are run on the embedded GitHub by the reference
    agent, which proves that everything works on this machine.

    Parameters
    ----------
    config
        A YAML file with the run's settings (`eval.config.yaml` if there is one here); the flags below override it.
    agent_option
        An option of the agent over those of the configuration, as KEY=VALUE with a value in YAML (`slip=0.3`);
        AGENT:KEY=VALUE where there are several agents; repeat for several.
    category
        Run only scenarios of this category (pr, issue, workflow, release, repo); repeat for several.
    difficulty
        Run only scenarios of this difficulty (basic, intermediate, advanced); repeat for several.
    yes
        Run agents whose model calls are paid for without a limit of --max-usd.
    dry_run
        Print what would be run, and stop.
    log_json
        Write every event as a line of JSON to this file (`-` for standard error).
    report
        Write the report when all cells are done.
    debug
        Show the tracebacks of errors.
    as_json
        Print the result as JSON.
    """
    from ghx_bench.catalogue import Catalogue
    from ghx_bench.cli.running.measuring import say_notes
    from ghx_bench.cli.stored.run_names import find_run
    from ghx_bench.cli.verdicts.judging import judging_of
    from ghx_bench.project.baselines import baselines_file
    from ghx_bench.project.config_file import project_config

    show_tracebacks(debug)
    # What a project's own scorers print must not get between the lines of --json.
    with redirect_stdout(sys.stderr):
        base = project_config(config)
        results = Path(measuring.output_dir or base.output.results_dir)
        others = {"fail_on": gates.fail_on, "against": gates.against, "agent_option": agent_option}
        named = {"replay": evaluation.replay, "replay_model": evaluation.replay_model}
        found = {flag: str(find_run(name, results)) for flag, name in named.items() if name is not None}
        settings = base.override(**asdict(measuring), **asdict(evaluation) | found, **others)
        judging, settings = judging_of(settings, gates, baselines=baselines_file(config))
        catalogue = Catalogue(settings).narrowed(category=category or (), difficulty=difficulty or ())
    say_notes(catalogue.config)
    if dry_run:
        from ghx_bench.cli.running.planned_run import show_planned_run

        return show_planned_run(catalogue, judging, as_json=as_json)
    return run_evaluation(
        catalogue, is_agreed=yes, log_json=log_json, with_report=report, as_json=as_json, judging=judging
    )


def run_evaluation(
    catalogue: Catalogue,
    *,
    is_agreed: bool,
    log_json: str | None,
    with_report: bool,
    as_json: bool,
    judging: Judging,
    resume: Path | None = None,
    accept_changes: bool = False,
) -> int:
    """Run what a catalogue's configuration says, or what a run of it has left, and return the exit code.

    What may cost without a limit has to be agreed to.
    """
    from ghx_bench.assembly import assemble
    from ghx_bench.cli.running.measuring import measure_and_show
    from ghx_bench.cli.running.spending import confirm_spend
    from ghx_profiler.suite import control_names

    config = catalogue.config
    # What a shard shows of the modes is a part of the truth: its report is that of the merged run.
    is_whole = config.execution.shard is None

    async def start(observers: Sequence[Observer]) -> SuiteResult:
        async with assemble(catalogue, environ=os.environ, project=Path.cwd()) as evaluation:
            if resume is None:
                _say_warnings(catalogue)
            providers = evaluation.setup.instruments.providers
            judging.require_comparable(evaluation.plan.matrix, controls=control_names(providers))
            forecast = confirm_spend(evaluation.plan, providers, is_agreed=is_agreed, resume=resume)
            told = observers if forecast is None else [*observers, forecast]
            return await evaluation.run(observers=told, resume=resume, accept_changes=accept_changes)

    return measure_and_show(
        start,
        log_json=log_json,
        as_json=as_json,
        judging=judging,
        report=partial(write_report, config.output.reports_dir) if with_report and is_whole else None,
    )


def _say_warnings(catalogue: Catalogue) -> None:
    """Say what `check` would warn of: a path that no answer has runs, and makes every cell wrong."""
    for each in catalogue.find_warnings():
        print(f"warning: {each}", file=sys.stderr)


def write_report(reports_dir: Path | None, result: SuiteResult, read: ReadRows) -> Verdict:
    """Write the report into the run's directory, and a copy of it where the configuration says."""
    from ghx_bench.cli.running.measuring import Verdict
    from ghx_bench.scoring.github_metrics import EVAL_METRICS
    from ghx_profiler.reports import generate_report

    generated_at = timestamp(SystemClock().now())
    made = generate_report([result.directory], generated_at=generated_at, metrics=EVAL_METRICS, read=read)
    if reports_dir is not None:
        place = reports_dir / result.run_id
        try:
            shutil.copytree(made.directory, place, dirs_exist_ok=True)
        except OSError as error:
            raise OperationError(f"output.reports_dir: {place} cannot be written: {error}") from error
    return Verdict(sentences=made.headline.sentences, page=made.directory / "index.html")
