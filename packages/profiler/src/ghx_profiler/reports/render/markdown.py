"""A report as Markdown, with its charts as separate files."""

from collections.abc import Iterator, Sequence
from typing import assert_never
from urllib.parse import quote

from ghx_profiler.reports.render.escaping import markdown_paragraph, markdown_text, shorten
from ghx_profiler.reports.report_document import (
    Caution,
    Chart,
    Conclusions,
    Document,
    Element,
    Figure,
    Fold,
    Headline,
    IntervalChart,
    IntervalCharts,
    Link,
    Note,
    OutcomeMatrix,
    Paragraph,
    Quote,
    Section,
    Table,
    TableCell,
)


def to_markdown(document: Document) -> str:
    """Write the report as Markdown."""
    lines = [f"# {markdown_text(document.title)}", "", markdown_text(document.subtitle), ""]
    if document.headline is not None:
        lines += _headline(document.headline)
    for alarm in document.alarms:
        lines += [f"> **WARNING: {markdown_text(alarm)}**", ""]
    if document.banner:
        lines += [f"> **{markdown_text(document.banner)}**", ""]
    for caution in document.cautions:
        lines += [f"> {markdown_text(caution)}", ""]
    for section in document.sections:
        lines += _section(section)
    return "\n".join([*lines, "---", "", markdown_text(document.footer), ""])


def _headline(headline: Headline) -> Iterator[str]:
    yield from (f"**{' '.join(map(markdown_text, headline.sentences))}**", "")
    if headline.scope:
        yield from (" ".join(map(markdown_text, headline.scope)), "")
    if headline.chips:
        yield from (*(f"- {markdown_text(chip.text)}" for chip in headline.chips), "")


def chart_path(chart: Chart) -> str:
    """Return where the picture of a chart lies, from the report's folder."""
    return f"charts/{chart.name}.svg"


def _section(section: Section) -> Iterator[str]:
    yield from (f"## {markdown_text(section.title)}", "")
    for element in section.elements:
        yield from _element(element)
        yield ""


def _element(element: Element) -> Iterator[str]:
    match element:
        case Paragraph(text):
            yield markdown_paragraph(text)
        case Note(text):
            yield f"*{markdown_text(text)}*"
        case Caution(text):
            yield f"> {markdown_text(text)}"
        case Quote(title=title, text=text):
            yield from (f"**{markdown_text(title)}**", "")
            yield from (f"> {markdown_text(line)}".rstrip() for line in shorten(text).splitlines())
        case Conclusions(conclusions):
            yield from (f"- **{markdown_text(each.word)}**: {markdown_text(each.sentence)}" for each in conclusions)
        case Table() | Fold():
            for table in (element,) if isinstance(element, Table) else element.tables:
                yield from (*_table(table), "")
        case Figure() | IntervalCharts() | OutcomeMatrix():
            yield from _picture(element)
        case _:
            assert_never(element)


def _picture(element: Figure | IntervalCharts | OutcomeMatrix) -> Iterator[str]:
    match element:
        case Figure(chart):
            yield f"![{markdown_text(chart.description)}]({quote(chart_path(chart))})"
        case IntervalCharts(charts=charts):
            yield from _interval_table(charts)
        case OutcomeMatrix():
            yield from _outcome_table(element)


def _table(table: Table) -> Iterator[str]:
    yield from (f"**{markdown_text(table.caption)}**", "")
    yield _line(table.headers)
    aligned = "---" if table.is_text else "---:"
    yield "|" + "|".join(["---", *[aligned] * (len(table.headers) - 1)]) + "|"
    yield from map(_line, table.rows)


def _interval_table(charts: Sequence[IntervalChart]) -> Iterator[str]:
    """Write the numbers that a row of charts shows, a line for each arm."""
    names = (line.name for line in charts[0].lines)
    rows = tuple((name, *(chart.lines[at].words for chart in charts)) for at, name in enumerate(names))
    headers = ("", *(f"{chart.title} ({chart.better})" if chart.better else chart.title for chart in charts))
    yield from _table(Table(caption="Each by itself, or held against the reference", headers=headers, rows=rows))


def _outcome_table(matrix: OutcomeMatrix) -> Iterator[str]:
    headers = ("task", *(f"{name} ({part})" if part else name for name, part in matrix.arms))
    rows = tuple(
        (name, *(f"{cell.k}/{cell.n}" if cell.n else "no rows" for cell in cells)) for name, cells in matrix.rows
    )
    yield from _table(Table(caption=matrix.caption, headers=headers, rows=rows))


def _line(cells: tuple[TableCell, ...]) -> str:
    return "| " + " | ".join(map(_cell, cells)) + " |"


def _cell(cell: TableCell) -> str:
    if isinstance(cell, Link):
        return f"[{markdown_text(cell.text)}]({quote(cell.path)})"
    return markdown_text(cell)
