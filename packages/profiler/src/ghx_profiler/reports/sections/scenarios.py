"""Scenarios: which arm solves which, as a matrix; then success, medians and checkpoints of each; variants."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from pydantic import JsonValue

from ghx_base.problems import plural
from ghx_profiler.plan.cell import Arm
from ghx_profiler.records.metric_table import UNKNOWN
from ghx_profiler.reports.data.material import Material
from ghx_profiler.reports.data.safety import is_form_under_threat
from ghx_profiler.reports.render.session_list import listing_link
from ghx_profiler.reports.report_document import Fold, Note, OutcomeCell, OutcomeMatrix, Paragraph, Section, Table
from ghx_profiler.reports.wording import amount, percent
from ghx_profiler.scenario import scenario_of, variant_of
from ghx_profiler.stats.success import Counts, wilson_interval
from ghx_profiler.stats.summary import success_counts

_Line = tuple[str, tuple[OutcomeCell, ...]]
"""A scenario, and its cells in the order of the arms."""
_HEADING = "How often each task was solved"
_MOST_OPEN = 12
"""As many scenarios are shown before the reader asks for more: the first screen has no room for others."""


def matrix(material: Material) -> Section:
    """Show which arm solves which scenario, the largest differences first; where all arms do the same, folded."""
    lines = dict(outcome_lines(material))
    by_task = [[(id_, lines[id_]) for id_ in forms] for forms in material.forms.values()]
    always = [task for task in by_task if all(cell.n and cell.k == cell.n for _, cells in task for cell in cells)]
    never = [task for task in by_task if not any(cell.k for _, cells in task for cell in cells)]
    mixed = sorted((task for task in by_task if task not in always and task not in never), key=_spread, reverse=True)
    by_all = "" if len(material.arms) == 1 else " by all"
    title = "Where they differ" if by_all else "Tasks that are solved only sometimes"
    groups = (
        (mixed[:_MOST_OPEN], title),
        (mixed[_MOST_OPEN:], "more where they differ" if by_all else "more that are solved only sometimes"),
        (never, "never solved"),
        (always, f"always solved{by_all}"),
    )
    shown_groups = [(those, words) for those, words in groups if those]
    is_open = bool(mixed) or len(lines) <= _MOST_OPEN
    elements = tuple(
        _outcomes(
            material,
            words if those[0] in mixed[:1] else f"{plural(len(those), 'task')} {words}",
            [line for task in those for line in task],
            is_folded=number > 0 or not is_open,
        )
        for number, (those, words) in enumerate(shown_groups)
    )
    heading = f"{title}: how often each was solved, the largest differences first" if mixed else _HEADING
    return Section(id="matrix", title=heading, elements=elements)


def outcome_lines(material: Material) -> list[_Line]:
    """Return how often every scenario was solved, arm by arm."""
    counts = {arm: success_counts(material.observations, arm, "intention-to-treat") for arm in material.arms}
    with_page = {(page.scenario_id, page.arm) for page in material.pages}
    lines: list[_Line] = []
    for scenario in chain.from_iterable(material.forms.values()):
        cells: list[OutcomeCell] = []
        for arm in material.arms:
            k, n = counts[arm].get(scenario, (0, 0))
            path = listing_link(scenario=scenario, arm=arm) if (scenario, arm) in with_page else None
            cells.append(OutcomeCell(k=k, n=n, path=path))
        lines.append((scenario, tuple(cells)))
    return lines


def matrix_to_wire(material: Material) -> dict[str, JsonValue]:
    """Return the matrix as JSON: for each scenario one pair of `k` and `n` for each of `modes`, in their order."""
    return {
        "modes": list(material.arm_names),
        "scenarios": {name: [{"k": cell.k, "n": cell.n} for cell in cells] for name, cells in outcome_lines(material)},
    }


def _spread(task: Sequence[_Line]) -> tuple[float, float]:
    """Return the largest difference of arms in one scenario, over its forms, then the share of failures."""
    by_form = [[cell.k / cell.n for cell in cells if cell.n] for _, cells in task]
    return max((max(shares) - min(shares), 1 - sum(shares) / len(shares)) for shares in by_form if shares)


def _outcomes(material: Material, caption: str, lines: Sequence[_Line], *, is_folded: bool) -> OutcomeMatrix:
    # From run to run, the name of an arm includes its run.
    pairs = () if material.is_before_and_after else material.pairs
    references = {b for _, b in pairs} - {a for a, _ in pairs}
    parts = ((str(arm), "reference" if arm in references else "") for arm in material.arms)
    return OutcomeMatrix(caption=caption, arms=tuple(parts), rows=tuple(lines), is_folded=is_folded)


def section(material: Material) -> Section:
    """Show every scenario: success, medians and every checkpoint, by mode."""
    counts = {arm: success_counts(material.observations, arm, "intention-to-treat") for arm in material.arms}
    elements = tuple(
        _fold(material, scenario, {arm: counts[arm].get(scenario) for arm in material.arms})
        for scenario in chain.from_iterable(material.forms.values())
    )
    title = "Every scenario, with its checkpoints"
    return Section(id="scenarios", title=title, elements=elements or (Paragraph("There are none."),))


def _fold(material: Material, scenario: str, cells: Mapping[Arm, tuple[int, int] | None]) -> Fold:
    won = sum(cell[0] for cell in cells.values() if cell)
    tried = sum(cell[1] for cell in cells.values() if cell)
    tables = (_scenario_table(material, scenario, cells), *_checkpoint_table(material, scenario))
    return Fold(title=f"{scenario}: {won}/{tried}", tables=tables)


def _scenario_table(material: Material, scenario: str, cells: Mapping[Arm, tuple[int, int] | None]) -> Table:
    metrics, lines = material.glance_metrics, list[tuple[str, ...]]()
    for arm, cell in cells.items():
        if cell is None:
            lines.append((str(arm), "no rows: not a pass", *[UNKNOWN] * len(metrics)))
            continue
        wilson = wilson_interval(*cell, confidence=1 - material.plan.alpha)
        success = f"{cell[0]}/{cell[1]} ({percent(wilson.low)} to {percent(wilson.high)})"
        lines.append((str(arm), success, *(_median(material, metric, scenario, arm) for metric in metrics)))
    return Table(
        caption=f"{scenario}: success and medians",
        headers=(material.arm_word, "success", *(material.metrics.label(metric) for metric in metrics)),
        rows=tuple(lines),
    )


def _median(material: Material, metric: str, scenario: str, arm: Arm) -> str:
    spread = material.grids[metric].get((scenario, arm))
    return UNKNOWN if spread is None else f"{amount(spread.p50, material.metrics.unit(metric))} (n {spread.n})"


def _checkpoint_table(material: Material, scenario: str) -> Iterator[Table]:
    by_arm = [material.tally.checkpoints.get((scenario, arm), {}) for arm in material.arms]
    described = {id_: count.description for counts in by_arm for id_, count in counts.items()}
    if not described:
        return
    yield Table(
        caption=f"{scenario}: checkpoints passed",
        headers=("checkpoint", *material.arm_names, "what it checks"),
        rows=tuple(
            (
                id_,
                *(f"{counts[id_].passed}/{counts[id_].total}" if id_ in counts else "not checked" for counts in by_arm),
                description,
            )
            for id_, description in described.items()
        ),
        is_text=True,
    )


_NONE = "no rows"


def variants(material: Material) -> Section:
    """Show the variants by name; nothing without variants."""
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
        # The forms of a scenario under threat are not variants: they add an attack. See Safety.
        if (name := variant_of(id_)) is not None and not is_form_under_threat(id_, material.tally.threatened):
            by_variant.setdefault(name, []).append(id_)
    return dict(sorted(by_variant.items()))


def _difference_from_base(counts: Counts, ids: Iterable[str]) -> str:
    varied, plain = (_sum(counts, each) for each in (ids, map(scenario_of, ids)))
    return f"{varied} ({plain})"


def _sum(counts: Counts, ids: Iterable[str]) -> str:
    there = [counts[each] for each in ids if each in counts]
    return f"{sum(k for k, _ in there)}/{sum(n for _, n in there)}" if there else _NONE
