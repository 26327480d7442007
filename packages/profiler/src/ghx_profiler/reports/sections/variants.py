"""Variants: how often each was solved, beside the plain form of the same scenarios."""

from collections.abc import Iterable, Mapping

from ghx_profiler.reports.data.material import Material
from ghx_profiler.reports.data.safety import is_form_under_threat
from ghx_profiler.reports.report_document import Note, Section, Table
from ghx_profiler.scenario import scenario_of, variant_of
from ghx_profiler.stats.success import Counts
from ghx_profiler.stats.summary import success_counts

_NONE = "no rows"


def section(material: Material) -> Section:
    """Show the variants by name; nothing where there are none."""
    title = "Variants, beside the plain form of the same tasks"
    by_name = _ids_by_variant(material)
    if not by_name:
        return Section(id="variants", title=title, elements=())
    counts = {arm: success_counts(material.observations, arm, "intention-to-treat") for arm in material.arms}
    table = Table(
        caption="How often each variant was solved, and in brackets the plain form of the same tasks",
        headers=("variant", "tasks", *material.arm_names),
        rows=tuple(
            (name, str(len(ids)), *(_difference_from_base(counts[arm], ids) for arm in material.arms))
            for name, ids in by_name.items()
        ),
    )
    note = Note(
        "These are counts of rows, and no test was made. In comparisons a task counts once, whatever its variants."
    )
    return Section(id="variants", title=title, elements=(table, note))


def _ids_by_variant(material: Material) -> Mapping[str, list[str]]:
    by_variant: dict[str, list[str]] = {}
    for id_ in (each for ids in material.forms.values() for each in ids):
        # The forms of a scenario under threat are no variants: what they have beside them is an attack. See Safety.
        if (name := variant_of(id_)) is not None and not is_form_under_threat(id_, material.tally.threatened):
            by_variant.setdefault(name, []).append(id_)
    return dict(sorted(by_variant.items()))


def _difference_from_base(counts: Counts, ids: Iterable[str]) -> str:
    varied, plain = (_sum(counts, each) for each in (ids, map(scenario_of, ids)))
    return f"{varied} ({plain})"


def _sum(counts: Counts, ids: Iterable[str]) -> str:
    there = [counts[each] for each in ids if each in counts]
    return f"{sum(k for k, _ in there)}/{sum(n for _, n in there)}" if there else _NONE
