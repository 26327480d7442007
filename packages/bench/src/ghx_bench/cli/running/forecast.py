"""How long cells take and what they cost, by earlier sessions, a pilot, flags or a guess that is stated."""

import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from math import inf
from pathlib import Path
from statistics import fmean
from typing import Any

from pydantic import JsonValue

from ghx_base.errors import FlagError
from ghx_base.problems import plural
from ghx_bench.cli.flags import EffortFlags
from ghx_profiler.errors import BadRowsError, RunDirectoryError
from ghx_profiler.events import CanaryFinished, CellStarted, Event
from ghx_profiler.plan.cell import NO_MODEL, Arm, Cell, Matrix
from ghx_profiler.progress.status_text import rough_time
from ghx_profiler.records.metric_table import UNKNOWN
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.runner.pricing import price_of
from ghx_profiler.store.directory import RunDirectory
from ghx_profiler.store.rows import read_rows
from ghx_profiler.suite import SuitePlan

_GUESSED_TOKENS = TokenUsage.of(input=10_000, cache_read=50_000, output=1_000)
_GUESSED_S = 60.0
_GUESS = "a guess: sessions of a minute, with 10,000 new, 50,000 cached and 1,000 output tokens"
"""What is assumed of a session where nothing is known but the price of its model."""
_CENTS_BELOW_USD = 100
_USUAL_ARMS = 2
_USUAL_RATE = 0.7
"""As `ghx-bench plan` assumes it."""
_MOST_ROWS = 10_000
"""Of earlier runs: all rows of a large folder would take a minute to read, and tell no more."""
_FEW = 4
_NOT_KNOWN = "what a cell takes is not known"
_HOW = "name a pilot, or say it with --cell-seconds and --cell-usd, or with --model"

_Kind = tuple[str, str, str]
"""An agent, a model and a scenario: what sessions of these cost is alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a cell takes on average over the arms that are run, and from that what a run takes."""

    arms: int
    cell_s: float | None = None
    cell_usd: float | None = None
    basis: str = ""
    max_concurrency: int = 1

    @property
    def is_known(self) -> bool:
        """Whether anything is known of what a cell takes."""
        return self.cell_s is not None or self.cell_usd is not None

    def totals(self, rows_per_arm: int) -> tuple[int, float | None, float | None]:
        """Return how many cells so many rows of each arm are, and their hours and US dollars."""
        cells = self.arms * rows_per_arm
        hours = None if self.cell_s is None else self.cell_s * cells / min(self.max_concurrency, cells) / 3_600
        return cells, hours, None if self.cell_usd is None else self.cell_usd * cells

    def columns(self, rows_per_arm: int) -> tuple[str, ...]:
        """Return cells, time and cost in words; where neither of these is known, cells alone."""
        cells, hours, usd = self.totals(rows_per_arm)
        if not self.is_known:
            return (f"{cells:,}",)
        return (
            f"{cells:,}",
            UNKNOWN if hours is None else rough_time(3_600 * hours),
            UNKNOWN if usd is None else in_dollars(usd),
        )

    def to_wire(self, rows_per_arm: int) -> dict[str, JsonValue]:
        """Return what so many rows of each arm take, as JSON."""
        return dict(zip(("cells", "hours", "usd"), self.totals(rows_per_arm), strict=True))

    def __str__(self) -> str:
        parts = [] if self.cell_s is None else [f"{self.cell_s:,.3g} s"]
        parts += [] if self.cell_usd is None else [f"${self.cell_usd:,.3g}"]
        takes = f"a cell takes {' and '.join(parts)}, by {self.basis}" if parts else f"{_NOT_KNOWN}: {_HOW}"
        return f"{plural(self.arms, 'arm')}, {self.max_concurrency:,} at a time; {takes}"


def in_dollars(usd: float) -> str:
    """Write an amount no finer than it is."""
    return f"${usd:,.2f}" if usd < _CENTS_BELOW_USD else f"${usd:,.0f}"


def rows_in(run: Path) -> Iterator[ProfileRow]:
    """Yield the rows of a run; one that cannot be read tells nothing."""
    try:
        yield from read_rows(RunDirectory(run).rows)
    except (BadRowsError, RunDirectoryError):
        return


@dataclass(slots=True)
class _Sessions:
    """What sessions of one arm took, and how many of them were right."""

    seconds: list[float] = field(default_factory=list[float])
    usd: list[float] = field(default_factory=list[float])
    right: list[bool] = field(default_factory=list[bool])


class SessionTally:
    """What earlier sessions took, counted as their rows go by: for each arm, and for each kind of cell."""

    def __init__(self, rows: Iterable[ProfileRow] = ()) -> None:
        self._arms: dict[Arm, _Sessions] = {}
        self.costs: dict[_Kind, list[float]] = {}
        for row in rows:
            self.add(row)

    def add(self, row: ProfileRow) -> None:
        """Count one row, all its attempts together."""
        # A replay costs nothing, and says nothing about what asking a model takes.
        if row.model_calls is not None and row.model_calls.replayed is not None:
            return
        sessions = self._arms.setdefault(row.cell.arm, _Sessions())
        spent = [each.wall_ms for each in row.attempts] or [row.timing.wall_ms]
        known = [wall_ms for wall_ms in spent if wall_ms is not None]
        if known and len(known) == len(spent):
            sessions.seconds.append(sum(known) / 1_000)
        if (usd := row.spent_usd) is not None:
            self.costs.setdefault(_kind_of(row.cell), []).append(usd)
        elif not row.attempts:  # a row of an older version
            usd = row.cost.total_usd
        if usd is not None:
            sessions.usd.append(usd)
        if row.was_measured:
            sessions.right.append(row.success is True)

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms that were counted."""
        return tuple(self._arms)

    def rate_of(self, arm: Arm) -> float | None:
        """Return the share of sessions like those of an arm that were right; `None` where there are none."""
        return _mean(right for sessions in self._like(arm) for right in sessions.right)

    def _like(self, arm: Arm) -> Sequence[_Sessions]:
        """Return the sessions of an arm or, where it had none, of its agent with its model in other modes."""
        if arm in self._arms:
            return (self._arms[arm],)
        return [each for other, each in self._arms.items() if (other.agent, other.model) == (arm.agent, arm.model)]

    def forecast(self, arms: Sequence[Arm], *, max_concurrency: int = 1, basis: str = "earlier sessions") -> Forecast:
        """Return what one cell in each of some arms takes."""
        return Forecast(
            arms=len(arms),
            cell_s=_mean_of_known([_mean(s for each in self._like(arm) for s in each.seconds) for arm in arms]),
            cell_usd=_mean_of_known([_mean(s for each in self._like(arm) for s in each.usd) for arm in arms]),
            basis=basis,
            max_concurrency=max_concurrency,
        )


def guess_forecast(models: Sequence[str], *, arms: int, max_concurrency: int = 1) -> Forecast | None:
    """Return what a cell takes by a stated guess; `None` where the price of a model is not known."""
    prices = [None if model == NO_MODEL else price_of(_GUESSED_TOKENS, model) for model in models]
    usd = _mean_of_known([None if price is None else price.total_usd for price in prices])
    if usd is None:
        return None
    basis = f"{_GUESS}, at the price of {', '.join(models)}"
    return Forecast(arms=arms, cell_s=_GUESSED_S, cell_usd=usd, basis=basis, max_concurrency=max_concurrency)


def choose_forecast(pilot: Forecast | None, flags: EffortFlags) -> Forecast:
    """Return what cells take by flags, by a pilot, or by the price of a model; flags go first."""
    for flag, value in (("--arms", flags.arms), ("--max-concurrency", flags.max_concurrency)):
        if value is not None and value < 1:
            raise FlagError(flag, f"expected a number of at least 1, got {value}")
    for flag, amount in (("--cell-seconds", flags.cell_seconds), ("--cell-usd", flags.cell_usd)):
        if amount is not None and not 0 <= amount < inf:
            raise FlagError(flag, f"expected an amount of at least 0, got {amount:g}")
    known = pilot or Forecast(arms=_USUAL_ARMS)
    if flags.model is not None and known.cell_usd is None:
        guess = guess_forecast([flags.model], arms=known.arms, max_concurrency=known.max_concurrency)
        if guess is None:
            raise FlagError("--model", f"no price is known for {flags.model!r}; say what a cell costs with --cell-usd")
        known = guess if known.cell_s is None else replace(guess, cell_s=known.cell_s)
    flag_values = {"cell_s": flags.cell_seconds, "cell_usd": flags.cell_usd}
    overrides = {name: value for name, value in flag_values.items() if value is not None}
    bases = (["the flags"] if overrides else []) + ([known.basis] if known.basis else [])
    return replace(
        known,
        arms=flags.arms or known.arms,
        max_concurrency=flags.max_concurrency or known.max_concurrency,
        basis=" and ".join(bases),
        **overrides,
    )


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return fmean(known) if known else None


def _mean_of_known(values: Sequence[float | None]) -> float | None:
    """Return the mean; `None` where one is not known."""
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectForecast:
    """How often the scenarios of a run have to be repeated to show a change of success."""

    points: float
    power: float
    repetitions: int | None
    """`None` where no number is enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunForecast:
    """What a run takes, and what it would take to show an effect on success with its arms and scenarios."""

    matrix: Matrix
    takes: Forecast
    rate: float
    """The share of sessions of the first arm that are right."""
    is_rate_known: bool
    """Whether earlier sessions tell it, or it is assumed."""
    effects: Sequence[EffectForecast] = ()

    def lines(self) -> Iterator[str]:
        """Yield what is printed."""
        cells, *takes = self.takes.columns(self._rows_per_arm)
        if takes:
            time, cost = (None if each == UNKNOWN else each for each in takes)
            known = " and ".join(filter(None, (time or "a time that is not known", cost)))
            yield f"estimate: {cells} {'cell takes' if cells == '1' else 'cells take'} {known} ({self.takes})"
        else:
            yield "estimate: none, no earlier run has such sessions"
        if not self.effects:
            return
        basis = f"{100 * self.rate:.3g} % {'of earlier sessions' if self.is_rate_known else 'assumed'}"
        power = f"{100 * self.effects[0].power:g} %"
        yield f"to show a change of success with these arms and scenarios ({basis}; with a chance of {power}):"
        for each in self.effects:
            yield f"  by {each.points:g} points: {self._needs(each.repetitions)}"

    def _needs(self, repetitions: int | None) -> str:
        if repetitions is None:
            return "not with these scenarios, however often they are repeated"
        cells, *takes = self.takes.columns(repetitions * len(self.matrix.scenario_ids))
        known = (each for each in takes if each != UNKNOWN)
        needed = (plural(repetitions, "repetition"), f"{cells} {'cell' if cells == '1' else 'cells'}", *known)
        return ", ".join(needed) + (", which this run has" if repetitions <= self.matrix.repetitions else "")

    @property
    def _rows_per_arm(self) -> int:
        return self.matrix.total // len(self.matrix.arms)

    def to_wire(self) -> dict[str, JsonValue]:
        """Return it as JSON."""
        effects: list[JsonValue] = []
        for each in self.effects:
            rows = None if each.repetitions is None else each.repetitions * len(self.matrix.scenario_ids)
            takes = {} if rows is None else self.takes.to_wire(rows)
            effects.append({"points": each.points, "repetitions": each.repetitions, **takes})
        estimate = {**self.takes.to_wire(self._rows_per_arm), "basis": self.takes.basis or None}
        return {"estimate": estimate, "effects": effects}


def forecast_run(plan: SuitePlan[Any]) -> RunForecast:
    """Return what a run takes, by the newest runs in its folder or by a guess."""
    matrix, config = plan.matrix, plan.config
    newest_first = sorted(config.output.results_dir.glob("*/"), reverse=True)
    earlier = SessionTally(islice(chain.from_iterable(map(rows_in, newest_first)), _MOST_ROWS))
    concurrency = config.execution.max_concurrency
    takes = earlier.forecast(matrix.arms, max_concurrency=concurrency)
    if not takes.is_known:
        takes = guess_forecast(matrix.models, arms=len(matrix.arms), max_concurrency=concurrency) or takes
    known = earlier.rate_of(matrix.arms[0])
    rate = _USUAL_RATE if known is None else known
    return RunForecast(matrix=matrix, takes=takes, rate=rate, is_rate_known=known is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostRange:
    """What cells may cost, by what such cells cost before."""

    low_usd: float
    high_usd: float
    cells: int
    unknown: int
    """How many cells nothing tells the cost of."""
    basis: str

    def __str__(self) -> str:
        estimated = self.cells - self.unknown
        words = f"${self.low_usd:,.2f} to ${self.high_usd:,.2f} for {plural(estimated, 'cell')}, by {self.basis}"
        if not self.unknown:
            return words
        unknown = f"what {plural(self.unknown, 'cell')} will cost is not known"
        return f"{words}; {unknown}" if estimated else f"{unknown}: no earlier run has measured such"


@dataclass(slots=True, kw_only=True)
class CostForecast:
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
        """Record the cost of warm-ups, and print the forecast when they are over."""
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
        estimate, left = self.estimate(), self.left_usd
        excess = ""
        if left is not None and estimate.high_usd > left:
            verb = "is" if estimate.low_usd > left else "may be"
            excess = f"; that {verb} more than the ${left:,.2f} that --max-usd leaves"
        print(f"estimate: {estimate}{excess}", file=sys.stderr)

    def estimate(self) -> CostRange:
        """Return the middle half of what is known of each cell's kind, or all where that is little, added up."""
        known: list[tuple[float, float]] = []
        bases: dict[str, None] = {}
        for cell in self.cells:
            earlier, warmup = self.earlier.get(_kind_of(cell)), self.warmups.get((cell.agent, cell.model))
            if costs := earlier or warmup:
                known.append(_span_of(costs))
                bases["earlier runs" if earlier else "the warm-up"] = None
        return CostRange(
            low_usd=sum(low for low, _ in known),
            high_usd=sum(high for _, high in known),
            cells=len(self.cells),
            unknown=len(self.cells) - len(known),
            basis=" and ".join(bases),
        )


def _kind_of(cell: Cell) -> _Kind:
    return cell.agent, cell.model, cell.scenario_id


def _span_of(costs: Sequence[float]) -> tuple[float, float]:
    if len(costs) < _FEW:
        return min(costs), max(costs)
    low, _, high = statistics.quantiles(costs, n=4)
    return low, high
