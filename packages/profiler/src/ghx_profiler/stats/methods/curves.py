"""The test of each target: a curve of p-values over hypothetical differences, or the reason without one."""

from dataclasses import dataclass
from math import inf, sqrt
from typing import Protocol

import numpy as np

from ghx_profiler.records.metric_table import METRICS
from ghx_profiler.stats.methods.permutation import PermutationCurve, permutation_curve
from ghx_profiler.stats.methods.probability import SMALLEST_P, normal_quantile, t_quantile, t_two_sided_p
from ghx_profiler.stats.methods.scales import is_binary
from ghx_profiler.stats.observations import SUCCESS
from ghx_profiler.stats.pairs import PairedSample

FEWEST_SCENARIOS = 6
"""Below this no verdict on tasks like these is possible: sign-flips could not reach p = 0.05, and t would lean on five
differences being normal."""


class Curve(Protocol):
    """One test for every hypothetical difference."""

    @property
    def estimate(self) -> float:
        """The difference that was observed; positive when A is lower."""
        ...

    @property
    def method(self) -> str:
        """The name of the test, for a report."""
        ...

    @property
    def smallest_p(self) -> float:
        """The lowest p this design could have reached, whatever the numbers."""
        ...

    def p(self, difference: float = 0.0) -> float:
        """Return the two-sided p-value of one hypothesis; never 0."""
        ...

    def interval(self, alpha: float) -> tuple[float, float]:
        """Return the bounds of what is not rejected at `alpha`: 0 is outside exactly if `p()` is at most `alpha`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The reason why a target has no result.

    A test that was impossible, whichever mode had which rows, is not a member of its family. If it was the modes'
    own numbers that ruled a test out, it stays a member, as one that was not shown.
    """

    reason: str
    stays_in_family: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentCurve:
    """The t-test on one difference per scenario."""

    estimate: float
    error: float
    df: float

    @property
    def method(self) -> str:
        """Name the test for a report."""
        return f"t on the scenarios' differences, {self.df:g} degrees of freedom"

    @property
    def smallest_p(self) -> float:
        """The lowest p there is."""
        return SMALLEST_P

    def p(self, difference: float = 0.0) -> float:
        """Return the two-sided p-value of one hypothesis."""
        return t_two_sided_p((self.estimate - difference) / self.error, self.df)

    def interval(self, alpha: float) -> tuple[float, float]:
        """Return the t-interval."""
        reach = t_quantile(1 - alpha / 2, self.df) * self.error
        return self.estimate - reach, self.estimate + reach


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparatedCurve:
    """The permutation test where one mode always succeeded and the other never, or had 1 and 0 of another 0/1 metric.

    The p-value stands, but inverting the test by shifting would leave an interval without width. Where the test
    rejects, the bounds come from Wilson's intervals of the two rates (Newcombe's); otherwise they are missing.
    """

    permutation: PermutationCurve
    size_a: int
    size_b: int

    @property
    def estimate(self) -> float:
        """All or nothing: 1 or -1."""
        return self.permutation.estimate

    @property
    def method(self) -> str:
        """Name the test for a report."""
        return f"{self.permutation.method.partition(';')[0]}; interval by Newcombe, no repetition varies"

    @property
    def smallest_p(self) -> float:
        """The lowest p this design could have reached."""
        return self.permutation.smallest_p

    def mirror(self) -> "SeparatedCurve":
        """Return the same test seen from the other side."""
        return SeparatedCurve(permutation=self.permutation.mirror(), size_a=self.size_b, size_b=self.size_a)

    def p(self, difference: float = 0.0) -> float:
        """Return the two-sided p-value of one hypothesis."""
        return self.permutation.p(difference)

    def interval(self, alpha: float) -> tuple[float, float]:
        """Return Newcombe's bounds where the test rejects, none where it does not."""
        if self.p() > alpha:
            return -inf, inf
        square = normal_quantile(1 - alpha / 2) ** 2
        reach = sqrt(sum((square / (size + square)) ** 2 for size in (self.size_a, self.size_b)))
        return (1 - reach, 1.0) if self.estimate > 0 else (-1.0, reach - 1)


def suite_curve(
    sample: PairedSample, metric: str, *, resamples: int, rng: np.random.Generator
) -> PermutationCurve | SeparatedCurve | Refusal:
    """Return the test on these scenarios: shuffles within scenario, noise from repetitions."""
    is_rate = is_binary(metric)
    if len(sample.blocks) == 1 and not sample.has_repetitions:
        return Refusal(reason="one scenario, one repetition: too few")
    if not sample.varies:
        return Refusal(reason=_reason_all_equal(sample, metric))
    # Shuffles of constant repetitions reach the smallest p for any difference, however small.
    if not is_rate and sample.has_repetitions and not sample.repetitions_vary:
        reason = "repetitions do not vary within any scenario: zero variance, so no noise to compare with"
        return Refusal(reason=reason, stays_in_family=True)
    curve = permutation_curve(sample, resamples=resamples, rng=rng)
    if not curve.is_degenerate:
        return curve
    if is_rate:
        return SeparatedCurve(permutation=curve, size_a=sample.a.values.size, size_b=sample.b.values.size)
    return Refusal(reason=_SAME_DIFFERENCE, stays_in_family=True)


_SAME_DIFFERENCE = "every scenario shows the same difference: zero variance"


def _reason_all_equal(sample: PairedSample, metric: str) -> str:
    """Return in which way the rows of both modes do not vary within any scenario."""
    values = np.unique(np.concatenate([sample.a.values, sample.b.values]))
    if values.size > 1:
        quantity = "outcome" if metric == SUCCESS else METRICS.label(metric)
        return f"within each scenario every row of both has the same {quantity} (zero variance)"
    if metric == SUCCESS:
        reason = "every row of both succeeded" if values[0] == 1 else "no row of either succeeded"
        return f"{reason} (zero variance)"
    value = float(np.exp(values[0]) if sample.scale == "log" else values[0])
    return f"{METRICS.label(metric)} is {value:.6g} in every row of both (zero variance)"


def population_curve(sample: PairedSample, metric: str) -> StudentCurve | Refusal:
    """Return the test on tasks like these: scenarios are the sample."""
    reason = reason_without_population(len(sample.scenarios), having="with rows of both ")
    error = sample.scenario_error
    if reason is not None or error is None:
        return Refusal(reason=reason or "one scenario")
    if not sample.varies:
        return Refusal(reason=_reason_all_equal(sample, metric))
    if sample.differences_are_flat:
        return Refusal(reason=_SAME_DIFFERENCE, stays_in_family=True)
    return StudentCurve(estimate=sample.estimate, error=error[0], df=error[1])


def reason_without_population(scenarios: int, *, having: str = "") -> str | None:
    """Return why so few scenarios cannot speak for tasks like these."""
    if scenarios >= FEWEST_SCENARIOS:
        return None
    have = "there is 1" if scenarios == 1 else f"there are {scenarios}"
    return f"at least {FEWEST_SCENARIOS} scenarios {having}are needed to say anything about other tasks, and {have}"
