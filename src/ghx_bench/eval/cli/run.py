"""`ghx-bench run` and `ghx-bench resume`: scenarios, worlds, agents, checkpoints, rows, a report."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from ghx_bench.eval.cli.flags import Switch, WholeNumber


def run(
    *,
    config: Path | None = None,
    agent: str | None = None,
    replay: str | None = None,
    model: list[str] | None = None,
    mode: list[str] | None = None,
    scenario: list[str] | None = None,
    scenario_set: str | None = None,
    scenario_dir: list[Path] | None = None,
    tag: list[str] | None = None,
    category: list[str] | None = None,
    difficulty: list[str] | None = None,
    repetitions: WholeNumber | None = None,
    retries: WholeNumber | None = None,
    skip_warmup: Switch = False,
    max_concurrency: WholeNumber | None = None,
    order: Literal["interleaved", "sequential"] | None = None,
    seed: WholeNumber | None = None,
    output_dir: str | None = None,
    target: Literal["twin", "github"] | None = None,
    repo: str | None = None,
    author_token_env: str | None = None,
    fail_on: list[str] | None = None,
    dry_run: Switch = False,
    log_json: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    report: bool = True,
    json: Switch = False,
) -> int:
    """Run scenarios with an agent in every mode, and report what came of it.

    With neither a configuration nor flags, the `default` scenarios are run on the embedded GitHub by the reference
    agent, which proves that everything works on this machine.

    Parameters
    ----------
    config
        A YAML file with the run's settings (`eval.config.yaml` if there is one here); the flags below override it.
    agent
        The agent: one that `ghx-bench list agents` names, or a class of your own, as in ./my_agent.py:MyAgent.
    replay
        The directory of a run whose sessions are made again; the agent is then `replay`.
    model
        A model id to run with; repeat for several.
    mode
        A mode to run; repeat for several.
    scenario
        A scenario id to run; repeat for several.
    scenario_set
        A named set of scenarios.
    scenario_dir
        A folder with scenarios of your own; repeat for several.
    tag
        Run only scenarios with this tag; repeat for several.
    category
        Run only scenarios of this category (pr, issue, workflow, release, repo); repeat for several.
    difficulty
        Run only scenarios of this difficulty (basic, intermediate, advanced); repeat for several.
    repetitions
        How often each scenario is run in each mode.
    retries
        Further attempts after a transient failure, instead of each scenario's own `allowedRetries`.
    skip_warmup
        Run no canary before measuring.
    max_concurrency
        How many cells run at once.
    order
        `interleaved` mixes the modes, so that a drifting model service hits all alike.
    seed
        Seed of the order.
    output_dir
        Where run directories are made.
    target
        Where agents work: on the embedded GitHub (twin), or on github.com.
    repo
        The repository that holds the fixtures, as owner/name. On github.com no other is touched.
    author_token_env
        On github.com, the environment variable with the token of a second identity, which authors what is reviewed.
    fail_on
        End with 1 on a `wrong` or a `right` cell, or a mode's rate, as in 'success<0.8'; repeat for several.
    dry_run
        Print what would be run, and stop.
    log_json
        Write every event as a line of JSON to this file (`-` for standard error).
    report
        Write the report when all cells are done.
    json
        Print the result as JSON.
    """
    from ghx_bench.eval.cli.evaluating import RunOrder, run_order

    flags = {
        "--agent": "replay" if agent is None and replay is not None else agent,
        "--replay": replay,
        "--model": model,
        "--mode": mode,
        "--scenario": scenario,
        "--set": scenario_set,
        "--scenario-dir": None if scenario_dir is None else [str(each) for each in scenario_dir],
        "--tag": tag,
        "--repetitions": repetitions,
        "--retries": retries,
        "--warmup": False if skip_warmup else None,
        "--max-concurrency": max_concurrency,
        "--order": order,
        "--seed": seed,
        "--results-dir": output_dir,
        "--target": target,
        "--repo": repo,
        "--author-token-env": author_token_env,
        "--fail-on": fail_on,
    }
    return run_order(
        RunOrder(
            config=config,
            flags=flags,
            category=tuple(category or ()),
            difficulty=tuple(difficulty or ()),
            log_json=log_json,
            dry_run=dry_run,
            with_report=report,
            as_json=json,
        )
    )


def resume(
    run: Path,
    /,
    *,
    log_json: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    max_concurrency: WholeNumber | None = None,
    fail_on: list[str] | None = None,
    report: bool = True,
    json: Switch = False,
) -> int:
    """Run the cells that an interrupted run has left, in the folder where it was started.

    Parameters
    ----------
    run
        The directory of the run.
    log_json
        Write every event as a line of JSON to this file (`-` for standard error).
    max_concurrency
        How many cells run at once.
    fail_on
        End with 1 if this comes of the run, instead of what it was started with: see `ghx-bench run --help`.
    report
        Write the report when all cells are done.
    json
        Print the result as JSON.
    """
    from ghx_bench.eval.cli.evaluating import RunOrder, run_order

    return run_order(
        RunOrder(
            resume=run,
            flags={"--max-concurrency": max_concurrency, "--fail-on": fail_on},
            log_json=log_json,
            with_report=report,
            as_json=json,
        )
    )
