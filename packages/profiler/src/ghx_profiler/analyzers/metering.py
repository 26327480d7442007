"""Whether an agent and the meter in front of its model tell the same figures, and what other calls there were."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ghx_profiler.analyzers.finding_shapes import counted, result, table
from ghx_profiler.evidence import Evidence
from ghx_profiler.records.analysis import AnalysisResult
from ghx_profiler.records.model_call_summary import main_calls
from ghx_profiler.records.model_calls import usage_of
from ghx_profiler.records.trace import SessionTrace

_TOLERATED = 0.01
_COMPARED = ("input", "output", "reasoning", "cache_read", "cache_write", "total")


@dataclass(frozen=True, slots=True)
class MeteringAnalyzer:
    """Holds the agent's own figures against those of its model calls, where a meter saw these.

    - `disagreements`: figures in which the two differ by more than 1 %; an agent that leaves out its side calls agrees.
    - `side_calls`: calls that are not of the conversation, by the reason why they are not.
    - `failed_calls`: calls that failed, by kind.

    Without model calls there are no findings.
    """

    @property
    def name(self) -> str:
        """The name of its results."""
        return "metering"

    def analyze(self, evidence: Evidence[Any]) -> AnalysisResult:
        """Return where the figures differ."""
        trace = evidence.trace
        if trace is None or not trace.model_calls:
            return result(self.name, {}, "no model call was metered")
        disagreements, failed = tuple(_disagreements(trace)), [call for call in trace.model_calls if call.has_failed]
        findings = {
            "disagreements": table(("figure", "agent", "meter"), disagreements),
            "side_calls": counted(("reason", "calls"), (call.side for call in trace.model_calls if call.side)),
            "failed_calls": counted(("kind", "calls"), (kind for call in failed if (kind := call.error_kind))),
        }
        figures = ", ".join(figure for figure, _, _ in disagreements)
        summary = f"the agent and the meter disagree on {figures}" if figures else "the agent and the meter agree"
        return result(self.name, findings, summary)


def _disagreements(trace: SessionTrace) -> Iterator[tuple[str, int, int]]:
    """Yield each figure in which the agent differs from all calls, and from those of the conversation alone."""
    reported = trace.reported
    if reported is None:
        return
    every, main = usage_of(trace.model_calls), usage_of(main_calls(trace.model_calls))
    for part in _COMPARED:
        reported_tokens = getattr(reported.tokens, part)
        measured = [size for usage in (every, main) if (size := getattr(usage, part)) is not None]
        if reported_tokens is not None and measured and all(_differ(reported_tokens, each) for each in measured):
            yield f"tokens.{part}", reported_tokens, measured[0]
    if reported.turns and _differ(reported.turns, len(main_calls(trace.model_calls))):
        yield "turns", reported.turns, len(main_calls(trace.model_calls))
    if reported.tool_calls and _differ(reported.tool_calls, len(trace.tool_calls)):
        yield "tool calls", reported.tool_calls, len(trace.tool_calls)


def _differ(reported: int, measured: int) -> bool:
    return abs(reported - measured) > _TOLERATED * measured
