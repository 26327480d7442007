"""What a session cost: its model calls at the prices of a table, or where no meter saw any, what the agent reports."""

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal

from ghx_profiler.plan.cell import NO_MODEL
from ghx_profiler.records.metrics import Cost, TokenUsage
from ghx_profiler.records.model_calls import ModelCall, usage_at_least, usage_estimated
from ghx_profiler.records.trace import SessionTrace


def cost_of(trace: SessionTrace, model: str, *, at: datetime | None = None) -> Cost:
    """Return what a session cost; not known, rather than nothing or a guess, where a price is not known.

    Where a meter saw model calls, these at the prices of a table are the cost, the same for all agents. The figure of
    the agent itself is next to it on the row: agents price their models by their own tables, or at 0.
    Without a meter it is what the agent reports, else its tokens at the prices of the table.
    """
    if any(call.replayed is not None for call in trace.model_calls):
        return Cost(total_usd=0.0, source="computed", prices="replayed: no model was asked")
    if trace.model_calls:
        return _price_of_calls(trace.model_calls, model, at) or Cost()
    reported = trace.summary.total_cost_usd
    if reported is not None and math.isfinite(reported) and reported >= 0:
        return Cost(total_usd=reported, source="reported")
    tokens, requests = trace.summary.total_tokens, trace.summary.total_turns
    return price_of(tokens, model, requests=requests, at=at) or Cost()


def cost_at_least_usd(calls: Sequence[ModelCall], model: str) -> float | None:
    """Return what model calls cost for certain: of a cut answer, the usage reported until then; `None` if not known."""
    cost = _price_of_calls(calls, model, None, usage_in=lambda call: usage_at_least([call]))
    return None if cost is None else cost.total_usd


def cost_estimated_usd(calls: Sequence[ModelCall], model: str) -> float | None:
    """Return the cost of model calls, estimated for those without reported tokens; `None` if unknown."""
    cost = _price_of_calls(calls, model, None, usage_in=lambda call: usage_estimated([call]))
    return None if cost is None else cost.total_usd


def _price_of_calls(
    calls: Sequence[ModelCall],
    model: str,
    at: datetime | None,
    *,
    usage_in: Callable[[ModelCall], TokenUsage] = lambda call: call.usage,
) -> Cost | None:
    """Return the total cost of model calls by their requested models; `None` if one of them has no price."""
    used = [call for call in calls if call.has_used_tokens]
    prices = [price_of(usage_in(call), priced_model(call, model), at=at) for call in used]
    known = [price for price in prices if price is not None]
    if not known or len(known) < len(prices):
        return None

    def total(part: str) -> float | None:
        amounts = [getattr(price, part) for price in known]
        return None if None in amounts else math.fsum(amounts)

    return Cost(
        total_usd=total("total_usd"),
        input_usd=total("input_usd"),
        output_usd=total("output_usd"),
        reasoning_usd=total("reasoning_usd"),
        source="computed",
        prices=", ".join(dict.fromkeys(price.prices for price in known if price.prices is not None)),
    )


def priced_model(call: ModelCall, model: str | None) -> str:
    """Return the model of a call as price tables know it: that of its session, unless the call requested another."""
    requested = call.model_asked or model or NO_MODEL
    return model if model is not None and requested == model.rpartition("/")[2] else requested


def load_prices(model: str) -> None:
    """Load the price table, which takes a moment, before time is measured."""
    price_of(TokenUsage.of(input=1, output=1), model)


def price_of(tokens: TokenUsage, model: str, *, requests: int | None = None, at: datetime | None = None) -> Cost | None:
    """Return what these tokens cost with this model; `None` if the model, its prices or its tokens are not known.

    The model is an id as agents take it, `provider/model` or `model` alone. Many models charge more for long requests,
    so the tokens are taken as spent in `requests` model calls of equal size. `at` is the moment whose prices count,
    now by default. Cached tokens are in `input_usd`; without a count of reasoning tokens `output_usd` holds them too.
    """
    if model == NO_MODEL:
        return None
    calls = requests or 1
    usage = _usage_per_call(tokens, calls)
    if usage is None:
        return None
    # Imported here: the price table is large, and sessions that need no price never load it.
    from genai_prices import Usage, __version__, calc_price  # noqa: PLC0415 - see above

    provider, _, name = model.partition("/") if "/" in model else ("", "", model)
    try:
        price = calc_price(Usage(**usage), name, provider_id=provider or None, genai_request_timestamp=at)
    except LookupError:
        return None
    rates = price.model_price
    # The table also lists models without their prices, and would count those tokens as free.
    if (usage["input_tokens"] and rates.input_mtok is None) or (usage["output_tokens"] and rates.output_mtok is None):
        return None
    # A model may charge for reasoning separately: its share is what the session would not have cost without it.
    spoken_tokens = usage["output_tokens"] - usage["output_reasoning_tokens"]
    without_reasoning = usage | {"output_tokens": spoken_tokens, "output_reasoning_tokens": Decimal(0)}
    spoken = rates.calc_price(Usage(**without_reasoning))["output_price"]
    return Cost(
        total_usd=_dollars(price.total_price * calls),
        input_usd=_dollars(price.input_price * calls),
        output_usd=_dollars(spoken * calls),
        reasoning_usd=None if tokens.reasoning is None else _dollars((price.output_price - spoken) * calls),
        source="computed",
        prices=f"genai-prices {__version__}: {price.provider.id}/{price.model.id}",
    )


_SMALLEST = Decimal("1e-12")
_MOST_TOKENS = 10**12


def _usage_per_call(tokens: TokenUsage, calls: int) -> dict[str, Decimal] | None:
    """Return the mean model call in the table's words, in which cached tokens are input and reasoning is output."""
    if tokens.input is None or tokens.output is None or _are_absurd(tokens):
        return None

    def mean(count: int | None) -> Decimal:
        # Rounded, so that the parts of a whole add up to it.
        return (Decimal(count or 0) / calls).quantize(_SMALLEST)

    cache_read, cache_write, reasoning = mean(tokens.cache_read), mean(tokens.cache_write), mean(tokens.reasoning)
    return {
        "input_tokens": mean(tokens.input) + cache_read + cache_write,
        "cache_read_tokens": cache_read,
        "cache_write_tokens": cache_write,
        "output_tokens": mean(tokens.output) + reasoning,
        "output_reasoning_tokens": reasoning,
    }


def _are_absurd(tokens: TokenUsage) -> bool:
    """Return whether a count is beyond what any session can spend: an agent's slip, and no ground for a price."""
    parts = (tokens.input, tokens.output, tokens.reasoning, tokens.cache_read, tokens.cache_write)
    return any(part is not None and part > _MOST_TOKENS for part in parts)


def _dollars(amount: Decimal) -> float:
    return float(amount.quantize(_SMALLEST))
