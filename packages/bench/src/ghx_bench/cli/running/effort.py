"""What a plan takes: cells, hours and US dollars, by what sessions took before, or by a guess that is stated."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from statistics import fmean

from pydantic import JsonValue

from ghx_base.errors import FlagError
from ghx_base.problems import plural
from ghx_bench.cli.flags import EffortFlags
from ghx_profiler.plan.cell import NO_MODEL, Arm
from ghx_profiler.progress.status_text import rough_time
from ghx_profiler.records.metric_table import UNKNOWN
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.runner.pricing import price_of

_GUESSED_TOKENS = TokenUsage.of(input=10_000, cache_read=50_000, output=1_000)
_GUESSED_S = 60.0
GUESS = "a guess: sessions of a minute, with 10,000 new, 50,000 cached and 1,000 output tokens"
"""What is assumed of a session where nothing is known but the price of its model."""
_CENTS_BELOW_USD = 100
_USUAL_ARMS = 2
_NOT_KNOWN = "what a cell takes is not known"
_HOW = "name a pilot, or say it with --cell-seconds and --cell-usd, or with --model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """What a cell takes on average over the arms that are run."""

    arms: int
    cell_s: float | None = None
    cell_usd: float | None = None
    basis: str = ""
    max_concurrency: int = 1

    @property
    def is_known(self) -> bool:
        """Whether anything is known of what a cell takes."""
        return self.cell_s is not None or self.cell_usd is not None

    def cells(self, rows_per_arm: int) -> int:
        """Return how many cells so many rows of each arm are."""
        return self.arms * rows_per_arm

    def hours(self, rows_per_arm: int) -> float | None:
        """Return how long they take, as many at a time as are run."""
        if self.cell_s is None:
            return None
        return self.cell_s * self.cells(rows_per_arm) / min(self.max_concurrency, self.cells(rows_per_arm)) / 3_600

    def cost_usd(self, rows_per_arm: int) -> float | None:
        """Return what they cost."""
        return None if self.cell_usd is None else self.cell_usd * self.cells(rows_per_arm)

    def columns(self, rows_per_arm: int) -> tuple[str, ...]:
        """Return cells, time and cost in words; where neither of these is known, cells alone."""
        cells, hours, usd = self.cells(rows_per_arm), self.hours(rows_per_arm), self.cost_usd(rows_per_arm)
        if not self.is_known:
            return (f"{cells:,}",)
        return (
            f"{cells:,}",
            UNKNOWN if hours is None else rough_time(3_600 * hours),
            UNKNOWN if usd is None else in_dollars(usd),
        )

    def to_wire(self, rows_per_arm: int) -> dict[str, JsonValue]:
        """Return what so many rows of each arm take, as JSON."""
        return {
            "cells": self.cells(rows_per_arm),
            "hours": self.hours(rows_per_arm),
            "usd": self.cost_usd(rows_per_arm),
        }

    def __str__(self) -> str:
        told = [] if self.cell_s is None else [f"{self.cell_s:,.3g} s"]
        told += [] if self.cell_usd is None else [f"${self.cell_usd:,.3g}"]
        takes = f"a cell takes {' and '.join(told)}, by {self.basis}" if told else f"{_NOT_KNOWN}: {_HOW}"
        return f"{plural(self.arms, 'arm')}, {self.max_concurrency:,} at a time; {takes}"


def in_dollars(usd: float) -> str:
    """Write an amount no finer than it is."""
    return f"${usd:,.2f}" if usd < _CENTS_BELOW_USD else f"${usd:,.0f}"


@dataclass(slots=True)
class _Sessions:
    """What sessions of one arm took, and how many of them were right."""

    seconds: list[float] = field(default_factory=list[float])
    usd: list[float] = field(default_factory=list[float])
    right: list[bool] = field(default_factory=list[bool])


class SessionTally:
    """What earlier sessions took, counted as their rows go by."""

    def __init__(self) -> None:
        self._arms: dict[Arm, _Sessions] = {}

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
        usd = row.spent_usd if row.attempts else row.cost.total_usd
        if usd is not None:
            sessions.usd.append(usd)
        if row.was_measured:
            sessions.right.append(row.success is True)

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms that were counted."""
        return tuple(self._arms)

    def rate_of(self, arm: Arm) -> float | None:
        """Return the share of sessions like those of an arm that were right; `None` where there are too few."""
        right = [each for sessions in self._like(arm) for each in sessions.right]
        return fmean(right) if right else None

    def _like(self, arm: Arm) -> Sequence[_Sessions]:
        """Return the sessions of an arm or, where it had none, of its agent with its model in other modes."""
        if arm in self._arms:
            return (self._arms[arm],)
        return [each for other, each in self._arms.items() if (other.agent, other.model) == (arm.agent, arm.model)]

    def effort(self, arms: Iterable[Arm], *, max_concurrency: int = 1, basis: str = "earlier sessions") -> Effort:
        """Return what one cell in each of some arms takes."""
        wanted = tuple(arms)
        seconds = [_mean(s for each in self._like(arm) for s in each.seconds) for arm in wanted]
        usd = [_mean(s for each in self._like(arm) for s in each.usd) for arm in wanted]
        return Effort(
            arms=len(wanted),
            cell_s=_mean_of_known(seconds),
            cell_usd=_mean_of_known(usd),
            basis=basis,
            max_concurrency=max_concurrency,
        )


def guess_effort(models: Sequence[str], *, arms: int, max_concurrency: int = 1) -> Effort | None:
    """Return what a cell takes by `GUESS`; `None` where the price of a model is not known."""
    prices = [None if model == NO_MODEL else price_of(_GUESSED_TOKENS, model) for model in models]
    usd = _mean_of_known([None if price is None else price.total_usd for price in prices])
    if usd is None:
        return None
    basis = f"{GUESS}, at the price of {', '.join(models)}"
    return Effort(arms=arms, cell_s=_GUESSED_S, cell_usd=usd, basis=basis, max_concurrency=max_concurrency)


def choose_effort(pilot: Effort | None, flags: EffortFlags) -> Effort:
    """Return what cells take by flags, by a pilot, or by the price of a model; flags go first."""
    for flag, value in (("--arms", flags.arms), ("--max-concurrency", flags.max_concurrency)):
        if value is not None and value < 1:
            raise FlagError(flag, f"expected a number of at least 1, got {value}")
    for flag, amount in (("--cell-seconds", flags.cell_seconds), ("--cell-usd", flags.cell_usd)):
        if amount is not None and not 0 <= amount < inf:
            raise FlagError(flag, f"expected an amount of at least 0, got {amount:g}")
    known = pilot or Effort(arms=_USUAL_ARMS)
    if flags.model is not None and known.cell_usd is None:
        guess = guess_effort([flags.model], arms=known.arms, max_concurrency=known.max_concurrency)
        if guess is None:
            raise FlagError("--model", f"no price is known for {flags.model!r}; say what a cell costs with --cell-usd")
        known = guess if known.cell_s is None else replace(guess, cell_s=known.cell_s)
    said = {"cell_s": flags.cell_seconds, "cell_usd": flags.cell_usd}
    given = {name: value for name, value in said.items() if value is not None}
    bases = (["the flags"] if given else []) + ([known.basis] if known.basis else [])
    return replace(
        known,
        arms=flags.arms or known.arms,
        max_concurrency=flags.max_concurrency or known.max_concurrency,
        basis=" and ".join(bases),
        **given,
    )


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return fmean(known) if known else None


def _mean_of_known(values: Sequence[float | None]) -> float | None:
    """Return the mean; `None` where one is not known."""
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None
