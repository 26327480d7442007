"""Failures: rows without success, by cause."""

from collections import Counter
from collections.abc import Iterator, Sequence

from ghx_profiler.plan.cell import Arm
from ghx_profiler.reports.data.material import Material
from ghx_profiler.reports.render.charts import LONGEST_LABEL, MOST_MARKS, PALETTE, Values, alt, chart_of, legend
from ghx_profiler.reports.render.session_list import listing_link
from ghx_profiler.reports.report_document import Chart, Figure, Link, Paragraph, Section, Table, TableCell


def section(material: Material) -> Section:
    """Show what was no success, by cause."""
    failures, messages = material.tally.failures, material.tally.messages
    lacking = tuple(_list_not_implemented(material))
    if not failures:
        return Section(id="failures", title="Failures", elements=(Paragraph("Every row is a success."), *lacking))
    table = Table(
        caption="Rows without success; the message is that of the first such row",
        headers=(material.arm_word, "why", "rows", "first message"),
        rows=tuple(
            (str(arm), why, _count(material, arm, why, count), messages[arm, why][:200])
            for (arm, why), count in sorted(failures.items(), key=lambda item: (str(item[0][0]), -item[1], item[0][1]))
        ),
        is_text=True,
        is_list=True,
    )
    if len(material.observations) == 1:  # one bar shows less than the table
        return Section(id="failures", title="Failures", elements=(table, *lacking))
    chart = failures_by_cause(failures, material.arm_names)
    return Section(id="failures", title="Failures", elements=(Figure(chart), table, *lacking))


def _list_not_implemented(material: Material) -> Iterator[Table]:
    """Yield features that sessions requested and their world lacks: such a failure is not the agent's."""
    # Clients that retry any 5xx hide the error message.
    counted = sorted(material.tally.not_implemented.items(), key=lambda item: (-item[1], str(item[0][0]), item[0][1]))
    if counted:
        yield Table(
            caption="Asked for and not there (501): the world of the session lacks it, the real one has it",
            headers=(material.arm_word, "what", "requests"),
            rows=tuple((str(arm), what, str(requests)) for (arm, what), requests in counted),
            is_text=True,
            is_list=True,
        )


def _count(material: Material, arm: Arm, why: str, count: int) -> TableCell:
    """Return how many rows failed so; it leads to their sessions where there are pages of any."""
    if not any(page.arm == arm and page.outcome == why for page in material.pages):
        return str(count)
    path, _, anchor = listing_link(arm=arm, outcome=why).partition("#")
    return Link(str(count), path, anchor)


def failures_by_cause(failures: Counter[tuple[Arm, str]], modes: Sequence[str]) -> Chart:
    """Draw how many rows of each mode were no success, by why."""
    counted = sorted((str(arm), cause, count) for (arm, cause), count in failures.items())
    values: Values = [{"mode": mode, "cause": cause, "rows": count} for mode, cause, count in counted[:MOST_MARKS]]
    chart = (
        alt.Chart()
        .mark_bar()
        .encode(
            y=alt.Y("mode:N", sort=list(modes), title=None, axis=alt.Axis(labelLimit=LONGEST_LABEL)),
            x=alt.X("rows:Q", title="rows without success", axis=alt.Axis(tickMinStep=1)),
            color=alt.Color("cause:N", scale=alt.Scale(range=list(PALETTE)), legend=legend()),
            tooltip=[alt.Tooltip(f"{name}:N") for name in ("mode", "cause", "rows")],
        )
        .properties(height=34 * len({arm for arm, _ in failures}))
    )
    counts = "; ".join(f"{value['mode']}: {value['rows']} {value['cause']}" for value in values[:12])
    return chart_of(
        "failures", "Rows without success, by cause", f"Rows without success by cause. {counts}.", chart, values
    )
