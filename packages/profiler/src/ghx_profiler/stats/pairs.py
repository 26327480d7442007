"""Rows of two modes, paired within scenario: what every comparison works on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ghx_profiler.stats.methods.arrays import FloatArray, IntArray
from ghx_profiler.stats.methods.descriptive import cliffs_delta, corrected_for_small_samples
from ghx_profiler.stats.methods.scales import ReductionScale
from ghx_profiler.stats.result_records import EffectSizes, Scale, VarianceComponents


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedBlock:
    """Repetitions of one form of a scenario with one agent and model, by mode; sorted: the order must not matter."""

    scenario: str
    """The task, whatever its variant."""
    model: str
    a: FloatArray
    b: FloatArray
    agent: str = ""
    """Empty if agents are not distinguished."""
    form: str = ""
    """The id of the scenario, with its variant if it is one; empty if forms are not distinguished."""


@dataclass(frozen=True, slots=True)
class Side:
    """One mode's repetitions, block after block; each block sorted."""

    values: FloatArray
    sizes: IntArray

    @classmethod
    def of(cls, samples: Sequence[FloatArray]) -> "Side":
        """String the blocks' samples together."""
        values = np.concatenate(samples) if samples else np.zeros(0)
        return cls(values, np.array([sample.size for sample in samples], dtype=np.int64))

    @property
    def lowest(self) -> FloatArray:
        """The smallest value of each block."""
        return self.values[np.cumsum(self.sizes) - self.sizes]

    @property
    def highest(self) -> FloatArray:
        """The largest value of each block."""
        return self.values[np.cumsum(self.sizes) - 1]

    @property
    def means(self) -> FloatArray:
        """The mean of each block."""
        if not self.sizes.size:
            return np.zeros(0)
        means = np.add.reduceat(self.values, np.cumsum(self.sizes) - self.sizes) / self.sizes
        # Equal values are equal to the bit; a computed mean may be off, and would show variance that does not exist.
        return np.where(self.lowest == self.highest, self.lowest, means)

    @property
    def squares(self) -> float:
        """Sum of squared deviations from the blocks' means."""
        return float(np.sum((self.values - np.repeat(self.means, self.sizes)) ** 2))

    @property
    def df(self) -> int:
        """Values beyond the first of each block."""
        return int(self.sizes.sum()) - self.sizes.size

    @property
    def variance(self) -> float | None:
        """Variance of repetitions, pooled over blocks; `None` without repetitions."""
        return self.squares / self.df if self.df else None


@dataclass(frozen=True, kw_only=True)
class PairedSample:
    """Blocks that have both modes. Every scenario weighs the same, and so do the variants, agents and models of one."""

    blocks: tuple[PairedBlock, ...]
    scale: Scale

    @cached_property
    def a(self) -> Side:
        """All of mode A."""
        return Side.of([block.a for block in self.blocks])

    @cached_property
    def b(self) -> Side:
        """All of mode B."""
        return Side.of([block.b for block in self.blocks])

    @cached_property
    def scenarios(self) -> tuple[str, ...]:
        """The scenarios, sorted."""
        return tuple(sorted({block.scenario for block in self.blocks}))

    @cached_property
    def _scenario_of(self) -> IntArray:
        numbers = {scenario: number for number, scenario in enumerate(self.scenarios)}
        return np.array([numbers[block.scenario] for block in self.blocks], dtype=np.int64)

    @cached_property
    def weights(self) -> FloatArray:
        """The share of each block in the estimate."""
        # As `by_scenario` averages: weights of another kind would give p-value and interval of another estimate.
        blocks = np.bincount(self._scenario_of, minlength=len(self.scenarios))
        return 1 / (len(self.scenarios) * blocks[self._scenario_of])

    def by_scenario(self, values: FloatArray) -> FloatArray:
        """Average one number per block over the variants, agents and models of each scenario."""
        sums = np.zeros(len(self.scenarios))
        np.add.at(sums, self._scenario_of, values)
        return sums / np.bincount(self._scenario_of, minlength=len(self.scenarios))

    @cached_property
    def differences(self) -> FloatArray:
        """How much lower A is, one number per block."""
        return self.b.means - self.a.means

    @cached_property
    def scenario_differences(self) -> FloatArray:
        """How much lower A is, one number per scenario: the sample that speaks for tasks like these."""
        return self.by_scenario(self.differences)

    @cached_property
    def estimate(self) -> float:
        """How much lower A is, averaged over scenarios, on the scale of the analysis."""
        return float(np.mean(self.scenario_differences)) if self.blocks else 0.0

    @property
    def centers(self) -> tuple[float, float]:
        """Mean of A and of B over scenarios, on the scale of the analysis."""
        if not self.blocks:
            return 0.0, 0.0
        return float(np.mean(self.by_scenario(self.a.means))), float(np.mean(self.by_scenario(self.b.means)))

    def reduction_scale(self, *, is_rate: bool, is_amount: bool = False) -> ReductionScale:
        """Return how reductions of this sample are read."""
        center_a, center_b = self.centers
        return ReductionScale(
            scale=self.scale, is_rate=is_rate, center_a=center_a, center_b=center_b, is_amount=is_amount
        )

    @property
    def forms(self) -> float:
        """How many forms a scenario has, the plain one and its variants; averaged the way errors depend on them."""
        forms: dict[str, set[str]] = {}
        for block in self.blocks:
            forms.setdefault(block.scenario, set()).add(block.form)
        return _harmonic_mean(np.array([len(each) for each in forms.values()], dtype=np.int64)) or 1.0

    def swap(self) -> "PairedSample":
        """Return the same sample seen from the other side."""
        return PairedSample(blocks=tuple(replace(each, a=each.b, b=each.a) for each in self.blocks), scale=self.scale)

    def has_same_values_as(self, other: "PairedSample") -> bool:
        """Return whether two sets of rows are the same as far as this metric goes."""
        mine, theirs = (
            [(each.scenario, each.form, each.agent, each.model) for each in sample.blocks] for sample in (self, other)
        )
        return mine == theirs and all(
            np.array_equal(mine.sizes, theirs.sizes) and np.array_equal(mine.values, theirs.values)
            for mine, theirs in ((self.a, other.a), (self.b, other.b))
        )

    @property
    def has_repetitions(self) -> bool:
        """Whether any scenario was tried more than once in a mode."""
        return self.a.df + self.b.df > 0

    @property
    def repetitions_vary(self) -> bool:
        """Whether any repetition differs from another of the same scenario and mode."""
        return self.a.squares + self.b.squares > 0

    @property
    def repetition_error(self) -> tuple[float, float] | None:
        """Standard error of the estimate from repetitions alone, and its degrees of freedom.

        Where a mode has no repetitions, the differences between scenarios stand in: too large rather than too small.
        """
        variance_a, variance_b = self.a.variance, self.b.variance
        if variance_a is None or variance_b is None:
            return self.scenario_error
        squares = self.weights**2
        error = np.sum(squares * variance_a / self.a.sizes) + np.sum(squares * variance_b / self.b.sizes)
        return float(np.sqrt(error)), self.a.df + self.b.df

    @property
    def scenario_error(self) -> tuple[float, float] | None:
        """Standard error of the estimate when scenarios are a sample, and its degrees of freedom."""
        count = len(self.scenarios)
        if count < _FEWEST:
            return None
        return float(np.std(self.scenario_differences, ddof=1) / np.sqrt(count)), count - 1

    @cached_property
    def largest_deviation(self) -> float:
        """How far a value is from the mean of its block at most; exactly 0 if all values of every block are equal."""
        lowest, highest = np.minimum(self.a.lowest, self.b.lowest), np.maximum(self.a.highest, self.b.highest)
        sums = self.a.means * self.a.sizes + self.b.means * self.b.sizes
        means = sums / (self.a.sizes + self.b.sizes)
        deviations = np.maximum(np.abs(highest - means), np.abs(lowest - means))
        return float(np.max(deviations, where=highest > lowest, initial=0.0))

    @property
    def varies(self) -> bool:
        """Whether any block holds two different values, of either mode."""
        return self.largest_deviation > 0

    @property
    def differences_are_flat(self) -> bool:
        """Whether every scenario shows the same difference, up to rounding."""
        magnitude = max(float(np.max(np.abs(side.values), initial=0.0)) for side in (self.a, self.b))
        return bool(np.ptp(self.scenario_differences) <= _ROUNDING * magnitude)


_FEWEST = 2
_ROUNDING = 1e-12


def variance_components(sample: PairedSample, *, base: float = 1.0) -> VarianceComponents:
    """Split the noise of the differences into what repetitions can average out and what they cannot."""
    within_a, within_b = sample.a.variance, sample.b.variance
    repetitions_a, repetitions_b = _harmonic_mean(sample.a.sizes), _harmonic_mean(sample.b.sizes)
    forms = sample.forms
    between = None
    if len(sample.scenarios) >= _FEWEST and within_a is not None and within_b is not None:
        observed = float(np.var(sample.scenario_differences, ddof=1))
        # What repetitions explain may by chance be more than what is seen; a variance is not negative.
        explained = within_a / repetitions_a / forms, within_b / repetitions_b / forms
        between = max(0.0, observed - explained[0] - explained[1])
    return VarianceComponents(
        between=between,
        within_a=within_a,
        within_b=within_b,
        scenarios=len(sample.scenarios),
        repetitions_a=repetitions_a,
        repetitions_b=repetitions_b,
        scale=sample.scale,
        base=base,
        **({} if forms == 1 else {"forms": forms}),
    )


def effect_sizes(sample: PairedSample) -> EffectSizes:
    """Standardise the reduction three ways, never across scenarios: positive when A is lower."""
    deltas = [cliffs_delta(block.b, block.a) or 0.0 for block in sample.blocks]
    delta = float(np.mean(sample.by_scenario(np.array(deltas)))) if deltas else None
    return EffectSizes(hedges_g=_hedges_g(sample), d_z=_d_z(sample), cliffs_delta=delta)


def _hedges_g(sample: PairedSample) -> float | None:
    df = sample.a.df + sample.b.df
    squares = sample.a.squares + sample.b.squares
    if not (df and squares):
        return None
    return corrected_for_small_samples(sample.estimate / float(np.sqrt(squares / df)), df)


def _d_z(sample: PairedSample) -> float | None:
    if len(sample.scenarios) < _FEWEST or sample.differences_are_flat:
        return None
    differences = sample.scenario_differences
    return corrected_for_small_samples(sample.estimate / float(np.std(differences, ddof=1)), differences.size - 1)


def _harmonic_mean(sizes: IntArray) -> float:
    """Average repetitions the way errors depend on them."""
    if not sizes.size:
        return 0.0
    return float(sizes[0]) if np.ptp(sizes) == 0 else sizes.size / float(np.sum(1 / sizes))
