"""Sessions of one scenario side by side, turn by turn, with the point where they part; no script."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ghx_base.problems import plural
from ghx_profiler.records.trace import ErrorEvent, ReasoningEvent, SessionTrace, TextOutputEvent, ToolCallEvent, Turn
from ghx_profiler.reports.render.escaping import html_text
from ghx_profiler.reports.render.html import asset, link_home, page
from ghx_profiler.reports.render.session_list import tone_of
from ghx_profiler.reports.render.session_page import Ways, command_text
from ghx_profiler.runner.toolcalls import has_succeeded
from ghx_profiler.shell import command_of

_MOST_TURNS = 60
_LONGEST = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSession:
    """One column: a session, how it ended, and the way to its page."""

    name: str
    outcome: str
    way: str
    failed_checkpoints: tuple[str, ...] = ()
    trace: SessionTrace | None = None

    @property
    def turns(self) -> Sequence[Turn]:
        """The turns; all events as one where the trace has none."""
        if self.trace is None:
            return ()
        return self.trace.turns or (Turn(number=1, events=self.trace.events),)


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where a session goes another way than the first one: its turn and its call, both counted from 1.

    A session that ends where the other goes on parts with a call that it does not have.
    """

    turn: int
    call: int


def find_divergence(first: ComparedSession, other: ComparedSession) -> Divergence | None:
    """Return the first call of the other session that is not that of the first one; `None` if all are the same.

    Calls are the same if tool, input and outcome are; messages and thoughts between them do not count.
    """
    mine, others = _calls(first), _calls(other)
    for number, (call, counterpart) in enumerate(zip(mine, others, strict=False)):
        if _signature(call[1]) != _signature(counterpart[1]):
            return Divergence(counterpart[0], number + 1)
    if len(mine) == len(others):
        return None
    shared = min(len(mine), len(others))
    turn = others[shared][0] if len(others) > shared else max(1, len(other.turns))
    return Divergence(turn, shared + 1)


def _calls(session: ComparedSession) -> list[tuple[int, ToolCallEvent]]:
    return [
        (number, event)
        for number, turn in enumerate(session.turns, start=1)
        for event in turn.events
        if isinstance(event, ToolCallEvent)
    ]


def _signature(call: ToolCallEvent) -> tuple[str, str, bool | None]:
    return call.name, json.dumps(call.input, sort_keys=True), has_succeeded(call)


def comparison_page(scenario: str, sessions: Sequence[ComparedSession], ways: Ways) -> str:
    """Write sessions of a scenario side by side; the others are compared with the first."""
    first, *rest = sessions
    divergences = [find_divergence(first, each) for each in rest]
    listing = "" if ways.listing is None else f'<a href="{html_text(ways.listing)}">All sessions</a>'
    parts = (
        link_home(ways.home),
        f'<nav aria-label="Sessions" class="ways">{listing}</nav>',
        f"<header><h1>{html_text(scenario)}</h1><p>{plural(len(sessions), 'session')} side by side</p></header>",
        "<main>",
        '<ul class="partings">',
        *(_describe_divergence(first, each, where) for each, where in zip(rest, divergences, strict=True)),
        "</ul>",
        *_grid(sessions, [None, *divergences]),
        "</main>",
    )
    return page(title=f"{scenario}: side by side", body="\n".join(parts), styles=(asset("sessions.css"),))


def _describe_divergence(first: ComparedSession, other: ComparedSession, where: Divergence | None) -> str:
    names = f"<strong>{html_text(other.name)}</strong>", f"<strong>{html_text(first.name)}</strong>"
    if other.trace is None or first.trace is None:
        return f"<li>{names[0]}: one of the two has no session.</li>"
    if where is None:
        return f"<li>{names[0]} makes the same calls as {names[1]}.</li>"
    turn = f"turn {where.turn}"
    if where.turn <= _MOST_TURNS and other.turns:
        turn = f'<a href="#turn-{where.turn}">{turn}</a>'
    if where.call > len(_calls(other)):
        return f"<li>{names[0]} makes no further call after {turn}, where {names[1]} goes on.</li>"
    return f"<li>{names[0]} parts from {names[1]} in {turn}, with call {where.call}.</li>"


def _grid(sessions: Sequence[ComparedSession], divergences: Sequence[Divergence | None]) -> Iterator[str]:
    yield '<div class="scroll" tabindex="0" role="region" aria-label="Sessions side by side">'
    yield f'<div class="side-by-side" style="--columns:{len(sessions)}">'
    for each in sessions:
        failed = "".join(f"<br>not met: {html_text(text)}" for text in each.failed_checkpoints)
        yield f'<div class="head"><a href="{html_text(each.way)}">{html_text(each.name)}</a> '
        yield f'<span class="chip {tone_of(each.outcome)}">{html_text(each.outcome)}</span>'
        yield f"<small>{failed}</small></div>"
    counters = [0] * len(sessions)
    longest = max(len(each.turns) for each in sessions)
    for number in range(1, min(longest, _MOST_TURNS) + 1):
        yield f'<h2 id="turn-{number}">Turn {number}</h2>'
        for column, each in enumerate(sessions):
            yield f'<div class="cell" data-session="{html_text(each.name)}">'
            if number <= len(each.turns):
                for event in each.turns[number - 1].events:
                    counters[column] += isinstance(event, ToolCallEvent)
                    where = divergences[column]
                    is_divergent = (
                        isinstance(event, ToolCallEvent) and where is not None and where.call == counters[column]
                    )
                    yield _step(event, is_divergence=is_divergent)
            elif number == len(each.turns) + 1:
                yield '<p class="note">its last turn was the one above</p>' if each.turns else ""
            yield "</div>"
    yield "</div></div>"
    if longest > _MOST_TURNS:
        yield f'<p class="note">{plural(longest - _MOST_TURNS, "more turn")} on the pages of the sessions.</p>'


def _step(event: object, *, is_divergence: bool) -> str:
    match event:
        case ToolCallEvent():
            has_failed = has_succeeded(event) is False
            kinds = " ".join(("event", *(["failed"] if has_failed else ()), *(["parting"] if is_divergence else ())))
            failure = ' <span class="fate">failed</span>' if has_failed else ""
            mark = ' <span class="chip open">parts here</span>' if is_divergence else ""
            return (
                f'<div class="{kinds}"><p><strong>{html_text(event.name)}</strong>{failure}{mark}</p>'
                f"<pre>{_call_text(event)}</pre></div>"
            )
        case ReasoningEvent(content=content) | TextOutputEvent(content=content):
            word = "reasoning" if isinstance(event, ReasoningEvent) else "text"
            return f'<div class="event"><p>{word}</p><pre>{_clip(content)}</pre></div>'
        case ErrorEvent(message=message):
            return f'<div class="event failed"><p><span class="fate">error</span></p><pre>{_clip(message)}</pre></div>'
        case _:
            return ""


def _call_text(call: ToolCallEvent) -> str:
    command = command_of(call)
    return _clip(json.dumps(call.input, ensure_ascii=False) if command is None else command_text(command))


def _clip(text: str) -> str:
    return html_text(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…", lines=True)
