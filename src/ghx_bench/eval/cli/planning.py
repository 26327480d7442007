"""What `ghx-bench plan` does once its command line is read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from ghx_bench._base.errors import FlagError
from ghx_bench.profiler.reports.columns import read_columns
from ghx_bench.profiler.reports.sources import Source, open_sources
from ghx_bench.profiler.row import ProfileRow
from ghx_bench.profiler.stats.comparison import default_order
from ghx_bench.profiler.stats.observations import Observations
from ghx_bench.profiler.stats.plan import AnalysisPlan
from ghx_bench.profiler.stats.records import VarianceComponents
from ghx_bench.profiler.stats.sample_size import (
    SamplePlan,
    assumed_amounts,
    assumed_rates,
    pilot_components,
    plan_sample_size,
)

_PAIR = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is to be shown, and how surely."""

    effect_pct: float
    metric: str
    modes: str | None
    comparisons: int
    changes: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """The noise to plan for where there is no pilot."""

    within_cv: float
    between_sd: float
    rate: float

    def components(self, metric: str) -> VarianceComponents:
        """Return the noise of a metric."""
        if metric == "success":
            return assumed_rates(rate=self.rate, between_sd=self.between_sd)
        return assumed_amounts(within_cv=self.within_cv, between_sd=self.between_sd)

    def words(self, metric: str) -> str:
        """Say what was assumed."""
        spread = (
            f"a success rate of {self.rate:g}" if metric == "success" else f"repetitions vary by {self.within_cv:.0%}"
        )
        return f"assumed: {spread}, effects differ between scenarios by {self.between_sd:.0%}"


def show_plan(
    wish: Wish, *, runs: Sequence[Path], results: Sequence[Path], assumptions: Assumptions, as_json: bool
) -> int:
    """Print which sizes are enough, and return the exit code."""
    sources = open_sources(runs, results) if runs or results else ()
    plan = _plan_of(sources, wish)
    if sources:
        observations = read_columns(_rows(sources)).observations
        a, b = _pair(wish, observations)
        components, basis = pilot_components(observations, a, b, wish.metric), f"from a pilot: {a} against {b}"
    else:
        components, basis = assumptions.components(wish.metric), assumptions.words(wish.metric)
    found = plan_sample_size(wish.effect_pct, components, plan, metric=wish.metric, comparisons=wish.comparisons)
    print(found.model_dump_json() if as_json else "\n".join(_lines(found, basis)))  # noqa: T201 - this command's output
    return 0


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
    known = default_order(observations.mode.known)
    names = tuple(name.strip() for name in wish.modes.split(",")) if wish.modes else known[::-1]
    if len(names) != _PAIR:
        raise FlagError("--modes", f"name two modes, as a,b; the pilot has {', '.join(known) or 'no rows'}")
    return names[0], names[1]


def _lines(found: SamplePlan, basis: str) -> Iterator[str]:
    unit = "percentage points of success" if found.metric == "success" else f"% of {found.metric}"
    place = "on these scenarios" if found.target == "suite" else "on tasks like these"
    yield (
        f"To show a reduction of {found.effect_pct:g} {unit} {place} with a chance of {found.power:.0%} "
        f"(alpha {found.alpha:.2g}; {basis}):"
    )
    yield ""
    yield "repetitions  scenarios  rows per mode"
    for option in found.options:
        rows = option.repetitions * option.scenarios
        yield f"{option.repetitions:>11}  {option.scenarios:>9,}  {rows:>13,}"
    if not found.options:
        yield "no size up to 100,000 scenarios is enough"
    if found.current_power is not None:
        yield ""
        yield f"The pilot's own size would have shown it with a chance of {found.current_power:.0%}."
    yield ""
    yield found.advice
