"""The noise that a plan reckons with: read off a pilot run, or assumed."""

from collections.abc import Iterable
from math import isfinite, log1p

import numpy as np

from ghx_base.wire import Count
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.stats.errors import BadSampleError
from ghx_profiler.stats.observations import (
    SUCCESS,
    ArmOrMode,
    Observations,
    as_arm,
    headline_set,
    observe,
    pair_up,
)
from ghx_profiler.stats.pairs import PairedSample, variance_components
from ghx_profiler.stats.plan import Target
from ghx_profiler.stats.result_records import Scale, VarianceComponents

USUAL_WITHIN_CV = 0.3
USUAL_BETWEEN_SD = 0.1
USUAL_RATE = 0.7
"""What is assumed of repetitions, of effects and of success where nothing is known."""

_ADDED = 4
"""Rows that Agresti and Coull add to a rate: half of them successes."""


class RateNoise(VarianceComponents):
    """The noise of success, which follows from the rate: another rate, another noise."""

    rate: float
    """Of mode B."""
    rows: Count
    """Rows of B that the rate was read off; 0 where it was assumed."""
    within_share: float
    """Share of a rate's variance that is found among the repetitions of one scenario; above 1 by chance only."""
    between_is_assumed: bool
    """Whether the pilot could not estimate how effects differ between scenarios."""

    def leading_to(self, rate: float) -> "RateNoise":
        """Return the noise if B has its rate, and A this one."""
        return self.model_copy(update={"within_a": self._within(rate), "within_b": self._within(self.rate)})

    def _within(self, rate: float) -> float:
        # A pilot without a failure does not prove that failures are impossible: two of each are added.
        shrunk = (rate * self.rows + _ADDED / 2) / (self.rows + _ADDED) if self.rows else rate
        return self.within_share * shrunk * (1 - shrunk)


def pilot_components(
    rows: Iterable[ProfileRow] | Observations,
    a: ArmOrMode,
    b: ArmOrMode,
    metric: str,
    *,
    target: Target = "population",
) -> VarianceComponents:
    """Read the noise of a comparison off a pilot run; two repetitions of two scenarios are the least.

    `a` is the mode whose effect is tested, `b` its reference, the base of percentages; `metric`
    is the name of a metric, or `success`. For the target `suite` one scenario is enough: how scenarios differ does not
    matter there.
    """
    observations = observe(rows)
    arm_a, arm_b = as_arm(a), as_arm(b)
    observations.require_arms(arm_a, arm_b)
    sample, _ = pair_up(observations, arm_a, arm_b, metric, headline_set(metric))
    base = sample.reduction_scale(is_rate=metric == SUCCESS).base
    with np.errstate(over="ignore", invalid="ignore"):  # what does not fit is refused below
        components = variance_components(sample, base=base)
    fewest, count = (2 if target == "population" else 1), len(sample.scenarios)
    if count < fewest or components.within_a is None or components.within_b is None:
        raise BadSampleError(
            f"the pilot cannot tell the noise of {metric}: it needs known values for at least 2 repetitions of at "
            f"least {fewest} scenario{'s' * (fewest != 1)} in {a} and in {b}, got {count} scenario{'s' * (count != 1)}"
        )
    if not all(isfinite(each or 0.0) for each in (base, components.between, components.within_a, components.within_b)):
        raise BadSampleError(f"the pilot's values of {metric} are too large to compute with")
    if base <= 0:
        raise BadSampleError(f"{metric} is not above 0 on average in {b}: there is nothing to take per cent of")
    return _rates_of(sample, components) if metric == SUCCESS else components


def assumed_amounts(
    *, within_cv: float, between_sd: float, scenarios: int = 0, repetitions: int = 1, forms: float = 1
) -> VarianceComponents:
    """Assume the noise of tokens, time or cost: how repetitions vary, and how the effect varies between scenarios.

    `within_cv` is the standard deviation of one scenario's repetitions over their mean (0.3 is common); `between_sd`
    is the standard deviation of the effect between scenarios, as a share (0.1: most within 20 % of the average).
    `forms` is how many forms a scenario has, itself and its variants, each repeated so often.
    """
    _check_assumption("within_cv", within_cv, 10)
    _check_assumption("between_sd", between_sd, 10)
    return _assume("log", log1p(within_cv**2), between_sd**2, scenarios, repetitions, forms=forms)


def assumed_rates(
    *, rate: float, between_sd: float, scenarios: int = 0, repetitions: int = 1, forms: float = 1
) -> RateNoise:
    """Assume the noise of success: the rate itself, and how the effect varies between scenarios, as a share."""
    _check_assumption("rate", rate, 1)
    _check_assumption("between_sd", between_sd, 1)
    components = _assume("raw", rate * (1 - rate), between_sd**2, scenarios, repetitions, forms=forms)
    return RateNoise(
        **components.model_dump(by_alias=False), rate=rate, rows=0, within_share=1.0, between_is_assumed=True
    )


def _rates_of(sample: PairedSample, components: VarianceComponents) -> RateNoise:
    """Return the noise of success in a pilot; without any difference it has no information about scenarios."""
    known = components.model_dump(by_alias=False)
    is_still = not sample.repetitions_vary and sample.differences_are_flat
    if is_still:
        known["between"] = USUAL_BETWEEN_SD**2
    noise = RateNoise(
        **known,
        rate=sample.centers[1],
        rows=sample.b.values.size,
        within_share=_within_share(sample),
        between_is_assumed=is_still,
    )
    return noise.leading_to(sample.centers[0])


def _within_share(sample: PairedSample) -> float:
    """Return how much of the rates' variance is within scenarios: all of it, as far as the pilot has not shown less."""
    within, possible = 0.0, 0.0
    for side, rate in zip((sample.a, sample.b), sample.centers, strict=True):
        rows = side.values.size
        shrunk = (rate * rows + _ADDED / 2) / (rows + _ADDED)
        added = _ADDED * shrunk * (1 - shrunk)
        within += side.squares + added
        possible += side.df * rate * (1 - rate) + added
    return within / possible


def _assume(
    scale: Scale, within: float, between: float, scenarios: int, repetitions: int, *, forms: float
) -> VarianceComponents:
    return VarianceComponents(
        between=between,
        within_a=within,
        within_b=within,
        scenarios=scenarios,
        repetitions_a=repetitions,
        repetitions_b=repetitions,
        scale=scale,
        base=1.0,
        **({} if forms == 1 else {"forms": forms}),
    )


def _check_assumption(name: str, value: float, largest: float) -> None:
    if not 0 <= value <= largest:
        raise BadSampleError(f"{name} is between 0 and {largest}, got {value:g}")
