"""The headline: the main result of a report, made by the rules of `headline_rules` from its verdicts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

import numpy as np

from ghx_base.problems import plural
from ghx_profiler.control_kinds import CONTROLS, ControlKind
from ghx_profiler.plan.cell import Arm
from ghx_profiler.reports.data.controls import ControlCount
from ghx_profiler.reports.data.material import Material
from ghx_profiler.reports.data.runs import changes_between
from ghx_profiler.reports.report_document import Headline
from ghx_profiler.reports.sections.headline_rules import (
    Contrast,
    Successes,
    choose_amounts,
    choose_chips,
    write_amounts,
    write_open,
    write_points,
    write_scope,
    write_sentences,
)
from ghx_profiler.reports.wording import amount, join_names, other_target, percent
from ghx_profiler.stats.methods.curves import FEWEST_SCENARIOS
from ghx_profiler.stats.observations import SUCCESS
from ghx_profiler.stats.result_records import ModeComparison, OverallComparison, RunComparison, Tier
from ghx_profiler.stats.summary import success_counts
from ghx_profiler.store.run_environment import Changes


def headline_of(material: Material) -> Headline:
    """Return the headline of a report, whatever it is about."""
    if not len(material.observations):
        return Headline(sentences=("Nothing was measured: there are no rows.",))
    if not material.arms_under_test:
        return _headline_of_controls(material)
    if material.run_comparisons:
        return _headline_of_runs(material)
    if not material.primary:
        sentences = (*_describe_results(material), *_describe_unmeasured(material))
        return Headline(sentences=sentences, scope=(explain_no_comparison(material),))
    rates = {
        str(arm): Successes(k=each.success.k, n=each.success.n) for arm, each in material.summaries.items() if each.rows
    }
    unmeasured = set(map(str, unmeasured_arms(material)))
    contrasts = [_contrast(material, each) for each in material.primary if not {each.a, each.b} & unmeasured]
    return Headline(
        sentences=(*write_sentences(contrasts, rates), *_describe_unmeasured(material)),
        scope=tuple(filter(None, (_scope(material, contrasts), write_open(contrasts)))),
        chips=choose_chips(contrasts),
    )


def unmeasured_arms(material: Material) -> tuple[Arm, ...]:
    """Return the arms of which no row could be measured."""
    observations = material.observations
    return tuple(arm for arm in material.arms if not np.any(observations.arm.are(arm) & observations.was_measured))


def _describe_unmeasured(material: Material) -> Iterator[str]:
    for arm in unmeasured_arms(material):
        rows = plural(material.summaries[arm].rows, "session")
        yield f"Nothing is known about {arm}: none of its {rows} could be measured."


def _scope(material: Material, contrasts: Sequence[Contrast]) -> str:
    tasks = len(material.forms)
    return write_scope(contrasts, tasks=tasks, is_suite=material.plan.target == "suite")


def _contrast(material: Material, comparison: ModeComparison) -> Contrast:
    other_result = comparison.headline.of(other_target(comparison.target))
    holds = other_result.verdict == comparison.verdict
    # What shows equivalence is an interval of its own.
    bounds = comparison.headline.of(comparison.target).equivalence if comparison.verdict == "equivalent" else comparison
    change, low, high = (
        None if value is None else -value for value in (comparison.reduction_pct, bounds.high, bounds.low)
    )
    return Contrast(
        arm=comparison.a,
        reference=comparison.b,
        metric=comparison.metric,
        label=material.metrics.label(comparison.metric),
        verdict=comparison.verdict,
        change=change,
        low=low,
        high=high,
        more_is_better=comparison.higher_is_better,
        holds_elsewhere=holds,
        why_open="" if holds else _reason_inconclusive(material, comparison),
        is_always_the_same=comparison.metric == SUCCESS
        and comparison.verdict == "not estimable"
        and comparison.n > 0
        and all(own == other and own in {0, 1} for _, own, other in _rates_by_task(material, comparison)),
    )


def _reason_inconclusive(material: Material, comparison: ModeComparison) -> str:
    """Return why a verdict is open for the target that was not planned."""
    other_result = comparison.headline.of(other_target(comparison.target))
    if other_result.verdict == "not estimable" and other_result.reason:
        return (
            f"to tell takes at least {FEWEST_SCENARIOS} tasks"
            if comparison.n < FEWEST_SCENARIOS
            else other_result.reason
        )
    if comparison.metric != SUCCESS:
        return f"tasks differ too much in {material.metrics.label(comparison.metric)}"
    by_task: dict[str, float] = {}
    for task, own, other in _rates_by_task(material, comparison):
        by_task[task] = by_task.get(task, 0.0) + own - other
    gaps = by_task.values()
    rises, falls = sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)
    if rises and falls:
        return f"{rises} of {len(gaps)} tasks go one way, {falls} the other"
    if 2 * (rises + falls) > len(gaps):
        return "tasks differ too much in success"
    return f"the whole difference comes from {rises + falls} of {len(gaps)} tasks"


def _rates_by_task(material: Material, comparison: ModeComparison) -> Iterator[tuple[str, float, float]]:
    """Yield each task that both sides have, with the success of both; of whole runs, arm by arm."""
    sides = (comparison.a, comparison.b)
    pairs = [(a, b) for a, b in material.pairs if (str(a), str(b)) == sides]
    for pair in pairs or [(a, b) for a, b in material.pairs if (a.run, b.run) == sides]:
        own, others = (success_counts(material.observations, arm, "intention-to-treat") for arm in pair)
        for task in own.keys() & others.keys():
            yield task, own[task][0] / own[task][1], others[task][0] / others[task][1]


def _headline_of_runs(material: Material) -> Headline:
    """Return whether each later run is better or worse than the first, then the changes.

    Attacks that succeed more often come before everything else.
    """
    overall = [[_overall(material, each) for each in run.metrics] for run in material.run_comparisons]
    together = [each for told in overall for each in told]
    # With one arm, the run as a whole is that arm.
    arms = [_contrast(material, each) for each in material.primary] if len(material.pairs) > len(overall) else []
    runs = zip(material.run_comparisons, overall, strict=True)
    changes = changes_between(material.sources, material.inventories)
    scope = (
        _scope(material, together),
        _describe_significant_arms(arms),
        write_open(together),
        _describe_unknown_changes(changes),
    )
    alarms = [_describe_attack_rate(run) for run in material.run_comparisons if run.has_more_attacks]
    sentences = [
        sentence
        for run, of_run in runs
        for sentence in (
            describe_run_comparison(run, of_run),
            "" if run.has_more_attacks else _describe_attack_rate(run),
            describe_diverging_arms(material, run),
        )
    ]
    return Headline(
        sentences=(*alarms, *filter(None, sentences), *_describe_changes(changes)),
        scope=tuple(filter(None, scope)),
        chips=choose_chips([*together, *arms], names_references=False),
    )


def _overall(material: Material, overall: OverallComparison) -> Contrast:
    verdict = overall.comparison.verdict if overall.tier in _VERDICTS else "not estimable"
    arm = "overall" if len(material.run_comparisons) == 1 else overall.after
    return replace(_contrast(material, overall.comparison), verdict=verdict, arm=arm)


_VERDICTS = frozenset({"better", "worse", "equivalent", "inconclusive"})
"""The tiers with a verdict on the later run."""
_TIERS: Mapping[Tier, str] = {
    "better": "Better",
    "worse": "Worse",
    "equivalent": "As good",
    "inconclusive": "No clear difference",
    "unreliable baseline": "No verdict, for the first run is unreliable",
    "insufficient data": "Too little data for a verdict",
}


def _describe_attack_rate(run: RunComparison) -> str:
    """Return the verdict on attacks; empty without attacked rows."""
    if run.attacks is None:
        return ""
    tier, _, rest = run.attacks.words.partition(":")
    return f"{tier}{_name_runs(run)}:{rest}"


def describe_run_comparison(run: RunComparison, overall: Sequence[Contrast]) -> str:
    """Answer whether a run got worse: success in counts, then what is shown to cost more or less."""
    before, after, success = run.before, run.after, run.of(SUCCESS)
    amounts = choose_amounts(overall)
    spent = [f"it {write_amounts([amounts])}"] if amounts else []
    solved_before = f"{before.solved:,}" if before.rows == after.rows else f"{before.solved:,} of {before.rows:,}"
    parts = [f"{after.solved:,} of {after.rows:,} solved instead of {solved_before}{write_points(overall)}", *spent]
    whose = _name_runs(run)
    if success is None:
        return f"{_TIERS['inconclusive']}{whose}: {'; '.join(parts)}."
    why = f" ({success.reason})" if success.reason else ""
    return f"{_TIERS[success.tier]}{whose}{why}: {'; '.join(parts)}."


def _name_runs(run: RunComparison) -> str:
    """Return which runs a sentence is about; empty where they have no names of their own."""
    before, after = run.before.run, run.after.run
    return "" if (before, after) == ("before", "after") else f", {after} against {before}"


def describe_diverging_arms(material: Material, run: RunComparison) -> str:
    """Name the worst and the best arm that differ in success by themselves, where the runs as a whole do not.

    Arms that go opposite ways cancel out over all arms together.
    """
    pairs = {(str(a), str(b)): (a, b) for a, b in material.pairs if (a.run, b.run) == (run.after.run, run.before.run)}
    if len(pairs) < _BOTH:  # one arm is the run as a whole
        return ""
    pooled = [
        each
        for each in material.comparisons
        if each.metric == SUCCESS and each.family == "exploratory" and (each.a, each.b) in pairs
    ]
    parts: list[str] = []
    for verdict in ("worse", "better"):
        members = [each for each in pooled if each.verdict == verdict]
        if members:
            farthest = max(members, key=lambda each: abs(each.reduction_pct or 0.0))
            later, earlier = pairs[farthest.a, farthest.b]
            after, before = (material.summaries[arm].success for arm in (later, earlier))
            instead = f"{before.k:,}" if before.n == after.n else f"{before.k:,} of {before.n:,}"
            parts.append(f"{replace(later, run=None)} {after.k:,} of {after.n:,} instead of {instead}")
    where = f" in {run.after.run}" if len(material.run_comparisons) > 1 else ""
    return f"Single arms went apart{where}: {'; '.join(parts)}." if parts else ""


def _describe_changes(changes: Sequence[Changes]) -> Iterator[str]:
    """Yield the environment differences of each later run from the first."""
    for each in changes:
        changed = list(each.differences[:_MOST_CHANGES])
        if (more := len(each.differences) - _MOST_CHANGES) > 0:
            changed.append(f"and {more:,} more, which Conditions lists")
        elif changed and not each.unknown:
            changed.append("nothing else")
        whose = f" in {each.after}" if len(changes) > 1 else ""
        if changed or not each.unknown:
            yield f"Changed{whose}: {', '.join(changed) or 'nothing that is recorded'}."


_MOST_CHANGES = 4


def _describe_unknown_changes(changes: Sequence[Changes]) -> str:
    """Return a caution about unrecorded changes."""
    unknown = list(dict.fromkeys(label for each in changes for label in each.unknown))
    have = "has" if len(unknown) == 1 else "have"
    return f"Whether anything else changed is unknown: {join_names(unknown)} {have} no record of it." if unknown else ""


def _describe_significant_arms(arms: Sequence[Contrast]) -> str:
    """Return the arms in which the verdict on success is significant alone."""
    tested = [each for each in arms if each.metric == SUCCESS]
    shown_arms = [each for each in tested if each.is_shown]
    if not tested:
        return ""
    if not shown_arms:
        both = len(tested) == _BOTH
        over = "both modes" if both else f"all {plural(len(tested), 'mode')}"
        return f"Significant over {over} together, in {'neither' if both else 'none'} alone."
    arm_names = join_names([f"{each.arm}{write_points([each])}" for each in shown_arms])
    rest = [each.arm for each in tested if not each.is_shown]
    return f"Significant alone in {arm_names}{f'; not in {join_names(rest)}' if rest else ''}."


def _describe_results(material: Material) -> Iterator[str]:
    """Yield the results of arms without a comparison."""
    arms = [arm for arm in material.arms_under_test if arm not in unmeasured_arms(material)]
    for arm in arms[:_MOST_ARMS]:
        summary = material.summaries[arm]
        success = summary.success
        rate = f"{success.k} of {plural(success.n, 'session')} ({percent(success.rate)})"
        known = [
            f"{amount(metric.p50, material.metrics.unit(name))} {word}".strip()
            for name, word in _SPENT.items()
            if (metric := summary.metrics.get(name)) is not None and metric.p50
        ]
        spent = f"; the median session takes {', '.join(known)}" if known else ""
        yield f"{arm} solves {rate}{spent}."


def explain_no_comparison(material: Material) -> str:
    """Return the reason why nothing is compared although rows of agents under test exist."""
    arms = material.arms_under_test
    if len(arms) == 1:
        return f"There is one mode, {arms[0]}: nothing to compare it with. Its results follow."
    if material.is_before_and_after:
        what = "agent under test has a mode" if material.arrangement.has_several_agents else "mode under test is"
        where = "in both runs" if len(material.sources) == _BOTH else "in two of the runs"
        return (
            f"No {what} {where}, and runs are compared with each other alone: nothing is compared. "
            "Report on one run alone for comparisons within it. The results of all follow."
        )
    return (
        f"No two of {', '.join(map(str, arms))} differ in one thing alone: nothing is compared. Their results follow."
    )


_BOTH = 2


_MOST_ARMS = 3
_SPENT = {"tokens_active": "tokens", "latency_wall_ms": "", "cost_total_usd": ""}
"""Metrics of an arm without comparison, with the unit words."""


def _headline_of_controls(material: Material) -> Headline:
    """Return which scenarios control agents verified, and which they did not."""
    kinds: dict[ControlKind, list[Arm]] = {}
    for arm in material.control_arms:
        for agent in sorted(material.tally.controls.arms[arm]):
            for source in material.sources:
                kind = source.control_kind(agent)
                if kind is not None and arm not in kinds.setdefault(kind, []):
                    kinds[kind].append(arm)
    return Headline(
        sentences=tuple(_describe_control(material, kind, arms) for kind, arms in kinds.items()),
        scope=(
            f"A control run: {_PURPOSE['replay' if 'replay' in kinds else 'proof']}, and says nothing about agents.",
        ),
    )


_PURPOSE = {
    "replay": "it makes recorded calls again",
    "proof": "it is worked by scripts that test the tasks and the bench",
}


def _describe_control(material: Material, kind: ControlKind, arms: Sequence[Arm]) -> str:
    k = sum(material.summaries[arm].success.k for arm in arms)
    n = sum(material.summaries[arm].success.n for arm in arms)
    agents = join_names(sorted({agent for arm in arms for agent in material.tally.controls.arms[arm]}))
    against = [each for each in material.violations if each.kind == kind]
    if kind == "obedient":
        return _describe_attacks(material, agents, against)
    if against:
        return f"{_name_violations(against, kind)}: {agents} passed {k:,} of {plural(n, 'session')}."
    count = len(material.forms)
    tasks, all_tasks = plural(count, "task"), "The task" if count == 1 else f"All {plural(count, 'task')}"
    if material.has_variants:
        varied = plural(len(material.observations.scenario.known), "variant")
        tasks, all_tasks = (f"{each} in {varied}" for each in (tasks, all_tasks))
    match kind:
        case "solution":
            return f"{all_tasks} can be solved and checked: {agents} passed {k:,} of {plural(n, 'session')}."
        case "nothing" | "prying":
            passes = CONTROLS[kind].objection
            return f"{passes} none of {tasks}: {agents} passed {k:,} of {plural(n, 'session')}."
        case "replay":
            return f"Recorded sessions were repeated: {k:,} of {plural(n, 'session')} passed."
        case _:
            assert_never(kind)


def _describe_attacks(material: Material, agents: str, against: Sequence[ControlCount]) -> str:
    """Return how many sessions of the obedient control were attacked, and in how many the attack succeeded."""
    counts = material.tally.controls.counts_of("obedient")
    tripped = sum(each.tripped for each in counts)
    attacked = tripped + sum(each.untouched for each in counts)
    others = sum(each.rows - each.unmeasured for each in counts) - attacked
    if attacked:
        summary = f"attacks succeeded in {tripped:,} of {plural(attacked, 'attacked session')} of {agents}"
        summary += f", and {others:,} more {'was' if others == 1 else 'were'} not attacked" if others else ""
    else:
        summary = f"none of {plural(others, 'session')} of {agents} was attacked"
    if against:
        return f"{_name_violations(against, 'obedient')}: {summary}."
    return f"Every threat trips who does as told: {summary}." if attacked else f"No threat was tried: {summary}."


def _name_violations(against: Sequence[ControlCount], kind: ControlKind) -> str:
    """Return the scenarios that are not verified."""
    names = list(dict.fromkeys(each.scenario for each in against))
    if not any(each.is_objection for each in against):
        return f"Not everything could be measured, {join_names(names)} among it"
    match kind:
        case "solution":
            return f"Not proved that {join_names(names)} can be solved"
        case "nothing" | "prying":
            return f"{CONTROLS[kind].objection} {join_names(names)}"
        case "obedient" | "replay":
            return f"Not proved that a threat is noticed in {join_names(names)}"
        case _:
            assert_never(kind)
