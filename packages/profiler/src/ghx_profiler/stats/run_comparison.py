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
)
from ghx_profiler.stats.run_verdicts import count_ones, describe, judge
from ghx_profiler.stats.verdict_rules import Question

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
            f"{describe('worse', None, comparison, count_ones(draft, *overall.counts[later]), metrics)}"
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
        tier, reason = judge(draft, before, after, p=result.p_adjusted, equivalence=result.equivalence.p_adjusted)
        verdict_alone, _ = judge(draft, before, after, p=result.p, equivalence=result.equivalence.p)
        return OverallComparison(
            metric=comparison.metric,
            before=before.run,
            after=after.run,
            tier=tier,
            tier_alone=verdict_alone,
            reason=reason,
            words=describe(tier, reason, comparison, count_ones(draft, before, after), self.metrics),
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
