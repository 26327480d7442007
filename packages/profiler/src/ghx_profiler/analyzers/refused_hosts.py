"""Which hosts a session asked for that it may not reach."""

from dataclasses import dataclass
from typing import Any

from ghx_profiler.analyzers.finding_shapes import result, table, word
from ghx_profiler.evidence import Evidence
from ghx_profiler.records.analysis import AnalysisResult


@dataclass(frozen=True, slots=True)
class RefusedHostsAnalyzer:
    """Names the hosts that a session was refused: updates, telemetry, or a web that the task does not have.

    - `hosts`: their names in a word, `none` where none was refused; sessions are counted by it.
    - `requests`: how often each was asked for.

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
