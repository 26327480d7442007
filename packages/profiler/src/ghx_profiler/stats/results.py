"""One target's result: its curve, read at the level that the adjustment for multiplicity asks for."""

from dataclasses import dataclass
from math import inf

from ghx_profiler.stats.errors import BadSampleError
from ghx_profiler.stats.methods.arrays import finite_or_none
from ghx_profiler.stats.methods.curves import Curve, Refusal
from ghx_profiler.stats.methods.multiplicity import matching_alpha
from ghx_profiler.stats.methods.probability import detectable_shift
from ghx_profiler.stats.methods.scales import ReductionScale, format_natural
from ghx_profiler.stats.pairs import PairedSample
from ghx_profiler.stats.plan import AnalysisPlan, Target
from ghx_profiler.stats.result_records import Adjustment, Equivalence, RawDifference, TargetResult
from ghx_profiler.stats.verdict_rules import Question, decide, describe


def equivalence_p(curve: Curve, margin: float) -> float:
    """Return the p-value of "the difference is at least the margin", the larger of the two one-sided ones.

    Each side is half of the two-sided test at the margin, so it is at most alpha exactly if the interval with
    confidence 1 - 2 alpha lies inside the margins.
    """
    if margin <= 0:
        raise BadSampleError(f"an equivalence margin is above 0, got {margin}")
    upper, lower = curve.p(margin) / 2, curve.p(-margin) / 2
    return max(upper if curve.estimate < margin else 1 - upper, lower if curve.estimate > -margin else 1 - lower)


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjusted:
    """The p-values of one comparison after its family was adjusted."""

    p: float
    equivalence_p: float
    adjustment: Adjustment
    family_size: int
    family_planned: int
    """How many tests there were to be; those that could not have been made are not in the family."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetTest:
    """What one target found on one set of rows, before any adjustment."""

    question: Question
    target: Target
    sample: PairedSample
    reductions: ReductionScale
    curve: Curve | Refusal
    counted_as_failures: int = 0
    """How many rows that could not be measured are among the failures."""

    @property
    def is_member(self) -> bool:
        """Whether it counts in the family of comparisons that are adjusted together."""
        return not isinstance(self.curve, Refusal) or self.curve.stays_in_family

    @property
    def p(self) -> float | None:
        """The p-value of "no difference"."""
        return None if isinstance(self.curve, Refusal) else self.curve.p()

    @property
    def equivalence_p(self) -> float | None:
        """The p-value of "a difference of at least the margin"."""
        margin = self.reductions.margin(self.question.plan.margin_pct)
        return None if isinstance(self.curve, Refusal) or margin is None else equivalence_p(self.curve, margin)


def target_result(test: TargetTest, adjusted: Adjusted) -> TargetResult:
    """Read the test at the adjusted level: verdict, adjusted p and interval agree by construction."""
    curve, plan = test.curve, test.question.plan
    if isinstance(curve, Refusal):
        return _refuse(test, curve)
    p = curve.p()
    level = matching_alpha(plan.alpha, p, adjusted.p)
    low, high = curve.interval(level)
    # The strictest step of the adjustment: what passes it is shown wherever it ranks in its family.
    shift, reason = _smallest_effect(test, curve, plan.alpha / adjusted.family_size)
    equivalence = _equivalence(test, curve, adjusted)
    result = TargetResult(
        target=test.target,
        verdict=decide(test.question, curve, adjusted.p, equivalence.p_adjusted),
        words="",
        reduction_pct=test.reductions.percent(curve.estimate),
        low=test.reductions.percent(low),
        high=test.reductions.percent(high),
        confidence=1 - level,
        p=p,
        p_adjusted=adjusted.p,
        mde=test.reductions.percent(shift) if shift is not None and test.reductions.can_be(shift) else None,
        method=curve.method,
        raw=_raw(test, (low, high), shift),
        equivalence=equivalence,
        reason=reason,
    )
    return _with_texts(test, result, adjusted.adjustment)


def _refuse(test: TargetTest, refusal: Refusal) -> TargetResult:
    plan, has_rows = test.question.plan, bool(test.sample.blocks)
    result = TargetResult(
        target=test.target,
        verdict="not estimable",
        words="",
        reduction_pct=test.reductions.percent(test.sample.estimate) if has_rows else None,
        low=None,
        high=None,
        confidence=1 - plan.alpha,
        p=None,
        p_adjusted=None,
        mde=None,
        method="none",
        raw=_raw(test) if has_rows else None,
        equivalence=_no_equivalence(plan),
        reason=refusal.reason,
    )
    return _with_texts(test, result, "none")


def _with_texts(test: TargetTest, result: TargetResult, adjustment: Adjustment) -> TargetResult:
    aside = ""
    if test.counted_as_failures:
        counted = test.counted_as_failures
        aside = f"; counting {counted:,} row{'s' * (counted != 1)} that could not be measured as failures"
    words = describe(test.question, result, test.reductions.unit, adjustment, aside=aside)
    return result.model_copy(update={"words": words})


def _raw(
    test: TargetTest, bounds: tuple[float, float] = (-inf, inf), shift: float | None = None
) -> RawDifference | None:
    if test.sample.scale == "log" or test.reductions.is_rate:
        return None
    low, high = map(finite_or_none, bounds)
    return RawDifference(reduction=test.sample.estimate, low=low, high=high, mde=shift)


def _equivalence(test: TargetTest, curve: Curve, adjusted: Adjusted) -> Equivalence:
    plan, p = test.question.plan, test.equivalence_p
    if p is None:
        return _no_equivalence(plan)
    level = 2 * matching_alpha(plan.alpha, p, adjusted.equivalence_p)
    low, high = curve.interval(level)
    return Equivalence(
        margin_pct=plan.margin_pct,
        low=test.reductions.percent(low),
        high=test.reductions.percent(high),
        confidence=1 - level,
        p=p,
        p_adjusted=adjusted.equivalence_p,
    )


def _no_equivalence(plan: AnalysisPlan) -> Equivalence:
    return Equivalence(
        margin_pct=plan.margin_pct, low=None, high=None, confidence=1 - 2 * plan.alpha, p=None, p_adjusted=None
    )


def _smallest_effect(test: TargetTest, curve: Curve, alpha: float) -> tuple[float | None, str | None]:
    """Return the smallest shift that this sample would have shown with the planned power, or the reason without one."""
    sample, plan = test.sample, test.question.plan
    if curve.smallest_p > alpha:
        unless = "" if curve.smallest_p > plan.alpha else " unless other comparisons of its family were shown too"
        return None, (
            f"No difference, however large, could have been shown{unless}: with so few repetitions p cannot be below "
            f"{curve.smallest_p:.2g}, and {alpha:.2g} is needed."
        )
    error = sample.repetition_error if test.target == "suite" else sample.scenario_error
    if error is None or error[0] == 0:
        why = "there is one scenario without repetitions" if error is None else "no repetition varies"
        return None, f"The smallest effect it could have shown cannot be told: {why}."
    shift = error[0] * detectable_shift(error[1], alpha, plan.power)
    if test.reductions.can_be(shift):
        return shift, None
    chance = f"with a chance of {100 * plan.power:.3g} %"
    if test.reductions.is_rate:
        return None, f"Not even the largest possible reduction would have been shown {chance}."
    increase = format_natural(test.question.metric, shift)
    return shift, (
        f"No reduction would have been shown {chance}, for nothing can be lower than 0; an increase of {increase} "
        "would have been."
    )
