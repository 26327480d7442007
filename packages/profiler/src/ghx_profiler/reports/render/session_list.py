"""The list of all pages of sessions: sorted and filtered in the page, by a script of ours."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal
from urllib.parse import urlencode

from ghx_base.problems import plural
from ghx_profiler.plan.cell import Arm
from ghx_profiler.records.metric_table import MetricTable
from ghx_profiler.reports.data.material import LISTED_METRICS, SessionPage
from ghx_profiler.reports.data.tally import WRONG
from ghx_profiler.reports.render.escaping import html_text
from ghx_profiler.reports.render.html import asset, link_home, page
from ghx_profiler.reports.wording import amount
from ghx_profiler.stats.observations import SUCCESS

LISTING = "sessions/index.html"
"""Where the list lies, from the report's folder."""


def listing_link(*, scenario: str | None = None, arm: Arm | None = None, outcome: str | None = None) -> str:
    """Return the address, from the report's folder, of the list narrowed to a scenario, an arm or an outcome.

    It is ready to be an `href`: quoted once more, its `#` would be part of a file's name.
    """
    parameters = {"scenario": scenario, "arm": None if arm is None else str(arm), "outcome": outcome}
    words = urlencode({name: value for name, value in parameters.items() if value is not None})
    return f"{LISTING}#{words}" if words else LISTING


def tone_of(outcome: str) -> Literal["good", "bad", "open"]:
    """Return whether an outcome speaks for an agent, against it, or, where it could not be measured, neither."""
    if outcome == SUCCESS:
        return "good"
    return "bad" if outcome == WRONG or outcome.startswith("agent ") else "open"


def session_list_page(
    pages: Sequence[SessionPage], *, arm_word: str, metrics: MetricTable, sessions: Mapping[tuple[str, str], int]
) -> str:
    """Write the list of all pages, failures first; `sessions` is how many there are of each scenario and arm."""
    ordered = sorted(pages, key=lambda each: each.outcome == SUCCESS)
    count_text = f"{plural(len(pages), 'session')} with a page"
    if (every := sum(sessions.values())) > len(pages):
        count_text = f"{len(pages):,} of {plural(every, 'session')} have a page: {_CHOICE}"
    titles = ("scenario", arm_word, "model", "repetition", "outcome", *map(metrics.label, LISTED_METRICS))
    head = "".join(f'<th scope="col">{html_text(title)}</th>' for title in titles)
    filters = {
        "outcome": ("outcome", (each.outcome for each in ordered)),
        "arm": (arm_word, (str(each.arm) for each in pages)),
        "scenario": ("scenario", (each.scenario_id for each in pages)),
    }
    parts = (
        link_home("../index.html"),
        f"<header><h1>Sessions</h1><p>{count_text}</p></header>",
        "<main>",
        *_filters(filters),
        f'<p class="note" id="count" aria-live="polite" data-choice="{html_text(_CHOICE)}"></p>',
        '<div class="scroll" tabindex="0" role="region" aria-label="Sessions">',
        f'<table class="text sessions"><thead><tr>{head}</tr></thead><tbody>',
        *(_row(each, titles, metrics, sessions[each.scenario_id, str(each.arm)]) for each in ordered),
        "</tbody></table></div></main>",
    )
    return page(
        title="Sessions",
        body="\n".join(parts),
        scripts=(asset("sessions.js"),),
        styles=(asset("sessions.css"),),
    )


_CHOICE = "pages were written for failures and one success of each; --sessions all writes all"


def _filters(filters: Mapping[str, tuple[str, Iterable[str]]]) -> Iterator[str]:
    # Hidden until the script shows it: without one it would do nothing.
    yield '<div class="filters" role="search" hidden><label>search<input name="text" type="search"></label>'
    for name, (title, values) in filters.items():
        options = "".join(f"<option>{html_text(value)}</option>" for value in sorted(set(values)))
        yield f'<label>{html_text(title)}<select name="{name}"><option value="">all</option>{options}</select></label>'
    yield '<button type="button">Show all</button></div>'


def _row(each: SessionPage, titles: Sequence[str], metrics: MetricTable, sessions: int) -> str:
    facts = {"scenario": each.scenario_id, "arm": str(each.arm), "outcome": each.outcome, "sessions": str(sessions)}
    data = "".join(f' data-{name}="{html_text(value)}"' for name, value in facts.items())
    path = html_text(each.path.removeprefix("sessions/"))
    comparison_link = ""
    if each.comparison is not None:
        comparison_link = f' <small><a href="../{html_text(each.comparison)}">side by side</a></small>'
    failed = f"not met: {', '.join(each.failed_checkpoints)}" if each.failed_checkpoints else ""
    outcome = f'<span class="chip {tone_of(each.outcome)}">{html_text(each.outcome)}</span> {html_text(failed)}'
    figures = "".join(
        f'<td data-label="{html_text(title)}" data-value="{"" if value is None else value}">'
        f"{html_text(amount(value, metrics.unit(name)))}</td>"
        for title, name, value in zip(titles[5:], LISTED_METRICS, each.figures, strict=True)
    )
    return (
        f'<tr{data}><th scope="row" data-value="{html_text(each.scenario_id)}">'
        f'<a href="{path}">{html_text(each.scenario_id)}</a>{comparison_link}</th>'
        f'<td data-label="{html_text(titles[1])}">{html_text(str(each.arm))}</td>'
        f'<td data-label="model">{html_text(each.model)}</td><td data-label="repetition">{each.iteration}</td>'
        f'<td data-value="{html_text(each.outcome)}">{outcome}</td>{figures}</tr>'
    )
