"""What a session cost."""

import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from genai_prices import Usage, calc_price
from hypothesis import given
from hypothesis import strategies as st

from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.metered_trace import fill_from_model_calls
from ghx_profiler.records.metrics import Cost, TokenUsage
from ghx_profiler.records.model_calls import ModelCall
from ghx_profiler.records.trace import SessionTrace, TraceSummary
from ghx_profiler.runner.pricing import cost_of, price_of

AT = datetime(2026, 3, 3, tzinfo=UTC)


def trace(tokens: TokenUsage, **summary: Any) -> SessionTrace:
    return SessionTrace(session_id="s", summary=TraceSummary(total_tokens=tokens, **summary))


def price(model: str, tokens: TokenUsage, **options: Any) -> Cost:
    cost = price_of(tokens, model, at=AT, **options)
    assert cost is not None
    return cost


def table_price(provider: str, model: str, **usage: int) -> Decimal:
    return calc_price(Usage(**usage), model, provider_id=provider, genai_request_timestamp=AT).total_price


def test_a_cost_that_the_agent_reports_wins_and_says_so() -> None:
    spent = trace(TokenUsage.of(input=1_000, output=100), total_cost_usd=0.5)

    assert cost_of(spent, "openai/gpt-5") == Cost(total_usd=0.5, source="reported")


def test_a_reported_cost_of_nothing_is_a_cost() -> None:
    assert cost_of(trace(TokenUsage.of(input=1_000, output=100), total_cost_usd=0), "openai/gpt-5").total_usd == 0


def metered(model: str, **fields: Any) -> SessionTrace:
    usage = TokenUsage.of(input=1_000, output=100)
    call = ModelCall(number=1, wire="openai-chat", model_asked=model, started_at="2026-03-03T00:00:00Z", usage=usage)
    recorder = TraceRecorder()
    recorder.cost(0.5)
    recorder.model_calls.append(call.model_copy(update=fields))
    return fill_from_model_calls(recorder.trace())


@pytest.mark.parametrize(
    ("model", "fields"),
    [("no-such-model", {}), ("gpt-5", {"cut": True, "usage": TokenUsage()})],
    ids=["price", "tokens"],
)
def test_what_metered_calls_cost_is_not_known_rather_than_the_agents_guess(model: str, fields: dict[str, Any]) -> None:
    trace = metered(model, **fields)

    assert cost_of(trace, f"openai/{model}", at=AT) == Cost()
    assert trace.reported is not None
    assert trace.reported.cost_usd == 0.5
    assert trace.summary.total_cost_usd is None


def test_metered_calls_cost_what_the_table_says_whatever_the_agent_reports() -> None:
    cost = cost_of(metered("gpt-5"), "openai/gpt-5", at=AT)

    assert (cost.total_usd, cost.source) == (pytest.approx(0.00225), "computed")


@pytest.mark.parametrize("nonsense", [float("nan"), float("inf"), -1])
def test_a_reported_cost_that_is_no_amount_is_ignored(nonsense: float) -> None:
    cost = cost_of(trace(TokenUsage.of(input=1_000, output=100), total_cost_usd=nonsense), "openai/gpt-5")

    assert cost.source == "computed"


def test_without_a_report_the_tokens_are_priced() -> None:
    cost = cost_of(trace(TokenUsage.of(input=1_000, output=100)), "openai/gpt-5", at=AT)

    assert cost.total_usd == pytest.approx(1_000 * 1.25e-6 + 100 * 10e-6)
    assert cost.source == "computed"
    assert cost.prices is not None
    assert cost.prices.endswith(": openai/gpt-5")


def test_cached_tokens_are_counted_once() -> None:
    tokens = TokenUsage.of(input=100, output=10, cache_read=900, cache_write=50)

    cost = price("anthropic/claude-sonnet-4-5", tokens)

    assert cost.input_usd == pytest.approx(100 * 3e-6 + 900 * 0.3e-6 + 50 * 3.75e-6)
    assert cost.total_usd == pytest.approx((cost.input_usd or 0) + 10 * 15e-6)


def test_reasoning_is_billed_as_output_and_told_apart() -> None:
    cost = price("openai/gpt-5", TokenUsage.of(input=0, output=100, reasoning=300))

    assert cost.output_usd == pytest.approx(100 * 10e-6)
    assert cost.reasoning_usd == pytest.approx(300 * 10e-6)
    assert cost.total_usd == pytest.approx(400 * 10e-6)


def test_reasoning_has_its_own_price_where_the_table_says_so() -> None:
    model = "sonar-deep-research"
    plain = table_price("perplexity", model, input_tokens=0, output_tokens=1_000)
    thoughtful = table_price("perplexity", model, input_tokens=0, output_tokens=2_000, output_reasoning_tokens=1_000)

    cost = price(f"perplexity/{model}", TokenUsage.of(input=0, output=1_000, reasoning=1_000))

    assert cost.reasoning_usd == pytest.approx(float(thoughtful - plain))
    assert cost.reasoning_usd != pytest.approx(cost.output_usd)


def test_what_reasoning_cost_is_not_known_where_it_is_not_told_apart() -> None:
    assert price("openai/gpt-5", TokenUsage.of(input=10, output=100)).reasoning_usd is None
    assert price("openai/gpt-5", TokenUsage.of(input=10, output=100, reasoning=0)).reasoning_usd == 0


@pytest.mark.parametrize("model", ["gpt-5", "openai/gpt-5", "openrouter/openai/gpt-5", "OpenAI/GPT-5"])
def test_a_model_is_found_under_the_ids_that_agents_take(model: str) -> None:
    assert price(model, TokenUsage.of(input=1_000, output=100)).total_usd == pytest.approx(0.00225)


def test_the_provider_in_the_id_decides_whose_price_it_is() -> None:
    tokens = TokenUsage.of(input=1_000, output=100)

    assert (price("openrouter/openai/gpt-5", tokens).prices or "").endswith(": openrouter/openai/gpt-5")
    assert (price("azure/gpt-5", tokens).prices or "").endswith(": azure/gpt-5")


@pytest.mark.parametrize(
    "model", ["", "none", "/", "openai/", "openai/no-such-model", "no-such-provider/gpt-5", "meta-llama/Llama-3.1-8B"]
)
def test_the_cost_of_an_unknown_model_is_not_known(model: str) -> None:
    assert price_of(TokenUsage.of(input=1_000, output=100), model) is None
    assert cost_of(trace(TokenUsage.of(input=1_000, output=100)), model) == Cost()


def test_a_model_that_the_table_lists_without_prices_is_not_free() -> None:
    assert table_price("github-copilot", "gpt-4.1", input_tokens=1_000, output_tokens=100) == 0

    assert price_of(TokenUsage.of(input=1_000, output=100), "github-copilot/gpt-4.1") is None


@pytest.mark.parametrize("tokens", [TokenUsage(), TokenUsage.of(input=1), TokenUsage.of(output=1)])
def test_the_cost_of_unknown_tokens_is_not_known(tokens: TokenUsage) -> None:
    assert price_of(tokens, "openai/gpt-5") is None


def test_long_sessions_of_short_requests_do_not_pay_the_price_of_long_requests() -> None:
    # Sonnet 4.5 costs twice as much for a request of more than 200,000 tokens.
    tokens = TokenUsage.of(input=300_000, output=0)

    assert price("anthropic/claude-sonnet-4-5", tokens, requests=10).total_usd == pytest.approx(300_000 * 3e-6)
    assert price("anthropic/claude-sonnet-4-5", tokens, requests=1).total_usd == pytest.approx(300_000 * 6e-6)


def test_the_turns_of_a_trace_are_its_requests() -> None:
    tokens = TokenUsage.of(input=300_000, output=0)

    cost = cost_of(trace(tokens, total_turns=10), "anthropic/claude-sonnet-4-5", at=AT)

    assert cost == price("anthropic/claude-sonnet-4-5", tokens, requests=10)


def test_a_trace_without_turns_is_priced_all_the_same() -> None:
    assert cost_of(trace(TokenUsage.of(input=0, output=0), total_turns=0), "openai/gpt-5").total_usd == 0


counts = st.none() | st.integers(min_value=0, max_value=10**7)
usages = st.builds(TokenUsage.of, input=counts, output=counts, reasoning=counts, cache_read=counts, cache_write=counts)


@pytest.mark.slow
@given(tokens=usages, requests=st.integers(min_value=1, max_value=1_000))
def test_splitting_a_flat_price_over_requests_changes_nothing(tokens: TokenUsage, requests: int) -> None:
    together, split = price_of(tokens, "gpt-5", at=AT), price_of(tokens, "gpt-5", requests=requests, at=AT)

    assert (together is None) == (split is None) == (tokens.input is None or tokens.output is None)
    if together and split:
        assert split.total_usd == pytest.approx(together.total_usd, abs=1e-9)


@given(tokens=usages)
def test_the_parts_of_a_cost_add_up(tokens: TokenUsage) -> None:
    cost = price_of(tokens, "anthropic/claude-sonnet-4-5", at=AT)

    if cost is not None:
        parts = (cost.input_usd or 0) + (cost.output_usd or 0) + (cost.reasoning_usd or 0)
        assert parts == pytest.approx(cost.total_usd)


huge = st.none() | st.integers(min_value=0)


@given(
    tokens=st.builds(TokenUsage.of, input=huge, output=huge, reasoning=huge, cache_read=huge, cache_write=huge),
    model=st.text() | st.sampled_from(["openai/gpt-5", "gemini-2.5-pro", "anthropic/claude-sonnet-4-5"]),
    requests=st.none() | st.integers(min_value=0, max_value=10**9),
)
def test_no_trace_makes_pricing_fail(tokens: TokenUsage, model: str, requests: int | None) -> None:
    cost = cost_of(trace(tokens, total_turns=requests), model)

    assert cost.total_usd is None or cost.total_usd >= 0


def test_counts_beyond_belief_are_no_ground_for_a_price() -> None:
    assert price_of(TokenUsage.of(input=10**30, output=1), "openai/gpt-5") is None


def test_the_price_table_is_not_loaded_for_a_reported_cost() -> None:
    program = (
        "import sys\n"
        "from ghx_profiler.runner.pricing import cost_of\n"
        "from ghx_profiler.records.trace import SessionTrace, TraceSummary\n"
        "cost_of(SessionTrace(session_id='s', summary=TraceSummary(total_cost_usd=1)), 'openai/gpt-5')\n"
        "sys.exit('genai_prices' in sys.modules)\n"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
