"""Which cases have fewer rows than they should: a case without a row is not a case that passed."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from pydantic import JsonValue

from ghx_profiler.reports.data.inventory import Case, Inventory
from ghx_profiler.reports.data.runs import Arrangement, agents_of
from ghx_profiler.reports.data.sources import Source

Yardstick = Literal["plan", "other runs", "other modes"]
"""The source of the expected number of rows of a case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A case of one source that has fewer rows than it should."""

    source: str
    case: Case
    yardstick: Yardstick
    expected: int
    actual: int

    @property
    def rows(self) -> int:
        """How many rows are missing."""
        return self.expected - self.actual

    def to_wire(self) -> dict[str, JsonValue]:
        """Return it as JSON."""
        return {
            "source": self.source,
            "scenario": self.case.scenario,
            "mode": self.case.mode,
            "model": self.case.model,
            "agent": self.case.agent or None,
            "expected": self.expected,
            "found": self.actual,
            "comparedWith": self.yardstick,
        }


_Cases = Mapping[str, Counter[Case]]
"""How many rows each case has, by the label of its source."""

_ANY = ""
"""Stands for all agents, or all models, together."""


def missing_cases(
    arrangement: Arrangement, inventories: Mapping[str, Inventory], *, across_models: bool
) -> tuple[Missing, ...]:
    """Hold every case against the plan of its run, and against the other runs, or the other modes, where these differ.

    A case is listed once, the plan first. Modes and models that a source lacks entirely are listed as conditions.
    """
    sources, has_several_agents = arrangement.sources, arrangement.has_several_agents
    # Runs and modes of one agent each are compared whatever their agents are called.
    cases = {label: each.cases for label, each in inventories.items()}
    if not has_several_agents:
        cases = {label: _pool(each, agent=_ANY) for label, each in cases.items()}
    missing = {
        (each.source, each.case): each
        for source in sources
        for each in _compare_with_plan(source, cases, has_several_agents=has_several_agents)
    }
    if arrangement.is_before_and_after:
        others = _compare_with_runs(sources, cases, across_models=across_models)
    elif all(source.record for source in sources) and len(sources) == 1:
        others = iter(())
    else:
        others = _compare_with_modes(sources, cases)
    # The plan of a run knows better than other runs what it should have.
    for each in others:
        missing.setdefault((each.source, each.case), each)
    order = {source.label: number for number, source in enumerate(sources)}
    ordered = sorted(missing.values(), key=lambda each: (order[each.source], each.case))
    if has_several_agents:
        return tuple(ordered)
    agents = {source.label: agents_of(source, inventories[source.label]) for source in sources}
    own = {label: names[0] if len(names) == 1 else _ANY for label, names in agents.items()}
    return tuple(replace(each, case=each.case._replace(agent=own[each.source])) for each in ordered)


def _compare_with_plan(source: Source, cases: _Cases, *, has_several_agents: bool) -> Iterator[Missing]:
    """Yield the planned cases without all their rows."""
    if source.record is None:
        return
    matrix, counts = source.record.matrix, cases[source.label]
    agents = matrix.agents if has_several_agents else (_ANY,)
    repetitions = {each: matrix.repetitions_of(each) for each in matrix.scenario_ids}
    for factors in product(matrix.scenario_ids, matrix.modes, matrix.models, agents):
        case = Case(*factors)
        if counts[case] < (expected := repetitions[case.scenario]):
            yield _missing(source, case, "plan", expected, counts[case])


def _compare_with_runs(sources: Sequence[Source], cases: _Cases, *, across_models: bool) -> Iterator[Missing]:
    pooled = {label: _pool(each, model=_ANY) for label, each in cases.items()} if across_models else cases
    most: Counter[Case] = Counter()
    for counted in pooled.values():
        most |= counted
    for source in sources:
        counts, matrix = pooled[source.label], None if source.record is None else source.record.matrix
        planned = set[tuple[str, str]]() if matrix is None else set(product(matrix.scenario_ids, matrix.modes))
        own = {(case.mode, case.model, case.agent) for case in counts}
        for case, expected in most.items():
            if (case.scenario, case.mode) in planned:
                continue  # its own plan has the expected number of rows
            if (case.mode, case.model, case.agent) in own and counts[case] < expected:
                labelled = case._replace(model=next(iter(cases[source.label])).model) if across_models else case
                yield _missing(source, labelled, "other runs", expected, counts[case])


def _compare_with_modes(sources: Sequence[Source], cases: _Cases) -> Iterator[Missing]:
    """Yield the cases with fewer rows than the same scenario, model and agent has in another mode."""
    total: Counter[Case] = Counter()
    for counted in cases.values():
        total.update(counted)
    most: Counter[tuple[str, str, str]] = Counter()
    for case, rows in total.items():
        key = case.scenario, case.model, case.agent
        most[key] = max(most[key], rows)
    for source in sources:
        own = {(case.mode, case.model, case.agent) for case in cases[source.label]}
        for mode, model, agent in sorted(own):
            for (scenario, *others), expected in most.items():
                case = Case(scenario, mode, model, agent)
                if others == [model, agent] and total[case] < expected:
                    yield _missing(source, case, "other modes", expected, total[case])


def _missing(source: Source, case: Case, yardstick: Yardstick, expected: int, actual: int) -> Missing:
    return Missing(source=source.label, case=case, yardstick=yardstick, expected=expected, actual=actual)


def _pool(cases: Counter[Case], **factors: str) -> Counter[Case]:
    """Return the cases without some of their factors."""
    pooled: Counter[Case] = Counter()
    for case, rows in cases.items():
        pooled[case._replace(**factors)] += rows
    return pooled
