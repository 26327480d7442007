"""A report as Markdown, with its charts as files beside it."""

from collections.abc import Iterator
from typing import assert_never
from urllib.parse import quote

from ghx_bench.profiler.reports.render.escaping import markdown_text, shorten
from ghx_bench.profiler.reports.report_document import (
    Caution,
    Chart,
    Conclusions,
    Document,
    Element,
    Figure,
    Link,
    Note,
    Paragraph,
    Quote,
    Section,
    Table,
    TableCell,
)


def to_markdown(document: Document) -> str:
    """Write the report as Markdown."""
    lines = [f"# {markdown_text(document.title)}", "", markdown_text(document.subtitle), ""]
    for alarm in document.alarms:
        lines += [f"> **WARNING: {markdown_text(alarm)}**", ""]
    if document.banner:
        lines += [f"> **{markdown_text(document.banner)}**", ""]
    for section in document.sections:
        lines += _section(section)
    return "\n".join([*lines, "---", "", markdown_text(document.footer), ""])


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
            yield markdown_text(text)
        case Note(text):
            yield f"*{markdown_text(text)}*"
        case Caution(text):
            yield f"> {markdown_text(text)}"
        case Quote(title=title, text=text):
            yield from (f"**{markdown_text(title)}**", "")
            yield from (f"> {markdown_text(line)}".rstrip() for line in shorten(text).splitlines())
        case Conclusions(conclusions):
            yield from (f"- **{markdown_text(each.word)}**: {markdown_text(each.sentence)}" for each in conclusions)
        case Figure(chart):
            yield f"![{markdown_text(chart.description)}]({quote(chart_path(chart))})"
        case Table():
            yield from _table(element)
        case _:
            assert_never(element)


def _table(table: Table) -> Iterator[str]:
    yield from (f"**{markdown_text(table.caption)}**", "")
    yield _line(table.headers)
    aligned = "---" if table.is_text else "---:"
    yield "|" + "|".join(["---", *[aligned] * (len(table.headers) - 1)]) + "|"
    yield from map(_line, table.rows)


def _line(cells: tuple[TableCell, ...]) -> str:
    return "| " + " | ".join(map(_cell, cells)) + " |"


def _cell(cell: TableCell) -> str:
    if isinstance(cell, Link):
        return f"[{markdown_text(cell.text)}]({quote(cell.path)})"
    return markdown_text(cell)
