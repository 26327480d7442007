"""The rules of `Collector` and `Analyzer`, which read evidence and do nothing else."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ghx_profiler.contracts import Analyzer, Collector
from ghx_profiler.evidence import Evidence
from ghx_profiler.records.analysis import AnalysisResult, NumberFinding, RatioFinding
from ghx_profiler.records.metrics import CustomMetric
from ghx_profiler.testing.contract_suite import ContractSuite, MissingHookError, holds
from ghx_profiler.testing.record_rules import (
    assert_finite,
    assert_survives_json,
    assert_unique_names,
    snapshot,
    without_handles,
)
from ghx_profiler.testing.samples import sample_evidence, sample_trace, stopped_evidence, unknown_evidence


class CollectorContract(ContractSuite):
    """What must hold of every collector: write `make_collector`.

    A collector that reads a scenario type of your own needs `make_evidence` with such a scenario as well.
    """

    zeros_that_are_known: frozenset[str] = frozenset()
    """Metrics that may well be 0 although nothing is known of the session, since they are read off the scenario."""

    def make_collector(self) -> Collector[Any]:
        """Return the collector under test; required."""
        raise MissingHookError("make_collector()")

    def make_evidence(self) -> Evidence[Any]:
        """Return evidence that the collector finds something in."""
        return sample_evidence()

    def test_metrics_are_named_numbers(self) -> None:
        """Rows and reports know metrics by their names."""
        metrics: list[object] = list(self._collect(self.make_evidence()))
        strangers = [each for each in metrics if not isinstance(each, CustomMetric)]
        assert not strangers, f"Collector.collect: must return CustomMetrics, got {strangers}"
        assert_unique_names(
            (each.name for each in metrics if isinstance(each, CustomMetric)), "Collector.collect: names of metrics"
        )

    def test_numbers_are_finite(self) -> None:
        """NaN must not stand for unknown values."""
        for evidence in self._all_kinds():
            metrics = self._collect(evidence)
            assert_finite(((each.name, each.value) for each in metrics), "Collector.collect: a value")

    def test_the_same_evidence_gives_the_same_metrics(self) -> None:
        """Pure: also after other evidence was read in between, and by another collector of the kind."""
        collector = self.make_collector()
        first = list(collector.collect(self.make_evidence()))
        list(collector.collect(unknown_evidence(scenario=self.make_evidence().scenario)))
        second = list(collector.collect(self.make_evidence()))
        third = self._collect(self.make_evidence())
        assert first == second == third, "Collector.collect: must return the same for the same evidence"

    def test_evidence_is_not_changed(self) -> None:
        """Other code reads it too."""
        evidence = self.make_evidence()
        before = snapshot(evidence)
        self._collect(evidence)
        assert without_handles(evidence) == before, "Collector.collect: must not change the evidence"

    def test_a_session_without_a_trace_can_be_read(self) -> None:
        """Not every agent has a trace."""
        with holds("Collector.collect: must work without a trace"):
            self._collect(replace(self.make_evidence(), trace=None))

    def test_a_session_in_which_nothing_happened_can_be_read(self) -> None:
        """An agent may answer at once, or be stopped before it began."""
        with holds("Collector.collect: must work with an empty trace"):
            self._collect(replace(self.make_evidence(), trace=sample_trace(turns=0)))

    def test_a_session_without_an_answer_can_be_read(self) -> None:
        """An agent that was stopped gave none."""
        with holds("Collector.collect: must work without an answer and a score"):
            self._collect(stopped_evidence(scenario=self.make_evidence().scenario))

    def test_what_is_not_known_is_not_zero(self) -> None:
        """A zero is counted into every mean, `None` is left out and counted as left out."""
        metrics = self._collect(unknown_evidence(scenario=self.make_evidence().scenario))
        zeros = [each.name for each in metrics if each.value == 0 and each.name not in self.zeros_that_are_known]
        assert not zeros, f"Collector.collect: must return None for what is not known, never zero, as for {zeros}"

    def _collect(self, evidence: Evidence[Any]) -> list[CustomMetric]:
        return list(self.make_collector().collect(evidence))

    def _all_kinds(self) -> Iterable[Evidence[Any]]:
        evidence = self.make_evidence()
        empty = replace(evidence, trace=sample_trace(turns=0))
        return (evidence, empty, unknown_evidence(scenario=evidence.scenario))


class AnalyzerContract(ContractSuite):
    """What must hold of every analyzer: write `make_analyzer`.

    An analyzer that reads a scenario type of your own needs `make_evidence` with such a scenario as well.
    """

    def make_analyzer(self) -> Analyzer[Any]:
        """Return the analyzer under test; required."""
        raise MissingHookError("make_analyzer()")

    def make_evidence(self) -> Evidence[Any]:
        """Return evidence, with a trace, that the analyzer finds something in."""
        return sample_evidence()

    def test_results_carry_the_name_of_their_analyzer(self) -> None:
        """Reports find results by it."""
        name: object = self.make_analyzer().name
        assert isinstance(name, str), f"Analyzer.name: must be text, got {name!r}"
        assert name, "Analyzer.name: must not be empty"
        result: object = self._analyze(self.make_evidence())
        assert isinstance(result, AnalysisResult), f"Analyzer.analyze: must return an AnalysisResult, got {result!r}"
        assert result.analyzer == name, f"Analyzer.analyze: must name itself {name!r}, not {result.analyzer!r}"

    def test_results_survive_a_file(self) -> None:
        """They are written to one, and reports read it."""
        for evidence in (self.make_evidence(), self._empty()):
            assert_survives_json(self._analyze(evidence), "Analyzer.analyze: the result")

    def test_numbers_are_finite(self) -> None:
        """A share of nothing is not known, and not NaN."""
        for evidence in (self.make_evidence(), self._empty()):
            findings = self._analyze(evidence).findings.items()
            numbers = ((key, each.value) for key, each in findings if isinstance(each, NumberFinding | RatioFinding))
            assert_finite(numbers, "Analyzer.analyze: a finding")

    def test_the_same_evidence_gives_the_same_result(self) -> None:
        """Pure: also after other evidence was read in between, and by another analyzer of the kind."""
        analyzer = self.make_analyzer()
        first = analyzer.analyze(self.make_evidence())
        analyzer.analyze(self._empty())
        second = analyzer.analyze(self.make_evidence())
        third = self._analyze(self.make_evidence())
        assert first == second == third, "Analyzer.analyze: must return the same for the same evidence"

    def test_evidence_is_not_changed(self) -> None:
        """Other code reads it too."""
        evidence = self.make_evidence()
        before = snapshot(evidence)
        self._analyze(evidence)
        assert without_handles(evidence) == before, "Analyzer.analyze: must not change the evidence"

    def test_a_session_in_which_nothing_happened_can_be_read(self) -> None:
        """An agent may answer at once, or be stopped before it began."""
        with holds("Analyzer.analyze: must work with an empty trace"):
            self._analyze(self._empty())

    def test_a_session_without_an_answer_can_be_read(self) -> None:
        """An agent that was stopped gave none."""
        with holds("Analyzer.analyze: must work without an answer and a score"):
            self._analyze(stopped_evidence(scenario=self.make_evidence().scenario))

    def _analyze(self, evidence: Evidence[Any]) -> AnalysisResult:
        return self.make_analyzer().analyze(evidence)

    def _empty(self) -> Evidence[Any]:
        return replace(self.make_evidence(), trace=sample_trace(turns=0))
