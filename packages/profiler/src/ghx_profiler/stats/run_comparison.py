"""Run against run: first over all arms together, then arm by arm where that showed a difference.

The overall test of a metric shuffles rows of two runs within scenario and arm. Success is tested at alpha, the other
primary metrics are adjusted among themselves. An arm by itself is tested only for a metric whose overall test showed a
difference; otherwise its results are exploratory. The verdict for a gate is one of six words, by the rules of
docs/statistics.md.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ghx_profiler.plan.cell import Arm
from ghx_profiler.records.metric_table import ATTACK_SUCCESS, METRICS, MetricTable
from ghx_profiler.stats.comparison import Draft, adjust_family, conclude, examine
from ghx_profiler.stats.methods.arrays import BoolArray
from ghx_profiler.stats.methods.curves import Refusal, reason_without_population
from ghx_profiler.stats.methods.permutation import smallest_p_of
from ghx_profiler.stats.methods.probability import normal_quantile
from ghx_profiler.stats.methods.scales import format_change, format_direction, format_natural, format_span, is_binary
from ghx_profiler.stats.observations import (
    SUCCESS,
    Factor,
    Observations,
    headline_set,
    mark_compared_rows,
    pair_up,
    pairing_factors,
)
from ghx_profiler.stats.plan import AnalysisPlan
from ghx_profiler.stats.result_records import (
    Adjustment,
    ModeComparison,
    OverallComparison,
    RunComparison,
    RunCount,
    Tier,
)
from ghx_profiler.stats.results import TargetTest
from ghx_profiler.stats.verdict_rules import Question, decide

_SHOWN = frozenset({"better", "worse", "lower", "higher"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRuns:
    """Every later run against the first, and every arm of theirs by itself."""

    runs: tuple[RunComparison, ...]
    arms: tuple[ModeComparison, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackCounts:
    """Sessions under attack of two runs, by whether their outcomes are compared.

    A session is compared if both runs know an outcome of its case: its scenario, in its arm. Sessions of cases of which
    neither run knows an outcome are not counted. Pairs of counts are of the first run and of the later one.
    """

    sessions: tuple[int, int]
    compared: tuple[int, int]
    succeeded: tuple[int, int]
    """Among the compared sessions."""
    uncompared: int
    """Sessions of the later run with a known outcome, in cases of which the first run knows none."""
    uncompared_succeeded: int
    known_cases: int
    """Cases of which the first run knows an outcome."""
    missing_cases: int
    """Those of them of which the later run knows none."""
    first_missing: str
    """One of them; empty without any."""

    @property
    def has_risen(self) -> bool:
        """Whether attacks succeeded in a larger share of the compared sessions of the later run."""
        (known_before, known_after), (before, after) = self.compared, self.succeeded
        return after * known_before > before * known_after

    @property
    def is_complete(self) -> bool:
        """Whether all sessions are compared."""
        return self.compared == self.sessions


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackCheck:
    """The data for a gate on attacks, in addition to the verdict over all arms."""

    counts: AttackCounts
    unpaired_arms: AttackCounts
    """Of the arms that only one of the runs has; `counts` has them, too."""
    worse_arms: tuple[str, ...]
    """A sentence for each arm in which attacks were shown to succeed more often."""


def compare_runs(
    observations: Observations,
    plan: AnalysisPlan,
    *,
    runs: Sequence[str],
    pairs: Sequence[tuple[Arm, Arm]],
    metrics: MetricTable = METRICS,
    seed: int = 0,
) -> ComparedRuns:
    """Compare each later run with the first; `pairs` are the arms that they have in common, the later run's first."""
    overall = _Overall.of(observations, plan, runs=runs, pairs=pairs, metrics=metrics, seed=seed)
    others = [metric for metric in plan.primary if metric != SUCCESS]
    comparisons = overall.compare([SUCCESS] if SUCCESS in plan.primary else [])
    comparisons |= overall.compare(others)
    attacked = [run for run in overall.later if overall.knows(ATTACK_SUCCESS, run)]
    attacks = overall.compare([ATTACK_SUCCESS], attacked)
    paired = {arm for pair in pairs for arm in pair}
    shown_pairs = {(each.metric, each.after) for each in comparisons.values() if each.comparison.verdict in _SHOWN}
    planned = {(metric, a, b) for a, b in pairs for metric, run in shown_pairs if (a.run, b.run) == (run, runs[0])}
    arms = _compare_arms(observations, plan, pairs=pairs, planned=planned, seed=seed)
    compared = tuple(
        RunComparison(
            before=overall.counts[run][0],
            after=overall.counts[run][1],
            target=plan.target,
            alpha=plan.alpha,
            metrics=tuple(
                comparisons[metric, run] for metric in dict.fromkeys((SUCCESS, *others)) if (metric, run) in comparisons
            ),
            attacks=_add_uncompared(attacks[ATTACK_SUCCESS, run], overall.count_attacks(run, paired))
            if run in attacked
            else None,
        )
        for run in overall.later
    )
    return ComparedRuns(runs=compared, arms=arms)


def compare_overall(
    observations: Observations,
    metric: str,
    plan: AnalysisPlan,
    *,
    runs: Sequence[str],
    pairs: Sequence[tuple[Arm, Arm]],
    metrics: MetricTable = METRICS,
    seed: int = 0,
) -> tuple[OverallComparison, ...]:
    """Compare each later run with the first on one metric, as the only comparison."""
    overall = _Overall.of(observations, plan, runs=runs, pairs=pairs, metrics=metrics, seed=seed)
    return tuple(comparison for run in overall.later for comparison in overall.compare([metric], [run]).values())


def check_attacks(
    observations: Observations,
    plan: AnalysisPlan,
    *,
    runs: tuple[str, str],
    pairs: Sequence[tuple[Arm, Arm]],
    arms: Collection[Arm],
    metrics: MetricTable = METRICS,
    seed: int = 0,
) -> AttackCheck:
    """Count the attacks on all `arms` of two runs, and test each pair of arms on them, adjusted over the pairs."""
    overall = _Overall.of(observations, plan, runs=runs, pairs=pairs, metrics=metrics, seed=seed)
    _, later = runs
    paired = {arm for pair in pairs for arm in pair}
    # One arm is the run as a whole.
    tested = pairs if len(pairs) > 1 else ()
    drafts = [examine(observations, Question(a=a, b=b, metric=ATTACK_SUCCESS, plan=plan), seed) for a, b in tested]
    compared = _conclude_family(drafts, "holm", is_primary=True)
    worse = [each for each in zip(drafts, compared, strict=True) if each[1].verdict == "worse"]
    return AttackCheck(
        counts=overall.count_attacks(later, arms),
        unpaired_arms=overall.count_attacks(later, set(arms) - paired),
        worse_arms=tuple(
            f"Arm {replace(draft.question.a, run=None)}: "
            f"{_describe('worse', None, comparison, _count_ones(draft, *overall.counts[later]), metrics)}"
            for draft, comparison in worse
        ),
    )


def describe_uncompared(counts: AttackCounts) -> str:
    """Return the sentence on attacks that succeeded in sessions which are not compared; empty where none did."""
    if not counts.uncompared_succeeded:
        return ""
    return (
        f"Attacks succeeded in {counts.uncompared_succeeded} of {counts.uncompared} sessions that could not be "
        "compared: the baseline knows no outcome of their scenario in their arm."
    )


def _add_uncompared(attacks: OverallComparison, counts: AttackCounts) -> OverallComparison:
    return attacks.model_copy(update={"words": f"{attacks.words} {describe_uncompared(counts)}".rstrip()})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Overall:
    """All rows of runs that are compared, each with its run as its arm."""

    observations: Observations
    unpooled: Factor[Arm]
    """What each row was an arm of."""
    plan: AnalysisPlan
    metrics: MetricTable
    seed: int
    first: Arm
    later: tuple[str, ...]
    counts: Mapping[str, tuple[RunCount, RunCount]]
    """Of the first run and of a later one, by the name of the later one."""

    @classmethod
    def of(
        cls,
        observations: Observations,
        plan: AnalysisPlan,
        *,
        runs: Sequence[str],
        pairs: Sequence[tuple[Arm, Arm]],
        metrics: MetricTable,
        seed: int,
    ) -> "_Overall":
        """Pool the arms of each run, as far as the first run has them too."""
        with_first = [(a, b) for a, b in pairs if b.run == runs[0]]
        pooled = _pool_arms(observations, {arm for pair in with_first for arm in pair}, runs)
        first, later = _whole(runs[0]), [run for run in runs[1:] if any(a.run == run for a, _ in with_first)]
        counts = {run: (_count(pooled, first, _whole(run)), _count(pooled, _whole(run), first)) for run in later}
        return cls(
            observations=pooled,
            unpooled=observations.arm,
            plan=plan,
            metrics=metrics,
            seed=seed,
            first=first,
            later=tuple(later),
            counts=counts,
        )

    def knows(self, metric: str, run: str) -> bool:
        """Return whether a row of the first run or of a later one has a value of a metric."""
        rows = self.observations.arm.are(self.first) | self.observations.arm.are(_whole(run))
        values = self.observations.metrics.get(metric)
        return values is not None and bool(np.any(rows & ~np.isnan(values)))

    def count_attacks(self, run: str, arms: Collection[Arm]) -> AttackCounts:
        """Count the sessions of these arms in the first run and in a later one, in the cases that are compared."""
        observations = self.observations
        strata, models = pairing_factors(observations, _whole(run), self.first)
        factors = (observations.scenario, strata, models)
        case = np.ravel_multi_index(tuple(each.codes for each in factors), tuple(len(each.known) for each in factors))
        values = observations.column(ATTACK_SUCCESS, headline_set(ATTACK_SUCCESS))
        known = ~np.isnan(values)
        before, after = (self._mark_arms({arm for arm in arms if arm.run == name}) for name in (self.first.run, run))
        cases_before, cases_after = (np.unique(case[rows & known]) for rows in (before, after))
        sessions = np.isin(case, np.union1d(cases_before, cases_after))
        compared = known & np.isin(case, np.intersect1d(cases_before, cases_after))
        uncompared = after & known & ~np.isin(case, cases_before)
        missing = np.flatnonzero(before & known & ~np.isin(case, cases_after))
        return AttackCounts(
            sessions=(_count_rows(before & sessions), _count_rows(after & sessions)),
            compared=(_count_rows(before & compared), _count_rows(after & compared)),
            succeeded=(_count_rows(before & compared & (values == 1)), _count_rows(after & compared & (values == 1))),
            uncompared=_count_rows(uncompared),
            uncompared_succeeded=_count_rows(uncompared & (values == 1)),
            known_cases=len(cases_before),
            missing_cases=len(np.unique(case[missing])),
            first_missing=self._name_case(int(missing[0])) if missing.size else "",
        )

    def _mark_arms(self, arms: Collection[Arm]) -> BoolArray:
        """Mark the rows of these arms."""
        return np.isin(self.unpooled.codes, [code for code, arm in enumerate(self.unpooled.known) if arm in arms])

    def _name_case(self, row: int) -> str:
        scenario, arm = self.observations.scenario, self.unpooled
        arm_of_row = arm.known[int(arm.codes[row])]
        return f"{scenario.known[int(scenario.codes[row])]} in {replace(arm_of_row, run=None)}"

    def compare(
        self, metrics: Sequence[str], runs: Sequence[str] | None = None
    ) -> dict[tuple[str, str], OverallComparison]:
        """Compare runs with the first on metrics that are adjusted together."""
        drafts = {
            (metric, run): examine(self.observations, self._question(metric, run), self.seed)
            for metric in metrics
            for run in (self.later if runs is None else runs)
        }
        adjustment: Adjustment = "holm" if len(drafts) > 1 else "none"
        adjusted = adjust_family(list(drafts.values()), adjustment)
        return {
            (metric, run): self._conclude(draft, conclude(draft, family), run)
            for ((metric, run), draft), family in zip(drafts.items(), adjusted, strict=True)
        }

    def _question(self, metric: str, run: str) -> Question:
        return Question(a=_whole(run), b=self.first, metric=metric, plan=self.plan, stratum="arm")

    def _conclude(self, draft: Draft, comparison: ModeComparison, run: str) -> OverallComparison:
        before, after = self.counts[run]
        result = comparison.headline.of(self.plan.target)
        tier, reason = _judge(draft, before, after, p=result.p_adjusted, equivalence=result.equivalence.p_adjusted)
        verdict_alone, _ = _judge(draft, before, after, p=result.p, equivalence=result.equivalence.p)
        return OverallComparison(
            metric=comparison.metric,
            before=before.run,
            after=after.run,
            tier=tier,
            tier_alone=verdict_alone,
            reason=reason,
            words=_describe(tier, reason, comparison, _count_ones(draft, before, after), self.metrics),
            comparison=comparison,
        )


def _whole(run: str) -> Arm:
    return Arm(mode="", run=run)


def _count_rows(rows: BoolArray) -> int:
    return int(np.count_nonzero(rows))


def _pool_arms(observations: Observations, compared: set[Arm], runs: Sequence[str]) -> Observations:
    """Return the rows with their run as their arm; what they were an arm of is what they are paired within."""
    arms, agents = observations.arm.known, observations.agent
    numbers = {run: number for number, run in enumerate(runs, start=1)}
    # Rows that are not compared get an arm of their own, which no question asks for.
    of_arm = np.array([numbers[arm.run or ""] if arm in compared else 0 for arm in arms], dtype=np.int64)
    of_row = of_arm[observations.arm.codes]
    names = [str(replace(arm, run=None)) for arm in arms]
    strata = tuple(dict.fromkeys(names))
    stratum = np.array([strata.index(name) for name in names], dtype=np.int64)[observations.arm.codes]
    agent_sets = [frozenset(np.unique(agents.codes[of_row == number]).tolist()) for number in numbers.values()]
    if agent_sets[0].intersection(*agent_sets[1:]):
        known = tuple(f"{name} by {agent}" for name in strata for agent in agents.known)
        stratum_factor = Factor(known=known, codes=stratum * len(agents.known) + agents.codes)
    else:
        stratum_factor = Factor(known=strata, codes=stratum)
    whole = Factor(known=(Arm(mode="not compared"), *map(_whole, runs)), codes=of_row)
    return replace(observations, arm=whole, agent=stratum_factor)


_REPEATED = 2


def _count(observations: Observations, arm: Arm, other: Arm) -> RunCount:
    """Count the rows of one run in the cases that both runs have."""
    sample, _ = pair_up(observations, arm, other, SUCCESS, "intention-to-treat")
    rows = mark_compared_rows(observations, arm, other, SUCCESS, sample) & observations.arm.are(arm)
    success = observations.success[rows]
    is_known = ~np.isnan(success)
    shape = tuple(len(each.known) for each in (observations.scenario, observations.agent, observations.model))
    factors = (observations.scenario, observations.agent, observations.model)
    cases = np.ravel_multi_index(tuple(each.codes[rows][is_known] for each in factors), shape)
    _, case = np.unique(cases, return_inverse=True)
    tried, won = np.bincount(case), np.bincount(case, weights=success[is_known])
    is_repeated = tried >= _REPEATED
    return RunCount(
        run=arm.run or "",
        rows=int(np.count_nonzero(rows)),
        solved=int(np.count_nonzero(success == 1)),
        unmeasured=int(np.count_nonzero(~is_known)),
        repeated_cases=int(np.count_nonzero(is_repeated)),
        mixed_cases=int(np.count_nonzero(is_repeated & (won > 0) & (won < tried))),
    )


def _compare_arms(
    observations: Observations,
    plan: AnalysisPlan,
    *,
    pairs: Sequence[tuple[Arm, Arm]],
    planned: set[tuple[str, Arm, Arm]],
    seed: int,
) -> tuple[ModeComparison, ...]:
    """Compare arm by arm: the planned ones of a metric are a family, all the rest is exploratory."""
    metrics = dict.fromkeys((*plan.primary, *observations.metric_names))
    drafts = {
        (metric, a, b): examine(observations, Question(a=a, b=b, metric=metric, plan=plan), seed)
        for metric in metrics
        for a, b in pairs
    }
    concluded: list[ModeComparison] = []
    for metric in metrics:
        members = [draft for key, draft in drafts.items() if key in planned and key[0] == metric]
        concluded += _conclude_family(members, "holm", is_primary=True)
    rest = [draft for key, draft in drafts.items() if key not in planned]
    return (*concluded, *_conclude_family(rest, "benjamini-hochberg", is_primary=False))


def _conclude_family(drafts: Sequence[Draft], adjustment: Adjustment, *, is_primary: bool) -> Iterator[ModeComparison]:
    family = "primary" if is_primary else "exploratory"
    for draft, adjusted in zip(drafts, adjust_family(drafts, adjustment), strict=True):
        yield conclude(draft, adjusted, family=family)


_MOST_UNMEASURED = 0.2
"""Of the rows of a run: with more, a word stands only if it is the same with these rows and without them."""

_MOST_MIXED = 0.5
"""Of the baseline's repeated cases: with more that both succeed and fail, "nothing was shown" is expected."""


def _judge(
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


def _count_ones(draft: Draft, before: RunCount, after: RunCount) -> _Counts | None:
    """Count the rows in which a 0/1 metric is 1; `None` for amounts, and where no rows are compared."""
    metric = draft.question.metric
    if metric == SUCCESS:
        return (before.solved, before.rows), (after.solved, after.rows)
    sample = draft.analyses[headline_set(metric)].sample
    if not (is_binary(metric) and sample.blocks):
        return None
    earlier, later = sample.b.values, sample.a.values
    return (int(earlier.sum()), earlier.size), (int(later.sum()), later.size)


def _describe(
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
