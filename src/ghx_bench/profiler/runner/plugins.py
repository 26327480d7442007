"""Calls of plugin code: what it raises becomes a value, and only our own interruption passes."""

import math
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import anyio
import anyio.lowlevel

from ghx_bench.profiler.analysis import AnalysisResult
from ghx_bench.profiler.causes import MeasurementError
from ghx_bench.profiler.contracts import Analyzer, Collector
from ghx_bench.profiler.evidence import Evidence
from ghx_bench.profiler.metrics import CustomMetric
from ghx_bench.profiler.outcome import Outcome
from ghx_bench.profiler.runner.deadlines import set_deadline
from ghx_bench.profiler.runner.instruments import Instruments

T = TypeVar("T")


class PluginError(MeasurementError):
    """A plugin raised what no plugin may raise, or returned what it may not return."""

    code = "PLUGIN_MISBEHAVED"


@dataclass(slots=True)
class Caught:
    """What a plugin raised, if anything."""

    error: Exception | None = None


@asynccontextmanager
async def plugin_call(shield: anyio.CancelScope | None = None) -> AsyncGenerator[Caught]:
    """Catch everything that is raised inside, except an interruption of ours and a real Ctrl-C.

    `shield` is the scope that was shielded to let the plugin clean up; the shield ends here.

    A plugin that turns our cancellation into an error of its own does not get away with it: the cancellation goes on.
    One that raises a cancellation of its own making, or ends the process, has failed, and that is all.
    """
    caught = Caught()
    try:
        yield caught
    except Exception as error:  # noqa: BLE001 - plugin call: this is the boundary
        caught.error = error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        _lift(shield)
        if isinstance(error, anyio.get_cancelled_exc_class()) and _is_interrupted():
            raise
        caught.error = PluginError(f"raised {type(error).__name__}, which only the bench may ({error})")
        caught.error.__cause__ = error
    _lift(shield)
    await anyio.lowlevel.checkpoint_if_cancelled()


def require(value: object, kind: type[T], what: str) -> T:
    """Return what a plugin returned, or refuse it if it is not of the kind its contract names."""
    if not isinstance(value, kind):
        raise PluginError(f"{what} has to return {kind.__name__}, not {type(value).__name__}")
    return value


def _lift(shield: anyio.CancelScope | None) -> None:
    if shield is not None:
        set_deadline(shield)


def _is_interrupted() -> bool:
    return anyio.current_effective_deadline() == float("-inf")


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
