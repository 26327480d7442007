"""Do the statistics keep what they promise? Simulated false alarms, coverage and power, as a Markdown table.

Runs of agents are made up with known truth and put through `compare_modes`, and through what is usually done
instead: all scenarios pooled, unpaired. Pairs of runs are put through `compare_overall`, and through a comparison of
each mode by itself. `python benchmarks/statistics_validity.py` takes several minutes, `--quick` a fifth of that. The
exit code is 1 if a verdict, p-value and interval contradicted each other anywhere.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

from _simulated_runs import (
    DESIGNS,
    PAIR_DESIGNS,
    RUNS,
    Design,
    PairDesign,
    observations_of,
    simulate,
    simulate_pair,
)
from ghx_profiler.plan.cell import Arm
from ghx_profiler.stats import AnalysisPlan, ModeComparison, Observations, compare_all_modes, compare_modes
from ghx_profiler.stats.comparison import planned_pairs
from ghx_profiler.stats.plan import Target
from ghx_profiler.stats.result_records import PairedAnalysis, TargetResult
from ghx_profiler.stats.run_comparison import compare_overall

EFFECT_PCT = 20.0
ALPHA = 0.05
PLAN = AnalysisPlan(alpha=ALPHA, resamples=1_999)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one method said about one simulated run."""

    is_shown: bool
    covers: bool
    contradicts: bool


Method = Callable[[Observations, Design, float, int], Outcome | None]
"""Judges a run whose true effect is known; the seed is the run's own. `None` if it refuses to."""


def ours(target: Target) -> Method:
    def judge(run: Observations, design: Design, truth: float, seed: int) -> Outcome | None:
        metric = "success" if design.is_success else "tokens_active"
        comparison = compare_modes(run, "a", "b", metric, PLAN, seed=seed)
        result = comparison.headline.of(target)
        if result.verdict == "not estimable":
            return None
        true_pct = 100 * truth if design.is_success else -100 * np.expm1(-truth)
        unbounded = result.low is None or result.high is None
        return Outcome(
            is_shown=result.verdict in {"better", "worse"},
            covers=unbounded or result.low <= true_pct <= result.high,
            contradicts=any(contradictions(comparison)),
        )

    return judge


def pooled(run: Observations, design: Design, truth: float, seed: int) -> Outcome | None:
    """The usual way: all rows of a mode are one sample; shuffle them all, bootstrap the reduction of the medians."""
    values = run.success if design.is_success else run.metrics["tokens_active"]
    a, b = values[run.arm.are(Arm(mode="a"))], values[run.arm.are(Arm(mode="b"))]
    rng = np.random.default_rng(seed)
    everything, resamples = np.concatenate([a, b]), PLAN.resamples
    shuffled = rng.permuted(np.tile(everything, (resamples, 1)), axis=1)
    differences = shuffled[:, : a.size].mean(axis=1) - shuffled[:, a.size :].mean(axis=1)
    p = float(np.mean(np.abs(differences) >= abs(a.mean() - b.mean()) - 1e-12))
    center = np.mean if design.is_success else np.median
    center_a = center(a[rng.integers(0, a.size, (resamples, a.size))], axis=1)
    center_b = center(b[rng.integers(0, b.size, (resamples, b.size))], axis=1)
    reductions = center_b - center_a if design.is_success else 1 - center_a / center_b
    low, high = np.quantile(reductions, (ALPHA / 2, 1 - ALPHA / 2))
    true = truth if design.is_success else -np.expm1(-truth)
    is_shown = p <= ALPHA
    return Outcome(is_shown=is_shown, covers=bool(low <= true <= high), contradicts=is_shown == (low <= 0 <= high))


METHODS: tuple[tuple[str, Target, Method], ...] = (
    ("suite", "suite", ours("suite")),
    ("population", "population", ours("population")),
    ("pooled, unpaired", "suite", pooled),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the table."""

    design: Design | PairDesign
    method: str
    false_alarms: float | None
    coverage: float | None
    power: float | None
    contradictions: int

    def markdown(self) -> str:
        """Return the line as Markdown."""
        none = "refused" if isinstance(self.design, Design) else ""
        cells = [none if share is None else f"{100 * share:.1f} %" for share in self._shares()]
        return f"| {self.design.label} | {self.method} | {' | '.join(cells)} | {self.contradictions} |"

    def _shares(self) -> tuple[float | None, ...]:
        return self.false_alarms, self.coverage, self.power


def measure(task: tuple[int, int, int]) -> Line:
    """Simulate one design for one method, with and without an effect."""
    design_number, method_number, runs = task
    design, name = DESIGNS[design_number], METHODS[method_number][0]
    effect = EFFECT_PCT / 100 if design.is_success else -np.log1p(-EFFECT_PCT / 100)
    without, with_effect = (
        list(_outcomes(METHODS[method_number], design, truth, seed=[design_number, number], runs=runs))
        for number, truth in enumerate((0.0, effect))
    )
    return Line(
        design=design,
        method=name,
        false_alarms=_share(each.is_shown for each in without) if without else None,
        coverage=_share(each.covers for each in (*without, *with_effect)) if without else None,
        power=_share(each.is_shown for each in with_effect) if with_effect else None,
        contradictions=sum(each.contradicts for each in (*without, *with_effect)),
    )


def _outcomes(
    method: tuple[str, Target, Method], design: Design, truth: float, *, seed: list[int], runs: int
) -> Iterator[Outcome]:
    _, target, judge = method
    rng = np.random.default_rng(seed)
    refused = 0
    for number in range(runs):
        run, true = simulate(design, truth, target, rng)
        outcome = judge(run, design, true, number)
        if outcome is not None:
            yield outcome
        elif (refused := refused + 1) > _REFUSALS and refused == number + 1:
            return  # it is the design that is refused, not one unlucky run


_REFUSALS = 20


def _share(flags: Iterator[bool]) -> float:
    return float(np.mean(list(flags)))


def judge_pair(run: Observations, design: PairDesign, method: str, *, has_changed: bool, seed: int) -> Outcome:
    """Return whether the later run was called worse, overall or in any mode by itself."""
    pairs = planned_pairs(run.arm.known, PLAN, runs=RUNS)
    if method == "each mode":
        plan = PLAN.model_copy(update={"primary": (design.metric,)})
        alone = compare_all_modes(run, plan, pairs=pairs, metrics=[], seed=seed)
        is_shown = any(each.verdict == "worse" for each in alone)
        return Outcome(is_shown=is_shown, covers=True, contradicts=any(any(contradictions(each)) for each in alone))
    (found,) = compare_overall(run, design.metric, PLAN, runs=RUNS, pairs=pairs, seed=seed)
    result = found.comparison
    lower = design.rates[0] - design.rates[1] if design.metric == "success" else -design.slower_pct / 100
    true_pct = 100 * lower * has_changed
    is_bounded = result.low is not None and result.high is not None
    return Outcome(
        is_shown=found.tier_alone == "worse",
        covers=not is_bounded or result.low <= true_pct <= result.high,
        contradicts=any(contradictions(result)) or (found.tier_alone == "worse") != (result.verdict == "worse"),
    )


PAIR_METHODS = ("overall", "each mode")


def measure_pair(task: tuple[int, int, int]) -> Line:
    """Simulate pairs of runs, identical and changed, and judge them by one method."""
    design_number, method_number, runs = task
    design, method = PAIR_DESIGNS[design_number], PAIR_METHODS[method_number]
    same, changed = (
        [
            judge_pair(
                simulate_pair(design, has_changed=has_changed, rng=rng),
                design,
                method,
                has_changed=has_changed,
                seed=seed,
            )
            for seed in range(runs)
        ]
        for has_changed in (False, True)
        for rng in [np.random.default_rng([7, design_number, has_changed])]
    )
    return Line(
        design=design,
        method=method,
        false_alarms=_share(each.is_shown for each in same),
        coverage=_share(each.covers for each in (*same, *changed)) if method == "overall" else None,
        power=_share(each.is_shown for each in changed),
        contradictions=sum(each.contradicts for each in (*same, *changed)),
    )


def contradictions(comparison: ModeComparison) -> Iterator[str]:
    """Yield every way in which verdict, p-value and interval of one target disagree."""
    analyses = (comparison.intention_to_treat, comparison.per_protocol, comparison.both_succeeded)
    for analysis in analyses:
        if analysis is not None:
            for result in (analysis.suite, analysis.population):
                yield from _contradictions(comparison, analysis, result)


def _contradictions(comparison: ModeComparison, analysis: PairedAnalysis, result: TargetResult) -> Iterator[str]:
    where = f"{analysis.analysis_set}, {result.target}: {result.words}"
    if result.verdict == "not estimable":
        if (result.p, result.p_adjusted, result.low, result.high) != (None, None, None, None):
            yield f"numbers without an estimate: {where}"
        return
    low, high = (-np.inf if result.low is None else result.low), (np.inf if result.high is None else result.high)
    excludes_zero = low > 0 or high < 0
    is_shown = result.verdict in {"better", "worse"}
    if not (0 < result.p <= result.p_adjusted <= 1):
        yield f"p is not between 0 and its adjusted self: {where}"
    if not is_shown == excludes_zero == (result.p_adjusted <= comparison.alpha):
        yield f"verdict, p and interval disagree: {where}"
    if result.reduction_pct is not None and not low <= result.reduction_pct <= high:
        yield f"the interval misses its own estimate: {where}"
    if is_shown and (result.verdict == "better") != ((low > 0) != comparison.higher_is_better):
        yield f"the word has the wrong direction: {where}"
    if result.verdict == "equivalent" and not _is_inside_margin(result):
        yield f"equivalent outside the margin: {where}"


def _is_inside_margin(result: TargetResult) -> bool:
    equivalence, margin = result.equivalence, result.equivalence.margin_pct
    if equivalence.low is None or equivalence.high is None:
        return False
    # On raw values the margin is a share of the smaller mean, per cent are of B's: at most as large as the margin.
    return -margin <= equivalence.low and equivalence.high <= margin


def fuzz(task: tuple[int, int]) -> tuple[int, int]:
    """Compare families of modes with everything that goes wrong; return how many results, and contradictions."""
    seed, runs = task
    rng = np.random.default_rng([99, seed])
    results = found = 0
    for _ in range(runs):
        comparisons = compare_all_modes(_messy_run(rng), _random_plan(rng), seed=seed)
        for comparison in comparisons:
            messages = list(contradictions(comparison))
            results += 4 if comparison.both_succeeded is None else 6
            found += len(messages)
            for message in messages:
                print(message, file=sys.stderr)
    return results, found


def _random_plan(rng: np.random.Generator) -> AnalysisPlan:
    target: Target = "suite" if rng.random() < 0.5 else "population"
    return PLAN.model_copy(
        update={"all_pairs": True, "target": target, "alpha": float(rng.choice([0.01, 0.05, 0.1])), "resamples": 999}
    )


def _messy_run(rng: np.random.Generator) -> Observations:
    """Return a run of three modes with missing values, zeros, failures and unequal repetitions."""
    shape = (3, int(rng.integers(1, 12)), int(rng.integers(1, 8)))
    mode, scenario, _ = (axis.ravel() for axis in np.indices(shape))
    rows = mode.size
    shift = rng.normal(0, rng.choice([0.0, 0.05, 0.5]), 3)[mode]
    noise = rng.normal(0, rng.choice([0.01, 0.3]), rows)
    tokens = np.round(np.exp(rng.normal(7, 1, shape[1])[scenario] + shift + noise))
    calls = rng.poisson(2 * np.exp(shift)).astype(np.float64)
    success = (rng.random(rows) < rng.choice([0.02, 0.5, 0.98]) + shift / 4).astype(np.float64)
    success[rng.random(rows) < rng.choice([0.0, 0.1])] = np.nan
    tokens[rng.random(rows) < rng.choice([0.0, 0.2])] = np.nan
    keep = rng.random(rows) < rng.choice([0.8, 1.0])
    keep[:: shape[1] * shape[2]] = True  # every mode has a row
    metrics = {"tokens_active": tokens, "tool_calls_total": calls, "latency_wall_ms": 3 * tokens}
    return observations_of(
        ["xyz"[number] for number in mode[keep]],
        scenario[keep],
        success[keep],
        {name: values[keep] for name, values in metrics.items()},
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a fifth of the simulated runs")
    parser.add_argument("--runs", type=int, help="simulated runs per line and truth (default: 1000, or 200 if quick)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    options = parser.parse_args()
    runs = options.runs or (200 if options.quick else 1_000)
    tasks = [(design, method, runs) for design in range(len(DESIGNS)) for method in range(len(METHODS))]
    pairs = [(design, method, runs) for design in range(len(PAIR_DESIGNS)) for method in range(len(PAIR_METHODS))]
    with ProcessPoolExecutor(options.jobs) as pool:
        lines = [*pool.map(measure, tasks), *pool.map(measure_pair, pairs)]
        fuzzed = list(pool.map(fuzz, [(seed, max(1, runs // 20)) for seed in range(8)]))
    print(f"{runs} runs per line and truth; an effect is a reduction by {EFFECT_PCT:g} % (points for success).\n")
    print("| simulated run | method | false alarms | coverage | power | contradictions |")
    print("|---|---|---|---|---|---|")
    print("\n".join(line.markdown() for line in lines))
    results, found = (sum(each) for each in zip(*fuzzed, strict=True))
    found += sum(line.contradictions for line in lines if line.method != METHODS[2][0])
    print(f"\nContradictions between verdict, p-value and interval in {results} results of messy families: {found}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
