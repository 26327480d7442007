"""Which cases have fewer rows than they should: a case without a row is not a case that passed."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from pydantic import JsonValue

from ghx_bench.profiler.reports.data.inventory import Case, Inventory
from ghx_bench.profiler.reports.data.runs import Arrangement
from ghx_bench.profiler.reports.data.sources import Source

Yardstick = Literal["plan", "other runs", "other modes"]
"""What says how many rows a case should have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A case of one source that has fewer rows than it should."""

    source: str
    case: Case
    yardstick: Yardstick
    expected: int
    found: int

    @property
    def rows(self) -> int:
        """How many rows are missing."""
        return self.expected - self.found

    def to_wire(self) -> dict[str, JsonValue]:
        """Return it as JSON."""
        return {
            "source": self.source,
            "scenario": self.case.scenario,
            "mode": self.case.mode,
            "model": self.case.model,
            "expected": self.expected,
            "found": self.found,
            "comparedWith": self.yardstick,
        }


def missing_cases(
    arrangement: Arrangement, inventories: Mapping[str, Inventory], *, across_models: bool
) -> tuple[Missing, ...]:
    """Hold every case against the plan of its run, and against the other runs, or the other modes, where these differ.

    A case is told once, the plan first. Modes and models that a source does not have at all are told as conditions.
    """
    sources = arrangement.sources
    found = {(each.source, each.case): each for source in sources for each in _unplanned(source, inventories)}
    if arrangement.is_before_and_after:
        others = _against_runs(sources, inventories, across_models=across_models)
    elif all(source.record for source in sources) and len(sources) == 1:
        others = iter(())
    else:
        others = _against_modes(sources, inventories)
    # The plan of a run knows better than other runs what it should have.
    for each in others:
        found.setdefault((each.source, each.case), each)
    order = {source.label: number for number, source in enumerate(sources)}
    return tuple(sorted(found.values(), key=lambda each: (order[each.source], each.case)))


def _unplanned(source: Source, inventories: Mapping[str, Inventory]) -> Iterator[Missing]:
    """Yield the planned cases without all their rows."""
    if source.record is None:
        return
    matrix, cases = source.record.matrix, inventories[source.label].cases
    expected = matrix.repetitions * len(matrix.agents)
    for scenario in matrix.scenario_ids:
        for mode in matrix.modes:
            for model in matrix.models:
                case = Case(scenario, mode, model)
                if cases[case] < expected:
                    yield _missing(source, case, "plan", expected, cases[case])


def _against_runs(
    sources: Sequence[Source], inventories: Mapping[str, Inventory], *, across_models: bool
) -> Iterator[Missing]:
    most: Counter[Case] = Counter()
    for inventory in inventories.values():
        most |= _without_models(inventory) if across_models else inventory.cases
    for source in sources:
        inventory, matrix = inventories[source.label], None if source.record is None else source.record.matrix
        planned = set[tuple[str, str]]() if matrix is None else set(product(matrix.scenario_ids, matrix.modes))
        found = _without_models(inventory) if across_models else inventory.cases
        modes, models = set(inventory.modes), set(inventory.models)
        for case, expected in most.items():
            if (case.scenario, case.mode) in planned:
                continue  # its own plan says how many rows it should have
            if case.mode in modes and (across_models or case.model in models) and found[case] < expected:
                named = case._replace(model=inventory.models[0]) if across_models else case
                yield _missing(source, named, "other runs", expected, found[case])


def _against_modes(sources: Sequence[Source], inventories: Mapping[str, Inventory]) -> Iterator[Missing]:
    """Yield the cases with fewer rows than the same scenario and model has in another mode."""
    cases = _total(inventory.cases for inventory in inventories.values())
    most: Counter[tuple[str, str]] = Counter()
    for case, rows in cases.items():
        most[case.scenario, case.model] = max(most[case.scenario, case.model], rows)
    for source in sources:
        own = {(case.mode, case.model) for case in inventories[source.label].cases}
        for mode, model in sorted(own):
            for (scenario, other), expected in most.items():
                case = Case(scenario, mode, model)
                if other == model and cases[case] < expected:
                    yield _missing(source, case, "other modes", expected, cases[case])


def _missing(source: Source, case: Case, yardstick: Yardstick, expected: int, found: int) -> Missing:
    return Missing(source=source.label, case=case, yardstick=yardstick, expected=expected, found=found)


def _total(counters: Iterable[Counter[Case]]) -> Counter[Case]:
    total: Counter[Case] = Counter()
    for counter in counters:
        total.update(counter)
    return total


def _without_models(inventory: Inventory) -> Counter[Case]:
    counted: Counter[Case] = Counter()
    for case, rows in inventory.cases.items():
        counted[case._replace(model="")] += rows
    return counted
