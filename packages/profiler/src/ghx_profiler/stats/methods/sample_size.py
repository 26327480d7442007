"""How many scenarios and repetitions an effect needs, and which of the two to add."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import lgamma, log, log1p

from ghx_base.problems import plural
from ghx_base.wire import Count, WireModel
from ghx_profiler.stats.errors import BadSampleError
from ghx_profiler.stats.methods.curves import FEWEST_SCENARIOS
from ghx_profiler.stats.methods.noise import USUAL_BETWEEN_SD, RateNoise
from ghx_profiler.stats.methods.probability import t_power
from ghx_profiler.stats.plan import AnalysisPlan, Target
from ghx_profiler.stats.result_records import VarianceComponents

_REPETITIONS = (1, 2, 3, 5, 8, 10, 15, 20, 30, 50)
_MOST = 100_000
_MOST_COMPARISONS = 10_000
_SMALLEST_ALPHA = 1e-12
_ALL = 100
_ROUNDING = 1e-9


class DesignOption(WireModel):
    """One way to reach the wanted power."""

    scenarios: Count
    repetitions: Count
    rows_per_mode: Count
    power: float


class DesignLeftOut(WireModel):
    """A number of repetitions with which no number of scenarios reaches the wanted power, and why."""

    repetitions: Count
    reason: str


class SamplePlan(WireModel):
    """How many scenarios and repetitions an effect needs, and what to add."""

    metric: str
    target: Target
    effect_pct: float
    alpha: float
    """As the strictest step of the adjustment for multiplicity asks."""
    comparisons: Count
    """How many are adjusted together, this one among them."""
    power: float
    components: RateNoise | VarianceComponents
    reached_rates: tuple[float, ...]
    """For success: the rates that the effect can lead to. The plan is made for the one with the most noise."""
    between_share: float | None
    """Share of the present noise that only more scenarios can reduce; for `suite` it is 0."""
    current_power: float | None
    options: tuple[DesignOption, ...]
    left_out: tuple[DesignLeftOut, ...]
    """The usual numbers of repetitions that are not among the options."""
    scenarios_at_current_repetitions: Count | None
    repetitions_at_current_scenarios: Count | None
    """`None` where no number is enough, or nothing is there yet."""
    notes: tuple[str, ...]
    """What had to be assumed although there was a pilot."""
    advice: str


def plan_sample_size(
    effect_pct: float, components: VarianceComponents, plan: AnalysisPlan, *, metric: str, comparisons: int = 1
) -> SamplePlan:
    """Return which designs show a reduction of `effect_pct` with the planned power, and whether to add scenarios.

    `comparisons` is the size of the family that will be adjusted: mode pairs times primary metrics. The largest step
    of the adjustment is planned for, which is enough for every comparison of the family.
    """
    _check_wish(effect_pct, plan.alpha, comparisons)
    reached: tuple[float, ...] = ()
    if isinstance(components, RateNoise):
        reached = _reached_rates(components.rate, effect_pct)
        # The rate nearest to one half has the most noise: what is enough for it is enough for the others.
        components = components.leading_to(min(reached, key=lambda rate: abs(rate - 0.5)))
    design = _Design(
        effect=-log1p(-effect_pct / 100) if components.scale == "log" else effect_pct / 100 * components.base,
        components=components,
        target=plan.target,
        alpha=plan.alpha / comparisons,
        resamples=plan.resamples,
    )
    if not design.between + design.within:
        raise BadSampleError(f"repetitions of {metric} do not vary: without noise nothing can be tested or planned")
    designs = tuple(_designs(design, plan.power))
    options = tuple(each for each in designs if isinstance(each, DesignOption))
    return SamplePlan(
        metric=metric,
        target=plan.target,
        effect_pct=effect_pct,
        alpha=design.alpha,
        comparisons=comparisons,
        power=plan.power,
        components=components,
        reached_rates=reached,
        between_share=design.between_share,
        current_power=design.current_power,
        options=options,
        left_out=tuple(each for each in designs if isinstance(each, DesignLeftOut)),
        scenarios_at_current_repetitions=_scenarios_needed(design, plan.power),
        repetitions_at_current_scenarios=_repetitions_needed(design, plan.power),
        notes=tuple(_notes(components, plan.target)),
        advice=_advice(design, plan.power) if options else _reason_without_size(design),
    )


def in_per_cent(share: float) -> str:
    """Return a chance in per cent; what is not certain does not become so by rounding."""
    whole = round(100 * share)
    if whole == _ALL and share < 1:
        return "over 99 %"
    return "under 1 %" if whole == 0 and share > 0 else f"{whole} %"


def _check_wish(effect_pct: float, alpha: float, comparisons: int) -> None:
    if not 0 < effect_pct < _ALL:
        raise BadSampleError(f"an effect is above 0 and below 100 per cent, got {effect_pct:g}")
    if not 1 <= comparisons <= _MOST_COMPARISONS:
        raise BadSampleError(f"there are from 1 to {_MOST_COMPARISONS:,} comparisons; choose such a number")
    if alpha / comparisons < _SMALLEST_ALPHA:
        raise BadSampleError(f"alpha {alpha:g} is smaller than can be told; choose a larger one")


def _reached_rates(rate: float, points: float) -> tuple[float, ...]:
    """Return where success can be once it has fallen or risen by so much."""
    reached = (rate - points / 100, rate + points / 100)
    possible = tuple(min(1.0, max(0.0, each)) for each in reached if -_ROUNDING <= each <= 1 + _ROUNDING)
    if not possible:
        raise BadSampleError(
            f"success cannot change by {points:g} percentage points from {100 * rate:.3g} %: it can fall by at most "
            f"{100 * rate:.3g} and rise by at most {100 - 100 * rate:.3g}; choose a smaller effect"
        )
    return possible


def _notes(components: VarianceComponents, target: Target) -> Iterable[str]:
    if not (isinstance(components, RateNoise) and components.rows):
        return
    yield (
        f"Success was {100 * components.rate:.3g} % in {components.rows:,} rows of the mode compared with; two "
        "successes and two failures are added to them (Agresti and Coull), because a sample does not prove a rate."
    )
    if components.between_is_assumed and target == "population":
        yield (
            f"No row of the pilot differed from another: effects are assumed to differ by {100 * USUAL_BETWEEN_SD:g} "
            "percentage points between scenarios."
        )


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
        repeated = (components.within_a or 0.0) / components.repetitions_a / self.forms
        repeated += (components.within_b or 0.0) / components.repetitions_b / self.forms
        total = self.between + repeated
        return self.between / total if total else None

    @property
    def forms(self) -> float:
        """How many forms a scenario has, each of which is repeated."""
        return self.components.forms or 1.0

    @property
    def scenarios(self) -> int:
        """Scenarios of the pilot; 0 without a pilot."""
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
        """Return the power for the effect with this many repetitions of each form of a scenario."""
        population = self.target == "population"
        df = scenarios - 1 if population else 2 * scenarios * self.forms * (repetitions - 1)
        if df < 1 or (population and scenarios < FEWEST_SCENARIOS) or self._cannot_reject(scenarios, repetitions):
            return 0.0
        noise = (self.between + self.within / repetitions / self.forms) / scenarios
        effect = self.effect
        if not population and isinstance(self.components, RateNoise):
            # Shuffled successes are counts: half a step between two of them is lost (continuity correction).
            effect = max(0.0, effect - 1 / (scenarios * repetitions * self.forms))
        return min(1.0, t_power(effect / noise**0.5, df, self.alpha))

    def rows(self, scenarios: int, repetitions: int) -> int:
        """Return how many rows of a mode that is."""
        return round(scenarios * repetitions * self.forms)

    @property
    def lacks_shuffles(self) -> bool:
        """Whether no p-value can reach the required level, because too few shuffles are made."""
        return self.target == "suite" and 1 / (self.resamples + 1) > self.alpha

    def _cannot_reject(self, scenarios: int, repetitions: int) -> bool:
        """Return whether there are too few ways to shuffle labels for so small a p-value."""
        if self.target == "population":
            return False
        # Two of all ways are as extreme as possible, the best one and its mirror image: p is at least 2 / ways.
        ways = scenarios * self.forms * (lgamma(2 * repetitions + 1) - 2 * lgamma(repetitions + 1))  # as a logarithm
        return self.lacks_shuffles or ways < log(2 / self.alpha) - _ROUNDING


def _designs(design: _Design, power: float) -> Iterable[DesignOption | DesignLeftOut]:
    """Yield, for usual numbers of repetitions, the fewest scenarios that are enough, or why none are."""
    for repetitions in _REPETITIONS:
        scenarios = _fewest(lambda count, each=repetitions: design.power(count, each) >= power)
        if scenarios is None:
            yield DesignLeftOut(repetitions=repetitions, reason=_reason_without_scenarios(design, repetitions))
        else:
            yield DesignOption(
                scenarios=scenarios,
                repetitions=repetitions,
                rows_per_mode=design.rows(scenarios, repetitions),
                power=design.power(scenarios, repetitions),
            )


def _reason_without_scenarios(design: _Design, repetitions: int) -> str:
    if design.target == "suite" and repetitions == 1:
        return "one repetition does not show how repetitions vary, which on these scenarios is all the noise there is"
    if design.lacks_shuffles:
        return f"{design.resamples:,} shuffles cannot show a p-value of {design.alpha:.2g}"
    return f"even {_MOST:,} scenarios have a chance of {in_per_cent(design.power(_MOST, repetitions))} only"


def _scenarios_needed(design: _Design, power: float) -> int | None:
    if not (design.scenarios and design.repetitions):
        return None
    return _fewest(lambda count: design.power(count, design.repetitions) >= power)


def _repetitions_needed(design: _Design, power: float) -> int | None:
    return _fewest(lambda count: design.power(design.scenarios, count) >= power) if design.scenarios else None


def _fewest(is_enough: Callable[[int], bool]) -> int | None:
    """Return the smallest count that is enough, if any is; more is never less enough."""
    if not is_enough(_MOST):
        return None
    low, high = 0, _MOST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _advice(design: _Design, power: float) -> str:
    """Return which size to choose, or what to add to the present one."""
    if not design.scenarios:
        return "Choose one of the options; more scenarios also make the result say more about other tasks."
    if design.current_power is not None and design.current_power >= power:
        return f"The present size is enough: it shows this effect with a chance of {in_per_cent(design.current_power)}."
    return _addition(design, _scenarios_needed(design, power), _repetitions_needed(design, power))


def _addition(design: _Design, scenarios: int | None, repetitions: int | None) -> str:
    """Return what to add. To write a scenario is more work than to repeat one, up to twice as many rows."""
    more_scenarios = scenarios and (
        f"{scenarios:,} with the present {plural(design.repetitions, 'repetition')} "
        f"({design.rows(scenarios, design.repetitions):,} rows a mode)"
    )
    each = "the one scenario" if design.scenarios == 1 else f"each of the present {design.scenarios:,} scenarios"
    each = each if design.forms == 1 else f"each variant of {each.removeprefix('each of ')}"
    rows = design.rows(design.scenarios, repetitions or 0)
    more_repetitions = repetitions and (f"{repetitions:,} of {each} ({rows:,} rows a mode)")
    if scenarios and repetitions:
        if rows <= 2 * design.rows(scenarios, design.repetitions):
            return f"Add repetitions: {more_repetitions} are enough. Or add scenarios: {more_scenarios}."
        return f"Add scenarios: {more_scenarios} are enough. With repetitions alone it takes {more_repetitions}."
    if repetitions:
        return f"Add repetitions: {more_repetitions} are enough."
    if scenarios:
        return f"Add scenarios: {more_scenarios} are enough; {_reason_against_repetitions(design)}."
    return "Add scenarios and repetitions, as one of the options says: neither is enough alone."


def _reason_against_repetitions(design: _Design) -> str:
    if design.target == "population" and design.scenarios < FEWEST_SCENARIOS:
        return f"tasks like these need at least {FEWEST_SCENARIOS}"
    if design.target == "population":
        return "the effect differs so much between the present ones that no number of repetitions is"
    return f"not even {_MOST:,} repetitions of the present ones are"


def _reason_without_size(design: _Design) -> str:
    """Return why no size shows the effect, and what to ask for instead."""
    if design.lacks_shuffles:
        return (
            f"No size is enough: {design.resamples:,} shuffles cannot show a p-value of {design.alpha:.2g}. Plan for "
            "a larger alpha, for fewer comparisons or for tasks like these (target population), or set more "
            "`resamples` in the analysis plan."
        )
    repetitions = _REPETITIONS[-1]
    chance = in_per_cent(design.power(_MOST, repetitions))
    return (
        f"No size is enough: even {_MOST:,} scenarios with {repetitions} repetitions each would show this effect with "
        f"a chance of {chance} only. Plan for a larger effect or a lower power."
    )
