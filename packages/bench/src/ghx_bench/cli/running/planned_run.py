"""What `ghx-bench run --dry-run` prints: the run, how long it takes, what it costs, and what it could show."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import anyio
from pydantic import JsonValue

from ghx_base.errors import ungrouped
from ghx_base.extras import is_installed
from ghx_base.problems import plural
from ghx_bench.assembly import assemble
from ghx_bench.catalogue import Catalogue
from ghx_bench.cli.running.effort import Effort, SessionTally, guess_effort
from ghx_bench.cli.running.spending import rows_in
from ghx_bench.cli.verdicts.judging import Judging
from ghx_bench.scenario.eval_scenario import EvalScenario, required_fixtures
from ghx_profiler.plan.cell import Matrix
from ghx_profiler.records.metric_table import UNKNOWN
from ghx_profiler.scenario import scenario_of
from ghx_profiler.suite import SuitePlan, control_names

if TYPE_CHECKING:  # numpy loads where an effect is reckoned with, and is only there with the extra `report`
    from ghx_profiler.stats.methods.sample_size import SamplePlan

_MOST_IN_A_LINE = 8
_INDENT = 15
_USUAL_RATE = 0.7
"""As `ghx-bench plan` assumes it."""
_MOST_ROWS = 10_000
"""Of earlier runs: all rows of a large folder would take a minute to read, and tell no more."""
_STEPS = (1, 2, 3)
"""Effects that are reckoned with, in margins: the smallest that counts as a difference, and larger ones."""


def show_planned_run(catalogue: Catalogue, judging: Judging, *, as_json: bool) -> int:
    """Check everything that is checked before a run, and print what would be run."""
    with redirect_stdout(sys.stderr), ungrouped():
        plan, controls = anyio.run(_plan, catalogue)
        judging.require_comparable(plan.matrix, controls=controls)
    matrix, config = plan.matrix, catalogue.config
    lists: dict[str, Sequence[str]] = {
        "agents": matrix.agents,
        "models": matrix.models,
        "modes": matrix.modes,
        "scenarios": matrix.scenario_ids,
        "fixtures": required_fixtures(plan.scenarios.values()),
    }
    repo = config.fixtures.repo if config.target == "github" else None
    outlook = None if controls == set(matrix.agents) else _outlook_of(plan)
    if as_json:
        shard = {} if matrix.shard is None else {"shard": str(matrix.shard)}
        told = {"cells": matrix.total, "repetitions": matrix.repetitions, **lists, "repo": repo, **shard}
        beside = {} if outlook is None else outlook.to_wire()
        print(json.dumps({**told, **beside, "config": config.model_dump(mode="json")}))
        return 0
    part = "" if matrix.shard is None else f" of shard {matrix.shard}"
    which = "agent" if len(matrix.agents) == 1 else "agents"
    print(
        f"{plural(matrix.total, 'cell')}{part}, up to {config.execution.max_concurrency} at a time, {matrix.order}, "
        f"on {config.target} with the {which} {', '.join(matrix.agents)}:"
    )
    if repo:
        print(f"  {'writes to':{_INDENT - 2}}{repo}")
    for name, each in lists.items():
        print(f"  {name:{_INDENT - 2}}{_list(each)}")
    print(f"  {'repetitions':{_INDENT - 2}}{matrix.repetitions}")
    for line in outlook.lines() if outlook is not None else ():
        print(line)
    return 0


async def _plan(catalogue: Catalogue) -> tuple[SuitePlan[EvalScenario], set[str]]:
    """Return the plan, and which of its agents are controls."""
    async with assemble(catalogue, environ=os.environ, project=Path.cwd()) as evaluation:
        for each in catalogue.find_warnings():
            print(f"warning: {each}")
        providers = evaluation.setup.instruments.providers
        return evaluation.plan, control_names(providers)


def _list(names: Sequence[str]) -> str:
    """Return names in a line or, where they are many, their number and columns as wide as the terminal allows."""
    if len(names) <= _MOST_IN_A_LINE:
        return ", ".join(names) or "none"
    width = 2 + max(map(len, names))
    columns = max((get_terminal_size().columns - _INDENT) // width, 1)
    rows = -(-len(names) // columns)
    lines = ["".join(f"{name:<{width}}" for name in names[start::rows]).rstrip() for start in range(rows)]
    return "\n".join((f"{len(names):,}:", *(f"{' ' * _INDENT}{line}" for line in lines)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outlook:
    """What a run takes, and what it would take to show an effect on success with its arms and scenarios."""

    matrix: Matrix
    effort: Effort
    rate: float
    """The share of sessions of the first arm that are right."""
    is_rate_known: bool
    """Whether earlier sessions tell it, or it is assumed."""
    effects: "tuple[SamplePlan, ...]"

    def lines(self) -> Iterator[str]:
        """Yield what is printed."""
        cells, *takes = self.effort.columns(self._rows_per_arm)
        if takes:
            time, cost = (None if each == UNKNOWN else each for each in takes)
            known = " and ".join(filter(None, (time or "a time that is not known", cost)))
            yield f"estimate: {cells} {'cell takes' if cells == '1' else 'cells take'} {known} ({self.effort})"
        else:
            yield "estimate: none, no earlier run has such sessions"
        if not self.effects:
            return
        basis = f"{100 * self.rate:.3g} % {'of earlier sessions' if self.is_rate_known else 'assumed'}"
        power = f"{100 * self.effects[0].power:g} %"
        yield f"to show a change of success with these arms and scenarios ({basis}; with a chance of {power}):"
        for each in self.effects:
            yield f"  by {each.effect_pct:g} points: {self._needs(each)}"

    def _needs(self, effect: "SamplePlan") -> str:
        repetitions = effect.repetitions_at_current_scenarios
        if repetitions is None:
            return "not with these scenarios, however often they are repeated"
        cells, *takes = self.effort.columns(repetitions * len(self.matrix.scenario_ids))
        enough = ", which this run has" if repetitions <= self.matrix.repetitions else ""
        known = (each for each in takes if each != UNKNOWN)
        return (
            ", ".join((plural(repetitions, "repetition"), f"{cells} {'cell' if cells == '1' else 'cells'}", *known))
            + enough
        )

    @property
    def _rows_per_arm(self) -> int:
        return self.matrix.total // len(self.matrix.arms)

    def to_wire(self) -> dict[str, JsonValue]:
        """Return it as JSON."""
        scenarios = len(self.matrix.scenario_ids)
        effects: list[JsonValue] = []
        for each in self.effects:
            needed = each.repetitions_at_current_scenarios
            takes = {} if needed is None else self.effort.to_wire(needed * scenarios)
            effects.append({"points": each.effect_pct, "repetitions": needed, **takes})
        estimate = {**self.effort.to_wire(self._rows_per_arm), "basis": self.effort.basis or None}
        return {"estimate": estimate, "effects": effects}


def _outlook_of(plan: SuitePlan[EvalScenario]) -> _Outlook:
    matrix, config = plan.matrix, plan.config
    earlier = SessionTally()
    newest_first = sorted(config.output.results_dir.glob("*/"), reverse=True)
    for row in islice(chain.from_iterable(map(rows_in, newest_first)), _MOST_ROWS):
        earlier.add(row)
    concurrency = config.execution.max_concurrency
    effort = earlier.effort(matrix.arms, max_concurrency=concurrency)
    if not effort.is_known:
        effort = guess_effort(matrix.models, arms=len(matrix.arms), max_concurrency=concurrency) or effort
    known = earlier.rate_of(matrix.arms[0])
    rate = _USUAL_RATE if known is None else known
    effects = tuple(_effects(plan, rate)) if len(matrix.arms) > 1 and is_installed("report") else ()
    return _Outlook(matrix=matrix, effort=effort, rate=rate, is_rate_known=known is not None, effects=effects)


def _effects(plan: SuitePlan[EvalScenario], rate: float) -> "Iterator[SamplePlan]":
    """Yield what it takes to show changes of success by the margin of the plan, and by more."""
    from ghx_profiler.stats.comparison import planned_pairs
    from ghx_profiler.stats.errors import BadSampleError
    from ghx_profiler.stats.methods.noise import USUAL_BETWEEN_SD, assumed_rates
    from ghx_profiler.stats.methods.sample_size import plan_sample_size
    from ghx_profiler.stats.observations import SUCCESS

    matrix, analysis = plan.matrix, plan.config.analysis
    scenarios = len({scenario_of(each) for each in matrix.scenario_ids})
    noise = assumed_rates(
        rate=rate,
        between_sd=USUAL_BETWEEN_SD,
        scenarios=scenarios,
        repetitions=matrix.repetitions,
        forms=len(matrix.scenario_ids) / scenarios,
    )
    comparisons = max(1, len(planned_pairs(matrix.arms, analysis))) * len(analysis.primary)
    for step in _STEPS:
        try:
            yield plan_sample_size(step * analysis.margin_pct, noise, analysis, metric=SUCCESS, comparisons=comparisons)
        except BadSampleError:
            return  # success cannot change by so much
