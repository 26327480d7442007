"""What the verdicts of a report say: modes that nothing is known of first, then each comparison in words."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ghx_bench._base.problems import plural
from ghx_bench.profiler.reports.document import Tone, Verdict
from ghx_bench.profiler.reports.material import Material
from ghx_bench.profiler.reports.wording import counts
from ghx_bench.profiler.stats.multiplicity import FAMILY_NAMES
from ghx_bench.profiler.stats.observations import SUCCESS
from ghx_bench.profiler.stats.plan import Target
from ghx_bench.profiler.stats.records import ModeComparison
from ghx_bench.profiler.stats.verdicts import say_nothing

TONES: dict[str, Tone] = {
    "better": "good",
    "worse": "bad",
    "lower": "neutral",
    "higher": "neutral",
    "equivalent": "neutral",
    "inconclusive": "neutral",
    "not estimable": "neutral",
}
PLACES: dict[Target, str] = {"suite": "on these scenarios", "population": "on tasks like these"}
_ORDER = tuple(TONES)


def other_target(target: Target) -> Target:
    """Return the target that the plan did not choose."""
    return "population" if target == "suite" else "suite"


def warnings_of_modes(material: Material) -> Iterator[str]:
    """Name the modes that were never measured, and those that spent without ever succeeding."""
    seen = material.observations
    for mode in material.modes:
        rows = seen.mode.are(mode)
        if not np.any(rows & seen.was_measured):
            causes = Counter(seen.failures[int(row)] for row in np.flatnonzero(rows))
            yield (
                f"Nothing is known about {mode}: none of its {plural(int(np.count_nonzero(rows)), 'row')} could be "
                f"measured ({counts(causes)}). They count as failures, and say nothing about its agent."
            )
        elif material.primary and not np.any(rows & (seen.success == 1)):
            yield f"No row of {mode} succeeded: what it spends is what failing costs, not what the task costs."


def tenor(material: Material) -> str:
    """Sum up the planned comparisons in a sentence, and say how many of them were adjusted together."""
    found = Counter(each.verdict for each in material.primary)
    said = ", ".join(f"{found[word]} {word}" for word in _ORDER if found[word])
    return (
        f"{plural(len(material.primary), 'planned comparison')} of {plural(len(material.modes), 'mode')} "
        f"{PLACES[material.plan.target]}: {said}. {family(material.primary)}"
    )


def family(comparisons: Sequence[ModeComparison]) -> str:
    """Say which tests were adjusted together: who left the family decides how strict it is with the rest."""
    first = comparisons[0]
    size, planned = first.family_size, first.family_planned
    silent = size - sum(each.p is not None for each in comparisons)
    name = FAMILY_NAMES[first.adjustment]
    members = f" ({silent} without a p-value, counted as p = 1)" if silent else ""
    if size == planned:
        return f"{name} over {plural(planned, 'test')}{members}."
    return f"{name} over {size} of {plural(planned, 'test')}{members}; {planned - size} could not be estimated."


def sentences(comparisons: Iterable[ModeComparison]) -> tuple[Verdict, ...]:
    """Return what was found in words, success first; what could not be told of several pairs is told once."""
    ranked = sorted(comparisons, key=lambda each: (each.metric != SUCCESS, _ORDER.index(each.verdict)))
    groups: dict[tuple[str, ...], list[ModeComparison]] = {}
    for each in ranked:
        is_silent = each.verdict == "not estimable"
        key = (each.metric, _reason(each)) if is_silent else (each.metric, each.a, each.b, each.verdict)
        groups.setdefault(key, []).append(each)
    return tuple(_verdict(group) for group in groups.values())


def _verdict(group: Sequence[ModeComparison]) -> Verdict:
    first, words = group[0], group[0].words
    if len(group) > 1:
        words = say_nothing(first.metric, [(each.a, each.b) for each in group], first.headline.of(first.target))
    return Verdict(word=first.verdict, tone=TONES[first.verdict], sentence=words)


def _reason(comparison: ModeComparison) -> str:
    return comparison.headline.of(comparison.target).reason or ""


def why_nothing_elsewhere(material: Material) -> str | None:
    """Say why nothing can be concluded about the target that was not planned; `None` if something can."""
    other = other_target(material.plan.target)
    results = [(each, each.headline.of(other)) for each in material.primary]
    if any(result.verdict != "not estimable" for _, result in results):
        return None
    # What holds whatever the target has been said with the verdicts.
    own = {result.reason for each, result in results if result.reason and result.reason != _reason(each)}
    reasons = own or {result.reason for _, result in results if result.reason}
    return f"Nothing can be concluded {PLACES[other]}: {'; '.join(sorted(reasons))}."
