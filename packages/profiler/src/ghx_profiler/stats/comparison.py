"""Two modes on one metric: everything put together, paired within scenario, for both targets."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from itertools import combinations, product

from ghx_profiler.plan.cell import Arm, order_arms
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.stats.methods.arrays import generator
from ghx_profiler.stats.methods.curves import Curve, Refusal, population_curve, suite_curve
from ghx_profiler.stats.methods.multiplicity import benjamini_hochberg, holm
from ghx_profiler.stats.methods.scales import ReductionScale, is_amount, is_binary
from ghx_profiler.stats.observations import (
    SUCCESS,
    ArmOrMode,
    Observations,
    as_arm,
    headline_set,
    observe,
    pair_up,
    reason_unpaired,
    unmeasured_rows,
)
from ghx_profiler.stats.pairs import PairedSample, effect_sizes, variance_components
from ghx_profiler.stats.plan import AnalysisPlan, Target
from ghx_profiler.stats.result_records import (
    Adjustment,
    AnalysisSet,
    EffectSizes,
    Family,
    LeftOut,
    ModeComparison,
    PairedAnalysis,
    Provenance,
    VarianceComponents,
)
from ghx_profiler.stats.results import Adjusted, TargetTest, target_result
from ghx_profiler.stats.verdict_rules import Question, notes_after, notes_before

_TARGETS: tuple[Target, ...] = ("suite", "population")


def compare_modes(
    rows: Iterable[ProfileRow] | Observations,
    a: ArmOrMode,
    b: ArmOrMode,
    metric: str,
    plan: AnalysisPlan,
    *,
    seed: int = 0,
) -> ModeComparison:
    """Compare mode A with mode B on one metric, as a family of its own; reductions are positive when A is lower.

    Where several comparisons are made, use `compare_all_modes`: it adjusts for their number.
    """
    draft = examine(observe(rows), Question(a=as_arm(a), b=as_arm(b), metric=metric, plan=plan), seed)
    return conclude(draft, adjust_family([draft], "none")[0])


def compare_all_modes(
    rows: Iterable[ProfileRow] | Observations,
    plan: AnalysisPlan,
    *,
    modes: Sequence[ArmOrMode] | None = None,
    pairs: Sequence[tuple[ArmOrMode, ArmOrMode]] | None = None,
    metrics: Sequence[str] | None = None,
    seed: int = 0,
) -> tuple[ModeComparison, ...]:
    """Compare pairs of modes on every metric, adjusting the primary ones (Holm) separately from the others (BH).

    Each of `modes`, as A, is compared with the reference, as B: the first of them unless the plan names another; with
    `all_pairs` in the plan, against every earlier one. `pairs` names A and B instead; all of them are one family.
    Metrics that are not known anywhere are left away, unless they are primary: these were promised, and come out as not
    estimable.
    """
    observations = observe(rows)
    arms = order_arms(observations.arm.known) if modes is None else [as_arm(mode) for mode in modes]
    metrics = observations.metric_names if metrics is None else metrics
    compared = planned_pairs(arms, plan) if pairs is None else [(as_arm(a), as_arm(b)) for a, b in pairs]
    families: tuple[tuple[Adjustment, Sequence[str]], ...] = (
        ("holm", plan.primary),
        ("benjamini-hochberg", [metric for metric in metrics if metric not in plan.primary]),
    )
    concluded: list[ModeComparison] = []
    for adjustment, members in families:
        questions = [Question(a=a, b=b, metric=metric, plan=plan) for metric in members for a, b in compared]
        drafts = [examine(observations, question, seed) for question in questions]
        adjusted = adjust_family(drafts, adjustment)
        concluded += [conclude(*each) for each in zip(drafts, adjusted, strict=True)]
    return tuple(concluded)


def planned_pairs(arms: Sequence[Arm], plan: AnalysisPlan, *, runs: Sequence[str] = ()) -> tuple[tuple[Arm, Arm], ...]:
    """Pair each arm, as A, with its references, as B: the two arms differ in exactly one factor.

    In one run that is the arm with the reference mode, that of the first agent, and that of the first model, as far as
    there are such arms. From run to run it is the same arm in the first run. `all_pairs` has all there are.
    """
    if plan.all_pairs or not arms:
        return comparable_pairs(arms)
    if any(arm.run is not None for arm in arms):
        first: dict[str, str | None] = {"run": (*runs, arms[0].run)[0]}
    else:
        first = {"mode": reference_mode(arms, plan), "agent": arms[0].agent, "model": arms[0].model}
    known = {arm: arm for arm in arms}
    return tuple(
        (arm, known[other])
        for factor, level in first.items()
        for arm in arms
        if (other := replace(arm, **{factor: level})) != arm and other in known
    )


def reference_mode(arms: Sequence[Arm], plan: AnalysisPlan) -> str:
    """Return the reference mode: the planned one if any arm has it, or else the first."""
    modes = [arm.mode for arm in arms]
    return plan.reference_mode if plan.reference_mode in modes else modes[0]


def comparable_pairs(arms: Sequence[Arm]) -> tuple[tuple[Arm, Arm], ...]:
    """Pair each arm, as A, with every earlier one that differs from it in its mode, its agent or its model alone.

    If more than one factor differs, the cause of a difference is unknown. Arms of several runs differ
    in their run alone.
    """
    have_runs = any(arm.run is not None for arm in arms)
    pairs: list[tuple[Arm, Arm]] = []
    for b, a in combinations(arms, 2):
        differing = sum((a.mode != b.mode, a.agent != b.agent, a.model != b.model))
        if (differing == 0 and a.run != b.run) if have_runs else differing == 1:
            pairs.append((a, b))
    return tuple(pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Examined:
    """One set of rows with what both targets found, before any adjustment."""

    analysis_set: AnalysisSet
    left_out: tuple[LeftOut, ...]
    sample: PairedSample
    reductions: ReductionScale
    tests: Mapping[Target, TargetTest]
    effects: EffectSizes
    variance: VarianceComponents


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A comparison that still waits for the rest of its family."""

    question: Question
    analyses: Mapping[AnalysisSet, _Examined]
    notes: tuple[str, ...]
    seed: int


_Key = tuple[AnalysisSet, Target]
_VIEWS = 3


def _sets(metric: str) -> tuple[AnalysisSet, ...]:
    """Return the sets of rows a metric is looked at on: the headline's, the second view, and successes alone."""
    if metric == SUCCESS:
        return "intention-to-treat", "per-protocol"
    if headline_set(metric) == "intention-to-treat":
        return "intention-to-treat", "per-protocol", "both-succeeded"
    return "per-protocol", "intention-to-treat", "both-succeeded"


def examine(observations: Observations, question: Question, seed: int) -> Draft:
    """Return the analysis of a question on every set of rows, before any adjustment."""
    observations.require_arms(question.a, question.b)
    analyses: dict[AnalysisSet, _Examined] = {}
    for analysis_set in _sets(question.metric):
        sample, left_out = pair_up(
            observations, question.a, question.b, question.metric, analysis_set, stratum=question.stratum
        )
        # The same rows give the same tests: nothing is shuffled twice.
        known = next((each for each in analyses.values() if each.sample.has_same_values_as(sample)), None)
        if not sample.blocks:
            reason = reason_unpaired(observations, question.a, question.b, question.metric, analysis_set)
            examined = _apply_tests(question, sample, dict.fromkeys(_TARGETS, Refusal(reason=reason)))
        else:
            examined = known or _apply_tests(question, sample, _curves(question, sample, seed))
        if question.metric == SUCCESS and analysis_set == "intention-to-treat":
            rows = sum(unmeasured_rows(observations, question.a, question.b, sample).values())
            tests = {target: replace(test, counted_as_failures=rows) for target, test in examined.tests.items()}
            examined = replace(examined, tests=tests)
        analyses[analysis_set] = replace(examined, analysis_set=analysis_set, left_out=left_out)
    first = analyses[headline_set(question.metric)]
    notes = notes_before(question, observations, first.sample, first.reductions)
    return Draft(question=question, analyses=analyses, notes=notes, seed=seed)


def _curves(question: Question, sample: PairedSample, seed: int) -> dict[Target, Curve | Refusal]:
    # Labels are given when a report is made, and must not change a number.
    a, b = (str(replace(arm, run=None, model_label=None)) for arm in (question.a, question.b))
    # Always shuffled from the same side, so that swapping A and B changes signs and nothing else.
    is_first = a < b if a != b else sample.a.values.tolist() <= sample.b.values.tolist()
    oriented = sample if is_first else sample.swap()
    rng = generator(seed, question.metric, *sorted((a, b)))
    suite = suite_curve(oriented, question.metric, resamples=question.plan.resamples, rng=rng)
    if oriented is not sample and not isinstance(suite, Refusal):
        suite = suite.mirror()
    return {"suite": suite, "population": population_curve(sample, question.metric)}


def _apply_tests(question: Question, sample: PairedSample, curves: Mapping[Target, Curve | Refusal]) -> _Examined:
    reductions = sample.reduction_scale(is_rate=is_binary(question.metric), is_amount=is_amount(question.metric))
    return _Examined(
        analysis_set="intention-to-treat",
        left_out=(),
        sample=sample,
        reductions=reductions,
        tests={
            target: TargetTest(question=question, target=target, sample=sample, reductions=reductions, curve=curve)
            for target, curve in curves.items()
        },
        effects=effect_sizes(sample),
        variance=variance_components(sample, base=reductions.base),
    )


def adjust_family(drafts: Sequence[Draft], adjustment: Adjustment) -> list[dict[_Key, Adjusted]]:
    """Adjust each view and each target as a family of its own; a member without a p-value counts as p = 1."""
    adjusted: list[dict[_Key, Adjusted]] = [{} for _ in drafts]
    for view, target in product(range(_VIEWS), _TARGETS):
        # Not every view makes sense for every metric: success among successes is constant.
        sets = {number: _sets(draft.question.metric) for number, draft in enumerate(drafts)}
        analysis_sets: dict[int, AnalysisSet] = {
            number: each[view] for number, each in sets.items() if view < len(each)
        }
        tests = {number: drafts[number].analyses[rows].tests[target] for number, rows in analysis_sets.items()}
        members = {number: test for number, test in tests.items() if test.is_member}
        p_values = _adjust([test.p or 1.0 for test in members.values()], adjustment)
        equivalences = _adjust([test.equivalence_p or 1.0 for test in members.values()], adjustment)
        of_member = dict(zip(members, zip(p_values, equivalences, strict=True), strict=True))
        for number, rows in analysis_sets.items():
            p, equivalence = of_member.get(number, (1.0, 1.0))
            adjusted[number][rows, target] = Adjusted(
                p=p,
                equivalence_p=equivalence,
                adjustment=adjustment,
                family_size=len(members),
                family_planned=len(tests),
            )
    return adjusted


def _adjust(p_values: Sequence[float], adjustment: Adjustment) -> tuple[float, ...]:
    match adjustment:
        case "none":
            return tuple(p_values)
        case "holm":
            return holm(p_values)
        case "benjamini-hochberg":
            return benjamini_hochberg(p_values)


def conclude(draft: Draft, adjusted: Mapping[_Key, Adjusted], *, family: Family | None = None) -> ModeComparison:
    """Return a comparison once its family was adjusted; by its metric it is primary or exploratory unless given."""
    question, plan = draft.question, draft.question.plan
    analyses = {name: _analysis(examined, adjusted) for name, examined in draft.analyses.items()}
    rows = headline_set(question.metric)
    first, others = analyses[rows], [each for name, each in analyses.items() if name != rows]
    headline, members = first.of(plan.target), adjusted[rows, plan.target]
    return ModeComparison(
        a=str(question.a),
        b=str(question.b),
        metric=question.metric,
        target=plan.target,
        analysis_set=rows,
        reduction_pct=headline.reduction_pct,
        low=headline.low,
        high=headline.high,
        confidence=headline.confidence,
        p=headline.p,
        p_adjusted=headline.p_adjusted,
        verdict=headline.verdict,
        words=headline.words,
        n=first.n,
        mde=headline.mde,
        raw=headline.raw,
        unit=first.unit,
        alpha=plan.alpha,
        margin_pct=plan.margin_pct,
        higher_is_better=question.more_is_better,
        family=family or ("primary" if question.metric in plan.primary else "exploratory"),
        family_size=members.family_size,
        family_planned=members.family_planned,
        adjustment=members.adjustment,
        intention_to_treat=analyses["intention-to-treat"],
        per_protocol=analyses["per-protocol"],
        both_succeeded=analyses.get("both-succeeded"),
        notes=(*draft.notes, *notes_after(plan.target, first, others)),
        provenance=Provenance(seed=draft.seed, resamples=plan.resamples, **_versions()),
    )


@cache
def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("numpy", "scipy")}


def _analysis(examined: _Examined, adjusted: Mapping[_Key, Adjusted]) -> PairedAnalysis:
    sample, reductions = examined.sample, examined.reductions
    suite, population = (
        target_result(examined.tests[target], adjusted[examined.analysis_set, target]) for target in _TARGETS
    )
    return PairedAnalysis(
        analysis_set=examined.analysis_set,
        n=len(sample.scenarios),
        rows_a=sample.a.values.size,
        rows_b=sample.b.values.size,
        left_out=examined.left_out,
        scale=sample.scale,
        unit=reductions.unit,
        center_a=reductions.natural(reductions.center_a) if sample.blocks else None,
        center_b=reductions.natural(reductions.center_b) if sample.blocks else None,
        suite=suite,
        population=population,
        effect_sizes=examined.effects,
        variance=examined.variance,
    )
