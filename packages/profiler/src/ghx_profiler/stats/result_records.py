"""The results of the statistics: the records of `summary.json`.

Conventions, kept everywhere: a reduction is positive when A is lower than B; an interval has the sign of its
estimate; `None` is "not estimable" (or, for a bound, "no bound"), with the reason next to it; p-values are never 0.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from ghx_base.wire import OMITTABLE, Count, WireModel
from ghx_profiler.stats.plan import Target

Verdict = Literal["better", "worse", "lower", "higher", "equivalent", "inconclusive", "not estimable"]
"""A, seen from B. Better and worse follow the metric's own direction, not the sign of the reduction.

Lower and higher are for metrics of which neither is better: how many calls went to one category of tools.
"""

Scale = Literal["log", "raw"]
Unit = Literal["percent", "percentage points"]
Family = Literal["primary", "exploratory"]
Adjustment = Literal["none", "holm", "benjamini-hochberg"]
FAMILY_NAMES: Mapping[Adjustment, str] = {"none": "", "holm": "Holm", "benjamini-hochberg": "Benjamini-Hochberg"}
AnalysisSet = Literal["intention-to-treat", "per-protocol", "both-succeeded"]
Tier = Literal["better", "worse", "equivalent", "inconclusive", "unreliable baseline", "insufficient data"]
"""The verdict for a gate about a later run relative to the first."""


class Estimate(WireModel):
    """A number with its interval, its n and its method; `reason` explains missing values."""

    estimate: float | None
    low: float | None
    high: float | None
    confidence: float
    n: Count
    method: str
    reason: str | None


class Descriptive(WireModel):
    """One sample in a few numbers."""

    n: Count
    mean: float | None
    sd: float | None
    cv: float | None
    min: float | None
    p25: float | None
    p50: float | None
    p75: float | None
    p90: float | None
    p95: float | None
    max: float | None
    iqr: float | None


class MetricSummary(Descriptive):
    """One metric of one mode, measured rows with a known value pooled; all others are counted, by cause."""

    left_out: Count
    left_out_causes: dict[str, Count]
    scenarios: Count
    mean_interval: Estimate
    """The mean with its standard error clustered by scenario."""
    median_interval: Estimate


class SuccessRate(WireModel):
    """How many of how many, with the Wilson interval."""

    k: Count
    n: Count
    rate: float | None
    low: float | None
    high: float | None
    confidence: float
    method: str
    left_out: Count
    left_out_causes: dict[str, Count]


class SuccessSummary(SuccessRate):
    """Success of one mode: intention-to-treat on top, per-protocol and the clustered interval in addition."""

    per_protocol: SuccessRate
    clustered: Estimate
    """For tasks like these: repetitions of one scenario are not independent evidence."""


class PassPoint(WireModel):
    """One k of the curves: at least one of k succeeds (pass@k), all k succeed (pass^k); means over scenarios."""

    k: Count
    pass_at_k: Estimate
    pass_hat_k: Estimate


class Drift(WireModel):
    """Whether a metric moved over the order of the run, within scenario and mode."""

    metric: str
    change: float | None
    """From the first to the last start: per cent on the log scale, the metric's unit on the raw scale."""
    low: float | None
    high: float | None
    confidence: float
    p: float | None
    scale: Scale
    n: Count
    method: str
    reason: str | None


class ModeSummary(WireModel):
    """The summary of one mode without comparison."""

    mode: str
    rows: Count
    scenarios: Count
    success: SuccessSummary
    pass_curve: tuple[PassPoint, ...]
    cost_per_success: Estimate
    metrics: dict[str, MetricSummary]


class LeftOut(WireModel):
    """Rows of one mode that an analysis could not use, and why."""

    mode: str
    cause: str
    rows: Count


class Equivalence(WireModel):
    """Two one-sided tests against the planned margin; its interval has confidence 1 - 2 alpha by construction."""

    margin_pct: float
    low: float | None
    high: float | None
    confidence: float
    p: float | None
    p_adjusted: float | None


class RawDifference(WireModel):
    """The reduction in the metric's own unit, where the analysis was made on raw values."""

    reduction: float
    low: float | None
    high: float | None
    mde: float | None
    """The smallest difference that this sample would have shown with the planned power.

    Where it is more than B's mean, of what cannot be lower than 0, it is an increase: `reason` states that.
    """


class TargetResult(WireModel):
    """The result for one target. Verdict, adjusted p and interval come from one test and agree.

    After an adjustment for multiplicity the interval has the confidence at which the adjusted test was made, at
    least 1 - alpha: it excludes 0 exactly if the adjusted p is at most alpha.
    """

    target: Target
    verdict: Verdict
    words: str
    reduction_pct: float | None
    low: float | None
    high: float | None
    confidence: float
    p: float | None
    p_adjusted: float | None
    mde: float | None
    """The smallest reduction that this sample would have shown with the planned power, in the unit of the estimate."""
    method: str
    raw: RawDifference | None
    equivalence: Equivalence
    reason: str | None


class EffectSizes(WireModel):
    """Standardised effects, positive when A is lower; for readers who compare studies."""

    hedges_g: float | None
    """Over the pooled standard deviation of repetitions within scenario and mode, corrected for small samples."""
    d_z: float | None
    """Over the standard deviation of the scenarios' differences, corrected for small samples."""
    cliffs_delta: float | None
    """How much more often a repetition of A is below one of B than above it, averaged over scenarios."""


class VarianceComponents(WireModel):
    """Where the noise of a comparison comes from, on the scale of the analysis."""

    between: float | None
    """omega squared: variance of the true differences between scenarios; repetitions cannot reduce its share."""
    within_a: float | None
    within_b: float | None
    """Variance of repetitions of one scenario."""
    scenarios: Count
    repetitions_a: float
    repetitions_b: float
    """Per scenario, or form of one; the harmonic mean where they differ."""
    scale: Scale
    base: float
    """What per cent are taken of on the raw scale: B's mean, or 1 for rates and logs."""
    forms: Annotated[float | None, OMITTABLE] = None
    """How many forms a scenario has, itself and its variants, each repeated so often; left out where it is the one."""


class PairedAnalysis(WireModel):
    """One comparison on one set of rows, for both targets."""

    analysis_set: AnalysisSet
    n: Count
    """Scenarios with rows of both modes."""
    rows_a: Count
    rows_b: Count
    left_out: tuple[LeftOut, ...]
    scale: Scale
    unit: Unit
    center_a: float | None
    center_b: float | None
    """Mean over scenarios: geometric on the log scale, arithmetic on the raw scale."""
    suite: TargetResult
    population: TargetResult
    effect_sizes: EffectSizes
    variance: VarianceComponents

    def of(self, target: Target) -> TargetResult:
        """Return the result for one target."""
        return self.suite if target == "suite" else self.population


class Provenance(WireModel):
    """What makes a number come out again."""

    seed: int
    resamples: Count
    numpy: str
    scipy: str


class ModeComparison(WireModel):
    """Mode A against mode B on one metric. The top level repeats the planned target on the rows of `analysis_set`."""

    a: str
    b: str
    metric: str
    target: Target
    analysis_set: AnalysisSet
    """The rows that the verdict rests on: all for success, where unmeasured ones are failures; else measured ones."""
    reduction_pct: float | None
    low: float | None
    high: float | None
    confidence: float
    p: float | None
    p_adjusted: float | None
    verdict: Verdict
    words: str
    n: Count
    mde: float | None
    raw: RawDifference | None
    """The same in the metric's own unit, where raw values were compared: all there is where B's mean is not above 0."""
    unit: Unit
    alpha: float
    margin_pct: float
    higher_is_better: bool
    family: Family
    family_size: Count
    """How many tests were adjusted together."""
    family_planned: Count
    """How many were to be; the difference is of tests that could not be made, whichever mode had which rows."""
    adjustment: Adjustment
    intention_to_treat: PairedAnalysis
    per_protocol: PairedAnalysis
    both_succeeded: PairedAnalysis | None
    """Only rows that succeeded; `None` for success itself."""
    notes: tuple[str, ...]
    provenance: Provenance

    @property
    def headline(self) -> PairedAnalysis:
        """The analysis that the verdict is taken from."""
        return self.per_protocol if self.analysis_set == "per-protocol" else self.intention_to_treat

    @property
    def second_view(self) -> PairedAnalysis:
        """The same question with unmeasured rows treated the other way: left out for success, counted in else."""
        return self.intention_to_treat if self.analysis_set == "per-protocol" else self.per_protocol


class RunCount(WireModel):
    """The rows of one run in the cases that it has in common with the run that it is compared with."""

    run: str
    rows: Count
    solved: Count
    unmeasured: Count
    """Rows that could not be measured; they are not solved."""
    repeated_cases: Count
    """Scenarios in an arm with two measured rows or more."""
    mixed_cases: Count
    """Those among them that succeeded only sometimes."""


class OverallComparison(WireModel):
    """A later run against the first on one metric, over all arms together."""

    metric: str
    before: str
    after: str
    tier: Tier
    """Adjusted for the other primary metrics and later runs; success for later runs alone."""
    tier_alone: Tier
    """Where this is the only question: what a gate asks."""
    reason: str | None
    """Why the baseline is unreliable or the data are insufficient."""
    words: str
    """One sentence for people: `Worse: 14 of 20 solved instead of 20 (-30 points; 95 % interval -50 to -10).`"""
    comparison: ModeComparison
    """The numbers; rows are shuffled within scenario and arm, and every arm of a scenario weighs the same."""


class RunComparison(WireModel):
    """A later run against the first: did we get worse?"""

    before: RunCount
    after: RunCount
    target: Target
    alpha: float
    metrics: tuple[OverallComparison, ...]
    """The primary metrics, success first."""
    attacks: OverallComparison | None = None
    """Attack success, planned or not; `None` where no row of either run has a value."""

    @property
    def has_more_attacks(self) -> bool:
        """Return whether attacks were shown to succeed more often in the later run."""
        return self.attacks is not None and self.attacks.tier == "worse"

    @property
    def verdicts(self) -> tuple[OverallComparison, ...]:
        """The verdicts in reading order: attacks first if they succeed more often, else after success."""
        if self.attacks is None:
            return self.metrics
        others = [each for each in self.metrics if each.metric != self.attacks.metric]
        place = 0 if self.has_more_attacks else 1
        return (*others[:place], self.attacks, *others[place:])

    def of(self, metric: str) -> OverallComparison | None:
        """Return the comparison on a primary metric; `None` for other metrics."""
        return next((each for each in self.metrics if each.metric == metric), None)
