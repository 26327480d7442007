"""One session as a page: turns, reasoning, tool calls with input and output, failures marked. No script runs on it."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import PurePosixPath
from typing import assert_never
from urllib.parse import quote

from pydantic import JsonValue

from ghx_bench._base.problems import Problem
from ghx_bench._base.templates import fill_text
from ghx_bench.profiler.analysis import SessionAnalysisBundle
from ghx_bench.profiler.analyzers.files import recorded_scenarios
from ghx_bench.profiler.cell import Arm
from ghx_bench.profiler.metric_table import METRICS, UNKNOWN
from ghx_bench.profiler.reports.data.material import SessionPage
from ghx_bench.profiler.reports.data.reading import ReadRows
from ghx_bench.profiler.reports.data.side_files import StoredFindings
from ghx_bench.profiler.reports.data.tally import why_failed
from ghx_bench.profiler.reports.render.escaping import html_text, shorten
from ghx_bench.profiler.reports.render.html import link_home, page
from ghx_bench.profiler.reports.wording import amount
from ghx_bench.profiler.row import ProfileRow
from ghx_bench.profiler.runner.toolcalls import has_succeeded
from ghx_bench.profiler.scenario import BaseScenario
from ghx_bench.profiler.store.record import RunRecord
from ghx_bench.profiler.trace import (
    ErrorEvent,
    ReasoningEvent,
    SessionTrace,
    TextOutputEvent,
    ToolCallEvent,
    TraceEvent,
    Turn,
    TurnBoundaryEvent,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """What an agent was told, as far as the run wrote it down."""

    prompt: str | None = None
    instructions: str | None = None


def briefing_of(
    row: ProfileRow, trace: SessionTrace | None, scenario: BaseScenario | None, record: RunRecord | None
) -> Briefing:
    """Return what the agent of a row was told: what its session says, or what the run of an older one wrote down."""
    if trace is not None and trace.prompt is not None:
        return Briefing(prompt=trace.prompt, instructions=trace.instructions)
    details = None if record is None else record.mode_details.get(row.mode)
    return Briefing(
        # Older runs keep what variables stood for, not the prompt as it was sent; an unknown name stays as written.
        prompt=None if scenario is None else fill_text(scenario.prompt, row.bindings.__getitem__),
        instructions=None if details is None else details.instructions,
    )


_LONGEST_NAME = 150


WritePage = Callable[[str, str], None]
"""Puts a page at a path below the report's folder."""


def write_session_pages(read: ReadRows, write: WritePage) -> tuple[SessionPage, ...]:
    """Write a page for each row that was chosen; a session that cannot be read is noted among the problems.

    The rows are read once more, one at a time: with `--sessions all` they would not fit into memory.
    """
    pages: list[SessionPage] = []
    taken: set[str] = set()
    # Rows were chosen source by source, so each source comes once.
    for source, chosen in groupby(read.chosen, key=attrgetter("source")):
        files, rows = source.side_files(), source.rows()
        scenarios = recorded_scenarios(source.record.scenarios) if source.record else {}
        for each in chosen:
            row = rows.row_at(each.start)
            below = [source.label] if len(read.arrangement.sources) > 1 else []
            # An arm names its agent where a report has several.
            below += [] if each.arm.agent is None else [each.arm.agent]
            path = session_path(row, below=below, taken=taken)
            trace = files.trace(row)
            if isinstance(trace, Problem):
                read.problems[str(trace)] = None
            known = trace if isinstance(trace, SessionTrace) else None
            briefing = briefing_of(row, known, scenarios.get(row.scenario_id), source.record)
            found = files.stored_findings(row)
            findings = found.bundle if isinstance(found, StoredFindings) else None
            write(path, session_page(row, trace, arm=each.arm, briefing=briefing, findings=findings, path=path))
            pages.append(
                SessionPage(
                    path=path,
                    source=source.label,
                    arm=each.arm,
                    scenario_id=row.scenario_id,
                    model=row.model,
                    iteration=row.iteration,
                    outcome=outcome_of(row),
                    has_session=trace is not None,
                )
            )
    return tuple(pages)


def session_path(row: ProfileRow, *, below: Sequence[str], taken: set[str]) -> str:
    """Return where a row's page lies from the report's folder, and take that path; no name in a row can lead out of it.

    A file put together from several runs has several rows for one cell: their pages are numbered.
    """
    names = [*below, row.model, row.mode, row.scenario_id]
    folder, number, name = PurePosixPath("sessions", *map(_folder, names)), 1, f"{row.iteration}.html"
    while str(folder / name) in taken:
        number += 1
        name = f"{row.iteration}-{number}.html"
    taken.add(str(folder / name))
    return str(folder / name)


def _folder(name: str) -> str:
    encoded = quote(name.encode("utf-8", "replace"), safe="") or "%"
    if len(encoded) > _LONGEST_NAME:
        # Cut names may be the same; what they were is not.
        encoded = f"{encoded[:_LONGEST_NAME]}-{hashlib.sha256(encoded.encode()).hexdigest()[:8]}"
    return f"%2E{encoded[1:]}" if encoded.startswith(".") else encoded


def outcome_of(row: ProfileRow) -> str:
    """Return how a row ended."""
    return "success" if row.success is True else why_failed(row)


def session_page(
    row: ProfileRow,
    trace: SessionTrace | Problem | None,
    *,
    arm: Arm,
    path: str,
    briefing: Briefing = Briefing(),  # noqa: B008 - a frozen record
    findings: SessionAnalysisBundle | None = None,
) -> str:
    """Write the page of one session, which will lie at `path`; without a trace it tells what the row knows."""
    title = f"{row.scenario_id} / {arm} / {row.model} / {row.iteration}"
    home = "../" * (len(PurePosixPath(path).parts) - 1) + "index.html"
    told = (*_header(row, title), *_briefing(briefing), *_checkpoints(row))
    parts = (*told, *_attempts(row), *_findings(findings), *_trace(trace))
    return page(title=title, body="\n".join((link_home(home), *parts)))


def _header(row: ProfileRow, title: str) -> Iterator[str]:
    yield f"<header><h1>{html_text(title)}</h1>"
    yield f"<p>{html_text(outcome_of(row))}, run {html_text(row.run_id)}, {html_text(row.started_at)}</p></header>"
    yield "<main>"
    if row.error is not None:
        yield f'<p class="warning">{html_text(row.error)}</p>'
    if row.traceback is not None:
        yield f"<details open><summary>traceback</summary><pre>{_text(row.traceback)}</pre></details>"
    known = row.known_metrics
    shown = METRICS.shown_in("session")
    numbers = ((each.label, amount(known.get(each.name), METRICS.unit(each.name))) for each in shown)
    facts = [("ended by", str(row.completion_reason))]
    if row.refused_hosts is not None:
        hosts = ", ".join(f"{host} ({count})" for host, count in row.refused_hosts.items())
        facts.append(("refused hosts", hosts or "none"))
    yield from _table("What it spent", ("metric", "value"), (*numbers, *facts))


def _briefing(briefing: Briefing) -> Iterator[str]:
    if briefing.prompt is None and briefing.instructions is None:
        return
    yield '<section aria-label="Task"><h2>What the agent was told</h2>'
    if briefing.prompt is not None:
        yield f'<div class="event"><p>prompt</p><pre>{_text(briefing.prompt)}</pre></div>'
    if briefing.instructions is not None:
        yield f'<div class="event"><p>instructions of the mode</p><pre>{_text(briefing.instructions)}</pre></div>'
    yield "</section>"


def _checkpoints(row: ProfileRow) -> Iterator[str]:
    if not row.checkpoint_details:
        return
    yield '<section aria-label="Checkpoints"><h2>Checkpoints</h2>'
    for each in row.checkpoint_details:
        fate = "passed" if each.passed else "failed"
        yield f'<div class="event {"" if each.passed else "failed"}">'
        yield f'<p><strong>{html_text(each.id)}</strong> <span class="fate">{fate}</span></p>'
        yield f"<p>{html_text(each.description)}</p>"
        if not each.passed:
            yield from _fold("expected", each.expected) if each.expected is not None else ()
            yield from _fold("actual", each.actual) if each.actual is not None else ()
            yield f"<pre>{_text(each.error)}</pre>" if each.error else ""
        yield "</div>"
    yield "</section>"


def _attempts(row: ProfileRow) -> Iterator[str]:
    if len(row.attempts) > 1:
        rows = ((str(each.number), (each.error or "went through")) for each in row.attempts)
        yield from _table("Attempts", ("attempt", "outcome"), rows)
    if row.problems:
        rows = ((each.where, f"{each.code}: {each.message}") for each in row.problems)
        yield from _table("Problems beside the result", ("where", "what"), rows)


def _findings(bundle: SessionAnalysisBundle | None) -> Iterator[str]:
    rows = [(name, each.summary) for name, each in bundle.results.items() if each.summary] if bundle else []
    if rows:
        yield from _table("Findings", ("analyzer", "what it found"), rows)


def _table(caption: str, headers: tuple[str, str], rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield f'<div class="scroll"><table class="text"><caption>{caption}</caption><thead><tr>'
    yield "".join(f'<th scope="col">{header}</th>' for header in headers) + "</tr></thead><tbody>"
    yield from (f'<tr><th scope="row">{html_text(name)}</th><td>{html_text(value)}</td></tr>' for name, value in rows)
    yield "</tbody></table></div>"


def _trace(trace: SessionTrace | Problem | None) -> Iterator[str]:
    if isinstance(trace, Problem):
        yield f'<p class="warning">The session could not be read: {html_text(str(trace))}</p></main>'
        return
    if trace is None:
        yield '<p class="note">No session was recorded for this row.</p></main>'
        return
    turns = trace.turns or (Turn(number=1, events=trace.events),)
    for turn in turns:
        took = "" if turn.duration_ms is None else f", {amount(turn.duration_ms, 'ms')}"
        yield f"<section><h2>Turn {turn.number}{took}</h2>"
        for event in turn.events:
            yield from _event(event)
        yield "</section>"
    yield f'<p class="note">Session {html_text(trace.session_id)}</p></main>'


def _event(event: TraceEvent) -> Iterator[str]:
    match event:
        case ReasoningEvent(content=content):
            yield f'<div class="event"><p>reasoning</p><pre>{_text(content)}</pre></div>'
        case TextOutputEvent(content=content):
            yield f'<div class="event"><p>text</p><pre>{_text(content)}</pre></div>'
        case ErrorEvent(message=message):
            yield f'<div class="event failed"><p><span class="fate">error</span></p><pre>{_text(message)}</pre></div>'
        case ToolCallEvent():
            yield from _tool_call(event)
        case TurnBoundaryEvent():
            return
        case _:
            assert_never(event)


def _tool_call(call: ToolCallEvent) -> Iterator[str]:
    succeeded = has_succeeded(call)
    fate = {True: "succeeded", False: "failed", None: f"success {UNKNOWN}"}[succeeded]
    took = UNKNOWN if call.duration_ms is None else amount(call.duration_ms, "ms")
    yield f'<div class="event {"failed" if succeeded is False else ""}">'
    yield f'<p>tool call <strong>{html_text(call.name)}</strong> <span class="fate">{fate}</span>, time {took}</p>'
    yield f"<pre>{_value(call.input)}</pre>"
    if call.error is not None:
        yield f"<pre>{_text(call.error)}</pre>"
    yield from _fold("output", call.output, is_open=succeeded is False)
    yield "</div>"


def _fold(title: str, value: JsonValue, *, is_open: bool = False) -> Iterator[str]:
    yield f"<details{' open' if is_open else ''}><summary>{title}</summary><pre>{_value(value)}</pre></details>"


def _value(value: JsonValue) -> str:
    if isinstance(value, str):
        return _text(value)
    return _text(json.dumps(value, indent=2, ensure_ascii=False))


def _text(text: str) -> str:
    return html_text(shorten(text, where=" in the file of the session"), lines=True)
