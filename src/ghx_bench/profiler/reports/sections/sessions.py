"""Sessions: links to the pages of single sessions."""

from collections.abc import Iterator

from ghx_bench._base.problems import plural
from ghx_bench.profiler.reports.data.material import Material
from ghx_bench.profiler.reports.report_document import Element, Link, Note, Paragraph, Section, Table
from ghx_bench.profiler.stats.observations import SUCCESS

MOST_LINKS = 500


def session_table(material: Material, *, most: int | None = None, below: str = "") -> Table:
    """List the pages of sessions, failures first; paths are from the folder `below`."""
    ordered = sorted(material.pages, key=lambda each: each.outcome == SUCCESS)
    return Table(
        caption="Sessions with a page",
        headers=("session", material.arm_word, "model", "repetition", "outcome"),
        rows=tuple(
            (
                Link(each.scenario_id, each.path.removeprefix(below)),
                str(each.arm),
                each.model,
                str(each.iteration),
                each.outcome,
            )
            for each in ordered[:most]
        ),
        is_text=True,
        is_list=True,
    )


def section(material: Material) -> Section:
    """Link to the pages of single sessions."""
    return Section(id="sessions", title="Sessions", elements=tuple(_elements(material)))


def _elements(material: Material) -> Iterator[Element]:
    if not material.pages:
        yield Paragraph("No pages of single sessions were written.")
        return
    yield session_table(material, most=MOST_LINKS)
    if len(material.pages) > MOST_LINKS:
        yield Table(
            caption="The rest",
            headers=("list", "pages"),
            rows=((Link("all pages", "sessions/index.html"), f"{len(material.pages):,}"),),
        )
    if silent := sum(not each.has_session for each in material.pages):
        rows = plural(len(material.pages), "row")
        shown = "" if material.tally.choice == "all" else " with a page"
        have = "has" if silent == 1 else "have"
        yield Note(f"{silent:,} of {rows}{shown} {have} no session: the page tells what the row does.")
    if material.tally.choice == "failures":
        missing = material.tally.failures_without_page
        have = "has" if missing == 1 else "have"
        more = f" {plural(missing, 'more failure')} of the same modes and scenarios {have} none." if missing else ""
        yield Note(
            f"Failures and one success of each mode and scenario have a page.{more} --sessions all writes one for "
            "every row."
        )
