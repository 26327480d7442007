"""What the bench itself measured of a session: its model calls, metered or replayed, and the hosts it was refused."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ghx_profiler.analyzers.finding_shapes import counted, result, table, word
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


@dataclass(frozen=True, slots=True)
class ModelReplayAnalyzer:
    """Compares each call that was answered from a recording with the recorded one.

    - `calls`: how many were exact, equal except for blind spots, and divergences.
    - `blind_spots`: what calls differed in that does not count, by name.
    - `divergences`: calls that are not in the recording, with both texts; each was refused.
    """

    @property
    def name(self) -> str:
        """The name of its results."""
        return "model_replay"

    def analyze(self, evidence: Evidence[Any]) -> AnalysisResult:
        """Return how the calls compare."""
        calls = evidence.trace.model_calls if evidence.trace else ()
        replayed = [(call, call.replayed) for call in calls if call.replayed is not None]
        verdicts = [each.verdict.replace("_", " ") for _, each in replayed]
        spots = (name for _, each in replayed for name in each.blind_spots)
        diverged = [(call, each) for call, each in replayed if each.verdict == "divergence"]
        findings = {
            "calls": counted(("verdict", "calls"), verdicts),
            "blind_spots": counted(("blind spot", "calls"), spots),
            "divergences": table(
                ("call", "side call", "recorded", "asked"),
                ((call.number, call.side or "no", each.recorded, each.asked) for call, each in diverged),
            ),
        }
        if not replayed:
            return result(self.name, findings, "no model call was replayed")
        words = ", ".join(f"{count} {verdict}" for verdict, count in Counter(verdicts).items())
        first = f"; call {diverged[0][0].number}: {diverged[0][1]}" if diverged else ""
        return result(self.name, findings, f"model calls replayed: {words}{first}")


@dataclass(frozen=True, slots=True)
class RefusedHostsAnalyzer:
    """Names the hosts that a session was refused: updates, telemetry, or a web that the task does not have.

    - `hosts`: their names in a word, `none` where none was refused; sessions are counted by it.
    - `requests`: how often each was requested.

    Where the bench does not see what is refused, there are no findings. The row has the hosts as well, and is what
    terminal and session page show, so that the summary is empty.
    """

    @property
    def name(self) -> str:
        """The name of its results."""
        return "refused_hosts"

    def analyze(self, evidence: Evidence[Any]) -> AnalysisResult:
        """Return the hosts."""
        hosts = evidence.refused_hosts
        if hosts is None:
            return result(self.name, {}, "")
        findings = {
            "hosts": word(", ".join(sorted(hosts)) or "none"),
            "requests": table(("host", "requests"), hosts.items()),
        }
        return result(self.name, findings, "")
