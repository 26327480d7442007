"""What went wrong in a session, and what the agent did about it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ghx_profiler.analyzers.finding_shapes import number, or_unknown, result, table
from ghx_profiler.analyzers.recovery import Recovery, recovery_from
from ghx_profiler.analyzers.session_view import Call, SessionView, errors_in, read_session
from ghx_profiler.evidence import Evidence
from ghx_profiler.failures import kind_of
from ghx_profiler.records.analysis import AnalysisResult, TableFinding
from ghx_profiler.records.trace import ErrorEvent
from ghx_profiler.shell import CommandResolver, resolve_command

_MOST_MESSAGES = 50


@dataclass(frozen=True, slots=True)
class ErrorAnalyzer:
    """Counts errors, classifies them, and follows the reactions to them.

    An *error* is a tool call that failed, by its own word or by its output, or an error event outside of any call.

    - `errors_encountered`: how many; unknown if no call has an outcome.
    - `error_types`: errors by kind: auth, not_found, timeout, parse_error, validation, rate_limit, unknown.
    - `recovery_patterns`: for each error, what the agent did next; see `Recovery`.
    - `error_cascades`: stretches of two or more errors with no other call in between.
    - `wasted_turns_from_errors`: turns with an error in which no call made progress.
    - `repeated_failing_calls`: requests that failed, were made again just so, and failed again; with how often.
    - `error_messages`: each error with its turn, its tool and the line that shows it, the first fifty.
    """

    resolve: CommandResolver = resolve_command

    @property
    def name(self) -> str:
        """The name of its results."""
        return "error"

    def analyze(self, evidence: Evidence[Any]) -> AnalysisResult:
        """Return what went wrong."""
        view = read_session(evidence, self.resolve)
        errors = errors_in(view)
        count = len(errors) if errors or view.has_outcomes else None
        recoveries = Counter(recovery_from(error, at, view) for at, error in errors)
        cascades = None if count is None else sum(length > 1 for length in _stretches(view))
        wasted = _wasted_turns(view) if count is not None else None
        kinds = Counter(
            kind_of(each.message) if isinstance(each, ErrorEvent) else each.outcome.kind for _, each in errors
        )
        findings = {
            "errors_encountered": number(count, "errors"),
            "error_types": table(("type", "count"), kinds.most_common()),
            "recovery_patterns": table(
                ("pattern", "count"), [(each, recoveries[each]) for each in Recovery if each in recoveries]
            ),
            "error_cascades": number(cascades, "cascades"),
            "wasted_turns_from_errors": number(wasted, "turns"),
            "repeated_failing_calls": _find_repeated(view),
            "error_messages": table(("turn", "tool", "type", "message"), _messages(view)),
        }
        summary = f"{or_unknown(count)} errors, {or_unknown(cascades)} cascades, {or_unknown(wasted)} wasted turns"
        return result(self.name, findings, summary)


def _stretches(view: SessionView) -> Iterator[int]:
    """Yield the lengths of stretches of errors with no other call in between."""
    length = 0
    for each in view.events:
        if isinstance(each, ErrorEvent) or (isinstance(each, Call) and each.outcome.failed):
            length += 1
        elif isinstance(each, Call):
            yield length
            length = 0
    yield length


def _wasted_turns(view: SessionView) -> int | None:
    if view.turns is None:
        return None
    with_errors = {at for at, _ in errors_in(view)}
    rounds = enumerate(view.rounds)
    return sum(each.is_turn and at in with_errors and not each.was_productive for at, each in rounds)


def _find_repeated(view: SessionView) -> TableFinding:
    failed = [call for call in view.calls if call.outcome.failed]
    times = Counter(call.request for call in failed)
    first = {call.request: call for call in reversed(failed)}
    rows = [(first[request].label, first[request].request_hash, n) for request, n in times.items() if n > 1]
    return table(("tool", "input_hash", "count"), rows)


def _messages(view: SessionView) -> Iterator[tuple[object, ...]]:
    turn_numbers = _turn_numbers(view)
    for at, error in errors_in(view)[:_MOST_MESSAGES]:
        if isinstance(error, Call):
            yield turn_numbers[at], error.label, error.outcome.kind, error.outcome.evidence
        else:
            yield turn_numbers[at], "", kind_of(error.message), error.message[:200]


def _turn_numbers(view: SessionView) -> list[object]:
    """Return for each round the number of its turn, from 1; nothing for rounds that are not turns."""
    numbers: list[object] = []
    turns = 0
    for each in view.rounds:
        turns += each.is_turn
        numbers.append(turns if each.is_turn else "")
    return numbers
