"""`ghx-bench run`: scenarios, worlds, agents, checkpoints, rows, a report."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ghx_base.clock import SystemClock, timestamp
from ghx_base.errors import InputError, OperationError
from ghx_base.problems import plural
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
    from ghx_bench.cli.running.forecast import CostForecast, EffectForecast
    from ghx_bench.cli.running.measuring import Verdict
    from ghx_bench.cli.verdicts.judging import Judging
    from ghx_bench.scenario.eval_scenario import EvalScenario
    from ghx_profiler.config import Budgets
    from ghx_profiler.contracts import SessionProvider
    from ghx_profiler.events import Observer
    from ghx_profiler.plan.cell import Matrix
    from ghx_profiler.reports.data.reading import ReadRows
    from ghx_profiler.stats.plan import AnalysisPlan
    from ghx_profiler.suite import SuitePlan, SuiteResult

_AS_CONFIGURED = MeasuringFlags()
_AS_EVALUATED = EvaluationFlags()
_AS_JUDGED = GateFlags()
_MOST_IN_A_LINE = 8
_INDENT = 15
_STEPS = (1, 2, 3)
"""Effects that a run is planned for, in margins: the smallest that counts as a difference, and larger ones."""


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
        run_names = {"replay": evaluation.replay, "replay_model": evaluation.replay_model}
        run_folders = {flag: str(find_run(name, results)) for flag, name in run_names.items() if name is not None}
        settings = base.override(**asdict(measuring), **asdict(evaluation) | run_folders, **others)
        judging, settings = judging_of(settings, gates, baselines=baselines_file(config))
        catalogue = Catalogue(settings).narrowed(category=category or (), difficulty=difficulty or ())
    say_notes(catalogue.config)
    if dry_run:
        return _show_planned_run(catalogue, judging, as_json=as_json)
    return run_evaluation(
        catalogue, is_agreed=yes, log_json=log_json, with_report=report, as_json=as_json, judging=judging
    )


def _show_planned_run(catalogue: Catalogue, judging: Judging, *, as_json: bool) -> int:
    """Check everything that is checked before a run, and print what would be run."""
    import anyio

    from ghx_base.errors import ungrouped
    from ghx_base.extras import is_installed
    from ghx_bench.cli.running.forecast import forecast_run
    from ghx_bench.scenario.eval_scenario import required_fixtures

    with redirect_stdout(sys.stderr), ungrouped():
        plan, controls = anyio.run(_plan, catalogue)
        judging.require_comparable(plan.matrix, controls=controls)
    matrix, config = plan.matrix, catalogue.config
    lists: dict[str, Sequence[str]] = {
        "agents": matrix.agents,
        "models": matrix.models,
        "modes": matrix.modes,
        "scenarios": matrix.scenario_ids,
        "fixtures": required_fixtures(plan.scenarios.values()),
    }
    repo = config.fixtures.repo if config.target == "github" else None
    outlook = None if controls == set(matrix.agents) else forecast_run(plan)
    if outlook is not None and len(matrix.arms) > 1 and is_installed("report"):
        outlook = replace(outlook, effects=tuple(_forecast_effects(matrix, plan.config.analysis, outlook.rate)))
    if as_json:
        shard = {} if matrix.shard is None else {"shard": str(matrix.shard)}
        summary = {"cells": matrix.total, "repetitions": matrix.repetitions, **lists, "repo": repo, **shard}
        beside = {} if outlook is None else outlook.to_wire()
        print(json.dumps({**summary, **beside, "config": config.model_dump(mode="json")}))
        return 0
    part = "" if matrix.shard is None else f" of shard {matrix.shard}"
    which = "agent" if len(matrix.agents) == 1 else "agents"
    print(
        f"{plural(matrix.total, 'cell')}{part}, up to {config.execution.max_concurrency} at a time, {matrix.order}, "
        f"on {config.target} with the {which} {', '.join(matrix.agents)}:"
    )
    if repo:
        print(f"  {'writes to':{_INDENT - 2}}{repo}")
    for name, each in lists.items():
        print(f"  {name:{_INDENT - 2}}{_list(each)}")
    print(f"  {'repetitions':{_INDENT - 2}}{matrix.repetitions}")
    for line in outlook.lines() if outlook is not None else ():
        print(line)
    return 0


def _forecast_effects(matrix: Matrix, analysis: AnalysisPlan, rate: float) -> Iterator[EffectForecast]:
    """Yield what it takes to show changes of success by the margin of an analysis plan, and by more."""
    from ghx_bench.cli.running.forecast import EffectForecast
    from ghx_profiler.scenario import scenario_of
    from ghx_profiler.stats.comparison import planned_pairs
    from ghx_profiler.stats.errors import BadSampleError
    from ghx_profiler.stats.methods.noise import USUAL_BETWEEN_SD, assumed_rates
    from ghx_profiler.stats.methods.sample_size import plan_sample_size
    from ghx_profiler.stats.observations import SUCCESS

    scenarios = len({scenario_of(each) for each in matrix.scenario_ids})
    noise = assumed_rates(
        rate=rate,
        between_sd=USUAL_BETWEEN_SD,
        scenarios=scenarios,
        repetitions=matrix.repetitions,
        forms=len(matrix.scenario_ids) / scenarios,
    )
    comparisons = max(1, len(planned_pairs(matrix.arms, analysis))) * len(analysis.primary)
    for step in _STEPS:
        points = step * analysis.margin_pct
        try:
            sample_plan = plan_sample_size(points, noise, analysis, metric=SUCCESS, comparisons=comparisons)
        except BadSampleError:
            return  # success cannot change by so much
        repetitions = sample_plan.repetitions_at_current_scenarios
        yield EffectForecast(points=sample_plan.effect_pct, power=sample_plan.power, repetitions=repetitions)


async def _plan(catalogue: Catalogue) -> tuple[SuitePlan[EvalScenario], set[str]]:
    """Return the plan, and which of its agents are controls."""
    from ghx_bench.assembly import assemble
    from ghx_profiler.suite import control_names

    async with assemble(catalogue, environ=os.environ, project=Path.cwd()) as evaluation:
        for each in catalogue.find_warnings():
            print(f"warning: {each}")
        providers = evaluation.setup.instruments.providers
        return evaluation.plan, control_names(providers)


def _list(names: Sequence[str]) -> str:
    """Return names in a line or, where they are many, their number and columns as wide as the terminal allows."""
    if len(names) <= _MOST_IN_A_LINE:
        return ", ".join(names) or "none"
    width = 2 + max(map(len, names))
    columns = max((shutil.get_terminal_size().columns - _INDENT) // width, 1)
    rows = -(-len(names) // columns)
    lines = ["".join(f"{name:<{width}}" for name in names[start::rows]).rstrip() for start in range(rows)]
    return "\n".join((f"{len(names):,}:", *(f"{' ' * _INDENT}{line}" for line in lines)))


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
            forecast = _confirm_spend(evaluation.plan, providers, is_agreed=is_agreed, resume=resume)
            all_observers = observers if forecast is None else [*observers, forecast]
            return await evaluation.run(observers=all_observers, resume=resume, accept_changes=accept_changes)

    return measure_and_show(
        start,
        log_json=log_json,
        as_json=as_json,
        judging=judging,
        report=partial(write_report, config.output.reports_dir) if with_report and is_whole else None,
    )


def _confirm_spend(
    plan: SuitePlan[Any],
    providers: Mapping[str, SessionProvider],
    *,
    is_agreed: bool,
    resume: Path | None = None,
) -> CostForecast | None:
    """Report what a run, or what is left of one, may cost, and refuse it unless that is limited or agreed to.

    Return a forecast that follows the run's events; `None` if no agent of the run is paid for.
    """
    from ghx_bench.cli.running.forecast import CostForecast, SessionTally, rows_in
    from ghx_profiler.store.directory import RunDirectory
    from ghx_profiler.store.record import read_record
    from ghx_profiler.store.run_store import spend_of

    paid = [name for name in plan.matrix.agents if getattr(providers[name], "is_paid", False) is True]
    if not paid:
        return None
    budgets, results = plan.config.budget, plan.config.output.results_dir
    if any(getattr(providers[name], "is_metered", False) is True for name in paid):
        _require_prices(plan.matrix.models, budgets)
    own = [] if resume is None else list(rows_in(resume))
    others = [path for path in sorted(results.glob("*/")) if resume is None or not path.samefile(resume)]
    max_usd, done = budgets.run.max_usd, {row.cell for row in own}
    if max_usd is not None and resume is not None:
        max_usd = max(max_usd - spend_of(read_record(RunDirectory(resume).record), own).usd, 0.0)
    forecast = CostForecast(
        cells=[cell for cell in plan.matrix.cells() if cell.agent in paid and cell not in done],
        earlier=SessionTally(chain(own, *map(rows_in, others))).costs,
        left_usd=max_usd,
    )
    if not forecast.cells:
        return None
    forecast.say()
    if budgets.run.max_usd is None and not is_agreed:
        who = f"agent {paid[0]!r} calls models" if len(paid) == 1 else f"agents {', '.join(paid)} call models"
        raise InputError(
            f"{who} that are paid for: say how many US dollars the run may cost with --max-usd, or run it without a "
            "limit with --yes"
        )
    return forecast


def _require_prices(models: Iterable[str], budgets: Budgets) -> None:
    """Report which models have no known price; refuse them where a limit in dollars could not be kept."""
    from ghx_profiler.records.metrics import TokenUsage
    from ghx_profiler.runner.pricing import price_of

    for model in models:
        if price_of(TokenUsage.of(input=1, output=1), model) is not None:
            continue
        if budgets.run.max_usd is not None or budgets.session.max_usd is not None:
            raise InputError(
                f"max_usd cannot be kept: no price is known for model {model!r}; limit the run with --max-tokens or "
                "--max-model-calls, and run it with --yes"
            )
        print(f"note: no price is known for model {model!r}: what its cells cost will not be known", file=sys.stderr)


def _say_warnings(catalogue: Catalogue) -> None:
    """Report what `check` would warn of: a path that no answer has runs, and makes every cell wrong."""
    for each in catalogue.find_warnings():
        print(f"warning: {each}", file=sys.stderr)


def write_report(reports_dir: Path | None, result: SuiteResult, read: ReadRows) -> Verdict:
    """Write the report into the run's directory, and a copy of it where the configuration says."""
    from ghx_bench.cli.running.measuring import Verdict
    from ghx_bench.scoring.github_metrics import EVAL_METRICS
    from ghx_profiler.reports import generate_report

    generated_at = timestamp(SystemClock().now())
    report_files = generate_report([result.directory], generated_at=generated_at, metrics=EVAL_METRICS, read=read)
    if reports_dir is not None:
        place = reports_dir / result.run_id
        try:
            shutil.copytree(report_files.directory, place, dirs_exist_ok=True)
        except OSError as error:
            raise OperationError(f"output.reports_dir: {place} cannot be written: {error}") from error
    return Verdict(sentences=report_files.headline.sentences, page=report_files.directory / "index.html")
