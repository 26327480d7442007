"""From p-values and intervals to one word, and one sentence that says what it rests on."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from ghx_bench.profiler.stats.multiplicity import FAMILY_NAMES
from ghx_bench.profiler.stats.plan import AnalysisPlan, Target
from ghx_bench.profiler.stats.records import Adjustment, TargetResult, Unit, Verdict
from ghx_bench.profiler.stats.targets import Curve

_PLACES: dict[Target, str] = {"suite": "on these scenarios", "population": "on tasks like these"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is compared, and by which plan."""

    a: str
    b: str
    metric: str
    plan: AnalysisPlan

    @property
    def more_is_better(self) -> bool:
        """Whether the better mode is the one with more."""
        return self.metric in self.plan.higher_is_better


def decide(question: Question, curve: Curve, p_adjusted: float, equivalence_adjusted: float | None) -> Verdict:
    """Return the word. A difference that was shown comes before equivalence: it excludes 0, however small it is."""
    alpha = question.plan.alpha
    if p_adjusted <= alpha:
        a_is_lower = curve.estimate > 0
        return "better" if a_is_lower != question.more_is_better else "worse"
    if equivalence_adjusted is not None and equivalence_adjusted <= alpha:
        return "equivalent"
    return "inconclusive"


def describe(question: Question, result: TargetResult, unit: Unit, adjustment: Adjustment) -> str:
    """Say the verdict in a sentence, with its target and its numbers."""
    place = _PLACES[result.target]
    match result.verdict:
        case "better" | "worse":
            return (
                f"{question.a} is {result.verdict} than {question.b} {place}: {question.metric} is "
                f"{_change(result, unit)} ({_evidence(result, unit, adjustment)}).{_but_small(question, result, unit)}"
            )
        case "equivalent":
            margin = _amount(question.plan.margin_pct, unit)
            return (
                f"{question.a} and {question.b} are equivalent {place}: {question.metric} differs by less than the "
                f"planned margin of {margin} ({_evidence_of_equivalence(result, unit, adjustment)})."
            )
        case "inconclusive":
            return (
                f"No difference between {question.a} and {question.b} in {question.metric} could be shown {place} "
                f"({_change(result, unit)}; {_evidence(result, unit, adjustment)}). "
                f"{_could_have_shown(question, result, unit)}"
            )
        case "not estimable":
            return say_nothing(question.metric, [(question.a, question.b)], result)
        case _:
            assert_never(result.verdict)


def say_nothing(metric: str, pairs: Iterable[tuple[str, str]], result: TargetResult) -> str:
    """Say that, and why, nothing can be concluded about a metric of these pairs of modes."""
    between = ", ".join(f"{a} and {b}" for a, b in pairs)
    return f"Nothing can be concluded about {metric} between {between} {_PLACES[result.target]}: {result.reason}."


def _change(result: TargetResult, unit: Unit) -> str:
    if result.reduction_pct is None:
        return "" if result.raw is None else _direction(result.raw.reduction, f"{abs(result.raw.reduction):.4g}")
    return _direction(result.reduction_pct, _amount(abs(result.reduction_pct), unit))


def _direction(reduction: float, amount: str) -> str:
    if not any(digit in amount for digit in "123456789"):
        return f"{amount} different"
    return f"{amount} {'lower' if reduction > 0 else 'higher'}"


def _evidence(result: TargetResult, unit: Unit, adjustment: Adjustment) -> str:
    if result.reduction_pct is None and result.raw is not None:
        bounds = _interval(result.raw.low, result.raw.high, result.confidence, None)
    else:
        bounds = _interval(result.low, result.high, result.confidence, unit)
    return f"{bounds}; {_p(result.p)}{_adjusted(result.p_adjusted, adjustment)}"


def _evidence_of_equivalence(result: TargetResult, unit: Unit, adjustment: Adjustment) -> str:
    found = result.equivalence
    bounds = _interval(found.low, found.high, found.confidence, unit)
    return f"{bounds}; of equivalence {_p(found.p)}{_adjusted(found.p_adjusted, adjustment)}"


def _adjusted(p: float | None, adjustment: Adjustment) -> str:
    return "" if adjustment == "none" else f", after {FAMILY_NAMES[adjustment]} {_p(p)}"


def _interval(low: float | None, high: float | None, confidence: float, unit: Unit | None) -> str:
    label = f"{100 * confidence:.3g} % interval of the reduction"
    if low is None or high is None:
        return f"{label} without bounds"
    if unit is None:
        return f"{label} {low:z.4g} to {high:z.4g}"
    return f"{label} {low:z.1f} to {_amount(high, unit)}"


def _but_small(question: Question, result: TargetResult, unit: Unit) -> str:
    if result.equivalence.p_adjusted is None or result.equivalence.p_adjusted > question.plan.alpha:
        return ""
    return f" It is smaller than the planned margin of {_amount(question.plan.margin_pct, unit)}."


def _could_have_shown(question: Question, result: TargetResult, unit: Unit) -> str:
    if result.mde is None:
        return result.reason or "The smallest effect it could have shown cannot be estimated."
    return (
        f"With a chance of {100 * question.plan.power:.3g} % this sample would have shown a reduction of "
        f"{_amount(result.mde, unit)}."
    )


def _amount(value: float, unit: Unit) -> str:
    return f"{value:z.1f} {'%' if unit == 'percent' else unit}"


def _p(p: float | None) -> str:
    if p is None:
        return "p unknown"
    return f"p = {p:.2g}" if p >= _SMALLEST_SHOWN else f"p < {_SMALLEST_SHOWN:.4f}"


_SMALLEST_SHOWN = 0.0001
