"""Before a run whose model calls are paid for: what it may cost, and whether that was agreed to."""

import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ghx_bench._base.errors import InputError
from ghx_bench._base.problems import plural
from ghx_bench.profiler.cell import Cell, Matrix
from ghx_bench.profiler.contracts import SessionProvider
from ghx_bench.profiler.errors import BadRowsError, RunDirectoryError
from ghx_bench.profiler.store.directory import RunDirectory
from ghx_bench.profiler.store.rows import read_rows
from ghx_bench.profiler.suite import SuitePlan

_Kind = tuple[str, str, str]
"""An agent, a model and a scenario: what sessions of these cost is alike."""

_FEW = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What cells may cost, by what such cells cost in earlier runs."""

    low_usd: float
    high_usd: float
    cells: int
    unknown: int
    """How many cells no earlier row tells the cost of."""

    def __str__(self) -> str:
        told = self.cells - self.unknown
        words = f"${self.low_usd:,.2f} to ${self.high_usd:,.2f} for {plural(told, 'cell')}, by earlier runs"
        if not self.unknown:
            return words
        unknown = f"what {plural(self.unknown, 'cell')} will cost is not known"
        return f"{words}; {unknown}" if told else f"{unknown}: no earlier run has measured such"


def confirm_spend(plan: SuitePlan[Any], providers: Mapping[str, SessionProvider], *, is_agreed: bool) -> None:
    """Say what a run may cost, and refuse it unless that is limited or agreed to; one that costs nothing passes."""
    paid = [name for name in plan.matrix.agents if getattr(providers[name], "is_paid", False) is True]
    if not paid:
        return
    print(f"estimate: {estimate(plan.matrix, paid, plan.config.output.results_dir)}", file=sys.stderr)
    if plan.config.budget.run.max_usd is None and not is_agreed:
        who = f"agent {paid[0]!r} calls models" if len(paid) == 1 else f"agents {', '.join(paid)} call models"
        raise InputError(
            f"{who} that are paid for: say how many US dollars the run may cost with --max-usd, or run it without a "
            "limit with --yes"
        )


def estimate(matrix: Matrix, paid: list[str], results: Path) -> Estimate:
    """Return what the cells of paid agents may cost: the middle half of earlier costs, or all where there are few."""
    costs: dict[_Kind, list[float]] = defaultdict(list)
    for kind, usd in _earlier_costs(results):
        costs[kind].append(usd)
    cells = [cell for cell in matrix.cells() if cell.agent in paid]
    spans = [_span_of(costs.get(_kind_of(cell), ())) for cell in cells]
    known = [span for span in spans if span is not None]
    return Estimate(
        low_usd=sum(low for low, _ in known),
        high_usd=sum(high for _, high in known),
        cells=len(cells),
        unknown=len(cells) - len(known),
    )


def _earlier_costs(results: Path) -> Iterator[tuple[_Kind, float]]:
    """Yield what rows of earlier runs cost, all their attempts together; a run that cannot be read tells nothing."""
    for path in sorted(results.glob("*/")):
        try:
            for row in read_rows(RunDirectory(path).rows):
                if row.model_calls is not None and row.model_calls.replayed is not None:
                    continue  # which cost nothing, and says nothing about what asking a model costs
                spent = [each.cost_usd for each in row.attempts]
                known = [usd for usd in spent if usd is not None]
                if known and len(known) == len(spent):
                    yield _kind_of(row.cell), sum(known)
        except (BadRowsError, RunDirectoryError):
            continue


def _kind_of(cell: Cell) -> _Kind:
    return cell.agent, cell.model, cell.scenario_id


def _span_of(costs: list[float] | tuple[()]) -> tuple[float, float] | None:
    if not costs:
        return None
    if len(costs) < _FEW:
        return min(costs), max(costs)
    low, _, high = statistics.quantiles(costs, n=4)
    return low, high
