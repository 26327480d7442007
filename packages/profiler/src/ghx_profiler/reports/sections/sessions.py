"""Sessions: what analyzers found in them, and the way to their pages, failures first."""

from collections.abc import Iterator, Sequence

from ghx_base.problems import plural
from ghx_profiler.plan.cell import Arm
from ghx_profiler.reports.data.material import Material, SessionPage
from ghx_profiler.reports.data.session_findings import Findings
from ghx_profiler.reports.render.session_list import LISTING
from ghx_profiler.reports.report_document import Element, Link, Note, Paragraph, Section, Table
from ghx_profiler.reports.wording import amount
from ghx_profiler.stats.observations import SUCCESS

MOST_LINKS = 50
"""Sessions that the report itself names; the list has them all."""


def section(material: Material) -> Section:
    """Link to the pages of single sessions."""
    return Section(id="sessions", title="Sessions", elements=tuple(_elements(material)))


def _elements(material: Material) -> Iterator[Element]:
    if not material.pages:
        yield Paragraph("No pages of single sessions were written.")
        return
    ordered = sorted(material.pages, key=lambda each: each.outcome == SUCCESS)
    yield Table(
        caption="All pages, to be sorted and filtered",
        headers=("list", "pages"),
        rows=((Link("all sessions", LISTING), f"{len(material.pages):,}"),),
    )
    more = len(ordered) - MOST_LINKS
    yield Table(
        caption="Sessions with a page, failures first" + (f"; {more:,} more in the list" if more > 0 else ""),
        headers=("session", material.arm_word, "model", "repetition", "outcome", "wall time"),
        rows=tuple(_row(each) for each in ordered[:MOST_LINKS]),
        is_text=True,
        is_list=True,
    )
    yield from _remarks(material)


def _row(each: SessionPage) -> tuple[str | Link, ...]:
    failed = f", not met: {', '.join(each.failed_checkpoints)}" if each.failed_checkpoints else ""
    return (
        Link(each.scenario_id, each.path),
        str(each.arm),
        each.model,
        str(each.iteration),
        f"{each.outcome}{failed}",
        amount(each.figures[0] if each.figures else None, "ms"),
    )


def _remarks(material: Material) -> Iterator[Note]:
    if silent := sum(not each.has_session for each in material.pages):
        rows = plural(len(material.pages), "row")
        page_clause = "" if material.tally.choice == "all" else " with a page"
        have = "has" if silent == 1 else "have"
        yield Note(f"{silent:,} of {rows}{page_clause} {have} no session: the page tells what the row does.")
    if material.tally.choice == "failures":
        missing = material.tally.failures_without_page
        have = "has" if missing == 1 else "have"
        more = f" {plural(missing, 'more failure')} of the same modes and scenarios {have} none." if missing else ""
        yield Note(
            f"Failures and one success of each mode and scenario have a page.{more} --sessions all writes one for "
            "every row."
        )


def findings(material: Material) -> Section:
    """Show findings in which modes differ; those of a control agent only without others."""
    findings = material.findings
    arms = material.arms_under_test or material.arms
    lines = tuple(findings.differing(arms))
    sessions = sum(findings.sessions[arm] for arm in arms)
    analyzed = plural(sessions, "analyzed session")
    if not sessions:
        text = f"No findings. {findings.gap or 'Every session that was analyzed is of a control agent.'}"
    elif not lines:
        text = f"In {analyzed} the modes differ in no finding by a tenth or more."
    else:
        text = (
            f"From {analyzed}: averages, or how often a word was found, where "
            "modes differ by a tenth or more. They describe these sessions; no test was made."
        )
    elements: list[Element] = [Paragraph(text)]
    elements += (
        Note(text)
        for text in (findings.gap, findings.origin, _describe_refused_hosts(findings, arms))
        if sessions and text
    )
    if lines:
        headers = ("finding", *map(str, arms))
        elements.append(Table(caption="Findings, the largest difference first", headers=headers, rows=lines))
    return Section(id="findings", title="Findings where modes differ", elements=tuple(elements))


def _describe_refused_hosts(findings: Findings, arms: Sequence[Arm]) -> str:
    """Return the blocked hosts that sessions requested, even if the modes do not differ in them."""
    tallies = findings.tallies.get(("refused_hosts", "hosts"), {})
    hosts = [f"{arm}: {tallies[arm]}" for arm in arms if arm in tallies and set(tallies[arm].words) - {"none"}]
    return (
        f"Sessions asked for hosts that they may not reach, by mode and in how many: {'; '.join(hosts)}."
        if hosts
        else ""
    )
