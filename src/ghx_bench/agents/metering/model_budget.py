"""What a session or a run spends on models while it goes on, held against its budget."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from ghx_bench.profiler.causes import Cause, MeasurementError
from ghx_bench.profiler.config import Budget
from ghx_bench.profiler.metrics import TokenUsage
from ghx_bench.profiler.model_calls import ModelCall, usage_at_least
from ghx_bench.profiler.runner.pricing import price_of, priced_model
from ghx_bench.profiler.runner.spend import Spend

PriceOf = Callable[[TokenUsage, str], float | None]
"""Returns the US dollars of tokens of a model, `provider/model` or `model`; `None` if the price is not known."""


class BudgetExhaustedError(MeasurementError):
    """A session has spent what it may; its further model calls were refused."""

    code: ClassVar[str] = "BUDGET_EXHAUSTED"
    cause: Cause = Cause.AGENT_SPEND


@dataclass(slots=True, kw_only=True)
class Spending(Spend):
    """What was spent under one budget; a call that was cut counts with what is known of it."""

    budget: Budget
    scope: Literal["session", "run"]
    price: PriceOf
    unpriced_model: str | None = None
    """A model that was asked and whose price is not known."""

    def begin_call(self) -> None:
        """Count a call when it begins, so that calls at the same time cannot pass the limit together."""
        self.model_calls += 1

    def end_call(self, call: ModelCall, model: str | None) -> None:
        """Add what a call has used, in a session that is about this model; the session counts turns."""
        usage = usage_at_least([call])
        self.tokens += usage.total or 0
        if self.budget.max_usd is None or not usage.total:
            return
        priced = priced_model(call, model)
        usd = self.price(usage, priced)
        if usd is None:
            self.unpriced_model = priced
        else:
            self.usd += usd

    def find_refusal(self, *, is_main: bool) -> str | None:
        """Return why another call is refused; `None` if it is not."""
        if self.budget.max_usd is not None and self.unpriced_model is not None:
            # Spending on without knowing how much would make the limit a decoration.
            return f"max_usd of the {self.scope} cannot be kept: no price is known for model {self.unpriced_model!r}"
        budget = self.budget if is_main else self.budget.model_copy(update={"max_turns": None})
        return self.find_limit(budget, self.scope)


def price_in_usd(usage: TokenUsage, model: str) -> float | None:
    """Return what tokens cost by the price table; `None` if it does not know the model."""
    cost = price_of(usage, model)
    return None if cost is None or cost.total_usd is None else float(cost.total_usd)
