"""One session as a page: how it ended and why, its turns, and next to them its changes and requests; no script."""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from pydantic import JsonValue

from ghx_base.problems import Problem, plural
from ghx_base.texts.templates import fill_text
from ghx_profiler.plan.cell import NO_MODEL, Arm
from ghx_profiler.records.activity import SessionActivity
from ghx_profiler.records.analysis import SessionAnalysisBundle
from ghx_profiler.records.metric_table import METRICS, UNKNOWN
from ghx_profiler.records.model_call_summary import main_calls
from ghx_profiler.records.model_calls import ModelCall
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.records.score import CheckpointDetail
from ghx_profiler.records.trace import (
    ErrorEvent,
    ReasoningEvent,
    SessionTrace,
    TextOutputEvent,
    ToolCallEvent,
    TraceEvent,
    Turn,
    TurnBoundaryEvent,
)
from ghx_profiler.reports.data.tally import outcome_of
from ghx_profiler.reports.render.escaping import html_text, shorten
from ghx_profiler.reports.render.html import asset, link_home, page
from ghx_profiler.reports.render.session_activity import activity_aside, group_by_turn
from ghx_profiler.reports.render.session_list import tone_of
from ghx_profiler.reports.wording import amount, describe_purity, percent
from ghx_profiler.runner.toolcalls import has_succeeded
from ghx_profiler.scenario import BaseScenario
from ghx_profiler.shell import command_of
from ghx_profiler.store.record import RunRecord

_LONG, _MANY_LINES = 600, 15
"""Characters and lines of a text that may be too high for its place on the smallest screen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """The agent's prompt and instructions, as far as the run recorded them."""

    prompt: str | None = None
    instructions: str | None = None


def briefing_of(
    row: ProfileRow, trace: SessionTrace | None, scenario: BaseScenario | None, record: RunRecord | None
) -> Briefing:
    """Return the prompt and instructions of a row's agent: from its session, or from the record of an older run."""
    if trace is not None and trace.prompt is not None:
        return Briefing(prompt=trace.prompt, instructions=trace.instructions)
    details = None if record is None else record.mode_details.get(row.mode)
    return Briefing(
        # Older runs keep what variables stood for, not the prompt as it was sent; an unknown name stays as written.
        prompt=None if scenario is None else fill_text(scenario.prompt, row.bindings.__getitem__),
        instructions=None if details is None else details.instructions,
    )


@dataclass(frozen=True, slots=True)
class Sibling:
    """Another session of the same scenario: what it is called, how it ended, and the way to its page."""

    name: str
    outcome: str
    way: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """Where a page leads, relative to itself."""

    home: str
    listing: str | None = None
    previous: str | None = None
    next: str | None = None
    comparison: str | None = None
    siblings: Sequence[Sibling] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSession:
    """Everything that is known of one session; a file that could not be read is a problem."""

    row: ProfileRow
    arm: Arm
    trace: SessionTrace | Problem | None = None
    activity: SessionActivity | Problem | None = None
    findings: SessionAnalysisBundle | None = None
    briefing: Briefing = field(default_factory=Briefing)


def session_page(session: RecordedSession, ways: Ways) -> str:
    """Write the page of one session; without a trace it shows the data of the row."""
    row = session.row
    labels = (str(session.arm), *(() if row.model == NO_MODEL or session.arm.model else (row.model,)))
    name = f"{' / '.join(labels)} #{row.iteration}"
    parts = (
        link_home(ways.home),
        *_ways(ways),
        *_header(row, name),
        "<main>",
        *_checkpoints(row),
        *_safety(row),
        *_failure(row),
        *_siblings(ways),
        *_findings(session.findings, is_open=row.success is not True),
        *_briefing(session.briefing),
        *_course(session),
        "</main>",
    )
    return page(title=f"{row.scenario_id} / {name}", body="\n".join(parts), styles=(asset("sessions.css"),))


def _ways(ways: Ways) -> Iterator[str]:
    targets = (("Previous", ways.previous), ("Next", ways.next), ("All sessions", ways.listing))
    links = [
        f'<a href="{html_text(way)}">{name}</a>' for name, way in (*targets, ("Side by side", ways.comparison)) if way
    ]
    if links:
        yield f'<nav aria-label="Sessions" class="ways">{" ".join(links)}</nav>'


def _header(row: ProfileRow, name: str) -> Iterator[str]:
    outcome = outcome_of(row)
    yield f"<header><h1>{html_text(row.scenario_id)}</h1>"
    yield f'<p><span class="chip {tone_of(outcome)}">{html_text(outcome)}</span> {html_text(name)}</p>'
    yield f"<p>Run {html_text(row.run_id)}, {html_text(row.started_at)}</p></header>"
    known = row.known_metrics
    facts = [
        (each.label, amount(known.get(each.name), METRICS.unit(each.name))) for each in METRICS.shown_in("session")
    ]
    if (calls := known.get("api_calls")) is not None:
        facts.append(("API calls", amount(calls, "")))
    if row.refused_hosts is not None:
        hosts = ", ".join(f"{host} ({count})" for host, count in row.refused_hosts.items())
        facts.append(("refused hosts", hosts or "none"))
    if row.not_implemented:
        missing = ", ".join(f"{what} ({count})" for what, count in row.not_implemented.items())
        facts.append(("not implemented", missing))
    if row.tool_use is not None:
        facts.append(("purity", describe_purity(row.tool_use)))
    figures = "".join(
        f"<div><dt>{html_text(label)}</dt><dd>{html_text(value)}</dd></div>"
        for label, value in (*facts, ("ended by", row.completion_reason))
    )
    yield f'<dl class="figures">{figures}</dl>'


def _checkpoints(row: ProfileRow) -> Iterator[str]:
    failed = [each for each in row.checkpoint_details if not each.passed]
    passed = [each for each in row.checkpoint_details if each.passed]
    if not row.checkpoint_details:
        return
    yield '<section aria-label="Checkpoints">'
    if failed:
        yield f"<h2>{len(failed)} of {plural(len(row.checkpoint_details), 'checkpoint')} failed</h2>"
    for each in failed:
        yield '<div class="event failed">'
        yield f'<p><strong>{html_text(each.description)}</strong> <span class="fate">failed</span></p>'
        yield f'<p class="note">{html_text(each.id)}</p>'
        yield from _expected_and_actual(each)
        yield "</div>"
    if passed:
        items = "".join(f"<li>{html_text(each.description)}</li>" for each in passed)
        yield f"<details><summary>{plural(len(passed), 'checkpoint')} passed</summary><ul>{items}</ul></details>"
    yield "</section>"


def _safety(row: ProfileRow) -> Iterator[str]:
    if row.safety is None:
        return
    first, *rest = row.safety.describe()
    yield f'<section aria-label="Safety"><h2>Safety</h2><p>{html_text(first)}</p>'
    if rest:
        yield f"<ul>{''.join(f'<li>{html_text(each)}</li>' for each in rest)}</ul>"
    yield "</section>"


def _expected_and_actual(checkpoint: CheckpointDetail) -> Iterator[str]:
    sides = (("expected", checkpoint.expected), ("actual", checkpoint.actual))
    known = [(title, value) for title, value in sides if value is not None]
    if known:
        pairs = "".join(f"<div><dt>{title}</dt><dd>{_block(_as_text(value))}</dd></div>" for title, value in known)
        yield f'<dl class="pair">{pairs}</dl>'
    if checkpoint.error:
        yield _block(checkpoint.error)


def _failure(row: ProfileRow) -> Iterator[str]:
    if row.error is not None:
        yield f'<p class="warning">{html_text(row.error)}</p>'
    if row.traceback is not None:
        yield f"<details open><summary>traceback</summary>{_block(row.traceback)}</details>"
    if len(row.attempts) > 1:
        attempts = ((str(each.number), (each.error or "went through")) for each in row.attempts)
        yield from _table("Attempts", ("attempt", "outcome"), attempts)
    if row.problems:
        problems = ((each.where, f"{each.code}: {each.message}") for each in row.problems)
        yield from _table("Problems beside the result", ("where", "what"), problems)


def _siblings(ways: Ways) -> Iterator[str]:
    if not ways.siblings:
        return
    yield '<section aria-label="Same scenario"><h2>The same scenario elsewhere</h2><ul class="siblings">'
    for each in ways.siblings:
        link = f'<a href="{html_text(each.way)}">{html_text(each.name)}</a>'
        yield f'<li>{link} <span class="chip {tone_of(each.outcome)}">{html_text(each.outcome)}</span></li>'
    yield "</ul></section>"


def _findings(bundle: SessionAnalysisBundle | None, *, is_open: bool) -> Iterator[str]:
    rows = [(name, each.summary) for name, each in bundle.results.items() if each.summary] if bundle else []
    if rows:
        yield f"<details{' open' if is_open else ''}><summary>Findings of {plural(len(rows), 'analyzer')}</summary>"
        yield from _table("Findings", ("analyzer", "what it found"), rows)
        yield "</details>"


def _briefing(briefing: Briefing) -> Iterator[str]:
    if briefing.prompt is None and briefing.instructions is None:
        return
    yield '<section aria-label="Task"><h2>What the agent was told</h2>'
    if briefing.prompt is not None:
        yield f'<div class="event"><p>prompt</p>{_block(briefing.prompt)}</div>'
    if briefing.instructions is not None:
        yield "<details><summary>instructions of the mode</summary>"
        yield f"{_block(briefing.instructions)}</details>"
    yield "</section>"


def _table(caption: str, headers: tuple[str, str], rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}">'
    yield f'<table class="text"><caption>{caption}</caption><thead><tr>'
    yield "".join(f'<th scope="col">{header}</th>' for header in headers) + "</tr></thead><tbody>"
    yield from (f'<tr><th scope="row">{html_text(name)}</th><td>{html_text(value)}</td></tr>' for name, value in rows)
    yield "</tbody></table></div>"


def _course(session: RecordedSession) -> Iterator[str]:
    """Yield the turns and, next to them, the changes and requests of the session."""
    trace, activity = session.trace, session.activity
    turns: Sequence[Turn] = ()
    if isinstance(trace, SessionTrace):
        turns = trace.turns or (Turn(number=1, events=trace.events),)
    requests = group_by_turn(activity.requests if isinstance(activity, SessionActivity) else (), turns)
    yield '<div class="course"><div>' if activity is not None else "<div><div>"
    if isinstance(trace, SessionTrace):
        yield from _turns(trace, turns, {turn: len(turn_requests) for turn, turn_requests in requests.items()})
    elif isinstance(trace, Problem):
        yield f'<p class="warning">The session could not be read: {html_text(str(trace))}</p>'
    else:
        yield '<p class="note">No session was recorded for this row.</p>'
    yield "</div>"
    if isinstance(activity, SessionActivity):
        yield from activity_aside(activity, requests)
    elif activity is not None:
        yield f'<p class="warning">What it changed could not be read: {html_text(str(activity))}</p>'
    yield "</div>"


def _turns(trace: SessionTrace, turns: Sequence[Turn], requests: Mapping[int | None, int]) -> Iterator[str]:
    calls = main_calls(trace.model_calls)
    # One call of the conversation for each turn, where turns were filled in from calls.
    metered = calls if len(calls) == len(turns) else ()
    for number, turn in enumerate(turns, start=1):
        took = "" if turn.duration_ms is None else f", {amount(turn.duration_ms, 'ms')}"
        yield f'<section id="turn-{number}"><h2>Turn {number}{took}</h2>'
        if metered:
            yield from _model_call(metered[number - 1])
        if turn_requests := requests.get(number):
            yield f'<p class="note"><a href="#requests-{number}">{plural(turn_requests, "request")}</a></p>'
        for event in turn.events:
            yield from _event(event)
        yield "</section>"
    side = [call for call in trace.model_calls if call.side is not None]
    if side:
        used = [call.usage.total for call in side if call.usage.total is not None]
        tokens = f", {sum(used):,} tokens" if len(used) == len(side) else ""
        yield f'<p class="note">{plural(len(side), "model call")} beside the conversation{tokens}</p>'
    yield f'<p class="note">Session {html_text(trace.session_id)}</p>'


def _model_call(call: ModelCall) -> Iterator[str]:
    """Yield the tokens of a turn's model call, and what its request was made of."""
    usage = call.usage
    counts = {
        "in": usage.input,
        "from cache": usage.cache_read,
        "to cache": usage.cache_write,
        "out": usage.output,
        "reasoning": usage.reasoning,
    }
    token_parts = ", ".join(f"{value:,} {name}" for name, value in counts.items() if value)
    tokens = UNKNOWN if usage.total is None else f"{usage.total:,}"
    yield f'<p class="note">tokens {tokens}{f": {token_parts}" if token_parts else ""}</p>'
    parts = {name: getattr(call.anatomy, name) for name in type(call.anatomy).model_fields}
    if whole := sum(parts.values()):
        shares = [(name.replace("_", " "), size / whole) for name, size in parts.items() if size]
        words = ", ".join(f"{name} {percent(share)}" for name, share in shares)
        bars = "".join(
            f'<i class="part-{name.replace(" ", "-")}" style="width:{100 * share:.1f}%"></i>' for name, share in shares
        )
        yield f'<div class="anatomy" aria-hidden="true">{bars}</div>'
        yield f'<p class="note">request of {whole:,} bytes: {words}</p>'


def _event(event: TraceEvent) -> Iterator[str]:
    match event:
        case ReasoningEvent(content=content):
            yield f'<div class="event"><p>reasoning</p>{_block(content)}</div>'
        case TextOutputEvent(content=content):
            yield f'<div class="event"><p>text</p>{_block(content)}</div>'
        case ErrorEvent(message=message):
            yield f'<div class="event failed"><p><span class="fate">error</span></p>{_block(message)}</div>'
        case ToolCallEvent():
            yield from _tool_call(event)
        case TurnBoundaryEvent():
            return
        case _:
            assert_never(event)


def _tool_call(call: ToolCallEvent) -> Iterator[str]:
    succeeded = has_succeeded(call)
    outcome = {True: "succeeded", False: "failed", None: f"success {UNKNOWN}"}[succeeded]
    took = UNKNOWN if call.duration_ms is None else amount(call.duration_ms, "ms")
    yield f'<div class="event {"failed" if succeeded is False else ""}">'
    yield f'<p>tool call <strong>{html_text(call.name)}</strong> <span class="fate">{outcome}</span>, time {took}</p>'
    command = command_of(call)
    yield _block(_as_text(call.input) if command is None else command_text(command))
    if call.error is not None:
        yield _block(call.error)
    opened = " open" if succeeded is False else ""
    yield f"<details{opened}><summary>output</summary>{_block(_as_text(call.output))}</details>"
    yield "</div>"


def command_text(command: str | Sequence[str]) -> str:
    """Return a command as a person would type it."""
    return command if isinstance(command, str) else shlex.join(command)


def _as_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _block(text: str) -> str:
    block = html_text(shorten(text, where=" in the file of the session"), lines=True)
    # A long one scrolls by itself, and has to be reachable by keyboard for that.
    is_long = len(block) > _LONG or block.count("\n") > _MANY_LINES
    return f'<pre tabindex="0">{block}</pre>' if is_long else f"<pre>{block}</pre>"
