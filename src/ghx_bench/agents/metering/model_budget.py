"""What a session or a run may spend on models, and what it has spent."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from ghx_bench.profiler.causes import Cause, MeasurementError
from ghx_bench.profiler.metrics import TokenUsage
from ghx_bench.profiler.model_calls import ModelCall, WireKind, usage_at_least
from ghx_bench.profiler.runner.pricing import price_of

PriceOf = Callable[[TokenUsage, str], float | None]
"""Returns the US dollars of tokens of a model, `provider/model`; `None` if the price is not known."""

_VENDORS: dict[WireKind, str] = {
    "openai-chat": "openai",
    "openai-responses": "openai",
    "anthropic": "anthropic",
    "gemini": "google",
}


class BudgetExhaustedError(MeasurementError):
    """A session or the run has spent what it may; its further model calls were refused."""

    code: ClassVar[str] = "BUDGET_EXHAUSTED"

    def __init__(self, message: str, *, cause: Cause) -> None:
        super().__init__(message)
        self.cause = cause


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelBudget:
    """Limits; `None` is none.

    Tokens are all of them, those from caches too. Turns are calls that were answered and are no side calls.
    """

    max_usd: float | None = None
    max_tokens: int | None = None
    max_model_calls: int | None = None
    max_turns: int | None = None


class Spending:
    """What was spent under one budget; a call that was cut counts with what is known of it."""

    def __init__(self, budget: ModelBudget, scope: Literal["session", "run"], price: PriceOf) -> None:
        self.budget = budget
        self.usd = 0.0
        self.tokens = self.model_calls = self.turns = 0
        self.unpriced_model: str | None = None
        self._scope, self._price = scope, price

    def begin_call(self) -> None:
        """Count a call when it begins, so that calls at the same time cannot pass the limit together."""
        self.model_calls += 1

    def end_call(self, call: ModelCall) -> None:
        """Add what a call has used; turns are counted by its session, which knows its other calls."""
        usage = usage_at_least([call])
        self.tokens += usage.total or 0
        if self.budget.max_usd is None or not usage.total:
            return
        names = [name for name in (call.model_answered, call.model_asked) if name is not None]
        prices = (self._price(usage, f"{_VENDORS[call.wire]}/{name}") for name in names)
        usd = next((price for price in prices if price is not None), None)
        if usd is None:
            self.unpriced_model = next(iter(names), "unknown")
        else:
            self.usd += usd

    def find_refusal(self, *, is_main: bool) -> str | None:
        """Return why another call is refused; `None` if it is not."""
        budget = self.budget
        if budget.max_usd is not None and self.unpriced_model is not None:
            # Spending on without knowing how much would make the limit a decoration.
            return f"max_usd of the {self._scope} cannot be kept: no price is known for model {self.unpriced_model!r}"
        limits = (
            ("max_usd", budget.max_usd, self.usd),
            ("max_tokens", budget.max_tokens, self.tokens),
            ("max_model_calls", budget.max_model_calls, self.model_calls),
            ("max_turns", budget.max_turns if is_main else None, self.turns),
        )
        for name, limit, spent in limits:
            if limit is not None and spent >= limit:
                return f"{name} of the {self._scope} is used up: {spent:g} of {limit:g}"
        return None


def price_in_usd(usage: TokenUsage, model: str) -> float | None:
    """Return what tokens cost by the price table; `None` if it does not know the model."""
    cost = price_of(usage, model)
    return None if cost is None or cost.total_usd is None else float(cost.total_usd)
