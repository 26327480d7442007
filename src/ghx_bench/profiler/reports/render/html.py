"""A report as one HTML file that needs nothing else: no network, no fonts, no other file to be read."""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import assert_never
from urllib.parse import quote

from ghx_bench.profiler.reports.render.escaping import html_text, script_json, shorten
from ghx_bench.profiler.reports.report_document import (
    Caution,
    Chart,
    Conclusion,
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


def to_page(document: Document, bundle: str) -> str:
    """Write the report as HTML; `bundle` is the JavaScript that draws charts."""
    charts = document.charts
    scripts = (bundle, asset("page.js")) if charts else ()
    return page(
        title=document.title,
        body="\n".join(_body(document)),
        scripts=scripts,
        data={chart.name: chart.spec for chart in charts} if charts else None,
    )


def page(*, title: str, body: str, scripts: Sequence[str] = (), styles: Sequence[str] = (), data: object = None) -> str:
    """Return a whole HTML file around a body that is escaped already; `styles` are rules beside those of all pages.

    The browser is told to run these scripts and no others, and to fetch nothing: a gap in the escaping would show a
    word too many, and no more.
    """
    embedded = f'<script type="application/json" id="charts">{script_json(data)}</script>' if data is not None else ""
    inline = "".join(f"<script>{script}</script>\n" for script in scripts)
    return (
        "<!doctype html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts, has_charts=data is not None)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{html_text(title)}</title>\n<style>\n{''.join((asset('page.css'), *styles))}</style>\n</head>\n"
        f"<body>\n{body}\n{embedded}\n{inline}</body>\n</html>\n"
    )


def _policy(scripts: Sequence[str], *, has_charts: bool) -> str:
    allowed = [f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'" for each in scripts]
    # Vega compiles the expressions of a chart; these are ours, not the agents'.
    sources = " ".join([*allowed, *(["'unsafe-eval'"] if has_charts else ())]) or "'none'"
    return (
        f"default-src 'none'; script-src {sources}; style-src 'unsafe-inline'; img-src data:; "
        "form-action 'none'; base-uri 'none'"
    )


@cache
def asset(name: str) -> str:
    """Return a stylesheet or a script of ours."""
    return files("ghx_bench.profiler.reports.render").joinpath("assets", name).read_text("utf-8")


def link_home(path: str) -> str:
    """Return the line that leads from a page of the report to its first one."""
    return f'<nav aria-label="Report"><a href="{html_text(path)}">Back to the report</a></nav>'


def _body(document: Document) -> Iterator[str]:
    if document.home is not None:
        yield link_home(document.home)
    yield f"<header><h1>{html_text(document.title)}</h1><p>{html_text(document.subtitle)}</p></header>"
    yield from (f'<p class="alarm" role="note">{html_text(alarm)}</p>' for alarm in document.alarms)
    if document.banner:
        yield f'<p class="banner" role="note">{html_text(document.banner)}</p>'
    yield '<nav aria-label="Sections"><ul>'
    yield from (f'<li><a href="#{section.id}">{html_text(section.title)}</a></li>' for section in document.sections)
    yield "</ul></nav>\n<main>"
    if document.charts:
        yield "<noscript><p>The charts need JavaScript; report.md shows the same as pictures.</p></noscript>"
    for section in document.sections:
        yield from _section(section)
    yield f"</main>\n<footer><p>{html_text(document.footer)}</p></footer>"


def _section(section: Section) -> Iterator[str]:
    heading = f"{section.id}-heading"
    yield f'<section id="{section.id}" aria-labelledby="{heading}">'
    yield f'<h2 id="{heading}">{html_text(section.title)}</h2>'
    for element in section.elements:
        yield from _element(element)
    yield "</section>"


def _element(element: Element) -> Iterator[str]:
    match element:
        case Paragraph(text):
            yield f"<p>{html_text(text)}</p>"
        case Note(text):
            yield f'<p class="note">{html_text(text)}</p>'
        case Caution(text):
            yield f'<p class="warning" role="note">{html_text(text)}</p>'
        case Quote(title=title, text=text):
            yield f"<details><summary>{html_text(title)}</summary><pre>{html_text(shorten(text), lines=True)}</pre>"
            yield "</details>"
        case Conclusions(conclusions):
            yield '<ul class="verdicts">'
            yield from map(_conclusion, conclusions)
            yield "</ul>"
        case Figure(chart):
            yield _figure(chart)
        case Table():
            yield from _table(element)
        case _:
            assert_never(element)


def _conclusion(conclusion: Conclusion) -> str:
    return (
        f'<li class="{conclusion.tone}"><span class="word">{html_text(conclusion.word)}</span> '
        f"<span>{html_text(conclusion.sentence)}</span></li>"
    )


def _figure(chart: Chart) -> str:
    return (
        f'<figure><figcaption>{html_text(chart.title)}</figcaption><div class="chart" data-chart="{chart.name}" '
        f'role="img" aria-label="{html_text(chart.description)}"></div></figure>'
    )


def _table(table: Table) -> Iterator[str]:
    caption = html_text(table.caption)
    if table.is_folded:
        yield f"<details><summary>{caption}</summary>"
    kind = ' class="text"' if table.is_text else ""
    # A wide table scrolls by itself, and has to be reachable by keyboard for that.
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}"><table{kind}>'
    yield f"<caption>{caption}</caption>"
    yield "<thead><tr>" + "".join(f'<th scope="col">{html_text(each)}</th>' for each in table.headers) + "</tr></thead>"
    yield "<tbody>"
    for name, *cells in table.rows:
        values = "".join(f"<td>{_cell(each)}</td>" for each in cells)
        yield f'<tr><th scope="row">{_cell(name)}</th>{values}</tr>'
    yield "</tbody></table></div>"
    if table.is_folded:
        yield "</details>"


def _cell(cell: TableCell) -> str:
    if isinstance(cell, Link):
        # Names of files hold percent signs themselves: a browser would decode them and look for another file.
        return f'<a href="{html_text(quote(cell.path))}">{html_text(cell.text)}</a>'
    return html_text(cell)
