"""What a gate is told about a later run: one of six words, by rules that docs/statistics.md writes down."""

from ghx_bench.profiler.metric_table import MetricTable
from ghx_bench.profiler.stats.comparison import Draft
from ghx_bench.profiler.stats.curves import Refusal, why_no_population
from ghx_bench.profiler.stats.observations import SUCCESS
from ghx_bench.profiler.stats.permutation import smallest_p_of
from ghx_bench.profiler.stats.probability import normal_quantile
from ghx_bench.profiler.stats.result_records import ModeComparison, RunCount, Tier
from ghx_bench.profiler.stats.results import TargetTest
from ghx_bench.profiler.stats.scales import change_words, direction_words, natural_words, span_words
from ghx_bench.profiler.stats.verdict_rules import decide

MOST_UNMEASURED = 0.2
"""Of the rows of a run: with more, a word stands only if it is the same with these rows and without them."""

MOST_MIXED = 0.5
"""Of the baseline's repeated cases: with more that both succeed and fail, "nothing was shown" is no surprise."""


def judge_runs(
    draft: Draft, before: RunCount, after: RunCount, *, p: float | None, equivalence: float | None
) -> tuple[Tier, str | None]:
    """Return the word for a later run and, where it is not about the difference, why."""
    metric, target = draft.question.metric, draft.question.plan.target
    test, *others = (each.tests[target] for each in draft.analyses.values())
    if (why := _why_insufficient(test)) is not None:
        return "insufficient data", why
    word = _word(test, p, equivalence)
    is_firm = word != "inconclusive" and _word(others[0], others[0].p, others[0].equivalence_p) == word
    runs: tuple[tuple[RunCount, Tier], ...] = ((before, "unreliable baseline"), (after, "insufficient data"))
    for count, tier in runs:
        if count.unmeasured > MOST_UNMEASURED * count.rows and not is_firm:
            return tier, f"{count.unmeasured} of the {count.rows} rows of {count.run} could not be measured"
    if word == "inconclusive" and metric == SUCCESS and before.mixed_cases > MOST_MIXED * before.repeated_cases:
        mixed, repeated = before.mixed_cases, before.repeated_cases
        return "unreliable baseline", f"{mixed} of the {repeated} repeated cases of {before.run} succeed only sometimes"
    return word, None


def _why_insufficient(test: TargetTest) -> str | None:
    """Return why no rows like these, whatever they held, could have shown a difference."""
    curve, plan, sample = test.curve, test.question.plan, test.sample
    if not sample.blocks:
        return curve.reason if isinstance(curve, Refusal) else None
    if test.target == "population" and (why := why_no_population(len(sample.scenarios))) is not None:
        return why
    smallest = smallest_p_of(sample, plan.resamples + 1)
    if test.target == "suite" and smallest > plan.alpha:
        return f"with so few rows p cannot be below {smallest:.2g}, and {plan.alpha:.2g} is needed"
    # Numbers that do not vary at all are told apart from those that only differ from run to run.
    return curve.reason if isinstance(curve, Refusal) and sample.varies else None


def _word(test: TargetTest, p: float | None, equivalence: float | None) -> Tier:
    """Return what the numbers say, if rows were enough to say anything."""
    curve, plan = test.curve, test.question.plan
    if isinstance(curve, Refusal):
        if not test.sample.blocks or test.sample.varies:
            return "inconclusive"
        sample = test.sample
        rows = min(sample.a.values.size, sample.b.values.size) if test.target == "suite" else len(sample.scenarios)
        is_same = test.question.metric != SUCCESS or 100 * unseen_change(rows, plan.alpha) <= plan.margin_pct
        return "equivalent" if is_same else "inconclusive"
    word = decide(test.question, curve, 1.0 if p is None else p, equivalence)
    return word if word in ("better", "worse", "equivalent") else "inconclusive"


def unseen_change(rows: int, alpha: float) -> float:
    """Return by how much success may have changed though all rows of both runs agree: Newcombe's bound, a share."""
    square = normal_quantile(1 - alpha) ** 2
    return square / (rows + square)


def say_overall(
    tier: Tier, reason: str | None, comparison: ModeComparison, runs: tuple[RunCount, RunCount], metrics: MetricTable
) -> str:
    """Return one sentence for people: the word, what it is about, the change and its interval."""
    change, interval = _say_change(comparison)
    if comparison.metric == SUCCESS:
        said = _say_solved(*runs, is_shown=tier in ("better", "worse"))
        known = [each for each in (change, interval) if each]
    else:
        is_same = tier == "equivalent" and not change
        said = f"{metrics.label(comparison.metric)} {'the same in all rows' if is_same else change or 'not compared'}"
        known = [interval] if interval else []
    said = f"{said} ({'; '.join(known)})" if known else said
    word = f"{tier[0].upper()}{tier[1:]}"
    if reason is not None:
        return f"{word}: {reason}. {said[0].upper()}{said[1:]}."
    return f"{word}: {said}{_say_open(comparison) if tier == 'inconclusive' else ''}."


def _say_open(comparison: ModeComparison) -> str:
    """Return what remains possible where nothing was shown."""
    rows = min(comparison.headline.rows_a, comparison.headline.rows_b)
    if comparison.verdict != "not estimable" or not rows:
        return "; neither a change nor its absence could be shown"
    return f"; a change by up to {100 * unseen_change(rows, comparison.alpha):.0f} points could have gone unseen"


def _say_solved(before: RunCount, after: RunCount, *, is_shown: bool) -> str:
    """Return how many rows were solved, and how many before."""
    counted = f"{after.solved} of {after.rows} solved"
    if (before.solved, before.rows) == (after.solved, after.rows):
        return f"{counted}, as before"
    earlier = str(before.solved) if before.rows == after.rows else f"{before.solved} of {before.rows}"
    return f"{counted} instead of {earlier}" if is_shown else f"{counted}, {earlier} before"


def _say_change(comparison: ModeComparison) -> tuple[str, str]:
    """Return the change and its interval, each empty where it is not known."""
    change, low, high, unit = comparison.reduction_pct, comparison.low, comparison.high, comparison.unit
    if comparison.verdict == "not estimable":
        return "", ""
    if change is None:
        raw, metric = comparison.raw, comparison.metric
        return "" if raw is None else direction_words(raw.reduction, natural_words(metric, abs(raw.reduction))), ""
    is_rate = unit == "percentage points"
    said = f"{-change:+z.0f} points" if is_rate else change_words(change, unit)
    if low is None or high is None:
        return said, ""
    span = f"{-high:+z.0f} to {-low:+z.0f}" if is_rate else span_words(low, high, unit, falls=change > 0)
    return said, f"{100 * comparison.confidence:.3g} % interval {span}"
