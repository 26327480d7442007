"""`ghx-bench plan`: how many scenarios and repetitions an effect needs."""

from pathlib import Path
from typing import Literal

from ghx_bench.eval.cli.flags import Number, Switch, WholeNumber


def plan(
    *pilot: Path,
    effect: Number,
    results: list[Path] | None = None,
    metric: str = "tokens_active",
    modes: str | None = None,
    target: Literal["suite", "population"] | None = None,
    power: Number | None = None,
    alpha: Number | None = None,
    comparisons: WholeNumber | None = None,
    within_cv: Number | None = None,
    between_sd: Number | None = None,
    rate: Number | None = None,
    json: Switch = False,
) -> int:
    """Say how many scenarios and repetitions it takes to show an effect, from a pilot run or from assumptions.

    Parameters
    ----------
    pilot
        A run directory whose noise is taken; without one, and without --results, the assumptions below are.
    effect
        The reduction to be shown, in per cent; for success the change either way, in percentage points.
    results
        A file with one row a line, to take the noise from.
    metric
        The metric to be compared.
    modes
        The two modes of the pilot to compare, as `a,b`; may be left away where it has two.
    target
        `suite`: on these scenarios. `population`: on tasks like these.
    power
        The chance to show the effect if it is there.
    alpha
        The chance of a false alarm.
    comparisons
        How many comparisons will be adjusted together. Unless given, as many as a report has: pairs of modes (those of
        the pilot, or one) times primary metrics.
    within_cv
        Assumed without a pilot: how repetitions of one scenario vary, as a share of their mean (0.3 unless given).
    between_sd
        Assumed without a pilot, for `population`: how the effect differs between scenarios, as a share (0.1 unless
        given).
    rate
        Assumed without a pilot, for success: the rate itself, without the effect (0.7 unless given).
    json
        Print the plan as JSON.
    """
    from ghx_bench.eval.cli.planning import Assumptions, Wish, show_plan

    return show_plan(
        Wish(
            effect_pct=effect,
            metric=metric,
            modes=modes,
            comparisons=comparisons,
            changes={"target": target, "power": power, "alpha": alpha},
        ),
        runs=pilot,
        results=results or (),
        assumptions=Assumptions(within_cv=within_cv, between_sd=between_sd, rate=rate),
        as_json=json,
    )
