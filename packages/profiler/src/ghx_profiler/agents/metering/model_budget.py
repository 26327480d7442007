"""Model spending of a session or a run while it goes on, compared with its budget."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from threading import Lock
from typing import ClassVar, Literal

from ghx_profiler.config import Budget
from ghx_profiler.records.causes import Cause, MeasurementError
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.model_calls import ModelCall, usage_estimated
from ghx_profiler.runner.pricing import price_of, priced_model
from ghx_profiler.runner.spend import Spend

PriceOf = Callable[[TokenUsage, str], float | None]
"""Returns the US dollars of tokens of a model, `provider/model` or `model`; `None` if the price is not known."""


class BudgetExhaustedError(MeasurementError):
    """A session has spent what it may; its further model calls were refused."""

    code: ClassVar[str] = "BUDGET_EXHAUSTED"
    cause: Cause = Cause.AGENT_SPEND


def price_in_usd(usage: TokenUsage, model: str) -> float | None:
    """Return what tokens cost by the price table; `None` if it does not know the model."""
    cost = price_of(usage, model)
    return None if cost is None or cost.total_usd is None else float(cost.total_usd)


@dataclass(slots=True, kw_only=True)
class Spending(Spend):
    """The spending under one budget; tokens that a call did not report are estimated by its size.

    That of a run is one for all its agents, whose meters serve in threads of their own.
    """

    budget: Budget
    scope: Literal["session", "run"]
    price: PriceOf = price_in_usd
    unpriced_model: str | None = None
    """A model that was called and has no known price."""
    run: Path | None = None
    """The directory of the run that it is for, once that has begun."""
    _lock: Lock = field(default_factory=Lock, repr=False)

    def begin_run(self, directory: Path, read_spend: Callable[[], Spend]) -> None:
        """Add the earlier spending of a run; the meters of all its agents report it, and the first one counts."""
        with self._lock:
            if self.run != directory:
                before = read_spend()
                for each in fields(Spend):
                    setattr(self, each.name, getattr(before, each.name))
                self.run = directory

    def admit_call(self, *, is_main: bool) -> str | None:
        """Return why another call is refused; `None` if it is not, and then it is counted.

        Both in one step, and when it begins: calls at the same time cannot pass the limit together.
        """
        with self._lock:
            refusal = self.find_refusal(is_main=is_main)
            self.model_calls += refusal is None
            return refusal

    def end_call(self, call: ModelCall, model: str | None) -> None:
        """Add what a call has used, in a session that is about this model; the session counts turns."""
        usage, usd = usage_estimated([call]), 0.0
        if self.budget.max_usd is not None and usage.total:
            usd = self.price(usage, priced_model(call, model))
        with self._lock:
            self.tokens += usage.total or 0
            self.estimated_tokens += 0 if call.usage_estimated is None else usage.total or 0
            if usd is None:
                self.unpriced_model = priced_model(call, model)
            else:
                self.usd += usd

    def add_turns(self, turns: int) -> None:
        """Add calls of a conversation that were answered; a negative number if some turned out to be side calls."""
        with self._lock:
            self.turns += turns

    def find_refusal(self, *, is_main: bool) -> str | None:
        """Return why another call is refused; `None` if it is not."""
        if self.budget.max_usd is not None and self.unpriced_model is not None:
            # Spending on without knowing how much would make the limit a decoration.
            return f"max_usd of the {self.scope} cannot be kept: no price is known for model {self.unpriced_model!r}"
        budget = self.budget if is_main else self.budget.model_copy(update={"max_turns": None})
        return self.find_limit(budget, self.scope)
