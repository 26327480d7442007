"""What `ghx-bench plan` does once its command line is read."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from ghx_bench._base.errors import FlagError
from ghx_bench._base.problems import did_you_mean, listed
from ghx_bench.profiler.metrics import Cost, Timing, TokenUsage, ToolCallSummary
from ghx_bench.profiler.reports.data.columns import read_columns
from ghx_bench.profiler.reports.data.sources import Source, open_sources
from ghx_bench.profiler.row import ProfileRow
from ghx_bench.profiler.stats.comparison import all_pairs, default_order
from ghx_bench.profiler.stats.noise import (
    USUAL_BETWEEN_SD,
    USUAL_RATE,
    USUAL_WITHIN_CV,
    RateNoise,
    assumed_amounts,
    assumed_rates,
    pilot_components,
)
from ghx_bench.profiler.stats.observations import SUCCESS, Observations
from ghx_bench.profiler.stats.plan import AnalysisPlan, Target
from ghx_bench.profiler.stats.records import VarianceComponents
from ghx_bench.profiler.stats.sample_size import (
    DesignLeftOut,
    DesignOption,
    SamplePlan,
    in_per_cent,
    plan_sample_size,
)

_PAIR = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is to be shown, and how surely."""

    effect_pct: float
    metric: str
    modes: str | None
    comparisons: int | None
    changes: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """The noise to plan for where there is no pilot; `None` is what nobody said."""

    within_cv: float | None
    between_sd: float | None
    rate: float | None

    def refuse_beside_pilot(self) -> None:
        """Refuse an assumption about what a pilot tells."""
        for flag, value in (("--within-cv", self.within_cv), ("--between-sd", self.between_sd), ("--rate", self.rate)):
            if value is not None:
                raise FlagError(flag, "the pilot tells the noise; leave out either the flag or the pilot")

    def refuse_unused(self, metric: str, target: Target) -> None:
        """Refuse an assumption that would change nothing."""
        if metric == SUCCESS and self.within_cv is not None:
            raise FlagError("--within-cv", "of success the noise follows from its rate; say that with --rate")
        if metric != SUCCESS and self.rate is not None:
            raise FlagError("--rate", f"is for success, not for {metric}; add --metric success or leave it out")
        if target == "suite" and self.between_sd is not None:
            reason = "does not matter on these scenarios; add --target population or leave it out"
            raise FlagError("--between-sd", reason)

    def components(self, metric: str) -> VarianceComponents:
        """Return the noise of a metric."""
        between_sd = _unless_given(self.between_sd, USUAL_BETWEEN_SD)
        if metric == SUCCESS:
            return assumed_rates(rate=_unless_given(self.rate, USUAL_RATE), between_sd=between_sd)
        return assumed_amounts(within_cv=_unless_given(self.within_cv, USUAL_WITHIN_CV), between_sd=between_sd)

    def words(self, metric: str, target: Target) -> str:
        """Say what was assumed, as far as it matters."""
        spread = f"repetitions vary by {100 * _unless_given(self.within_cv, USUAL_WITHIN_CV):.3g} %"
        if metric == SUCCESS:
            spread = f"a success rate of {100 * _unless_given(self.rate, USUAL_RATE):.3g} %"
        if target == "suite":
            return f"assumed: {spread}"
        unit = "percentage points" if metric == SUCCESS else "%"
        between = 100 * _unless_given(self.between_sd, USUAL_BETWEEN_SD)
        return f"assumed: {spread}, effects differ between scenarios by {between:.3g} {unit}"


def _unless_given(value: float | None, usual: float) -> float:
    return usual if value is None else value


def show_plan(
    wish: Wish, *, runs: Sequence[Path], results: Sequence[Path], assumptions: Assumptions, as_json: bool
) -> int:
    """Print which sizes are enough, and return the exit code."""
    if runs or results:
        assumptions.refuse_beside_pilot()
    sources = open_sources(runs, results) if runs or results else ()
    plan = _plan_of(sources, wish)
    noise = _piloted(wish, sources, plan.target) if sources else _assumed(wish, assumptions, plan.target)
    comparisons = noise.pairs * len({*plan.primary, wish.metric}) if wish.comparisons is None else wish.comparisons
    found = plan_sample_size(wish.effect_pct, noise.components, plan, metric=wish.metric, comparisons=comparisons)
    basis = noise.basis
    said = json.dumps({"basis": basis, **found.to_wire()}) if as_json else "\n".join(_lines(found, basis))
    print(said)  # noqa: T201 - this command's output
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Noise:
    """The noise to plan for, where it comes from in words, and how many pairs of modes a report would compare."""

    components: VarianceComponents
    basis: str
    pairs: int = 1


def _piloted(wish: Wish, sources: Sequence[Source], target: Target) -> _Noise:
    """Return the noise of a pilot, and between which modes."""
    observations = read_columns(_rows(sources)).observations
    a, b = _pair(wish, observations)
    if wish.metric in _recorded_metrics() and wish.metric not in observations.metric_names:
        raise FlagError("--metric", f"no row of the pilot knows it; known: {listed(observations.metric_names)}")
    _check_metric(wish.metric, observations.metric_names)
    components = pilot_components(observations, a, b, wish.metric, target=target)
    pairs = len(all_pairs(observations.arm.known))
    return _Noise(components=components, basis=f"from a pilot: {a} against {b}", pairs=pairs)


def _assumed(wish: Wish, assumptions: Assumptions, target: Target) -> _Noise:
    """Return the noise that was assumed, and in which words."""
    if wish.modes is not None:
        raise FlagError("--modes", "there is no pilot whose modes could be named; leave it out")
    _check_metric(wish.metric, _recorded_metrics())
    assumptions.refuse_unused(wish.metric, target)
    return _Noise(components=assumptions.components(wish.metric), basis=assumptions.words(wish.metric, target))


def _check_metric(metric: str, known: Iterable[str]) -> None:
    names = tuple(known)
    if metric not in names:
        raise FlagError("--metric", f"no metric {metric!r}; {did_you_mean(metric, names)}")


def _recorded_metrics() -> tuple[str, ...]:
    """Return the metrics that rows have without anybody's collectors."""
    recorded = (TokenUsage(), Timing(), ToolCallSummary(), Cost())
    return (SUCCESS, "agent_turns", *(metric.name for record in recorded for metric in record.metrics()))


def _rows(sources: Sequence[Source]) -> Iterator[tuple[str, ProfileRow]]:
    return ((source.label, row) for source in sources for row in source.rows())


def _plan_of(sources: Sequence[Source], wish: Wish) -> AnalysisPlan:
    recorded = next((plan for source in sources if (plan := source.plan()) is not None), AnalysisPlan())
    changes = {name: value for name, value in wish.changes.items() if value is not None}
    try:
        return AnalysisPlan.model_validate(recorded.model_dump() | changes)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise FlagError(f"--{first['loc'][0]}", first["msg"]) from None


def _pair(wish: Wish, observations: Observations) -> tuple[str, str]:
    """Return the two modes to compare, the later one first."""
    known = tuple(map(str, default_order(observations.arm.known)))
    names = known[::-1] if wish.modes is None else tuple(name.strip() for name in wish.modes.split(","))
    if len(names) != _PAIR or not all(names):
        raise FlagError("--modes", f"name two modes, as a,b; the pilot has {', '.join(known) or 'no rows'}")
    return names[0], names[1]


def _lines(found: SamplePlan, basis: str) -> Iterator[str]:
    place = "on these scenarios" if found.target == "suite" else "on tasks like these"
    yield (
        f"To show {_effect(found)} {place} with a chance of {100 * found.power:g} % (alpha {found.alpha:.2g}"
        f"{_as_one_of(found.comparisons)}; {basis}):"
    )
    yield ""
    if found.options:
        yield "repetitions  scenarios  rows per mode     chance"
        for design in sorted((*found.options, *found.left_out), key=lambda each: each.repetitions):
            yield _line(design)
        yield ""
    if found.current_power is not None and found.current_power < found.power:
        yield f"The pilot's own size would have shown it with a chance of {in_per_cent(found.current_power)}."
    yield from found.notes
    yield found.advice


def _line(design: DesignOption | DesignLeftOut) -> str:
    if isinstance(design, DesignLeftOut):
        return f"{design.repetitions:>11}       none  ({design.reason})"
    return (
        f"{design.repetitions:>11}  {design.scenarios:>9,}  {design.rows_per_mode:>13,}  {in_per_cent(design.power):>9}"
    )


def _as_one_of(comparisons: int) -> str:
    return "" if comparisons == 1 else f", as one of {comparisons:,} comparisons"


def _effect(found: SamplePlan) -> str:
    if not isinstance(found.components, RateNoise):
        return f"a reduction of {found.metric} by {found.effect_pct:g} %"
    reached = " or ".join(f"{100 * rate:.3g} %" for rate in found.reached_rates)
    return (
        f"a change of success by {found.effect_pct:g} percentage points "
        f"(from {100 * found.components.rate:.3g} % to {reached})"
    )
