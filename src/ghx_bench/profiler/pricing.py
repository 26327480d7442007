"""What a session cost: as the agent reports it, else from its tokens and a price table."""

from decimal import Decimal

from ghx_bench.profiler.metrics import Cost, TokenUsage
from ghx_bench.profiler.trace import SessionTrace


def cost_of(trace: SessionTrace, model: str) -> Cost:
    """Return the cost the agent reports, else the one its tokens would have, else a cost that is not known."""
    reported = trace.summary.total_cost_usd
    if reported is not None:
        return Cost(total_usd=reported, source="reported")
    return price_of(trace.summary.total_tokens, model) or Cost()


def price_of(tokens: TokenUsage, model: str) -> Cost | None:
    """Look up what these tokens cost with this model; `None` if the model, or its token counts, are not known.

    The model is an id as agents take it, `provider/model` or `model` alone. Reasoning is billed as output.
    """
    if tokens.input is None or tokens.output is None:
        return None
    # Imported here: the price table is large, and most sessions that need no price never load it.
    from genai_prices import Usage, calc_price  # noqa: PLC0415

    provider, _, name = model.partition("/") if "/" in model else ("", "", model)
    reasoning = tokens.reasoning or 0
    usage = Usage(
        # The table counts cached tokens as part of the input, our records do not.
        input_tokens=tokens.input + (tokens.cache_read or 0) + (tokens.cache_write or 0),
        cache_read_tokens=tokens.cache_read or 0,
        cache_write_tokens=tokens.cache_write or 0,
        output_tokens=tokens.output + reasoning,
    )
    try:
        price = calc_price(usage, name, provider_id=provider or None)
    except LookupError:
        return None
    output_usd = price.output_price
    reasoning_usd = output_usd * reasoning / Decimal(tokens.output + reasoning) if reasoning else Decimal(0)
    return Cost(
        total_usd=float(price.total_price),
        input_usd=float(price.input_price),
        output_usd=float(output_usd - reasoning_usd),
        reasoning_usd=float(reasoning_usd),
        source="computed",
        prices=f"{price.provider.id}/{price.model.id}",
    )
