"""Which tools an agent used, in which order, and how often in vain."""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ghx_profiler.analyzers.finding_shapes import counted, listed, number, or_unknown, result, table
from ghx_profiler.analyzers.recovery import Recovery, recovery_from
from ghx_profiler.analyzers.session_view import Call, SessionView, errors_in, read_session
from ghx_profiler.evidence import Evidence
from ghx_profiler.records.analysis import AnalysisResult, TableFinding
from ghx_profiler.shell import CommandResolver, resolve_command


@dataclass(frozen=True, slots=True)
class ToolPatternAnalyzer:
    """Names what each call does, down to the commands of shell calls, and looks at the sequence.

    - `tool_sequence`: the tools, and for shell calls the commands that matter in them, in order; a call that runs
      several commands adds several.
    - `unique_tools_used`: how many different names that is.
    - `tool_call_patterns`: how often one is followed by another.
    - `redundant_calls`: requests that were made again and gave the same answer again, none of them failing; with how
      often that answer was given.
    - `failed_then_retried`: tools that failed and were called again as soon as the agent knew, with the same or
      something else; with how many failures that followed.
    """

    resolve: CommandResolver = resolve_command

    @property
    def name(self) -> str:
        """The name of its results."""
        return "tool-pattern"

    def analyze(self, evidence: Evidence[Any]) -> AnalysisResult:
        """Return the patterns of tool use."""
        view = read_session(evidence, self.resolve)
        sequence = [name for call in view.calls for name in call.names]
        is_known = len(view.calls) == view.total_calls
        unique = len(set(sequence)) if is_known else None
        redundant, retried = _find_redundant(view), _find_retried(view)
        findings = {
            "tool_sequence": listed(sequence),
            "unique_tools_used": number(unique, "tools"),
            "tool_call_patterns": counted(("pattern", "count"), (f"{a} -> {b}" for a, b in pairwise(sequence))),
            "redundant_calls": redundant,
            "failed_then_retried": retried,
        }
        patterns = f"{_lines(redundant, view)} redundant patterns, {_lines(retried, view)} retry patterns"
        summary = f"{or_unknown(view.total_calls)} tool calls, {or_unknown(unique)} unique tools, {patterns}"
        return result(self.name, findings, summary)


def _lines(finding: TableFinding, view: SessionView) -> str:
    return or_unknown(len(finding.rows) if view.has_content else None)


def _find_redundant(view: SessionView) -> TableFinding:
    repeats = Counter(call.request for call in view.calls if call.is_repeat)
    first = {call.request: call for call in reversed(view.calls)}
    rows = [(first[request].label, first[request].request_hash, n + 1) for request, n in repeats.items()]
    return table(("tool", "input_hash", "count"), rows)


def _find_retried(view: SessionView) -> TableFinding:
    failed = ((at, error) for at, error in errors_in(view) if isinstance(error, Call))
    labels = (call.label for at, call in failed if recovery_from(call, at, view) is Recovery.RETRY)
    return counted(("tool", "occurrences"), labels)
