"""A report as one HTML file that needs nothing else: no network, no fonts, no other file to be read.

What the first screen shows is drawn here, as HTML and SVG that need no script; charts further down are Vega's, and are
drawn when a reader opens them.
"""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import assert_never
from urllib.parse import quote

from ghx_profiler.reports.render.escaping import html_text, script_json, shorten
from ghx_profiler.reports.report_document import (
    Caution,
    Chart,
    Conclusion,
    Conclusions,
    Document,
    Element,
    Figure,
    Fold,
    Headline,
    Interval,
    IntervalChart,
    IntervalCharts,
    Link,
    Note,
    OutcomeCell,
    OutcomeMatrix,
    Paragraph,
    Quote,
    Section,
    Table,
    TableCell,
)


def to_page(document: Document, bundle: str) -> str:
    """Write the report as HTML; `bundle` is the JavaScript that draws charts."""
    charts = document.charts
    return page(
        title=document.title,
        body="\n".join(_body(document)),
        scripts=(bundle, asset("charts.js"), asset("lists.js")) if charts else (asset("lists.js"),),
        data={chart.name: chart.spec for chart in charts} if charts else None,
    )


def page(*, title: str, body: str, scripts: Sequence[str] = (), styles: Sequence[str] = (), data: object = None) -> str:
    """Return a whole HTML file around a body that is escaped already.

    `styles` are rules in addition to those of all pages, `data` is what charts are drawn from.

    The content policy allows these scripts only, and no requests: a gap in the escaping would show a
    word too many, and no more.
    """
    embedded = "" if data is None else f'<script type="application/json" id="charts">{script_json(data)}</script>'
    inline = "".join(f"<script>{script}</script>\n" for script in scripts)
    policy = _policy(scripts, has_charts=data is not None)
    return (
        "<!doctype html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
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
    return files("ghx_profiler.reports.render").joinpath("assets", name).read_text("utf-8")


def link_home(path: str) -> str:
    """Return the line that leads from a page of the report to its first one."""
    return f'<nav aria-label="Report"><a href="{html_text(path)}">Back to the report</a></nav>'


def _body(document: Document) -> Iterator[str]:
    if document.home is not None:
        yield link_home(document.home)
    if document.headline is None:
        yield f"<header><h1>{html_text(document.title)}</h1><p>{html_text(document.subtitle)}</p></header>"
    else:
        yield from _headline(document.headline, document.subtitle)
    yield from (f'<p class="alarm" role="note">{html_text(alarm)}</p>' for alarm in document.alarms)
    if document.banner:
        yield f'<p class="banner" role="note">{html_text(document.banner)}</p>'
    yield from (f'<p class="warning" role="note">{html_text(caution)}</p>' for caution in document.cautions)
    yield "<main>"
    for section in document.sections:
        yield from _section(section)
    if document.charts:
        yield "<noscript><p>Charts in the details need JavaScript; report.md shows them as pictures.</p></noscript>"
    yield f"</main>\n<footer><p>{html_text(document.footer)}</p></footer>"


def _headline(headline: Headline, subtitle: str) -> Iterator[str]:
    yield f'<header class="headline"><p class="meta">{html_text(subtitle)}</p>'
    yield f"<h1>{' '.join(f'<span>{html_text(each)}</span>' for each in headline.sentences)}</h1>"
    if headline.scope:
        first, *more = map(html_text, headline.scope)
        yield f'<p class="scope">{first}</p>'
        yield f'<p class="meta">{" ".join(more)}</p>' if more else ""
    if headline.chips:
        chips = "".join(f'<li class="{each.tone}">{html_text(each.text)}</li>' for each in headline.chips)
        yield f'<ul class="chips" aria-label="Verdicts">{chips}</ul>'
    yield "</header>"


def _section(section: Section) -> Iterator[str]:
    heading = f"{section.id}-heading"
    title = f'<h2 id="{heading}">{html_text(section.title)}</h2>'
    yield f'<section id="{section.id}" aria-labelledby="{heading}">'
    yield f'<details class="section"><summary>{title}</summary>' if section.is_folded else title
    for element in section.elements:
        yield from _element(element)
    yield "</details></section>" if section.is_folded else "</section>"


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
        case Table() | Fold():
            yield from _tables(element)
        case Figure() | IntervalCharts() | OutcomeMatrix():
            yield from _picture(element)
        case _:
            assert_never(element)


def _tables(element: Table | Fold) -> Iterator[str]:
    if isinstance(element, Table):
        yield from _table(element)
        return
    yield f"<details><summary>{html_text(element.title)}</summary>"
    for table in element.tables:
        yield from _table(table)
    yield "</details>"


def _picture(element: Figure | IntervalCharts | OutcomeMatrix) -> Iterator[str]:
    match element:
        case Figure(chart):
            yield _figure(chart)
        case IntervalCharts(charts=charts):
            yield from _interval_charts(charts)
        case OutcomeMatrix():
            yield from _outcome_matrix(element)


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
    kinds = " ".join(name for name, is_so in (("text", table.is_text), ("list", table.is_list)) if is_so)
    kind = f' class="{kinds}"' if kinds else ""
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
        anchor = f"#{cell.anchor}" if cell.anchor else ""
        return f'<a href="{html_text(quote(cell.path) + anchor)}">{html_text(cell.text)}</a>'
    return html_text(cell)


def _interval_charts(charts: Sequence[IntervalChart]) -> Iterator[str]:
    """Draw charts side by side, the names of their lines once before them; on a narrow screen each has its names."""
    yield '<div class="intervals">'
    yield '<div class="names" aria-hidden="true">'
    yield from (f"<p>{_name(line.name, number)}</p>" for number, line in enumerate(charts[0].lines))
    yield "</div>"
    for chart in charts:
        yield f"<figure><figcaption>{html_text(chart.title)} <small>{html_text(chart.better)}</small></figcaption>"
        for number, line in enumerate(chart.lines):
            interval = _interval(line, chart.mark, f"c{number % _COLOURS}")
            yield f'<div class="line"><p class="name">{_name(line.name, number)}</p>{interval}</div>'
        ends = f'<text x="0" y="11">{html_text(chart.worse_end)}</text>'
        ends += f'<text x="100%" y="11" text-anchor="end">{html_text(chart.better_end)}</text>'
        axis = ends if chart.mark is None else _text(chart.mark[0], chart.mark[1], y=11)
        yield f'<svg class="axis" aria-hidden="true">{axis}</svg></figure>'
    yield "</div>"


_COLOURS = 8


def _name(name: str, number: int) -> str:
    return f'<span class="dot c{number % _COLOURS}"></span>{html_text(name)}'


def _interval(line: Interval, mark: tuple[float, str] | None, colour: str) -> str:
    """Draw one line; positions are shares of the width, so that letters keep their size on every screen."""
    shapes = ""
    if mark is not None:
        at = _share(mark[0])
        shapes += f'<line class="mark" x1="{at}" x2="{at}" y1="0" y2="100%"/>'
    if line.low is not None and line.high is not None:
        shapes += f'<line class="reach" x1="{_share(line.low)}" x2="{_share(line.high)}" y1="23" y2="23"/>'
    if line.at is None:
        shapes += f'<text x="50%" y="25" text-anchor="middle" class="unknown">{html_text(line.label)}</text>'
    else:
        shapes += f'<circle class="{colour}" cx="{_share(line.at)}" cy="23" r="4.5"/>'
        shapes += _text(line.at, line.label, y=12)
    return f'<svg role="img" aria-label="{html_text(f"{line.name}: {line.words}")}">{shapes}</svg>'


def _text(at: float, words: str, *, y: int) -> str:
    """Write words over a place of the axis; near its ends they begin or end there, so that none is cut."""
    anchor = "start" if at < _NEAR_END else "end" if at > 1 - _NEAR_END else "middle"
    return f'<text x="{_share(at)}" y="{y}" text-anchor="{anchor}">{html_text(words)}</text>'


_NEAR_END = 0.16


def _share(value: float) -> str:
    return f"{100 * value:.1f}%"


def _outcome_matrix(matrix: OutcomeMatrix) -> Iterator[str]:
    caption = html_text(matrix.caption)
    yield f"<details><summary>{caption}</summary>" if matrix.is_folded else ""
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}"><table class="matrix list">'
    yield f'<caption>{caption}</caption><thead><tr><th scope="col">task</th>'
    for number, (name, part) in enumerate(matrix.arms):
        part_of = f" <small>{html_text(part)}</small>" if part else ""
        yield f'<th scope="col">{_name(name, number)}{part_of}</th>'
    yield "</tr></thead><tbody>"
    for name, cells in matrix.rows:
        yield f'<tr><th scope="row">{html_text(name)}</th>{"".join(map(_outcome_cell, cells))}</tr>'
    yield "</tbody></table></div>"
    yield "</details>" if matrix.is_folded else ""


def _outcome_cell(cell: OutcomeCell) -> str:
    if not cell.n:
        return '<td class="no-rows">no rows</td>'
    kind = "full" if cell.k == cell.n else "part" if cell.k else "none"
    counts = f"{cell.k}/{cell.n}"
    if cell.path is None:
        return f'<td class="{kind}">{counts}</td>'
    return f'<td class="{kind}"><a href="{html_text(cell.path)}">{counts}</a></td>'
