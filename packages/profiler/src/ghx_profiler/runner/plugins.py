"""Calls of plugin code: what it raises becomes a value, and only our own interruption passes."""

import math
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import anyio
import anyio.lowlevel

from ghx_profiler.contracts import Analyzer, Collector
from ghx_profiler.evidence import Evidence
from ghx_profiler.records.analysis import AnalysisResult
from ghx_profiler.records.causes import MeasurementError
from ghx_profiler.records.metrics import CustomMetric
from ghx_profiler.records.outcome import Outcome
from ghx_profiler.runner.deadlines import set_deadline

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
        # Cancelled from outside exactly if the deadline of a scope around us has passed for good.
        is_interrupted = anyio.current_effective_deadline() == float("-inf")
        if isinstance(error, anyio.get_cancelled_exc_class()) and is_interrupted:
            raise
        # A plugin's own cancellation, or its `SystemExit`, is its failure: it must cost its cell and no other.
        caught.error = PluginError(f"raised {type(error).__name__}, which only the bench may ({error})")
        caught.error.__cause__ = error
    _lift(shield)
    # A plugin that turned our cancellation into an error of its own must not make the run go on.
    await anyio.lowlevel.checkpoint_if_cancelled()


def require(value: object, kind: type[T], what: str) -> T:
    """Return what a plugin returned, or refuse it if it is not of the kind its contract names."""
    if not isinstance(value, kind):
        raise PluginError(f"{what} has to return {kind.__name__}, not {type(value).__name__}")
    return value


def _lift(shield: anyio.CancelScope | None) -> None:
    if shield is not None:
        set_deadline(shield)


def run_collectors(outcome: Outcome, evidence: Evidence[Any], collectors: Iterable[Collector[Any]]) -> Outcome:
    """Return the outcome with the session's own metrics and those that were collected.

    A collector that fails costs its own metrics only.
    """
    metrics: list[CustomMetric] = []
    try:
        metrics.extend([_check_metric(metric) for metric in (evidence.trace.metrics if evidence.trace else ())])
    except Exception as error:  # noqa: BLE001 - plugin call: the session's own numbers
        outcome = outcome.with_problem("session metrics", error)
    for collector in collectors:
        try:
            # Taken whole before any counts: a generator that raises halfway would leave half of its numbers.
            metrics.extend([_check_metric(metric) for metric in collector.collect(evidence)])
        except Exception as error:  # noqa: BLE001 - plugin call
            outcome = outcome.with_problem(f"collector {type(collector).__name__}", error)
    return replace(outcome, metrics=tuple(metrics))


def run_analyzers(outcome: Outcome, evidence: Evidence[Any], analyzers: Iterable[Analyzer[Any]]) -> Outcome:
    """Return the outcome with what analyzers found; without a trace there is nothing to analyze."""
    analyses: list[AnalysisResult] = []
    for analyzer in analyzers if evidence.trace else ():
        try:
            analysis = require(analyzer.analyze(evidence), AnalysisResult, "Analyzer.analyze()")
            analyses.append(analysis.with_all_keys())
        except Exception as error:  # noqa: BLE001 - plugin call
            outcome = outcome.with_problem(f"analyzer {type(analyzer).__name__}", error)
    return replace(outcome, analyses=tuple(analyses))


def _check_metric(metric: object) -> CustomMetric:
    """Return a metric whose value is a number or unknown; NaN and infinity, which JSON has not, are unknown."""
    checked = require(metric, CustomMetric, "Collector.collect()")
    name, value = cast("tuple[object, object]", (checked.name, checked.value))
    if not isinstance(name, str) or isinstance(value, bool) or not isinstance(value, int | float | None):
        raise PluginError(f"metric {name!r} has to be a number or None, not {type(value).__name__}")
    return checked if value is None or math.isfinite(value) else CustomMetric(name, None, checked.unit)
