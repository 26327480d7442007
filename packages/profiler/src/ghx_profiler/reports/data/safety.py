"""How safely the arms work: what they do under attack, without one, and where an order is given with right."""

from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Literal, TypeVar, get_args

import numpy as np
from pydantic import JsonValue

from ghx_profiler.plan.cell import Arm
from ghx_profiler.records.metric_table import ATTACK_SUCCESS
from ghx_profiler.scenario import scenario_of, variant_of
from ghx_profiler.stats.comparison import compare_modes
from ghx_profiler.stats.methods.arrays import BoolArray, FloatArray
from ghx_profiler.stats.observations import SUCCESS, Factor, Observations
from ghx_profiler.stats.plan import AnalysisPlan
from ghx_profiler.stats.result_records import Estimate, ModeComparison
from ghx_profiler.stats.success import Counts, clustered_wilson_interval, wilson_interval
from ghx_profiler.stats.summary import success_counts

Measure = Literal["utility", "utility under attack", "attack success", "over-refusal"]
MEASURES: tuple[Measure, ...] = get_args(Measure)

T = TypeVar("T", bound=Hashable)

_CLEAN, _BENIGN = "clean", "benign"
"""The suffixes of scenario ids without an injection, and with a legitimate instruction."""

_KEYS: Mapping[Measure, str] = {
    "utility": "utility",
    "utility under attack": "utilityUnderAttack",
    "attack success": "attackSuccess",
    "over-refusal": "overRefusal",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyRate:
    """How often one thing was so in one arm, of how many sessions."""

    k: int
    n: int
    counts: Counts
    """By scenario."""
    interval: Estimate

    def to_wire(self) -> dict[str, JsonValue]:
        """Return it as JSON."""
        interval = self.interval
        return {
            "k": self.k,
            "n": self.n,
            "rate": interval.estimate,
            "low": interval.low,
            "high": interval.high,
            "confidence": interval.confidence,
            "method": interval.method,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyFigures:
    """Every arm with sessions of scenarios under threat."""

    rates: Mapping[Arm, Mapping[Measure, SafetyRate]]
    comparisons: Mapping[Measure, tuple[ModeComparison, ...]]
    alpha: float

    def ruled_out(self, arm: Arm) -> float | None:
        """Return the upper bound of the attack rate if none of `n` attacks succeeded; None if one has."""
        attacks = self.rates[arm]["attack success"]
        return None if attacks.k or not attacks.n else 1 - self.alpha ** (1 / attacks.n)

    def ruled_out_of_tasks(self, arm: Arm) -> float | None:
        """Return the same bound with scenarios as what is independent, for tasks like these; None if one has."""
        attacks = self.rates[arm]["attack success"]
        scenarios = len({scenario_of(name) for name, (_, n) in attacks.counts.items() if n})
        return None if attacks.k or not scenarios else 1 - self.alpha ** (1 / scenarios)

    def to_wire(self) -> dict[str, JsonValue]:
        """Return it as JSON."""
        return {
            "modes": {
                str(arm): {
                    **{_KEYS[measure]: rate.to_wire() for measure, rate in rates.items()},
                    "attackRateRuledOutAbove": self.ruled_out(arm),
                    "attackRateOfTasksRuledOutAbove": self.ruled_out_of_tasks(arm),
                }
                for arm, rates in self.rates.items()
            },
            "comparisons": [
                {"measure": _KEYS[measure], **_comparison_to_wire(each)}
                for measure, comparisons in self.comparisons.items()
                for each in comparisons
            ],
        }


def _comparison_to_wire(comparison: ModeComparison) -> dict[str, JsonValue]:
    less = comparison.reduction_pct
    return {
        "a": comparison.a,
        "b": comparison.b,
        "differencePoints": None if less is None else -less,
        "low": None if comparison.high is None else -comparison.high,
        "high": None if comparison.low is None else -comparison.low,
        "p": comparison.p,
        "n": comparison.n,
    }


def is_form_under_threat(id_: str, threatened: AbstractSet[str]) -> bool:
    """Return whether an id is of the form of a scenario under threat that has no attack: no variant of the task."""
    return variant_of(id_) in {_CLEAN, _BENIGN} and scenario_of(id_) in threatened


def find_safety(
    observations: Observations,
    paired: Observations,
    plan: AnalysisPlan,
    *,
    threatened: AbstractSet[str],
    arms: Sequence[Arm],
    pairs: Sequence[tuple[Arm, Arm]],
    seed: int,
) -> SafetyFigures | None:
    """Return the safety figures of rows; None if none of them has a scenario under threat."""
    views = _views(observations, threatened)
    if not any(len(view) for view in views.values()):
        return None
    rates: dict[Arm, dict[Measure, SafetyRate]] = {
        arm: {name: _rate(view, arm, plan) for name, view in views.items()} for arm in arms
    }
    known = {arm: each for arm, each in rates.items() if any(rate.n for rate in each.values())}
    comparisons: dict[Measure, tuple[ModeComparison, ...]] = {
        name: tuple(
            compare_modes(view, a, b, SUCCESS, plan, seed=seed)
            for a, b in pairs
            if all(arm in known and known[arm][name].n for arm in (a, b))
        )
        for name, view in _views(paired, threatened).items()
    }
    return SafetyFigures(rates=known, comparisons=comparisons, alpha=plan.alpha)


def _views(observations: Observations, threatened: AbstractSet[str]) -> dict[Measure, Observations]:
    """Return the rows that each measure is of, with what it counts as their success."""
    attack = observations.metrics.get(ATTACK_SUCCESS, np.full(len(observations), np.nan))
    refusal = observations.metrics.get("over_refusal", np.full(len(observations), np.nan))
    # By scenario and not by what was measured: a session that was shown no text still has a task.
    forms = {name: variant_of(name) for name in observations.scenario.known if scenario_of(name) in threatened}
    clean = {name for name, form in forms.items() if form == _CLEAN}
    attacked = {name for name, form in forms.items() if form not in {_CLEAN, _BENIGN}}
    return {
        "utility": _only(observations, _rows_of(observations.scenario, clean)),
        "utility under attack": _only(observations, _rows_of(observations.scenario, attacked)),
        "attack success": _only(observations, ~np.isnan(attack), attack),
        "over-refusal": _only(observations, ~np.isnan(refusal), refusal),
    }


def _rows_of(scenarios: Factor[str], names: set[str]) -> BoolArray:
    is_included = np.array([name in names for name in scenarios.known], dtype=np.bool_)
    return is_included[scenarios.codes] if is_included.size else np.zeros(scenarios.codes.size, dtype=np.bool_)


def _only(observations: Observations, rows: BoolArray, success: FloatArray | None = None) -> Observations:
    """Return these rows alone, with another thing as their success where one is given."""
    indices = np.flatnonzero(rows).tolist()
    return replace(
        observations,
        scenario=_choose(observations.scenario, rows),
        agent=_choose(observations.agent, rows),
        model=_choose(observations.model, rows),
        arm=_choose(observations.arm, rows),
        success=(observations.success if success is None else success)[rows],
        was_measured=observations.was_measured[rows],
        timed_out=observations.timed_out[rows],
        failures=tuple(observations.failures[row] for row in indices),
        order=observations.order[rows],
        spend_usd=observations.spend_usd[rows],
        metrics={name: column[rows] for name, column in observations.metrics.items()},
    )


def _choose(factor: Factor[T], rows: BoolArray) -> Factor[T]:
    return Factor(known=factor.known, codes=factor.codes[rows])


def _rate(view: Observations, arm: Arm, plan: AnalysisPlan) -> SafetyRate:
    counts = success_counts(view, arm, "intention-to-treat")
    k, n = (sum(each) for each in zip(*counts.values(), strict=True)) if counts else (0, 0)
    confidence = 1 - plan.alpha
    if plan.target == "population":
        interval = clustered_wilson_interval(counts, confidence=confidence)
    else:
        interval = wilson_interval(k, n, confidence=confidence)
    return SafetyRate(k=k, n=n, counts=counts, interval=interval)
