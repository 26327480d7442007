"""What a run whose model calls are paid for may cost: said before it begins, and after its warm-up."""

import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from ghx_base.errors import InputError
from ghx_base.problems import plural
from ghx_profiler.config import Budgets
from ghx_profiler.contracts import SessionProvider
from ghx_profiler.errors import BadRowsError, RunDirectoryError
from ghx_profiler.events import CanaryFinished, CellStarted, Event
from ghx_profiler.plan.cell import Cell
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.runner.pricing import price_of
from ghx_profiler.store.directory import RunDirectory
from ghx_profiler.store.record import read_record
from ghx_profiler.store.rows import read_rows
from ghx_profiler.store.run_store import spend_of
from ghx_profiler.suite import SuitePlan

_Kind = tuple[str, str, str]
"""An agent, a model and a scenario: what sessions of these cost is alike."""

_FEW = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What cells may cost, by what such cells cost before."""

    low_usd: float
    high_usd: float
    cells: int
    unknown: int
    """How many cells nothing tells the cost of."""
    basis: str

    def __str__(self) -> str:
        told = self.cells - self.unknown
        words = f"${self.low_usd:,.2f} to ${self.high_usd:,.2f} for {plural(told, 'cell')}, by {self.basis}"
        if not self.unknown:
            return words
        unknown = f"what {plural(self.unknown, 'cell')} will cost is not known"
        return f"{words}; {unknown}" if told else f"{unknown}: no earlier run has measured such"


@dataclass(slots=True, kw_only=True)
class Forecast:
    """Says what the cells of paid agents may cost that are left; told of the events of the run, also after its warm-up.

    A cell costs what earlier ones of its agent, model and scenario did or, where there are none, what the warm-up of
    its agent and model did.
    """

    cells: Sequence[Cell]
    earlier: Mapping[_Kind, Sequence[float]]
    left_usd: float | None
    """What the run may still spend; `None` for any amount."""
    warmups: dict[tuple[str, str], list[float]] = field(default_factory=dict[tuple[str, str], list[float]])

    def __call__(self, event: Event) -> None:
        """Learn what warm-ups cost, and say what follows from that when they are over."""
        match event:
            case CanaryFinished(cell=cell, cost_usd=int() | float() as usd):
                self.warmups.setdefault((cell.agent, cell.model), []).append(usd)
                self.left_usd = None if self.left_usd is None else self.left_usd - usd
            case CellStarted() if self.warmups:
                if any(not self.earlier.get(_kind_of(cell)) for cell in self.cells):
                    self.say()
                self.warmups = {}  # once is enough
            case _:
                pass

    def say(self) -> None:
        """Say what is known, on standard error, and whether it is more than the run may spend."""
        told, left = self.estimate(), self.left_usd
        excess = ""
        if left is not None and told.high_usd > left:
            verb = "is" if told.low_usd > left else "may be"
            excess = f"; that {verb} more than the ${left:,.2f} that --max-usd leaves"
        print(f"estimate: {told}{excess}", file=sys.stderr)

    def estimate(self) -> Estimate:
        """Return the middle half of what is known of each cell's kind, or all where that is little, added up."""
        known: list[tuple[float, float]] = []
        bases: dict[str, None] = {}
        for cell in self.cells:
            earlier, warmup = self.earlier.get(_kind_of(cell)), self.warmups.get((cell.agent, cell.model))
            if costs := earlier or warmup:
                known.append(_span_of(costs))
                bases["earlier runs" if earlier else "the warm-up"] = None
        return Estimate(
            low_usd=sum(low for low, _ in known),
            high_usd=sum(high for _, high in known),
            cells=len(self.cells),
            unknown=len(self.cells) - len(known),
            basis=" and ".join(bases),
        )


def confirm_spend(
    plan: SuitePlan[Any],
    providers: Mapping[str, SessionProvider],
    *,
    is_agreed: bool,
    resume: Path | None = None,
) -> Forecast | None:
    """Say what a run, or what is left of one, may cost, and refuse it unless that is limited or agreed to.

    Return what says more when it is told of the run's events; `None` where nothing will be paid for.
    """
    paid = [name for name in plan.matrix.agents if getattr(providers[name], "is_paid", False) is True]
    if not paid:
        return None
    budgets, results = plan.config.budget, plan.config.output.results_dir
    if any(getattr(providers[name], "is_metered", False) is True for name in paid):
        _require_prices(plan.matrix.models, budgets)
    own = [] if resume is None else list(rows_in(resume))
    others = [path for path in sorted(results.glob("*/")) if resume is None or not path.samefile(resume)]
    max_usd, done = budgets.run.max_usd, {row.cell for row in own}
    if max_usd is not None and resume is not None:
        max_usd = max(max_usd - spend_of(read_record(RunDirectory(resume).record), own).usd, 0.0)
    forecast = Forecast(
        cells=[cell for cell in plan.matrix.cells() if cell.agent in paid and cell not in done],
        earlier=collect_costs(chain(own, *map(rows_in, others))),
        left_usd=max_usd,
    )
    if not forecast.cells:
        return None
    forecast.say()
    if budgets.run.max_usd is None and not is_agreed:
        who = f"agent {paid[0]!r} calls models" if len(paid) == 1 else f"agents {', '.join(paid)} call models"
        raise InputError(
            f"{who} that are paid for: say how many US dollars the run may cost with --max-usd, or run it without a "
            "limit with --yes"
        )
    return forecast


def _require_prices(models: Iterable[str], budgets: Budgets) -> None:
    """Say which models have no known price; refuse them where a limit in dollars could not be kept."""
    for model in models:
        if price_of(TokenUsage.of(input=1, output=1), model) is not None:
            continue
        if budgets.run.max_usd is not None or budgets.session.max_usd is not None:
            raise InputError(
                f"max_usd cannot be kept: no price is known for model {model!r}; limit the run with --max-tokens or "
                "--max-model-calls, and run it with --yes"
            )
        print(f"note: no price is known for model {model!r}: what its cells cost will not be known", file=sys.stderr)


def rows_in(run: Path) -> Iterator[ProfileRow]:
    """Yield the rows of a run; one that cannot be read tells nothing."""
    try:
        yield from read_rows(RunDirectory(run).rows)
    except (BadRowsError, RunDirectoryError):
        return


def collect_costs(rows: Iterable[ProfileRow]) -> Mapping[_Kind, list[float]]:
    """Return what rows cost, all their attempts together, where that is known."""
    costs: dict[_Kind, list[float]] = defaultdict(list)
    for row in rows:
        # A replay costs nothing, and says nothing about what asking a model costs.
        is_replay = row.model_calls is not None and row.model_calls.replayed is not None
        if not is_replay and (usd := row.spent_usd) is not None:
            costs[_kind_of(row.cell)].append(usd)
    return dict(costs)


def _kind_of(cell: Cell) -> _Kind:
    return cell.agent, cell.model, cell.scenario_id


def _span_of(costs: Sequence[float]) -> tuple[float, float]:
    if len(costs) < _FEW:
        return min(costs), max(costs)
    low, _, high = statistics.quantiles(costs, n=4)
    return low, high
