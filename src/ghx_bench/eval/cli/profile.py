"""`ghx-bench profile`: measure an agent described in a Python file."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from ghx_bench.eval.cli.flags import Switch, WholeNumber


def profile(
    target: str,
    /,
    *,
    config: Path | None = None,
    mode: list[str] | None = None,
    model: list[str] | None = None,
    scenario: list[str] | None = None,
    tag: list[str] | None = None,
    repetitions: WholeNumber | None = None,
    retries: WholeNumber | None = None,
    max_concurrency: WholeNumber | None = None,
    order: Literal["interleaved", "sequential"] | None = None,
    seed: WholeNumber | None = None,
    warmup: bool | None = None,
    results_dir: str | None = None,
    resume: Path | None = None,
    log_json: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    dry_run: Switch = False,
    json: Switch = False,
) -> int:
    """Measure an agent of your own, described in a Python file.

    Parameters
    ----------
    target
        A Python file, or `module:name`, or `file.py:name`, with a `Profile` in it (called `profile` unless named).
    config
        A YAML file with the run's settings; the flags below override it.
    mode
        A mode to run; repeat for several. All of the profile's unless given.
    model
        A model id to run with; repeat for several.
    scenario
        A scenario id to run; repeat for several. All of the profile's unless given.
    tag
        Run only scenarios with this tag; repeat for several.
    repetitions
        How often each scenario is run in each mode.
    retries
        Further attempts after a transient failure, instead of each scenario's own `allowedRetries`.
    max_concurrency
        How many cells run at once.
    order
        `interleaved` mixes the modes, so that a drifting model service hits all alike.
    seed
        Seed of the order.
    warmup
        Run one canary per mode first, and stop if it cannot be measured.
    results_dir
        Where run directories are made.
    resume
        The directory of a run that was interrupted; runs its remaining cells.
    log_json
        Write every event as a line of JSON to this file (`-` for standard error).
    dry_run
        Print what would be run, and stop.
    json
        Print the result as JSON.
    """
    from ghx_bench.eval.cli.profiling import Order, run_order

    flags = {
        "--mode": mode,
        "--model": model,
        "--scenario": scenario,
        "--tag": tag,
        "--repetitions": repetitions,
        "--retries": retries,
        "--max-concurrency": max_concurrency,
        "--order": order,
        "--seed": seed,
        "--warmup": warmup,
        "--results-dir": results_dir,
    }
    return run_order(
        Order(
            target=target,
            config=config,
            flags=flags,
            resume=resume,
            log_json=log_json,
            dry_run=dry_run,
            as_json=json,
        )
    )
