"""What `ghx-bench run` and `resume` do once their command line is read."""

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio

from ghx_bench._base.clock import SystemClock, timestamp
from ghx_bench._base.commandline import INTERRUPTED
from ghx_bench._base.errors import FlagError, OperationError, ungrouped
from ghx_bench.agents.replay import ReplayProvider
from ghx_bench.eval.assembly import assembled
from ghx_bench.eval.cli.exits import exit_code
from ghx_bench.eval.cli.measuring import measure, show
from ghx_bench.eval.cli.resuming import evaluation_settings, home_of
from ghx_bench.eval.project.catalogue import Catalogue
from ghx_bench.eval.project.config import EvalConfig, project_config
from ghx_bench.eval.project.gates import GateTally, judge
from ghx_bench.eval.scoring.github_metrics import EVAL_METRICS
from ghx_bench.eval.stages.twin_stage import required_fixtures
from ghx_bench.profiler.events import Observer
from ghx_bench.profiler.reports.data.reading import ReadRows, read_sources
from ghx_bench.profiler.reports.data.sources import open_run
from ghx_bench.profiler.store.directory import RunDirectory
from ghx_bench.profiler.store.record import read_record
from ghx_bench.profiler.suite import SuiteResult

AS_WRITTEN = {"--set": "--scenario-set", "--results-dir": "--output-dir", "--warmup": "--skip-warmup"}
"""What `run` calls the flags that a configuration knows by other names."""

Plan = dict[str, Any]
"""What would be run, as `--dry-run --json` prints it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOrder:
    """What the command line asked for."""

    flags: Mapping[str, object]
    config: Path | None = None
    resume: Path | None = None
    category: Sequence[str] = ()
    difficulty: Sequence[str] = ()
    log_json: str | None = None
    dry_run: bool = False
    with_report: bool = True
    as_json: bool = False


def run_order(order: RunOrder) -> int:
    """Run it, show it, report on it, and return the exit code; a run is resumed in the folder where it was started."""
    if order.resume is None:
        return _carried_out(order)
    here, home = Path.cwd(), home_of(order.resume)
    if home.samefile(here):
        return _carried_out(order)
    log = order.log_json if order.log_json in (None, "-") else str(here / order.log_json)
    print(f"note: this run was started in {home}, and goes on there", file=sys.stderr)  # noqa: T201 - the command line
    with chdir(home):
        return _carried_out(replace(order, resume=here / order.resume, log_json=log))


def _carried_out(order: RunOrder) -> int:
    with redirect_stdout(sys.stderr):  # what a project's own scorers print must not get between the lines of --json
        config = _config_of(order)
    for note in config.notes():
        print(f"note: {note}", file=sys.stderr)  # noqa: T201 - the command line
    if order.dry_run:
        with redirect_stdout(sys.stderr), ungrouped():
            plan = anyio.run(_planned, config)
        print(json.dumps(plan) if order.as_json else _in_words(plan))  # noqa: T201 - this command's output
        return 0
    try:
        with redirect_stdout(sys.stderr):
            result = _measured(order, config)
    except KeyboardInterrupt:
        return INTERRUPTED
    tally = GateTally()
    # Read once, for gates, table and report.
    read = read_sources(
        [open_run(result.directory)],
        choice="failures" if order.with_report else "none",
        with_findings=order.with_report,
        watchers=[tally.add],
    )
    gates = judge(config.fail_on, tally)
    # Before the report, which may fail and must not take the result with it.
    show(result, read, as_json=order.as_json, gates=gates)
    for each in gates:
        if each.failed:
            print(f"gate failed: {each}", file=sys.stderr)  # noqa: T201 - the command line
    if order.with_report:
        print(f"report: {_reported(result, config, read)}", file=sys.stderr if order.as_json else sys.stdout)
    return exit_code(unmeasured=result.failed, gates=gates)


def _measured(order: RunOrder, config: EvalConfig) -> SuiteResult:
    async def start(observers: Sequence[Observer]) -> SuiteResult:
        async with assembled(config, environ=os.environ) as evaluation:
            return await evaluation.run(observers=observers, resume=order.resume, started_in=Path.cwd())

    return measure(
        start,
        log_json=order.log_json,
        resume_command=lambda directory: ["ghx-bench", "resume", str(directory)],
    )


def _reported(result: SuiteResult, config: EvalConfig, read: ReadRows) -> Path:
    from ghx_bench.profiler.reports import generate_report

    generated_at = timestamp(SystemClock().now())
    made = generate_report([result.directory], generated_at=generated_at, metrics=EVAL_METRICS, read=read)
    if config.output.reports_dir is not None:
        _copy(made.directory, config.output.reports_dir / result.run_id)
    return made.directory / "index.html"


def _copy(report: Path, place: Path) -> None:
    try:
        shutil.copytree(report, place, dirs_exist_ok=True)
    except OSError as error:
        raise OperationError(f"output.reports_dir: {place} cannot be written: {error}") from error


async def _planned(config: EvalConfig) -> Plan:
    async with assembled(config, environ=os.environ) as evaluation:
        matrix = (await evaluation.plan()).matrix
        return {
            "cells": matrix.total,
            "models": list(matrix.models),
            "modes": list(matrix.modes),
            "scenarios": list(matrix.scenario_ids),
            "repetitions": matrix.repetitions,
            "repo": config.fixtures.repo if config.target == "github" else None,
            "fixtures": list(required_fixtures(evaluation.catalogue.scenarios())),
            "config": config.model_dump(mode="json"),
        }


def _in_words(plan: Plan) -> str:
    config = EvalConfig.model_validate(plan["config"])
    execution, cells = config.execution, plan["cells"]
    told = {name: ", ".join(map(str, plan[name])) or "none" for name in ("models", "modes", "scenarios", "fixtures")}
    return "\n".join(
        [
            f"{cells:,} cell{'' if cells == 1 else 's'}, up to {execution.max_concurrency} at a time, "
            f"{execution.order}, on {config.target} with the agent {config.provider.id}:",
            *([f"  {'writes to':13}{plan['repo']}"] if plan["repo"] else []),
            *(f"  {name:13}{listed}" for name, listed in told.items()),
            f"  {'repetitions':13}{plan['repetitions']}",
        ]
    )


def _config_of(order: RunOrder) -> EvalConfig:
    """Start from the run that is resumed, or the file, or what needs no file; flags override each."""
    config = project_config(order.config) if order.resume is None else _resumed(order.resume)
    try:
        config = config.with_overrides(order.flags)
    except FlagError as error:
        raise FlagError(AS_WRITTEN.get(error.flag, error.flag), error.reason) from None
    if order.flags.get("--replay") is not None and config.provider.id != ReplayProvider.name:
        raise FlagError("--replay", f"goes with the agent replay, not with {config.provider.id}; leave out either")
    return Catalogue(config).select(category=order.category, difficulty=order.difficulty)


def _resumed(directory: Path) -> EvalConfig:
    return evaluation_settings(read_record(RunDirectory(directory).record), directory)
