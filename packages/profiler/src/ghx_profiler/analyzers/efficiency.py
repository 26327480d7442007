"""How much of a session led somewhere, and where its tokens went."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ghx_profiler.analyzers.finding_shapes import number, or_unknown, ratio, result
from ghx_profiler.analyzers.recovery import Recovery, recovery_from
from ghx_profiler.analyzers.session_view import Call, SessionView, errors_in, read_session
from ghx_profiler.analyzers.tokens import largest_results, token_breakdown
from ghx_profiler.evidence import Evidence
from ghx_profiler.records.analysis import AnalysisResult
from ghx_profiler.shell import CommandResolver, resolve_command


@dataclass(frozen=True, slots=True)
class EfficiencyAnalyzer:
    """Distinguishes turns and calls that brought something new from those that did not.

    A call *makes progress* unless it failed or repeated a request with a known answer: the same request gave the same
    answer before. What only polls, and gets another answer, makes progress.

    - `total_turns`: turns of the agent.
    - `productive_turns`: turns in which a call made progress or, without any call, the agent wrote to the user.
    - `wasted_turns`: the others.
    - `turn_efficiency`: productive turns / all turns.
    - `information_redundancy`: repeated calls with a known answer / all calls.
    - `backtracking_events`: how often the agent went back: it repeated a call with a known answer after it had done
      something else, or tried a failed step again.
    - `longest_stretch_without_progress`: the most calls in a row that made no progress.
    - `token_breakdown`: tokens by purpose, if reported, next to the characters of each part.
    - `largest_results`: the five longest answers of tools, in characters, which every later turn reads again.

    Turns are unknown if the trace does not separate them; then only their number may be known.
    """

    resolve: CommandResolver = resolve_command

    @property
    def name(self) -> str:
        """The name of its results."""
        return "efficiency"

    def analyze(self, evidence: Evidence[Any]) -> AnalysisResult:
        """Return how efficient the session was."""
        view = read_session(evidence, self.resolve)
        turns = view.turns
        total = view.trace.summary.total_turns if turns is None else len(turns)
        productive = None if turns is None else sum(turn.was_productive for turn in turns)
        wasted = None if turns is None or productive is None else len(turns) - productive
        is_known = len(view.calls) == view.total_calls
        repeats = sum(call.is_repeat for call in view.calls) if is_known else None
        backtracking = _times_gone_back(view) if is_known else None
        findings = {
            "total_turns": number(total, "turns"),
            "productive_turns": number(productive, "turns"),
            "wasted_turns": number(wasted, "turns"),
            "turn_efficiency": ratio(productive, total, "productive / total turns"),
            "information_redundancy": ratio(repeats, len(view.calls), "duplicate / total tool calls"),
            "backtracking_events": number(backtracking, "events"),
            "longest_stretch_without_progress": number(
                longest_stretch_without_progress(view.calls) if is_known else None, "calls"
            ),
            "token_breakdown": token_breakdown(view),
            "largest_results": largest_results(view),
        }
        share = "" if productive is None or not total else f" ({100 * productive / total:.1f}% efficiency)"
        summary = f"{or_unknown(productive)}/{or_unknown(total)} productive turns{share}"
        return result(self.name, findings, f"{summary}, {or_unknown(backtracking)} backtracking events")


def longest_stretch_without_progress(calls: Iterable[Call]) -> int:
    """Return the most calls in a row that made no progress."""
    longest = current = 0
    for call in calls:
        current = 0 if call.made_progress else current + 1
        longest = max(longest, current)
    return longest


def _times_gone_back(view: SessionView) -> int:
    revisits = 0
    before: Call | None = None
    for call in view.calls:
        revisits += call.is_repeat and before is not None and before.request != call.request
        before = call
    failed = ((at, error) for at, error in errors_in(view) if isinstance(error, Call))
    return revisits + sum(recovery_from(call, at, view) is Recovery.RETRY for at, call in failed)
