"""Two modes on one metric: everything put together, paired within scenario, for both targets."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from itertools import combinations, product

from ghx_bench.profiler.row import ProfileRow
from ghx_bench.profiler.stats.multiplicity import benjamini_hochberg, holm
from ghx_bench.profiler.stats.notes import notes_after, notes_before
from ghx_bench.profiler.stats.observations import SUCCESS, Observations, observe, pair_up
from ghx_bench.profiler.stats.pairs import PairedSample, effect_sizes, variance_components
from ghx_bench.profiler.stats.plan import AnalysisPlan, Target
from ghx_bench.profiler.stats.randomness import generator
from ghx_bench.profiler.stats.records import (
    Adjustment,
    AnalysisSet,
    EffectSizes,
    LeftOut,
    ModeComparison,
    PairedAnalysis,
    Provenance,
    VarianceComponents,
)
from ghx_bench.profiler.stats.results import Adjusted, Finding, target_result
from ghx_bench.profiler.stats.scales import Reading, reading_of
from ghx_bench.profiler.stats.targets import (
    Curve,
    Refusal,
    population_curve,
    suite_curve,
)
from ghx_bench.profiler.stats.verdicts import Question

_TARGETS: tuple[Target, ...] = ("suite", "population")


def compare_modes(
    rows: Iterable[ProfileRow] | Observations, a: str, b: str, metric: str, plan: AnalysisPlan, *, seed: int = 0
) -> ModeComparison:
    """Compare mode A with mode B on one metric, as a family of its own; reductions are positive when A is lower.

    Where several comparisons are made, use `compare_all_modes`: it adjusts for their number.
    """
    draft = _examine(observe(rows), Question(a=a, b=b, metric=metric, plan=plan), seed)
    return _conclude(draft, _adjust_family([draft], "none")[0])


def compare_all_modes(
    rows: Iterable[ProfileRow] | Observations,
    plan: AnalysisPlan,
    *,
    modes: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    seed: int = 0,
) -> tuple[ModeComparison, ...]:
    """Compare every pair of modes on every metric, adjusting the primary ones (Holm) apart from the others (BH).

    `modes` are ordered from the reference to the newest: a later mode is A, an earlier one B. Metrics that are not
    known anywhere are left away, unless they are primary: these were promised, and come out as not estimable.
    """
    observations = observe(rows)
    modes = default_order(observations.mode.known) if modes is None else modes
    metrics = observations.metric_names if metrics is None else metrics
    pairs = [(later, earlier) for earlier, later in combinations(modes, 2)]
    families: tuple[tuple[Adjustment, Sequence[str]], ...] = (
        ("holm", plan.primary),
        ("benjamini-hochberg", [metric for metric in metrics if metric not in plan.primary]),
    )
    concluded: list[ModeComparison] = []
    for adjustment, members in families:
        questions = [Question(a=a, b=b, metric=metric, plan=plan) for metric in members for a, b in pairs]
        drafts = [_examine(observations, question, seed) for question in questions]
        adjusted = _adjust_family(drafts, adjustment)
        concluded += [_conclude(*each) for each in zip(drafts, adjusted, strict=True)]
    return tuple(concluded)


def default_order(modes: Iterable[str]) -> tuple[str, ...]:
    """Return the modes in alphabetical order after `baseline`, which others are held against."""
    return tuple(sorted(modes, key=lambda mode: (mode != "baseline", mode)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Examined:
    """One set of rows with what both targets found, before any adjustment."""

    analysis_set: AnalysisSet
    left_out: tuple[LeftOut, ...]
    sample: PairedSample
    reading: Reading
    findings: Mapping[Target, Finding]
    effects: EffectSizes
    variance: VarianceComponents


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """A comparison that still waits for the rest of its family."""

    question: Question
    analyses: Mapping[AnalysisSet, _Examined]
    notes: tuple[str, ...]
    seed: int

    def finding(self, key: "_Key") -> Finding | None:
        """Return what one target found on one set of rows, if that set makes sense for the metric."""
        analysis_set, target = key
        return self.analyses[analysis_set].findings[target] if analysis_set in self.analyses else None


_Key = tuple[AnalysisSet, Target]
_SETS: tuple[AnalysisSet, ...] = ("intention-to-treat", "per-protocol", "both-succeeded")


def _examine(observations: Observations, question: Question, seed: int) -> _Draft:
    observations.require_modes(question.a, question.b)
    analyses: dict[AnalysisSet, _Examined] = {}
    for analysis_set in _SETS[: 2 if question.metric == SUCCESS else 3]:
        sample, left_out = pair_up(observations, question.a, question.b, question.metric, analysis_set)
        # The same rows give the same findings: nothing is shuffled twice.
        known = next((each for each in analyses.values() if each.sample.has_same_values_as(sample)), None)
        examined = known or _find(question, sample, seed)
        analyses[analysis_set] = replace(examined, analysis_set=analysis_set, left_out=left_out)
    first = analyses["intention-to-treat"]
    notes = notes_before(question, observations, first.sample, first.reading)
    return _Draft(question=question, analyses=analyses, notes=notes, seed=seed)


def _find(question: Question, sample: PairedSample, seed: int) -> _Examined:
    is_success = question.metric == SUCCESS
    first, second = sorted((question.a, question.b))
    # Shuffled from the same side whoever asks, so that swapping A and B changes signs and nothing else.
    seen = sample if question.a == first else sample.swapped()
    rng = generator(seed, question.metric, first, second)
    suite = suite_curve(seen, is_success=is_success, resamples=question.plan.resamples, rng=rng)
    if seen is not sample and not isinstance(suite, Refusal):
        suite = suite.mirrored()
    reading = reading_of(sample, is_rate=is_success)
    curves: dict[Target, Curve | Refusal] = {"suite": suite, "population": population_curve(sample)}
    return _Examined(
        analysis_set="intention-to-treat",
        left_out=(),
        sample=sample,
        reading=reading,
        findings={
            target: Finding(question=question, target=target, sample=sample, reading=reading, curve=curve)
            for target, curve in curves.items()
        },
        effects=effect_sizes(sample),
        variance=variance_components(sample, base=reading.base),
    )


def _adjust_family(drafts: Sequence[_Draft], adjustment: Adjustment) -> list[dict[_Key, Adjusted]]:
    """Adjust each set of rows and each target as a family of its own; a member without a p-value counts as p = 1."""
    adjusted: list[dict[_Key, Adjusted]] = [{} for _ in drafts]
    for key in product(_SETS, _TARGETS):
        findings = {number: draft.finding(key) for number, draft in enumerate(drafts)}
        members = {number: finding for number, finding in findings.items() if finding is not None and finding.is_member}
        p_values = _adjust([finding.p or 1.0 for finding in members.values()], adjustment)
        equivalences = _adjust([finding.equivalence_p or 1.0 for finding in members.values()], adjustment)
        of_member = dict(zip(members, zip(p_values, equivalences, strict=True), strict=True))
        for number, results in enumerate(adjusted):
            p, equivalence = of_member.get(number, (1.0, 1.0))
            results[key] = Adjusted(
                p=p, equivalence_p=equivalence, adjustment=adjustment, family_size=max(1, len(members))
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


def _conclude(draft: _Draft, adjusted: Mapping[_Key, Adjusted]) -> ModeComparison:
    question, plan = draft.question, draft.question.plan
    analyses = {name: _analysis(examined, adjusted) for name, examined in draft.analyses.items()}
    treated, protocol = analyses["intention-to-treat"], analyses["per-protocol"]
    headline, family = treated.of(plan.target), adjusted["intention-to-treat", plan.target]
    return ModeComparison(
        a=question.a,
        b=question.b,
        metric=question.metric,
        target=plan.target,
        reduction_pct=headline.reduction_pct,
        low=headline.low,
        high=headline.high,
        confidence=headline.confidence,
        p=headline.p,
        p_adjusted=headline.p_adjusted,
        verdict=headline.verdict,
        words=headline.words,
        n=treated.n,
        mde=headline.mde,
        unit=treated.unit,
        alpha=plan.alpha,
        margin_pct=plan.margin_pct,
        higher_is_better=question.more_is_better,
        family="primary" if question.metric in plan.primary else "exploratory",
        family_size=family.family_size,
        adjustment=family.adjustment,
        intention_to_treat=treated,
        per_protocol=protocol,
        both_succeeded=analyses.get("both-succeeded"),
        notes=(*draft.notes, *notes_after(plan.target, treated, protocol)),
        provenance=Provenance(seed=draft.seed, resamples=plan.resamples, **_versions()),
    )


@cache
def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("numpy", "scipy")}


def _analysis(examined: _Examined, adjusted: Mapping[_Key, Adjusted]) -> PairedAnalysis:
    sample, reading = examined.sample, examined.reading
    suite, population = (
        target_result(examined.findings[target], adjusted[examined.analysis_set, target]) for target in _TARGETS
    )
    return PairedAnalysis(
        analysis_set=examined.analysis_set,
        n=len(sample.scenarios),
        rows_a=sample.a.values.size,
        rows_b=sample.b.values.size,
        left_out=examined.left_out,
        scale=sample.scale,
        unit=reading.unit,
        center_a=reading.natural(reading.center_a) if sample.blocks else None,
        center_b=reading.natural(reading.center_b) if sample.blocks else None,
        suite=suite,
        population=population,
        effect_sizes=examined.effects,
        variance=examined.variance,
    )
