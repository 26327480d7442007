"""The forms of scenarios: what is resampled within a scenario, and what it weighs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ghx_profiler.scenario import scenario_of
from ghx_profiler.stats.methods.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Strata:
    """One line for each scenario: the numbers of its forms, and the share of each; padded with forms of share 0."""

    forms: IntArray
    weights: FloatArray

    def average(self, values: FloatArray) -> FloatArray:
        """Average one number for each form over the forms of each scenario."""
        return (values[self.forms] * self.weights).sum(axis=-1)


def strata_of(ids: Sequence[str]) -> Strata:
    """Return which of these ids are forms of one scenario, scenarios in the order of their first form."""
    members: dict[str, list[int]] = {}
    for number, id_ in enumerate(ids):
        members.setdefault(scenario_of(id_), []).append(number)
    widest = max(map(len, members.values()), default=0)
    forms = np.zeros((len(members), widest), dtype=np.int64)
    weights = np.zeros((len(members), widest))
    for line, each in enumerate(members.values()):
        forms[line, : len(each)] = each
        weights[line, : len(each)] = 1 / len(each)
    return Strata(forms, weights)
