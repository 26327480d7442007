"""Made-up runs whose truth is known: two modes of one run, and two runs of several modes."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ghx_profiler.plan.cell import Arm
from ghx_profiler.stats import Observations
from ghx_profiler.stats.methods.arrays import FloatArray
from ghx_profiler.stats.observations import factor
from ghx_profiler.stats.plan import Target

NOISE = 0.3
SCENARIO_SPREAD = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A run to simulate: its size, and how much the effect differs between scenarios (standard deviation, logs)."""

    scenarios: int
    repetitions: int
    heterogeneity: float = 0.0
    is_success: bool = False
    is_lopsided: bool = False
    """Whether A has a single repetition of the most expensive quarter of the scenarios: the others broke down."""

    @property
    def label(self) -> str:
        """The first column."""
        kind = "success" if self.is_success else "tokens"
        differs = f", effect differs by {self.heterogeneity:g}" if self.heterogeneity else ""
        lopsided = ", A short of costly ones" if self.is_lopsided else ""
        return f"{kind}, {self.scenarios} x {self.repetitions}{differs}{lopsided}"


DESIGNS = (
    Design(scenarios=1, repetitions=5),
    Design(scenarios=5, repetitions=3),
    Design(scenarios=5, repetitions=5),
    Design(scenarios=5, repetitions=5, heterogeneity=0.2),
    Design(scenarios=8, repetitions=3, heterogeneity=0.1),
    Design(scenarios=20, repetitions=5),
    Design(scenarios=20, repetitions=5, heterogeneity=0.2),
    Design(scenarios=20, repetitions=5, is_lopsided=True),
    Design(scenarios=5, repetitions=10, is_success=True),
    Design(scenarios=20, repetitions=5, is_success=True),
    Design(scenarios=20, repetitions=5, heterogeneity=0.1, is_success=True),
)


def simulate(design: Design, effect: float, target: Target, rng: np.random.Generator) -> tuple[Observations, float]:
    """Return a run and the true reduction: the average of these scenarios, or of all scenarios there could be."""
    effects = rng.normal(effect, design.heterogeneity, design.scenarios) if design.heterogeneity else None
    effects = np.full(design.scenarios, effect) if effects is None else effects
    if target == "suite":
        effects += effect - effects.mean()
    draw = _successes if design.is_success else _tokens
    values = draw(design, effects, rng)
    mode, scenario, repetition = (axis.ravel() for axis in np.indices(values.shape))
    keep = np.full(values.size, True)
    if design.is_lopsided:
        costly = np.argsort(values.mean(axis=(0, 2)))[-(design.scenarios // 4) :]
        keep = ~((mode == 0) & np.isin(scenario, costly) & (repetition > 0))
    kept = values.ravel()[keep]
    success = kept if design.is_success else np.ones(kept.size)
    metrics = {} if design.is_success else {"tokens_active": kept}
    return observations_of(["ab"[number] for number in mode[keep]], scenario[keep], success, metrics), effect


def _tokens(design: Design, effects: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return tokens by mode (A, B), scenario and repetition."""
    level = rng.normal(10, SCENARIO_SPREAD, design.scenarios)
    logs = rng.normal(0, NOISE, (2, design.scenarios, design.repetitions)) + level[None, :, None]
    logs[0] -= effects[:, None]
    return np.exp(logs)


def _successes(design: Design, effects: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return successes by mode, scenario and repetition; rates differ between scenarios, from 0.3 to 0.7."""
    rates = np.stack([np.zeros(design.scenarios), rng.uniform(0.3, 0.7, design.scenarios)])
    rates[0] = rates[1] - effects
    draws = rng.random((2, design.scenarios, design.repetitions))
    return (draws < np.clip(rates, 0, 1)[:, :, None]).astype(np.float64)


def observations_of(
    modes: list[str], scenario: np.ndarray, success: FloatArray, metrics: dict[str, FloatArray]
) -> Observations:
    rows = len(modes)
    return Observations(
        scenario=factor([f"s{number:04}" for number in scenario]),
        model=factor(["model"] * rows),
        agent=factor(["agent"] * rows),
        arm=factor([Arm(mode=mode) for mode in modes]),
        success=success,
        was_measured=~np.isnan(success),
        timed_out=np.zeros(rows, dtype=np.bool_),
        failures=tuple("environment" if np.isnan(each) else "" for each in success),
        order=np.arange(rows, dtype=np.float64),
        spend_usd=np.full(rows, np.nan),
        metrics=metrics,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PairDesign:
    """Two runs to simulate: the same modes, scenarios and repetitions, and a change from the first to the second."""

    metric: Literal["success", "latency_wall_ms"]
    modes: int
    scenarios: int
    repetitions: int
    rates: tuple[float, float] = (0.9, 0.9)
    """Success before and after; identical runs have the mean of both."""
    slower_pct: float = 0.0

    @property
    def label(self) -> str:
        """The first column."""
        what = f"wall time {self.slower_pct:g} % higher"
        if self.metric == "success":
            what = "success {:.0f} to {:.0f} %".format(*(100 * rate for rate in self.rates))
        return f"runs, {what}, {self.modes} modes x {self.scenarios} x {self.repetitions}"


PAIR_DESIGNS = (
    PairDesign(metric="success", modes=3, scenarios=2, repetitions=5, rates=(1.0, 0.7)),
    PairDesign(metric="success", modes=2, scenarios=2, repetitions=5, rates=(1.0, 0.7)),
    PairDesign(metric="success", modes=3, scenarios=8, repetitions=3, rates=(0.8, 0.6)),
    PairDesign(metric="latency_wall_ms", modes=3, scenarios=2, repetitions=5, slower_pct=25),
    PairDesign(metric="latency_wall_ms", modes=3, scenarios=8, repetitions=3, slower_pct=25),
)

RUNS = ("before", "after")


def simulate_pair(design: PairDesign, *, has_changed: bool, rng: np.random.Generator) -> Observations:
    """Return the rows of two runs; without a change they are made by the same rules."""
    shape = (2, design.modes, design.scenarios, design.repetitions)
    run, mode, scenario, _ = (axis.ravel() for axis in np.indices(shape))
    rates = np.array(design.rates if has_changed else (np.mean(design.rates),) * 2)
    success = (rng.random(run.size) < rates[run]).astype(np.float64)
    level = rng.normal(10, SCENARIO_SPREAD, design.scenarios)[scenario] + rng.normal(0, 0.5, design.modes)[mode]
    slower = np.log1p(design.slower_pct / 100) * (run == 1) * has_changed
    wall = np.exp(level + slower + rng.normal(0, NOISE, run.size))
    observations = observations_of(["xyz"[number] for number in mode], scenario, success, {"latency_wall_ms": wall})
    arms = [Arm(mode="xyz"[number], run=RUNS[at]) for number, at in zip(mode, run, strict=True)]
    return replace(observations, arm=factor(arms))
