"""The verdict on a later run, for gates: one of six words, by the rules of docs/statistics.md, and a sentence."""

from ghx_profiler.records.metric_table import MetricTable
from ghx_profiler.stats.comparison import Draft
from ghx_profiler.stats.methods.curves import Refusal, reason_without_population
from ghx_profiler.stats.methods.permutation import smallest_p_of
from ghx_profiler.stats.methods.probability import normal_quantile
from ghx_profiler.stats.methods.scales import format_change, format_direction, format_natural, format_span, is_binary
from ghx_profiler.stats.observations import (
    SUCCESS,
    headline_set,
)
from ghx_profiler.stats.result_records import (
    ModeComparison,
    RunCount,
    Tier,
)
from ghx_profiler.stats.results import TargetTest
from ghx_profiler.stats.verdict_rules import decide

_MOST_UNMEASURED = 0.2
"""Of the rows of a run: with more, a word stands only if it is the same with these rows and without them."""

_MOST_MIXED = 0.5
"""Of the baseline's repeated cases: with more that both succeed and fail, "nothing was shown" is expected."""


def judge(
    draft: Draft, before: RunCount, after: RunCount, *, p: float | None, equivalence: float | None
) -> tuple[Tier, str | None]:
    """Return the word for a later run and, where it is not about the difference, why."""
    metric, target = draft.question.metric, draft.question.plan.target
    test, *others = (each.tests[target] for each in draft.analyses.values())
    if (why := _reason_insufficient(test)) is not None:
        return "insufficient data", why
    word = _word(test, p, equivalence)
    is_firm = word != "inconclusive" and _word(others[0], others[0].p, others[0].equivalence_p) == word
    runs: tuple[tuple[RunCount, Tier], ...] = ((before, "unreliable baseline"), (after, "insufficient data"))
    for count, tier in runs:
        if count.unmeasured > _MOST_UNMEASURED * count.rows and not is_firm:
            return tier, f"{count.unmeasured} of the {count.rows} rows of {count.run} could not be measured"
    if word == "inconclusive" and metric == SUCCESS and before.mixed_cases > _MOST_MIXED * before.repeated_cases:
        mixed, repeated = before.mixed_cases, before.repeated_cases
        return "unreliable baseline", f"{mixed} of the {repeated} repeated cases of {before.run} succeed only sometimes"
    return word, None


def _reason_insufficient(test: TargetTest) -> str | None:
    """Return why no rows of this shape could have shown a difference."""
    curve, plan, sample = test.curve, test.question.plan, test.sample
    if not sample.blocks:
        return curve.reason if isinstance(curve, Refusal) else None
    if test.target == "population" and (why := reason_without_population(len(sample.scenarios))) is not None:
        return why
    smallest = smallest_p_of(sample, plan.resamples + 1)
    if test.target == "suite" and smallest > plan.alpha:
        return f"with so few rows p cannot be below {smallest:.2g}, and {plan.alpha:.2g} is needed"
    # Constant numbers are distinguished from those that only differ from run to run.
    return curve.reason if isinstance(curve, Refusal) and sample.varies else None


def _word(test: TargetTest, p: float | None, equivalence: float | None) -> Tier:
    """Return the verdict from the numbers, if there were enough rows."""
    curve, plan = test.curve, test.question.plan
    if isinstance(curve, Refusal):
        if not test.sample.blocks or test.sample.varies:
            return "inconclusive"
        sample = test.sample
        rows = min(sample.a.values.size, sample.b.values.size) if test.target == "suite" else len(sample.scenarios)
        is_same = not is_binary(test.question.metric) or 100 * _unseen_change(rows, plan.alpha) <= plan.margin_pct
        return "equivalent" if is_same else "inconclusive"
    word = decide(test.question, curve, 1.0 if p is None else p, equivalence)
    return word if word in ("better", "worse", "equivalent") else "inconclusive"


def _unseen_change(rows: int, alpha: float) -> float:
    """Return by how much a rate may have changed though all rows of both runs agree: Newcombe's bound, a share."""
    square = normal_quantile(1 - alpha) ** 2
    return square / (rows + square)


_Counts = tuple[tuple[int, int], tuple[int, int]]
"""In how many of how many rows something is so, in the first run and in the later one."""


def count_ones(draft: Draft, before: RunCount, after: RunCount) -> _Counts | None:
    """Count the rows in which a 0/1 metric is 1; `None` for amounts, and where no rows are compared."""
    metric = draft.question.metric
    if metric == SUCCESS:
        return (before.solved, before.rows), (after.solved, after.rows)
    sample = draft.analyses[headline_set(metric)].sample
    if not (is_binary(metric) and sample.blocks):
        return None
    earlier, later = sample.b.values, sample.a.values
    return (int(earlier.sum()), earlier.size), (int(later.sum()), later.size)


def describe(
    tier: Tier, reason: str | None, comparison: ModeComparison, counts: _Counts | None, metrics: MetricTable
) -> str:
    """Return one sentence for people: the word, what it is about, the change and its interval."""
    change, interval = _describe_change(comparison)
    if counts is not None:
        is_success = comparison.metric == SUCCESS
        words = "{} solved" if is_success else f"{metrics.label(comparison.metric)} in {{}} sessions"
        counts_text = _describe_counts(words, *counts, is_shown=tier in ("better", "worse"))
        known = [each for each in (change, interval) if each]
    else:
        is_same = tier == "equivalent" and not change
        counts_text = (
            f"{metrics.label(comparison.metric)} {'the same in all rows' if is_same else change or 'not compared'}"
        )
        known = [interval] if interval else []
    counts_text = f"{counts_text} ({'; '.join(known)})" if known else counts_text
    word = f"{tier[0].upper()}{tier[1:]}"
    if reason is not None:
        return f"{word}: {reason}. {counts_text[0].upper()}{counts_text[1:]}."
    return f"{word}: {counts_text}{_describe_open(comparison) if tier == 'inconclusive' else ''}."


def _describe_open(comparison: ModeComparison) -> str:
    """Return what remains possible where nothing was shown."""
    rows = min(comparison.headline.rows_a, comparison.headline.rows_b)
    if comparison.verdict != "not estimable" or not rows:
        return "; neither a change nor its absence could be shown"
    return f"; a change by up to {100 * _unseen_change(rows, comparison.alpha):.0f} points could have gone unseen"


def _describe_counts(words: str, before: tuple[int, int], after: tuple[int, int], *, is_shown: bool) -> str:
    """Put counts into words: those of the later run, then those of the first one where they differ."""
    counted = words.format(f"{after[0]} of {after[1]}")
    if before == after:
        return f"{counted}, as before"
    earlier = str(before[0]) if before[1] == after[1] else f"{before[0]} of {before[1]}"
    return f"{counted} instead of {earlier}" if is_shown else f"{counted}, {earlier} before"


def _describe_change(comparison: ModeComparison) -> tuple[str, str]:
    """Return the change and its interval, each empty where it is not known."""
    change, low, high, unit = comparison.reduction_pct, comparison.low, comparison.high, comparison.unit
    if comparison.verdict == "not estimable":
        return "", ""
    if change is None:
        raw, metric = comparison.raw, comparison.metric
        return "" if raw is None else format_direction(raw.reduction, format_natural(metric, abs(raw.reduction))), ""
    is_rate = unit == "percentage points"
    change_text = f"{-change:+z.0f} points" if is_rate else format_change(change, unit)
    if low is None or high is None:
        return change_text, ""
    span = f"{-high:+z.0f} to {-low:+z.0f}" if is_rate else format_span(low, high, unit, falls=change > 0)
    return change_text, f"{100 * comparison.confidence:.3g} % interval {span}"
