"""`ghx-bench plan`: how many scenarios and repetitions an effect needs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ghx_base.errors import FlagError
from ghx_base.extras import require_extra
from ghx_base.problems import did_you_mean, listed
from ghx_bench.cli.flags import AsJson, EffortFlags, Number, RunPath, WholeNumber

if TYPE_CHECKING:  # loaded when the command runs, not for its --help
    from ghx_bench.cli.running.forecast import Forecast
    from ghx_profiler.plan.cell import Arm
    from ghx_profiler.reports.data.sources import Source
    from ghx_profiler.stats.methods.sample_size import DesignLeftOut, DesignOption, SamplePlan
    from ghx_profiler.stats.plan import AnalysisPlan, Target
    from ghx_profiler.stats.result_records import VarianceComponents


_PAIR = 2
_AS_IN_PILOT = EffortFlags()


def plan(
    *pilot: RunPath,
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
    effort: EffortFlags = _AS_IN_PILOT,
    as_json: AsJson = False,
) -> int:
    """Say how many scenarios and repetitions it takes to show an effect, how long that takes and what it costs.

    Noise, time and cost are those of a pilot run, or assumed.

    Parameters
    ----------
    pilot
        A run directory, the id of a run, or `latest`, whose noise is taken; without one, and without --results, the
        assumptions below are.
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
        How many comparisons will be adjusted together. Unless given, as many as a report has: pairs that differ in
        their mode or in their agent (those of the pilot, or one) times primary metrics.
    within_cv
        Assumed without a pilot: how repetitions of one scenario vary, as a share of their mean (0.3 unless given).
    between_sd
        Assumed without a pilot, for `population`: how the effect differs between scenarios, as a share (0.1 unless
        given).
    rate
        Assumed without a pilot, for success: the rate itself, without the effect (0.7 unless given).
    as_json
        Print the plan as JSON.
    """
    require_extra("report", for_what="a plan")
    from ghx_bench.cli.running.forecast import choose_forecast
    from ghx_profiler.reports.data.sources import open_sources
    from ghx_profiler.stats.methods.sample_size import plan_sample_size

    wish = _Wish(metric=metric, modes=modes, within_cv=within_cv, between_sd=between_sd, rate=rate)
    if pilot or results:
        wish.refuse_assumptions()
    sources = open_sources(pilot, results or ()) if pilot or results else ()
    analysis = _plan_of(sources, {"target": target, "power": power, "alpha": alpha})
    noise = _measure_noise(wish, sources, analysis.target) if sources else _assume_noise(wish, analysis.target)
    if comparisons is None:
        comparisons = noise.pairs * len({*analysis.primary, metric})
    planned = plan_sample_size(effect, noise.components, analysis, metric=metric, comparisons=comparisons)
    forecast = choose_forecast(noise.takes, effort)
    if as_json:
        options = [{**each.to_wire(), **forecast.to_wire(each.rows_per_mode)} for each in planned.options]
        summary = {"basis": noise.basis, "effort": str(forecast), **planned.to_wire(), "options": options}
        print(json.dumps(summary))
    else:
        print("\n".join(_lines(planned, noise.basis, forecast)))
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    """What is to be compared, and what is assumed of its noise where there is no pilot."""

    metric: str
    modes: str | None
    within_cv: float | None
    between_sd: float | None
    rate: float | None

    def refuse_assumptions(self) -> None:
        """Refuse an assumption about what a pilot tells."""
        for flag, value in (("--within-cv", self.within_cv), ("--between-sd", self.between_sd), ("--rate", self.rate)):
            if value is not None:
                raise FlagError(flag, "the pilot tells the noise; leave out either the flag or the pilot")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Noise:
    """The noise to plan for, where it comes from in words, and how many pairs of arms a report would compare."""

    components: VarianceComponents
    basis: str
    pairs: int = 1
    takes: Forecast | None = None
    """What a cell in each arm took in the pilot."""


def _measure_noise(wish: _Wish, sources: Sequence[Source], target: Target) -> _Noise:
    """Return the noise of a pilot, and between which modes: over all its agents but controls, if it has any other."""
    from ghx_bench.cli.running.forecast import SessionTally
    from ghx_profiler.plan.cell import Arm
    from ghx_profiler.reports.data.reading import read_sources
    from ghx_profiler.stats.comparison import planned_pairs
    from ghx_profiler.stats.methods.noise import pilot_components
    from ghx_profiler.stats.observations import factor

    sessions = SessionTally()
    read = read_sources(sources, with_findings=False, watchers=[sessions.add])
    observed = read.columns.observations
    arms = {arm for arm in observed.arm.known if arm not in read.tally.controls.arms} or set(observed.arm.known)
    of_row = [Arm(mode=arm.mode) if arm in arms else arm for arm in observed.arm.each()]
    observations = replace(observed, arm=factor(of_row))
    a, b = _pair(wish, read.arrangement.order(observations.arm.known))
    if wish.metric in _recorded_metrics() and wish.metric not in observations.metric_names:
        raise FlagError(
            "--metric", f"no row of the pilot knows {wish.metric!r}; known: {listed(observations.metric_names)}"
        )
    _check_metric(wish.metric, observations.metric_names)
    components = pilot_components(observations, a, b, wish.metric, target=target)
    # The run that is planned is one run, however many the pilot is.
    planned = read.arrangement.order({replace(arm, run=None) for arm in arms})
    pairs = max(1, len(planned_pairs(planned, read.arrangement.plan.plan)))
    controls = frozenset(agent for agents in read.tally.controls.arms.values() for agent in agents)
    takes = sessions.forecast(
        [arm for arm in sessions.arms if arm.agent not in controls] or sessions.arms,
        max_concurrency=_concurrency_of(sources),
        basis="the pilot",
    )
    return _Noise(components=components, basis=f"from a pilot: {a} against {b}", pairs=pairs, takes=takes)


def _concurrency_of(sources: Sequence[Source]) -> int:
    """Return how many cells of a pilot ran at once, as far as it wrote that down."""
    configs = (source.record.config.get("execution") for source in sources if source.record is not None)
    limits = [each.get("max_concurrency") for each in configs if isinstance(each, dict)]
    return max((each for each in limits if isinstance(each, int)), default=1)


def _assume_noise(wish: _Wish, target: Target) -> _Noise:
    """Return the noise that was assumed, and in which words; refuse an assumption that would change nothing."""
    from ghx_profiler.stats.methods.noise import (
        USUAL_BETWEEN_SD,
        USUAL_RATE,
        USUAL_WITHIN_CV,
        assumed_amounts,
        assumed_rates,
    )
    from ghx_profiler.stats.observations import SUCCESS

    if wish.modes is not None:
        raise FlagError("--modes", "there is no pilot whose modes could be named; leave it out")
    _check_metric(wish.metric, _recorded_metrics())
    is_rate, is_population = wish.metric == SUCCESS, target == "population"
    for_suite = "does not matter on these scenarios; add --target population or leave it out"
    for_success = "of success the noise follows from its rate; say that with --rate"
    for_others = f"is for success, not for {wish.metric}; add --metric success or leave it out"
    for flag, value, is_used, reason in (
        ("--within-cv", wish.within_cv, not is_rate, for_success),
        ("--rate", wish.rate, is_rate, for_others),
        ("--between-sd", wish.between_sd, is_population, for_suite),
    ):
        if value is not None and not is_used:
            raise FlagError(flag, reason)
    between_sd = USUAL_BETWEEN_SD if wish.between_sd is None else wish.between_sd
    if is_rate:
        rate = USUAL_RATE if wish.rate is None else wish.rate
        noise = assumed_rates(rate=rate, between_sd=between_sd)
        basis, unit = f"assumed: a success rate of {100 * rate:.3g} %", "percentage points"
    else:
        within_cv = USUAL_WITHIN_CV if wish.within_cv is None else wish.within_cv
        noise = assumed_amounts(within_cv=within_cv, between_sd=between_sd)
        basis, unit = f"assumed: repetitions vary by {100 * within_cv:.3g} %", "%"
    if is_population:
        basis += f", effects differ between scenarios by {100 * between_sd:.3g} {unit}"
    return _Noise(components=noise, basis=basis)


def _check_metric(metric: str, known: Iterable[str]) -> None:
    names = tuple(known)
    if metric not in names:
        raise FlagError("--metric", f"no metric {metric!r}; {did_you_mean(metric, names)}")


def _recorded_metrics() -> tuple[str, ...]:
    """Return the metrics that rows have without anybody's collectors."""
    from ghx_profiler.records.metrics import Cost, Timing, TokenUsage, ToolCallSummary
    from ghx_profiler.stats.observations import SUCCESS

    recorded = (TokenUsage(), Timing(), ToolCallSummary(), Cost())
    return (SUCCESS, "agent_turns", *(metric.name for record in recorded for metric in record.metrics()))


def _plan_of(sources: Sequence[Source], changes: dict[str, object]) -> AnalysisPlan:
    """Return the analysis plan of the first pilot that has one, changed by flags."""
    from pydantic import ValidationError

    from ghx_profiler.stats.plan import AnalysisPlan

    recorded = next((plan for source in sources if (plan := source.plan()) is not None), AnalysisPlan())
    settings = {name: value for name, value in changes.items() if value is not None}
    try:
        return AnalysisPlan.model_validate(recorded.model_dump() | settings)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise FlagError(f"--{first['loc'][0]}", first["msg"]) from None


def _pair(wish: _Wish, arms: Sequence[Arm]) -> tuple[str, str]:
    """Return the two modes to compare, the later one first: those of agents under test, all of them together."""
    from ghx_profiler.errors import UnknownNameError

    known = tuple(str(arm) for arm in arms if arm.agent is None)
    names = known[::-1] if wish.modes is None else tuple(name.strip() for name in wish.modes.split(","))
    if len(names) != _PAIR or not all(names):
        raise FlagError("--modes", f"name two modes, as a,b; the pilot has {', '.join(known) or 'no rows'}")
    for name in names:
        if name not in known:
            raise UnknownNameError("mode", name, known=known)
    return names[0], names[1]


def _lines(planned: SamplePlan, basis: str, forecast: Forecast) -> Iterator[str]:
    from ghx_profiler.stats.methods.sample_size import in_per_cent

    place = "on these scenarios" if planned.target == "suite" else "on tasks like these"
    as_one_of = "" if planned.comparisons == 1 else f", as one of {planned.comparisons:,} comparisons"
    yield (
        f"To show {_effect(planned)} {place} with a chance of {100 * planned.power:g} % (alpha {planned.alpha:.2g}"
        f"{as_one_of}; {basis}):"
    )
    yield ""
    if planned.options:
        more = "        time        cost" if forecast.is_known else ""
        yield f"repetitions  scenarios  rows per mode     chance      cells{more}"
        for design in sorted((*planned.options, *planned.left_out), key=lambda each: each.repetitions):
            yield _line(design, forecast)
        yield ""
        yield f"For {forecast}."
    if planned.current_power is not None and planned.current_power < planned.power:
        yield f"The pilot's own size would have shown it with a chance of {in_per_cent(planned.current_power)}."
    yield from planned.notes
    yield planned.advice


def _line(design: DesignOption | DesignLeftOut, forecast: Forecast) -> str:
    from ghx_profiler.stats.methods.sample_size import DesignLeftOut, in_per_cent

    if isinstance(design, DesignLeftOut):
        return f"{design.repetitions:>11}       none  ({design.reason})"
    cells, *others = forecast.columns(design.rows_per_mode)
    return (
        f"{design.repetitions:>11}  {design.scenarios:>9,}  {design.rows_per_mode:>13,}  "
        f"{in_per_cent(design.power):>9}  {cells:>9}{''.join(f'  {each:>10}' for each in others)}"
    )


def _effect(planned: SamplePlan) -> str:
    from ghx_profiler.stats.methods.noise import RateNoise

    if not isinstance(planned.components, RateNoise):
        return f"a reduction of {planned.metric} by {planned.effect_pct:g} %"
    reached = " or ".join(f"{100 * rate:.3g} %" for rate in planned.reached_rates)
    return (
        f"a change of success by {planned.effect_pct:g} percentage points "
        f"(from {100 * planned.components.rate:.3g} % to {reached})"
    )
