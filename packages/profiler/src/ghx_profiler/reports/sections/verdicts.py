"""Verdicts: what must be known first, then what was shown, in sentences."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ghx_base.problems import plural
from ghx_profiler.plan.cell import Arm
from ghx_profiler.records.metric_table import MetricTable
from ghx_profiler.reports.data.coverage import Missing
from ghx_profiler.reports.data.material import Material
from ghx_profiler.reports.data.runs import modes_of
from ghx_profiler.reports.data.sources import Source
from ghx_profiler.reports.report_document import (
    Conclusion,
    Conclusions,
    Element,
    Note,
    Paragraph,
    Section,
    Table,
    Tone,
)
from ghx_profiler.reports.sections.headline import explain_no_comparison
from ghx_profiler.reports.wording import counts, describe_family, join_names, other_target
from ghx_profiler.stats.observations import SUCCESS
from ghx_profiler.stats.plan import PLACES
from ghx_profiler.stats.result_records import ModeComparison, OverallComparison
from ghx_profiler.stats.verdict_rules import explain_no_verdict
from ghx_profiler.store.record import RunStatus


def section(material: Material) -> Section:
    """Show every verdict as a sentence, with its interval and p-value."""
    return Section(id="verdicts", title="Verdicts, one by one", elements=tuple(_elements(material)))


def _elements(material: Material) -> Iterator[Element]:
    if material.control_arms:
        yield from _prove_scenarios(material)
    if not material.arms_under_test:
        return
    if material.run_comparisons:
        yield Paragraph(
            "Each later run is held against the first over all modes together, success first. A single mode is tested "
            "only for a metric in which the runs differ as a whole."
        )
        yield Conclusions(tuple(_conclude_run(each) for run in material.run_comparisons for each in run.verdicts))
    if not material.primary:
        if not material.run_comparisons:
            yield Paragraph(explain_no_comparison(material))
        return
    yield Paragraph(_sum_up(material))
    yield Conclusions(conclude(material.primary, material.metrics))
    target = material.plan.target
    if (why := _reason_for_open_target(material)) is not None:
        yield Note(why)
    else:
        yield Note(
            f"These verdicts hold {PLACES[target]}; those {PLACES[other_target(target)]} are among all comparisons."
        )


def _conclude_run(overall: OverallComparison) -> Conclusion:
    return Conclusion(word=overall.tier, tone=TONES.get(overall.tier, "neutral"), sentence=overall.words)


def cautions(material: Material) -> Iterator[str]:
    """Yield what must be known of the headline: rows that are missing, runs and arms that cannot be compared."""
    yield from _warn_of_sources(material)
    if len(material.observations):
        yield from _warn_of_modes(material)


_MOST_NAMED = 5
_BOTH = 2
_STATES: dict[RunStatus, str] = {
    "complete": "is complete, yet",
    "running": "is not finished:",
    "interrupted": "was interrupted:",
    "failed": "failed:",
}


def _warn_of_sources(material: Material) -> Iterator[str]:
    for source in material.sources:
        yield from _partial(material, source)
        yield from _absent_agents(material, source)
    if material.is_before_and_after:
        yield from _unpaired_modes(material)
    yield from _without_common_model(material)
    if material.is_across_models:
        yield "The models of the runs differ: rows are paired by scenario alone."


def _partial(material: Material, source: Source) -> Iterator[str]:
    """Yield which rows a source should have and does not."""
    missing = [each for each in material.missing if each.source == source.label]
    by_plan = [each for each in missing if each.yardstick == "plan"]
    others = sorted(
        (each for each in missing if each.yardstick != "plan"), key=lambda each: each.yardstick != "other runs"
    )
    record = source.record
    if record is not None and (by_plan or record.status != "complete"):
        rows, planned = sum(each.rows for each in by_plan), record.matrix.total
        gap = f"{rows:,} of its {plural(planned, 'planned cell')} {'has' if rows == 1 else 'have'} no row"
        case_clause = f", and no row is not a pass: {_name_cases(by_plan, material)}" if by_plan else ""
        yield f"{source.label} {_STATES[record.status]} {gap}{case_clause}."
    if others:
        rows, yardstick = sum(each.rows for each in others), others[0].yardstick
        yield (
            f"{source.label} lacks {plural(rows, 'row')} that {yardstick} have, and no row is not a pass: "
            f"{_name_cases(others, material)}."
        )


def _absent_agents(material: Material, source: Source) -> Iterator[str]:
    """Yield which agents under test a run planned and has no row of: no comparison counts them."""
    measured_agents, record = set(material.inventories[source.label].agents), source.record
    for agent in () if record is None or not measured_agents else record.agents:
        if agent.name not in measured_agents and agent.control_kind is None:
            yield (
                f"{source.label} has no row of its agent {agent.name}: the comparisons planned with it are not among "
                "those that were adjusted together."
            )


def _name_cases(missing: Sequence[Missing], material: Material) -> str:
    """Name some cases, those without any row first."""
    several_models = len({each.case.model for each in missing}) > 1
    ordered = sorted(missing, key=lambda each: (each.actual > 0, each.case))
    with_agent = material.arrangement.has_several_agents
    listed = ", ".join(
        _name_case(each, with_agent=with_agent, with_model=several_models) for each in ordered[:_MOST_NAMED]
    )
    more = len(missing) - _MOST_NAMED
    return f"{listed} and {plural(more, 'more case')}, which Conditions lists" if more > 0 else listed


def _name_case(missing: Missing, *, with_agent: bool, with_model: bool) -> str:
    """Name a case with the rows it has and should have."""
    case = missing.case
    agent = f"{case.agent} / " if with_agent else ""
    model = f" / {case.model}" if with_model else ""
    return f"{agent}{case.mode} / {case.scenario}{model} ({missing.actual} of {missing.expected})"


def _unpaired_modes(material: Material) -> Iterator[str]:
    """Yield which modes not every run has."""
    modes = {source.label: modes_of(source, material.inventories[source.label]) for source in material.sources}
    parts = [
        f"{mode} only in {', '.join(having)}"
        for mode in sorted({mode for each in modes.values() for mode in each})
        if len(having := [label for label, each in modes.items() if mode in each]) < len(modes)
    ]
    if parts:
        yield f"Not every run has every mode, and a mode is compared with itself alone: {'; '.join(parts)}."


def _without_common_model(material: Material) -> Iterator[str]:
    """Yield which of the compared modes have no model in common, so that nothing of them can be paired."""
    if material.is_across_models:
        return
    models_by_source = {source.label: set(material.inventories[source.label].models) for source in material.sources}
    common = Counter(model for models in models_by_source.values() for model in models)
    if material.is_before_and_after and not material.pairs and max(common.values(), default=0) < _BOTH:
        listed = ", ".join(f"{label} ({', '.join(sorted(models))})" for label, models in models_by_source.items())
        yield f"Nothing can be paired, for there is no model in common: {listed}."
    observations = material.observations
    models: dict[Arm, set[str]] = {arm: set() for arm in observations.arm.known}
    for arm, model in zip(observations.arm.each(), observations.model.each(), strict=True):
        models[arm].add(model)
    for a, b in material.pairs if material.comparisons else ():
        # Arms of different models are compared on purpose, and paired by scenario.
        if a.model == b.model and not models[a] & models[b]:
            models_by_source = ", ".join(f"{arm} ({', '.join(sorted(models[arm]))})" for arm in (b, a))
            yield f"Nothing can be paired, for there is no model in common: {models_by_source}."


TONES: dict[str, Tone] = {
    "better": "good",
    "worse": "bad",
    "lower": "neutral",
    "higher": "neutral",
    "equivalent": "neutral",
    "inconclusive": "neutral",
    "not estimable": "neutral",
}
_ORDER = tuple(TONES)


def _warn_of_modes(material: Material) -> Iterator[str]:
    """Yield the modes that were never measured, and those that spent without ever succeeding."""
    observations, failing = material.observations, list[str]()
    for arm in material.arms:
        rows = observations.arm.are(arm)
        if not np.any(rows & observations.was_measured):
            causes = Counter(observations.failures[int(row)] for row in np.flatnonzero(rows))
            yield (
                f"Nothing is known about {arm}: none of its {plural(int(np.count_nonzero(rows)), 'row')} could be "
                f"measured ({counts(causes)}). They count as failures, and say nothing about its agent."
            )
        elif material.primary and arm not in material.control_arms and not np.any(rows & (observations.success == 1)):
            failing.append(str(arm))
    # One line for all: a line for each would push the results off the first screen.
    if failing:
        spent = "what it spends" if len(failing) == 1 else "what they spend"
        yield f"No row of {join_names(failing)} succeeded: {spent} is what failing costs, not what the task costs."


def _sum_up(material: Material) -> str:
    """Sum up the planned comparisons in a sentence, with the number adjusted together."""
    counts = Counter(each.verdict for each in material.primary)
    tally = ", ".join(f"{counts[word]} {word}" for word in _ORDER if counts[word])
    compared = {arm for pair in material.pairs for arm in pair}
    agents, modes, runs = ({getattr(arm, name) for arm in compared} for name in ("agent", "mode", "run"))
    sides = [plural(len(names), what) for what, names in (("agent", agents), ("run", runs)) if len(names) > 1]
    sides.insert(len(agents) > 1, plural(len(modes), "mode"))
    return (
        f"{plural(len(material.primary), 'planned comparison')} of {' in '.join(sides)} "
        f"{PLACES[material.plan.target]}: {tally}. {describe_family(material.primary)}"
    )


def conclude(comparisons: Iterable[ModeComparison], metrics: MetricTable) -> tuple[Conclusion, ...]:
    """Return the conclusions, success first; a reason shared by several pairs is given once."""
    # `sorted` is stable: within a verdict, comparisons keep the order of the plan.
    ranked = sorted(comparisons, key=lambda each: (each.metric != SUCCESS, _ORDER.index(each.verdict)))
    groups: dict[tuple[str, ...], list[ModeComparison]] = {}
    for each in ranked:
        is_silent = each.verdict == "not estimable"
        key = (each.metric, _reason(each)) if is_silent else (each.metric, each.a, each.b, each.verdict)
        groups.setdefault(key, []).append(each)
    return tuple(_verdict(group, metrics) for group in groups.values())


def _verdict(group: Sequence[ModeComparison], metrics: MetricTable) -> Conclusion:
    first, words = group[0], group[0].words
    if len(group) > 1:
        words = explain_no_verdict(first.metric, [(each.a, each.b) for each in group], first.headline.of(first.target))
    sentence = words.replace(first.metric, metrics.label(first.metric))
    return Conclusion(word=first.verdict, tone=TONES[first.verdict], sentence=sentence)


def _reason(comparison: ModeComparison) -> str:
    return comparison.headline.of(comparison.target).reason or ""


def _reason_for_open_target(material: Material) -> str | None:
    """Return why nothing can be concluded about the target that was not planned; `None` if something can."""
    other = other_target(material.plan.target)
    results = [(each, each.headline.of(other)) for each in material.primary]
    if any(result.verdict != "not estimable" for _, result in results):
        return None
    # Reasons that apply to both targets are shown with the verdicts.
    own = {result.reason for each, result in results if result.reason and result.reason != _reason(each)}
    reasons = own or {result.reason for _, result in results if result.reason}
    return f"Nothing can be concluded {PLACES[other]}: {'; '.join(sorted(reasons))}."


_MOST_LINES = 500


def banner(material: Material) -> str | None:
    """Return the banner of a report in which some rows are of control agents; it names these, or their modes."""
    controls = material.control_arms
    if not controls or len(controls) == len(material.arms):
        return None
    proofs = " ".join((*material.tally.controls.confirmations(), "They say nothing about agents."))
    agents = material.tally.controls.arms
    if material.arrangement.has_several_agents:
        names = sorted({name for arm in controls for name in agents[arm]})
        are = "is a control" if len(names) == 1 else "are controls"
        return f"Control rows: among the agents {are}, {' and '.join(names)}. {proofs}"
    listed = "; ".join(f"{arm} ({', '.join(sorted(agents[arm]))})" for arm in controls)
    return f"Control rows: not all modes were worked by agents under test. Of a control agent: {listed}. {proofs}"


def _prove_scenarios(material: Material) -> Iterator[Element]:
    """Yield how many cells of each control arm passed, and every objection."""
    if material.violations:
        yield _control_table(material)
    for arm in material.control_arms:
        summary = material.summaries[arm]
        success, cells = summary.success, plural(summary.success.n, "cell")
        scenarios = plural(summary.scenarios, "scenario")
        yield Paragraph(f"{summary.mode}: {success.k} of {cells} passed, in {scenarios}.")
    yield Note("Modes of a control agent are not held against others.")


def _control_table(material: Material) -> Table:
    objections = material.violations
    left = f"; the first {_MOST_LINES}" if len(objections) > _MOST_LINES else ""
    # Arms of several agents are named with theirs.
    agent = () if material.arrangement.has_several_agents else ("agent",)
    return Table(
        caption=f"What control agents object to: {plural(len(objections), 'case')}{left}",
        headers=("scenario", material.arm_word, *agent, "rows", "passed", "not measured"),
        rows=tuple(
            (
                each.scenario,
                each.mode,
                *(each.agent for _ in agent),
                *map(str, (each.rows, each.passed, each.unmeasured)),
            )
            for each in objections[:_MOST_LINES]
        ),
        is_text=True,
    )
