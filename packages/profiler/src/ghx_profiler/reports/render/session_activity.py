"""The changes and requests of a session, as a column next to its turns."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from pydantic import JsonValue

from ghx_base.problems import plural
from ghx_profiler.records.activity import ObservedChange, ObservedRequest, SessionActivity
from ghx_profiler.records.trace import Turn
from ghx_profiler.reports.render.escaping import html_text
from ghx_profiler.reports.wording import amount

_LONGEST = 200


def group_by_turn(
    requests: Sequence[ObservedRequest], turns: Sequence[Turn]
) -> Mapping[int | None, Sequence[ObservedRequest]]:
    """Return requests by the number of the turn in which they were answered; under `None` where that is not known."""
    starts = [_moment(turn.start_timestamp) for turn in turns]
    known = [start for start in starts if start is not None]
    if len(known) < len(turns) or not turns:
        return {None: requests} if requests else {}
    grouped: dict[int | None, list[ObservedRequest]] = {}
    for each in requests:
        at = _moment(each.at)
        # Events before the first turn, as from a starting server, belong to it.
        turn = None if at is None else max(1, sum(start <= at for start in known))
        grouped.setdefault(turn, []).append(each)
    return grouped


def _moment(text: str | None) -> datetime | None:
    try:
        return None if text is None else datetime.fromisoformat(text)
    except ValueError:
        return None


def activity_aside(
    activity: SessionActivity, requests: Mapping[int | None, Sequence[ObservedRequest]]
) -> Iterator[str]:
    """Write the column: changes first, then every request, by turn."""
    yield '<aside aria-label="Outside of the session"><h2>What it changed</h2>'
    if not activity.changes:
        yield '<p class="note">Nothing.</p>'
    yield '<ul class="changes">'
    for change in activity.changes:
        yield from _change(change)
    yield "</ul>"
    if activity.changes_left_out:
        yield f'<p class="note">{plural(activity.changes_left_out, "more change")} not kept.</p>'
    total, failed = len(activity.requests), sum(each.failed for each in activity.requests)
    changed = sum(each.changed for each in activity.requests)
    yield "<h2>API journal</h2>"
    yield f'<p class="note">{plural(total, "request")}, {failed} failed, {changed} changed something.</p>'
    if activity.faults_not_met:
        names = html_text(", ".join(activity.faults_not_met))
        yield f'<p class="note">Scripted faults that no request met: {names}.</p>'
    for turn, turn_requests in requests.items():
        if turn is not None:
            yield f'<h3 id="requests-{turn}"><a href="#turn-{turn}">Turn {turn}</a></h3>'
        yield '<ol class="journal">'
        yield from map(_request, turn_requests)
        yield "</ol>"
    if activity.requests_left_out:
        yield f'<p class="note">{plural(activity.requests_left_out, "more request")} not kept.</p>'
    yield "</aside>"


def _change(change: ObservedChange) -> Iterator[str]:
    what = f"<strong>{change.change}</strong> {html_text(change.what)} <span>{html_text(change.name)}</span>"
    if change.change == "changed":
        before, after = html_text(_short(change.before)), html_text(_short(change.after))
        yield f"<li>{what}<br><del>{before}</del> <ins>{after}</ins></li>"
        return
    fields = change.after if change.change == "created" else change.before
    if isinstance(fields, dict) and fields:
        details = html_text(json.dumps(fields, indent=2, ensure_ascii=False), lines=True)
        yield f"<li><details><summary>{what}</summary><pre>{details}</pre></details></li>"
    else:
        yield f"<li>{what}</li>"


def _short(value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"{text[:_LONGEST]}…" if len(text) > _LONGEST else text or '""'


def _request(request: ObservedRequest) -> str:
    # GraphQL has one path: the operation identifies the request.
    line = request.operation if request.surface == "graphql" else f"{request.method} {request.path}"
    kinds = " ".join(kind for kind, holds in (("failed", request.failed), ("changed", request.changed)) if holds)
    through = f", through {html_text(request.tool)}" if request.tool else ""
    if request.belonging == "foreign":
        through += ", past the mode's tools"
    size = request.request_bytes + request.response_bytes
    return (
        f'<li class="{kinds}"><code>{html_text(_short(line))}</code> <span class="fate">{request.status}</span> '
        f"<small>{html_text(request.surface)}, {amount(request.duration_ms, 'ms')}, {size:,} bytes"
        f"{through}{', changed something' if request.changed else ''}"
        f"{f', injected fault: {html_text(request.fault)}' if request.fault else ''}</small></li>"
    )
