"""How many scenarios and repetitions an effect needs, and which of the two to add."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import comb, log, log1p

from ghx_bench._base.wire import Count, WireModel
from ghx_bench.profiler.row import ProfileRow
from ghx_bench.profiler.stats.distributions import t_power
from ghx_bench.profiler.stats.errors import BadSampleError
from ghx_bench.profiler.stats.observations import SUCCESS, Observations, observe, pair_up
from ghx_bench.profiler.stats.pairs import variance_components
from ghx_bench.profiler.stats.plan import AnalysisPlan, Target
from ghx_bench.profiler.stats.records import Scale, VarianceComponents
from ghx_bench.profiler.stats.scales import reading_of
from ghx_bench.profiler.stats.targets import FEWEST_SCENARIOS

_REPETITIONS = (1, 2, 3, 5, 8, 10, 15, 20, 30, 50)
_MOST = 100_000


class DesignOption(WireModel):
    """One way to reach the wanted power."""

    scenarios: Count
    repetitions: Count
    power: float


class SamplePlan(WireModel):
    """How many scenarios and repetitions an effect needs, and what to add."""

    metric: str
    target: Target
    effect_pct: float
    alpha: float
    """As the strictest step of the adjustment for multiplicity asks."""
    power: float
    components: VarianceComponents
    between_share: float | None
    """Share of the present noise that only more scenarios can reduce; for `suite` it is 0."""
    current_power: float | None
    options: tuple[DesignOption, ...]
    scenarios_at_current_repetitions: Count | None
    repetitions_at_current_scenarios: Count | None
    """`None` where no number is enough, or nothing is there yet."""
    advice: str


def pilot_components(rows: Iterable[ProfileRow] | Observations, a: str, b: str, metric: str) -> VarianceComponents:
    """Read the noise of a comparison off a pilot run; two repetitions of two scenarios are the least."""
    observations = observe(rows)
    observations.require_modes(a, b)
    sample, _ = pair_up(observations, a, b, metric, "intention-to-treat")
    components = variance_components(sample, base=reading_of(sample, is_rate=metric == SUCCESS).base)
    if components.between is None:
        raise BadSampleError(
            f"the pilot cannot tell the noise of {metric}: it needs known values for at least 2 repetitions of at "
            f"least 2 scenarios in {a} and in {b}, got {len(sample.scenarios)} scenarios"
        )
    return components


def assumed_amounts(
    *, within_cv: float, between_sd: float, scenarios: int = 0, repetitions: int = 1
) -> VarianceComponents:
    """Assume the noise of tokens, time or cost: how repetitions vary, and how the effect varies between scenarios.

    `within_cv` is the standard deviation of one scenario's repetitions over their mean (0.3 is common); `between_sd`
    is the standard deviation of the effect between scenarios, as a share (0.1: most within 20 % of the average).
    """
    _check_assumption("within_cv", within_cv, 10)
    _check_assumption("between_sd", between_sd, 10)
    within = log1p(within_cv**2)
    return _assumed("log", within, between_sd**2, scenarios, repetitions)


def assumed_rates(*, rate: float, between_sd: float, scenarios: int = 0, repetitions: int = 1) -> VarianceComponents:
    """Assume the noise of success: the rate itself, and how the effect varies between scenarios, as a share."""
    _check_assumption("rate", rate, 1)
    _check_assumption("between_sd", between_sd, 1)
    return _assumed("raw", rate * (1 - rate), between_sd**2, scenarios, repetitions)


def plan_sample_size(
    effect_pct: float, components: VarianceComponents, plan: AnalysisPlan, *, metric: str, comparisons: int = 1
) -> SamplePlan:
    """Say which designs show a reduction of `effect_pct` with the planned power, and whether to add scenarios.

    `comparisons` is the size of the family that will be adjusted: mode pairs times primary metrics. The largest step
    of the adjustment is planned for, which is enough for every comparison of the family.
    """
    if not 0 < effect_pct < _ALL:
        raise BadSampleError(f"an effect is above 0 and below 100 per cent, got {effect_pct}")
    if comparisons < 1:
        raise BadSampleError(f"there is at least one comparison, got {comparisons}")
    design = _Design(
        effect=-log1p(-effect_pct / 100) if components.scale == "log" else effect_pct / 100 * components.base,
        components=components,
        target=plan.target,
        alpha=plan.alpha / comparisons,
        resamples=plan.resamples,
    )
    return SamplePlan(
        metric=metric,
        target=plan.target,
        effect_pct=effect_pct,
        alpha=design.alpha,
        power=plan.power,
        components=components,
        between_share=design.between_share,
        current_power=design.current_power,
        options=tuple(_options(design, plan.power)),
        scenarios_at_current_repetitions=_scenarios_needed(design, plan.power),
        repetitions_at_current_scenarios=_repetitions_needed(design, plan.power),
        advice=_advice(design, plan.power),
    )


_ALL = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class _Design:
    """An effect on the scale of the analysis, and the noise it has to be seen through."""

    effect: float
    components: VarianceComponents
    target: Target
    alpha: float
    resamples: int

    @property
    def between(self) -> float:
        """Noise that repetitions cannot reduce: none, if only these scenarios matter."""
        return 0.0 if self.target == "suite" else self.components.between or 0.0

    @property
    def within(self) -> float:
        """Noise of one repetition of each mode."""
        return (self.components.within_a or 0.0) + (self.components.within_b or 0.0)

    @property
    def between_share(self) -> float | None:
        """Share of the present noise that only more scenarios can reduce."""
        components = self.components
        if not (components.repetitions_a and components.repetitions_b):
            return None
        repeated = (components.within_a or 0.0) / components.repetitions_a
        repeated += (components.within_b or 0.0) / components.repetitions_b
        total = self.between + repeated
        return self.between / total if total else None

    @property
    def scenarios(self) -> int:
        """Scenarios of the pilot; 0 if there was none."""
        return self.components.scenarios

    @property
    def repetitions(self) -> int:
        """Repetitions of the pilot, in the mode that has fewer."""
        return int(min(self.components.repetitions_a, self.components.repetitions_b))

    @property
    def current_power(self) -> float | None:
        """The power of the pilot's own size."""
        return self.power(self.scenarios, self.repetitions) if self.scenarios and self.repetitions else None

    def power(self, scenarios: int, repetitions: int) -> float:
        """Return the chance to show the effect."""
        population = self.target == "population"
        df = scenarios - 1 if population else 2 * scenarios * (repetitions - 1)
        if df < 1 or (population and scenarios < FEWEST_SCENARIOS) or self._cannot_reject(scenarios, repetitions):
            return 0.0
        noise = (self.between + self.within / repetitions) / scenarios
        return min(1.0, t_power(self.effect / noise**0.5, df, self.alpha)) if noise else 1.0

    def _cannot_reject(self, scenarios: int, repetitions: int) -> bool:
        """Say whether there are too few ways to shuffle labels for so small a p-value."""
        if self.target == "population":
            return False
        enough = log(2 / self.alpha)
        return 1 / (self.resamples + 1) > self.alpha or scenarios * log(comb(2 * repetitions, repetitions)) < enough


def _options(design: _Design, power: float) -> Iterable[DesignOption]:
    """Yield, for usual numbers of repetitions, the fewest scenarios that are enough."""
    for repetitions in _REPETITIONS:
        scenarios = _fewest(lambda count, each=repetitions: design.power(count, each) >= power)
        if scenarios is not None:
            yield DesignOption(scenarios=scenarios, repetitions=repetitions, power=design.power(scenarios, repetitions))


def _scenarios_needed(design: _Design, power: float) -> int | None:
    if not (design.scenarios and design.repetitions):
        return None
    return _fewest(lambda count: design.power(count, design.repetitions) >= power)


def _repetitions_needed(design: _Design, power: float) -> int | None:
    return _fewest(lambda count: design.power(design.scenarios, count) >= power) if design.scenarios else None


def _fewest(is_enough: Callable[[int], bool]) -> int | None:
    """Return the smallest count that is enough, if any is; more is never less enough."""
    high = 1
    while not is_enough(high):
        high *= 2
        if high > _MOST:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _advice(design: _Design, power: float) -> str:
    """Say what to add. To write a scenario is more work than to repeat one, up to twice as many rows."""
    if not design.scenarios:
        return "Choose one of the options; more scenarios also make the result say more about other tasks."
    if design.current_power is not None and design.current_power >= power:
        return f"The present size is enough: it shows this effect with a chance of {100 * design.current_power:.0f} %."
    scenarios, repetitions = _scenarios_needed(design, power), _repetitions_needed(design, power)
    more_scenarios = scenarios and (
        f"{scenarios} with the present {design.repetitions} repetitions ({scenarios * design.repetitions} rows a mode)"
    )
    more_repetitions = repetitions and (
        f"{repetitions} of the present {design.scenarios} scenarios ({repetitions * design.scenarios} rows a mode)"
    )
    if scenarios and repetitions:
        if repetitions * design.scenarios <= 2 * scenarios * design.repetitions:
            return f"Add repetitions: {more_repetitions} are enough. Or add scenarios: {more_scenarios}."
        return f"Add scenarios: {more_scenarios} are enough. With repetitions alone it takes {more_repetitions}."
    if repetitions:
        return f"Add repetitions: {more_repetitions} are enough."
    why = _why_not_repetitions(design)
    return (
        f"Add scenarios: {more_scenarios} are enough; {why}." if scenarios else f"Add scenarios and repetitions; {why}."
    )


def _why_not_repetitions(design: _Design) -> str:
    if design.target == "population" and design.scenarios < FEWEST_SCENARIOS:
        return f"tasks like these need at least {FEWEST_SCENARIOS}"
    return "the effect differs so much between the present ones that no number of repetitions is"


def _assumed(scale: Scale, within: float, between: float, scenarios: int, repetitions: int) -> VarianceComponents:
    return VarianceComponents(
        between=between,
        within_a=within,
        within_b=within,
        scenarios=scenarios,
        repetitions_a=repetitions,
        repetitions_b=repetitions,
        scale=scale,
        base=1.0,
    )


def _check_assumption(name: str, value: float, largest: float) -> None:
    if not 0 <= value <= largest:
        raise BadSampleError(f"{name} is between 0 and {largest}, got {value}")
