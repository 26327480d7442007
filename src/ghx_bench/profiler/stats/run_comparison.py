"""Run against run: first over all arms together, then arm by arm where that showed a difference.

The overall test of a metric shuffles rows of two runs within scenario and arm. Success is tested at alpha, the other
primary metrics are adjusted among themselves. An arm by itself is tested only for a metric whose overall test showed a
difference; else what is found of it is exploratory.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ghx_bench.profiler.cell import Arm
from ghx_bench.profiler.metric_table import METRICS, MetricTable
from ghx_bench.profiler.stats.comparison import Draft, adjust_family, conclude, examine
from ghx_bench.profiler.stats.observations import SUCCESS, Factor, Observations, mark_compared_rows, pair_up
from ghx_bench.profiler.stats.plan import AnalysisPlan
from ghx_bench.profiler.stats.result_records import (
    Adjustment,
    ModeComparison,
    OverallComparison,
    RunComparison,
    RunCount,
)
from ghx_bench.profiler.stats.run_tiers import judge_runs, say_overall
from ghx_bench.profiler.stats.verdict_rules import Question

_SHOWN = frozenset({"better", "worse", "lower", "higher"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRuns:
    """Every later run against the first, and every arm of theirs by itself."""

    runs: tuple[RunComparison, ...]
    arms: tuple[ModeComparison, ...]


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
    found = overall.compare([SUCCESS] if SUCCESS in plan.primary else [])
    found |= overall.compare(others)
    shown = {(each.metric, each.after) for each in found.values() if each.comparison.verdict in _SHOWN}
    planned = {(metric, a, b) for a, b in pairs for metric, run in shown if (a.run, b.run) == (run, runs[0])}
    arms = _compare_arms(observations, plan, pairs=pairs, planned=planned, seed=seed)
    compared = tuple(
        RunComparison(
            before=overall.counts[run][0],
            after=overall.counts[run][1],
            target=plan.target,
            alpha=plan.alpha,
            metrics=tuple(found[metric, run] for metric in dict.fromkeys((SUCCESS, *others)) if (metric, run) in found),
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
    """Compare each later run with the first on one metric, as the only question that is asked."""
    overall = _Overall.of(observations, plan, runs=runs, pairs=pairs, metrics=metrics, seed=seed)
    return tuple(found for run in overall.later for found in overall.compare([metric], [run]).values())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Overall:
    """All rows of runs that are compared, each with its run as its arm."""

    observations: Observations
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
            observations=pooled, plan=plan, metrics=metrics, seed=seed, first=first, later=tuple(later), counts=counts
        )

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
        return Question(a=_whole(run), b=self.first, metric=metric, plan=self.plan, strata="arms")

    def _conclude(self, draft: Draft, comparison: ModeComparison, run: str) -> OverallComparison:
        before, after = self.counts[run]
        result = comparison.headline.of(self.plan.target)
        tier, reason = judge_runs(draft, before, after, p=result.p_adjusted, equivalence=result.equivalence.p_adjusted)
        alone, _ = judge_runs(draft, before, after, p=result.p, equivalence=result.equivalence.p)
        return OverallComparison(
            metric=comparison.metric,
            before=before.run,
            after=after.run,
            tier=tier,
            tier_alone=alone,
            reason=reason,
            words=say_overall(tier, reason, comparison, (before, after), self.metrics),
            comparison=comparison,
        )


def _whole(run: str) -> Arm:
    return Arm(mode="", run=run)


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
    seen = [frozenset(np.unique(agents.codes[of_row == number]).tolist()) for number in numbers.values()]
    if seen[0].intersection(*seen[1:]):
        known = tuple(f"{name} by {agent}" for name in strata for agent in agents.known)
        within = Factor(known=known, codes=stratum * len(agents.known) + agents.codes)
    else:
        within = Factor(known=strata, codes=stratum)
    whole = Factor(known=(Arm(mode="not compared"), *map(_whole, runs)), codes=of_row)
    return replace(observations, arm=whole, agent=within)


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
