"""Who is to blame, and what is spent, where models fail, hang, keep their tokens to themselves, or are refused."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from metered_conversations import PROMPT, STEPS, StandingClock, ask_for, metered, served
from wire_clients import WIRES, WireClient, wait_until, wire_client

from ghx_profiler.agents.metering.meter import Meter
from ghx_profiler.agents.metering.metered_session import MeteredSession
from ghx_profiler.agents.metering.model_budget import BudgetExhaustedError, Spending
from ghx_profiler.agents.metering.model_provider import ModelProvider
from ghx_profiler.agents.metering.run_meter import find_wrong_setup
from ghx_profiler.agents.metering.upstream import HttpUpstream
from ghx_profiler.agents.testing import Fault, Pace, Script, ScriptedEndpoint
from ghx_profiler.config import Budget
from ghx_profiler.records.causes import Cause, RunBudgetError, TransientError
from ghx_profiler.records.model_calls import WireKind
from ghx_profiler.runner.spend import Spend

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def run_of(**limits: Any) -> Spending:
    return Spending(budget=Budget(**limits), scope="run", price=lambda _usage, _model: 0.01)


@asynccontextmanager
async def answered_with(
    *events: Mapping[str, Any] | str, wire: WireKind, **settings: Any
) -> AsyncIterator[tuple[MeteredSession, WireClient]]:
    """Hold a session whose provider streams these events as its answer to every call."""
    lines = [each if isinstance(each, str) else json.dumps(each) for each in events]
    content = "".join(f"data: {line}\n\n" for line in lines).encode()
    head = (
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n"
        % len(content)
    )

    async def serve(stream: Any) -> None:
        async with stream:
            await stream.receive()
            await stream.send(head + content)

    async with served(serve) as address:
        upstream = HttpUpstream(f"{address}/v1" if wire.startswith("openai") else address)
        async with Meter({wire: ModelProvider(name="plain", upstream=upstream)}, **settings) as meter:
            with meter.session() as session:
                async with wire_client(session.base_url, session.key) as client:
                    yield session, client


async def test_the_budget_of_a_run_is_one_for_all_its_agents() -> None:
    """Each has a meter of its own, in a thread of its own."""
    run = run_of(max_model_calls=5)
    async with metered(run_spending=run) as (_, _, one, ours), metered(run_spending=run) as (_, _, other, theirs):
        statuses: list[int] = []

        async def ask(client: WireClient) -> None:
            statuses.append((await client.ask(ask_for("anthropic"))).status_code)

        async with anyio.create_task_group() as group:
            for client in (ours, theirs) * 6:
                group.start_soon(ask, client)

        assert sorted(statuses) == [200] * 5 + [400] * 7
        assert run.model_calls == 5
        assert {type(session.verdict()) for session in (one, other)} == {RunBudgetError}


async def test_what_a_run_has_spent_before_counts_once_however_many_agents_it_has(tmp_path: Any) -> None:
    run = run_of(max_tokens=1_000)
    for _ in range(2):
        run.begin_run(tmp_path, lambda: Spend(tokens=400))
    assert run.tokens == 400
    run.begin_run(tmp_path / "another", Spend)
    assert run.tokens == 0


WITHOUT_USAGE: Mapping[WireKind, Sequence[Mapping[str, Any] | str]] = {
    "openai-chat": (
        {"choices": [{"index": 0, "delta": {"content": "x" * 400}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        "[DONE]",
    ),
    "openai-responses": (
        {"type": "response.output_text.delta", "delta": "x" * 400},
        {"type": "response.completed", "response": {"status": "completed", "output": []}},
    ),
    "anthropic": (
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x" * 400}},
        {"type": "message_stop"},
    ),
    "gemini": ({"candidates": [{"content": {"parts": [{"text": "x" * 400}]}, "finishReason": "STOP"}]},),
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("limit", ["max_tokens", "max_usd"])
async def test_answers_that_do_not_tell_their_tokens_are_held_against_a_budget_by_their_size(
    wire: WireKind, limit: str
) -> None:
    settings = {"session_budget": Budget.model_validate({limit: 450}), "price": lambda usage, _model: usage.total}
    async with answered_with(*WITHOUT_USAGE[wire], wire=wire, **settings) as (session, client):
        statuses = [(await client.ask(ask_for(wire, "y" * 400))).status_code for _ in range(4)]
        first, verdict = session.calls[0], session.verdict()

    # A request of 600 bytes or so, and 400 bytes of an answer.
    assert statuses == [200, 200, 400, 400]
    assert (first.usage.total, first.cut) == (None, False)
    assert first.usage_estimated is not None
    assert (first.usage_estimated.input, first.usage_estimated.output) == (first.request_bytes // 4, 100)
    assert isinstance(verdict, BudgetExhaustedError)
    assert "tokens estimated" in str(verdict)


async def test_an_answer_that_was_cut_counts_with_what_it_said_and_no_less_than_it_told() -> None:
    script, budget = Script(pace=Pace(cut_after=2)), Budget(max_tokens=10**6)
    async with metered(script, session_budget=budget) as (_, _, session, client):
        with pytest.raises(httpx2.TransportError):
            await client.ask(ask_for("anthropic"))
        (call,) = session.calls

    assert call.usage_at_least is not None
    assert call.usage_estimated is not None
    assert call.usage_estimated.input == call.usage_at_least.input == 200
    assert session.spending.tokens == call.usage_estimated.total


@pytest.mark.parametrize("scope", ["session", "run"])
async def test_a_side_call_that_is_refused_after_the_answer_takes_nothing_from_it(scope: str) -> None:
    budget = Budget(max_model_calls=1)
    settings = {"session_budget": budget} if scope == "session" else {"run_spending": run_of(max_model_calls=1)}
    async with metered(**settings) as (_, _, session, client):
        session.expect_prompt(PROMPT)
        await client.ask(ask_for("anthropic"))
        answered_after = session.call_count
        title = ask_for("anthropic")
        title.take_answer("Done.")
        title.say("Write a title.")
        assert (await client.ask(title)).status_code == 400

        assert session.calls[-1].side == "other_prompt"
        assert session.verdict(answered_after) is None
        # One that came before the answer, and did not keep the agent from it, no more.
        assert session.verdict(session.call_count) is None
        # What broke down over it has not answered.
        assert isinstance(session.verdict(), BudgetExhaustedError if scope == "session" else RunBudgetError)


@pytest.mark.parametrize("status", [401, 429, 500, 529])
async def test_attempts_in_an_outage_use_up_no_calls_of_a_session(status: int) -> None:
    script = Script(solution=STEPS, faults=(Fault(status=status, times=4),))
    async with metered(script, session_budget=Budget(max_model_calls=2)) as (_, _, session, client):
        session.expect_prompt(PROMPT)
        in_vain = [(await client.ask(ask_for("openai-chat"))).status_code for _ in range(4)]
        down = session.verdict(session.call_count)
        statuses = [(await client.ask(ask_for("openai-chat"))).status_code for _ in range(3)]
        spent = session.verdict(session.call_count)

    assert (in_vain, statuses) == ([status] * 4, [200, 200, 400])
    assert down is not None
    assert down.cause is Cause.MODEL_PROVIDER
    assert isinstance(spent, BudgetExhaustedError)


@asynccontextmanager
async def hanging(clock: StandingClock) -> AsyncIterator[tuple[MeteredSession, WireClient]]:
    """Hold a session that was prompted at 0 s, and whose provider accepts a call, at 1 s, and never answers it."""
    async with (
        metered(Script(pace=Pace(before_first_s=60)), clock=clock) as (_, _, session, client),
        anyio.create_task_group() as group,
    ):
        session.expect_prompt(PROMPT)
        clock.stands_at += 1
        group.start_soon(client.ask, ask_for("openai-chat"))
        await wait_until(lambda: session.call_count == 1)
        yield session, client
        group.cancel_scope.cancel()


async def test_a_provider_that_accepts_a_call_and_never_answers_is_to_blame_and_not_the_agent() -> None:
    clock = StandingClock()
    async with hanging(clock) as (session, _):
        clock.stands_at = 10
        verdict = session.verdict(was_stopped=True)
        given_up = session.verdict(session.call_count)

    for each in (verdict, given_up):  # also where the agent ended its turn because of that
        assert isinstance(each, TransientError)
        assert each.cause is Cause.MODEL_PROVIDER
        assert "9.0 of 10.0 s" in str(each)


async def test_an_agent_that_asked_late_has_not_waited_for_most_of_its_time() -> None:
    clock = StandingClock()
    clock.stands_at = 0
    async with metered(Script(pace=Pace(before_first_s=60)), clock=clock) as (_, _, session, client):
        session.expect_prompt(PROMPT)
        clock.stands_at = 6
        async with anyio.create_task_group() as group:
            group.start_soon(client.ask, ask_for("openai-chat"))
            await wait_until(lambda: session.call_count == 1)
            clock.stands_at = 10
            assert session.verdict(was_stopped=True) is None
            group.cancel_scope.cancel()


async def test_an_answer_whose_end_is_still_on_its_way_when_the_agent_has_answered_is_no_outage() -> None:
    """Goose ends its turn at the reason why its model stopped, before the tokens of the call are told."""
    calls, may_end = 0, anyio.Event()
    stop = {"choices": [{"index": 0, "delta": {"content": "Done."}, "finish_reason": "stop"}]}
    usage = {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}

    async def serve(stream: Any) -> None:
        nonlocal calls
        calls += 1
        async with stream:
            await stream.receive()
            if calls == 1:
                await stream.send(b"HTTP/1.1 503 Down\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
                return
            await stream.send(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n")
            await stream.send(f"data: {json.dumps(stop)}\n\n".encode())
            await may_end.wait()
            await stream.send(f"data: {json.dumps(usage)}\n\ndata: [DONE]\n\n".encode())

    async with served(serve) as address:
        provider = ModelProvider(name="slow at the end", upstream=HttpUpstream(f"{address}/v1"))
        async with Meter({"openai-chat": provider}) as meter:
            with meter.session() as session:
                async with wire_client(session.base_url, session.key) as client:
                    assert (await client.ask(ask_for("openai-chat"))).status_code == 503
                    await anyio.sleep(0.05)  # most of the time is the outage's
                    async with client.stream(ask_for("openai-chat")) as response:
                        await anext(response.aiter_raw())
                        too_early = session.verdict(session.call_count)
                        may_end.set()
                        await session.wait_for_last_answer(30)
                        verdict = session.verdict(session.call_count)

    assert isinstance(too_early, TransientError)
    assert verdict is None


@pytest.mark.parametrize(("recovers_at", "is_outage"), [(7, True), (3, False)])
async def test_an_outage_that_took_most_of_the_time_is_to_blame_though_a_call_was_answered_after_it(
    recovers_at: int, is_outage: bool
) -> None:
    clock, script = StandingClock(), Script(solution=STEPS, faults=(Fault(status=500, times=2),))
    async with metered(script, clock=clock) as (_, _, session, client):
        session.expect_prompt(PROMPT)
        for moment in (0, 1, recovers_at):
            clock.stands_at = moment
            await client.ask(ask_for("openai-chat"))
        clock.stands_at = 10

        assert isinstance(session.verdict(was_stopped=True), TransientError) is is_outage
        assert session.verdict(session.call_count) is None  # it came to its end in spite of it
        assert session.verdict() is None  # it broke down by itself


async def test_a_stream_that_goes_on_slowly_is_an_answer() -> None:
    clock, script = StandingClock(), Script(solution=STEPS, pace=Pace(between_s=0.05))
    async with metered(script, clock=clock) as (_, _, session, client), client.stream(ask_for("openai-chat")) as answer:
        async for _ in answer.aiter_raw():
            clock.stands_at += 1
            if clock.stands_at > 3:
                break
        assert session.verdict(was_stopped=True) is None


@pytest.mark.parametrize(
    ("wire", "event", "kind"),
    [
        (
            "openai-responses",
            {"type": "response.failed", "response": {"error": {"code": "context_length_exceeded", "message": "long"}}},
            "request",
        ),
        (
            "openai-responses",
            {"type": "response.failed", "response": {"error": {"code": "server_error", "message": "down"}}},
            "stream",
        ),
        ("openai-chat", {"error": {"code": "context_length_exceeded", "message": "long"}}, "request"),
        ("anthropic", {"type": "error", "error": {"type": "invalid_request_error", "message": "long"}}, "request"),
        ("anthropic", {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, "stream"),
        ("gemini", {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "long"}}, "request"),
    ],
)
async def test_an_error_inside_an_answer_is_the_requests_where_it_says_so_and_retries_of_it_are_counted(
    wire: WireKind, event: Mapping[str, Any], kind: str
) -> None:
    async with answered_with(event, wire=wire) as (session, client):
        for _ in range(2):
            await client.ask(ask_for(wire))
        await session.settle()  # a stream is passed on before it is read
        first, again = session.calls
        verdict = session.verdict(2)

    assert (first.error_kind, first.status, first.has_failed) == (kind, 200, True)
    assert (again.retry_of, again.attempt) == (1, 2)
    assert isinstance(verdict, TransientError) is (kind == "stream")


SAID = "x" * 400
BROKEN: Mapping[WireKind, Sequence[Mapping[str, Any] | str]] = {
    "openai-chat": (
        {"choices": [{"index": 0, "delta": {"content": SAID}}]},
        {"error": {"code": 502, "message": "down"}, "choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]},
        "[DONE]",
    ),
    "openai-responses": (
        {"type": "response.output_text.delta", "delta": SAID},
        {"type": "response.failed", "response": {"error": {"code": "server_error", "message": "down"}, "usage": None}},
    ),
    "anthropic": (
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": SAID}},
        {"type": "error", "error": {"type": "overloaded_error", "message": "down"}},
        {"type": "message_stop"},
    ),
    "gemini": (
        {"candidates": [{"content": {"parts": [{"text": SAID}]}}]},
        {"error": {"code": 503, "message": "down"}, "candidates": [{"finishReason": "OTHER"}]},
    ),
}


@pytest.mark.parametrize("wire", WIRES)
async def test_an_answer_that_an_error_ended_has_used_tokens_that_are_not_known_and_count_by_its_size(
    wire: WireKind,
) -> None:
    async with answered_with(*BROKEN[wire], wire=wire, session_budget=Budget(max_tokens=100)) as (session, client):
        await client.ask(ask_for(wire))
        await session.settle()
        refused = await client.ask(ask_for(wire))
        call, *_ = session.calls
        usage = session.usage()

    assert (call.error_kind, call.error, call.cut) == ("stream", "down", True)
    assert call.usage_estimated is not None
    assert call.usage_estimated.output == 100
    assert usage.total is None
    assert refused.status_code == 400


async def test_an_answer_that_failed_and_told_its_tokens_counts_with_them() -> None:
    usage = {"input_tokens": 70, "output_tokens": 30}
    failed = {"type": "response.failed", "response": {"error": {"code": "server_error"}, "usage": usage}}
    async with answered_with(failed, wire="openai-responses") as (session, client):
        await client.ask(ask_for("openai-responses"))
        await session.settle()

        assert session.calls[0].has_failed
        assert session.usage().total == 100


@pytest.mark.parametrize("wire", ["openai-chat", "gemini"])
async def test_an_error_that_is_null_is_none(wire: WireKind) -> None:
    events = [each if isinstance(each, str) else {**each, "error": None} for each in WITHOUT_USAGE[wire]]
    async with answered_with(*events, wire=wire) as (session, client):
        await client.ask(ask_for(wire))
        await session.settle()

        assert not session.calls[0].has_failed
        assert session.verdict(1) is None


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "answer",
    [
        b"301 Moved Permanently\r\nlocation: https://models.example/\r\ncontent-length: 0\r\n\r\n",
        b"200 OK\r\ncontent-type: text/html\r\ncontent-length: 15\r\n\r\n<html>Hi</html>",
        b"200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 0\r\n\r\n",
    ],
)
async def test_what_is_no_answer_of_a_model_is_not_the_agents_fault(wire: WireKind, answer: bytes) -> None:
    async def serve(stream: Any) -> None:
        async with stream:
            await stream.receive()
            await stream.send(b"HTTP/1.1 " + answer)

    async with (
        served(serve) as address,
        Meter({wire: ModelProvider(name="web", upstream=HttpUpstream(address))}) as meter,
    ):
        with meter.session() as session:
            async with wire_client(session.base_url, session.key) as client:
                await client.ask(ask_for(wire))
                await session.settle()
            verdict = session.verdict(1)

    assert verdict is not None
    assert verdict.cause is Cause.MODEL_PROVIDER


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/completions"])
async def test_an_agent_that_got_no_more_than_a_title_is_not_measured(path: str) -> None:
    async with (
        ScriptedEndpoint.open(Script(solution=STEPS)) as endpoint,
        Meter({"openai-chat": endpoint.providers()["openai-chat"]}) as meter,
    ):
        with meter.session() as session:
            session.expect_prompt(PROMPT)
            async with wire_client(session.base_url, session.key) as client, httpx2.AsyncClient() as other:
                await client.ask(ask_for("openai-chat", "Write a title.", tools=()))
                headers = {"Authorization": f"Bearer {session.key}"}
                assert (await other.post(session.base_url + path, json={}, headers=headers)).status_code == 404
                wrong = find_wrong_setup(session, (), agent="some", has_answered=True)
                # One that tries another way first, and then the right one, is measured.
                await client.ask(ask_for("openai-chat"))
                assert find_wrong_setup(session, (), agent="some", has_answered=True) is None

    assert f"it asked for POST {path}, where no model is" in str(wrong)


@pytest.mark.parametrize("wire", WIRES)
async def test_to_ask_for_the_rest_of_an_answer_is_to_go_on_with_the_conversation(wire: WireKind) -> None:
    async with metered() as (_, _, session, client):
        session.expect_prompt(PROMPT)
        conversation = ask_for(wire)
        await client.ask(conversation)
        conversation.take_answer("First I will look.")
        conversation.say("Please continue.")
        await client.ask(conversation)
        conversation.take_answer("Done.")
        conversation.say("Suggest what to do next.")
        await client.ask(conversation)

        assert [call.side for call in session.calls] == [None, None, "other_prompt"]
