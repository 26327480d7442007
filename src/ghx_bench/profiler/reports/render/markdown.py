"""A report as Markdown, with its charts as files beside it."""

from collections.abc import Iterator
from typing import assert_never
from urllib.parse import quote

from ghx_bench.profiler.reports.render.escaping import markdown_text, shorten
from ghx_bench.profiler.reports.report_document import (
    Block,
    Caution,
    Cell,
    Chart,
    Conclusions,
    Document,
    Figure,
    Link,
    Note,
    Paragraph,
    Quote,
    Section,
    Table,
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
    for block in section.blocks:
        yield from _block(block)
        yield ""


def _block(block: Block) -> Iterator[str]:
    match block:
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
            yield from _table(block)
        case _:
            assert_never(block)


def _table(table: Table) -> Iterator[str]:
    yield from (f"**{markdown_text(table.caption)}**", "")
    yield _line(table.headers)
    aligned = "---" if table.is_text else "---:"
    yield "|" + "|".join(["---", *[aligned] * (len(table.headers) - 1)]) + "|"
    yield from map(_line, table.rows)


def _line(cells: tuple[Cell, ...]) -> str:
    return "| " + " | ".join(map(_cell, cells)) + " |"


def _cell(cell: Cell) -> str:
    if isinstance(cell, Link):
        return f"[{markdown_text(cell.text)}]({quote(cell.path)})"
    return markdown_text(cell)
