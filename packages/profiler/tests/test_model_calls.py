"""The record of a model call: how it is written, and how calls add up."""

import json

from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.model_calls import ModelCall, RequestedToolCall, usage_at_least, usage_of


def _call(**fields: object) -> ModelCall:
    return ModelCall.model_validate(
        {"number": 1, "wire": "anthropic", "started_at": "2026-03-03T16:37:17.710Z"} | fields
    )


def test_a_call_is_written_in_camel_case_and_read_again() -> None:
    call = _call(model_asked="m", time_to_first_token_ms=12.5, tool_calls=(RequestedToolCall(id="a", name="bash"),))

    written = call.with_all_keys().to_bytes()

    keys = json.loads(written)
    assert {"modelAsked", "timeToFirstTokenMs", "toolCalls", "usage", "cut", "anatomy"} <= keys.keys()
    assert "retryOf" not in keys
    assert keys["usage"]["cacheRead"] is None
    assert ModelCall.model_validate_json(written) == call


def test_calls_of_several_wires_add_up_though_they_tell_different_parts() -> None:
    usage = TokenUsage.of(input=10, cache_read=90, output=5, reasoning=7)
    less = TokenUsage.of(input=10, cache_read=90, cache_write=3, output=12)

    both = usage_of([_call(usage=usage), _call(usage=less)])

    assert (both.input, both.output, both.reasoning, both.cache_read) == (20, 17, None, 180)
    assert (both.total, both.active) == (112 + 115, 22 + 25)


def test_a_call_that_was_cut_makes_the_tokens_unknown_and_keeps_the_lower_bound() -> None:
    whole = _call(usage=TokenUsage.of(input=10, cache_read=0, output=5))
    cut = _call(cut=True, error_kind="abandoned", usage_at_least=TokenUsage.of(input=7, cache_read=3, output=1))

    assert usage_of([whole, cut]) == TokenUsage(**dict.fromkeys(TokenUsage.model_fields))
    at_least = usage_at_least([whole, cut])
    assert (at_least.input, at_least.output, at_least.total, at_least.active) == (17, 6, 26, 23)


def test_a_call_that_failed_before_its_answer_used_nothing() -> None:
    whole = _call(usage=TokenUsage.of(input=10, cache_read=0, output=5))
    failed = _call(status=529, error_kind="overloaded")

    assert usage_of([whole, failed]).total == 15
    assert usage_of([failed]) == TokenUsage()
