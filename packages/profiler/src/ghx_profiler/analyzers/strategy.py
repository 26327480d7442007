"""How an agent went about its task."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ghx_profiler.analyzers.efficiency import longest_stretch_without_progress
from ghx_profiler.analyzers.finding_shapes import listed, or_unknown, result, word
from ghx_profiler.analyzers.session_view import Call, SessionView, read_session
from ghx_profiler.analyzers.tokens import result_characters
from ghx_profiler.evidence import Evidence
from ghx_profiler.records.analysis import AnalysisResult
from ghx_profiler.records.trace import ReasoningEvent
from ghx_profiler.shell import CommandResolver, resolve_command

_MANY_TOOLS = 6
_ENOUGH_CALLS = 4
_LONG_STRETCH = 3
_LARGE_RESULT = 50_000
_REASONING, _TOOLS = "reasoning phase ({} events)", "tool execution phase ({} calls)"


@dataclass(frozen=True, slots=True)
class StrategyAnalyzer:
    """Finds the phases of a session, and classifies it by them.

    - `strategy_steps`: the phases: thoughts in a row, or the tool calls of one turn in a row.
    - `strategy_summary`: *direct* if all calls were made in one phase, or none was needed; *exploratory* if the agent
      tried about: of four calls or more at least half failed, or it used six tools or more, and at least half of its
      calls were the first of their kind; *iterative* otherwise: later calls build on the answers to earlier ones. Not
      known of a session in which nothing happened.
    - `optimality_notes`: what could have been saved, in sentences.
    """

    resolve: CommandResolver = resolve_command

    @property
    def name(self) -> str:
        """The name of its results."""
        return "strategy"

    def analyze(self, evidence: Evidence[Any]) -> AnalysisResult:
        """Return the strategy of the session."""
        view = read_session(evidence, self.resolve)
        phases, notes = list(_phases(view)), list(_notes(view))
        strategy = _strategy(view, phases)
        findings = {
            "strategy_summary": word(strategy),
            "strategy_steps": listed(kind.format(length) for kind, length in phases),
            "optimality_notes": listed(notes),
        }
        counts = (or_unknown(len(each) if view.has_content else None) for each in (phases, notes))
        summary = f"Strategy: {strategy or 'unknown'}, {{}} phases, {{}} notes".format(*counts)
        return result(self.name, findings, summary)


def _phases(view: SessionView) -> Iterator[tuple[str, int]]:
    kind, length = "", 0
    for around in view.rounds:
        for each in around.events:
            phase = _TOOLS if isinstance(each, Call) else _REASONING if isinstance(each, ReasoningEvent) else ""
            if phase and phase != kind and length:
                yield kind, length
                length = 0
            kind, length = phase or kind, length + bool(phase)
        if kind == _TOOLS and length:
            # The next turn begins with the answers at hand, whether the agent shows what it thinks of them or not.
            yield kind, length
            kind, length = "", 0
    if length:
        yield kind, length


def _strategy(view: SessionView, phases: list[tuple[str, int]]) -> str | None:
    calls, names = view.calls, [name for call in view.calls for name in call.names]
    if not any(around.events for around in view.rounds):
        return None
    failed = sum(bool(call.outcome.failed) for call in calls)
    unique = len(set(names))
    if len(calls) >= _ENOUGH_CALLS and 2 * failed >= len(calls):
        return "exploratory"
    if unique >= _MANY_TOOLS and 2 * unique >= len(names):
        return "exploratory"
    return "direct" if sum(kind == _TOOLS for kind, _ in phases) <= 1 else "iterative"


def _notes(view: SessionView) -> Iterator[str]:
    calls = view.calls
    failed = [call for call in calls if call.outcome.failed]
    if failed:
        yield f"{len(failed)} of {len(calls)} tool calls failed"
    if again := len(failed) - len({call.request for call in failed}):
        yield f"{again} requests were made again just as they had failed before"
    if repeats := sum(call.is_repeat for call in calls):
        yield f"{repeats} tool calls asked again for what was known"
    if (stretch := longest_stretch_without_progress(calls)) >= _LONG_STRETCH:
        yield f"{stretch} tool calls in a row made no progress"
    characters = sum(map(result_characters, calls))
    largest = max(map(result_characters, calls), default=0)
    if largest >= max(_LARGE_RESULT, characters / 2):
        tool = next(call.label for call in calls if result_characters(call) == largest)
        yield f"one answer of {tool} has {largest:,} of the {characters:,} characters of all answers"
