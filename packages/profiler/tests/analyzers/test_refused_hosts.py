"""The hosts that a session may not reach, as findings; where they are not seen, nothing is said."""

from typing import Any

from ghx_profiler.analyzers import RefusedHostsAnalyzer
from ghx_profiler.evidence import Evidence
from ghx_profiler.records.analysis import StringFinding, TableFinding
from ghx_profiler.testing import AnalyzerContract, sample_evidence


class TestRefusedHosts(AnalyzerContract):
    make_analyzer = staticmethod(RefusedHostsAnalyzer)

    def make_evidence(self) -> Evidence[Any]:
        return sample_evidence(refused_hosts={"example.org": 1, "example.com": 3})


def test_hosts_are_named_and_counted() -> None:
    analysis = RefusedHostsAnalyzer().analyze(sample_evidence(refused_hosts={"b.example": 1, "a.example": 3})).findings

    assert analysis["hosts"] == StringFinding(value="a.example, b.example")
    assert analysis["requests"] == TableFinding(
        headers=("host", "requests"), rows=(("b.example", "1"), ("a.example", "3"))
    )


def test_a_session_that_was_refused_nothing_says_so_and_one_that_was_not_seen_says_nothing() -> None:
    none = RefusedHostsAnalyzer().analyze(sample_evidence(refused_hosts={})).findings

    assert none["hosts"] == StringFinding(value="none")
    assert RefusedHostsAnalyzer().analyze(sample_evidence()).findings == {}
