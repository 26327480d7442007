"""How the model calls of a replayed session compare to those that were recorded."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from ghx_profiler.analyzers.finding_shapes import counted, result, table
from ghx_profiler.evidence import Evidence
from ghx_profiler.records.analysis import AnalysisResult


@dataclass(frozen=True, slots=True)
class ModelReplayAnalyzer:
    """Compares each call that was answered from a recording with the recorded one.

    - `calls`: how many were exact, equal but for blind spots, and divergences.
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
