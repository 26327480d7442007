"""Letting collectors and analyzers read the evidence; what one of them gets wrong is noted, and the others go on."""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from ghx_bench.profiler.analysis import AnalysisResult
from ghx_bench.profiler.boundary import PluginError, require
from ghx_bench.profiler.contracts import Analyzer, Collector
from ghx_bench.profiler.evidence import Evidence
from ghx_bench.profiler.instruments import Instruments
from ghx_bench.profiler.metrics import CustomMetric
from ghx_bench.profiler.outcome import Outcome


def explain(outcome: Outcome, instruments: Instruments[Any]) -> Outcome:
    """Add metrics and findings to an outcome that has evidence."""
    evidence = outcome.evidence
    if evidence is None:
        return outcome
    metrics: list[CustomMetric] = []
    analyses: list[AnalysisResult] = []
    for collector in instruments.collectors:
        try:
            metrics.extend(_collected(collector, evidence))
        except Exception as error:  # noqa: BLE001 - plugin call
            outcome = outcome.with_problem(f"collector {type(collector).__name__}", error)
    for analyzer in instruments.analyzers if evidence.trace else ():
        try:
            analyses.append(_analysis(analyzer, evidence))
        except Exception as error:  # noqa: BLE001 - plugin call
            outcome = outcome.with_problem(f"analyzer {type(analyzer).__name__}", error)
    return replace(outcome, metrics=tuple(metrics), analyses=tuple(analyses))


def _collected(collector: Collector[Any], evidence: Evidence[Any]) -> list[CustomMetric]:
    collected: Iterable[CustomMetric] = collector.collect(evidence)
    return [
        metric if type(metric) is CustomMetric and type(metric.value) in _PLAIN else _checked(metric)
        for metric in collected
    ]


_PLAIN = frozenset({int, type(None)})


def _checked(metric: object) -> CustomMetric:
    made = require(metric, CustomMetric, "Collector.collect()")
    name, value = cast("tuple[object, object]", (made.name, made.value))
    if not isinstance(name, str) or isinstance(value, bool) or not isinstance(value, int | float | None):
        raise PluginError(f"metric {name!r} has to be a number or None, not {type(value).__name__}")
    return made if value is None or math.isfinite(value) else CustomMetric(name, None, made.unit)


def _analysis(analyzer: Analyzer[Any], evidence: Evidence[Any]) -> AnalysisResult:
    return require(analyzer.analyze(evidence), AnalysisResult, "Analyzer.analyze()").spelled_out()
