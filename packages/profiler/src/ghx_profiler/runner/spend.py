"""Model spending compared with its limit."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Literal

from ghx_profiler.config import Budget
from ghx_profiler.records.row import Attempt


@dataclass(slots=True)
class Spend:
    """What a session or a run has spent."""

    usd: float = 0.0
    tokens: int = 0
    model_calls: int = 0
    turns: int = 0
    estimated_tokens: int = 0
    """The tokens that were estimated by the size of requests and answers without reported usage."""

    def copy(self) -> "Spend":
        """Return what was spent by now, and nothing else."""
        return Spend(**{each.name: getattr(self, each.name) for each in fields(Spend)})

    def find_limit(self, budget: Budget, scope: Literal["session", "run"]) -> str | None:
        """Return which limit of a budget is reached, in words; `None` if none is."""
        limits = (
            ("max_usd", budget.max_usd, self.usd),
            ("max_tokens", budget.max_tokens, self.tokens),
            ("max_model_calls", budget.max_model_calls, self.model_calls),
            ("max_turns", budget.max_turns, self.turns),
        )
        for name, limit, spent in limits:
            if limit is not None and spent >= limit:
                guess = ""
                if self.estimated_tokens and name in ("max_usd", "max_tokens"):
                    guess = f"; {self.estimated_tokens:,} tokens estimated, of answers that did not tell theirs"
                return f"{name} of the {scope} is used up ({spent:,.6g} of {limit:,.6g}{guess})"
        return None


@dataclass(slots=True)
class RunSpend(Spend):
    """The sum over all attempts of a run, those of interrupted cells and of warm-ups included."""

    has_unknown_cost: bool = False
    """Whether tokens were spent whose price is not known."""

    def add(self, attempts: Iterable[Attempt]) -> None:
        """Add what attempts spent: of one whose tokens are not known, the estimate, else what it spent for certain."""
        for each in attempts:
            known, estimate, usd = each.tokens.total, each.tokens_estimated, each.cost_usd
            if known is None and estimate is None:
                estimate = each.tokens_at_least
            tokens = known or (estimate.total if estimate else 0) or 0
            if usd is None:
                usd = each.cost_at_least_usd if each.tokens_estimated is None else each.cost_estimated_usd
            self.tokens += tokens
            self.estimated_tokens += tokens if known is None and each.tokens_estimated is not None else 0
            self.usd += usd or 0.0
            self.model_calls += each.model_calls or 0
            self.turns += each.turns or 0
            self.has_unknown_cost |= tokens > 0 and usd is None

    def find_excess(self, budget: Budget) -> str | None:
        """Return which limit of a budget is reached, or cannot be kept, in words; `None` if none is."""
        if budget.max_usd is not None and self.has_unknown_cost:
            # To spend on without knowing how much would be no limit at all.
            return "max_usd of the run cannot be kept: what a session cost is not known"
        return self.find_limit(budget, "run")
