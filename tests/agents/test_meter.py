"""The meter between an agent and its model, over real HTTP on loopback."""

import json
import socket
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
from anyio.streams.tls import TLSListener
from metered_conversations import PROMPT, REAL_KEY, STEPS, StandingClock, ask_for, metered, served
from wire_clients import WIRES, WireClient, wait_until, wire_client

from ghx_base.clock import SystemClock
from ghx_base.errors import InputError
from ghx_profiler.agents.controls.solution import Solution
from ghx_profiler.agents.metering.meter import Meter
from ghx_profiler.agents.metering.metered_session import MeteredSession
from ghx_profiler.agents.metering.model_budget import BudgetExhaustedError, Spending, price_in_usd
from ghx_profiler.agents.metering.model_exchange import Exchange, write_upstream_request
from ghx_profiler.agents.metering.model_provider import ModelProvider
from ghx_profiler.agents.metering.model_recording import ModelRecorder
from ghx_profiler.agents.metering.service_queue import ServiceQueue
from ghx_profiler.agents.metering.upstream import HttpUpstream, UpstreamRequest
from ghx_profiler.agents.testing import (
    Fault,
    Pace,
    Script,
    ScriptedAnswer,
    ScriptedTokens,
    write_stream,
)
from ghx_profiler.agents.wires.protocol import Route
from ghx_profiler.config import Budget, ModelService
from ghx_profiler.records.causes import Cause, EnvironmentFailure, ModelProviderError, RunBudgetError, TransientError
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.model_calls import RequestedToolCall, WireKind
from ghx_twin.server.clients.authority import make_certificates

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("stream", [True, False])
async def test_every_token_of_a_conversation_is_counted(wire: WireKind, stream: bool) -> None:
    async with metered() as (endpoint, _, session, client):
        await client.work(ask_for(wire, stream=stream), lambda call: f"did {call.name}")

        assert session.usage() == endpoint.claimed_usage(session=session.id)
        first, second, last = session.calls

    assert [call.number for call in (first, second, last)] == [1, 2, 3]
    assert (first.wire, first.model_asked, first.model_answered, first.status) == (
        wire,
        "scripted-1",
        "scripted-1",
        200,
    )
    assert (first.tools_offered, first.tool_result_count) == (("bash",), 0)
    assert [(call.name, call.arguments) for call in first.tool_calls] == [
        ("bash", {"command": "one", "description": "Run a command"})
    ]
    assert (last.tool_result_count, [(each.name, each.text) for each in last.tool_results]) == (
        2,
        [("bash", "did bash")],
    )
    assert last.stop_reason is not None
    assert last.anatomy.tool_results > first.anatomy.tool_results == 0
    assert (first.time_to_first_token_ms is not None) is stream
    assert first.duration_ms is not None
    assert first.duration_ms >= (first.time_to_first_token_ms or 0)
    assert not any(call.cut or call.has_failed or call.side for call in (first, second, last))


@pytest.mark.parametrize("wire", WIRES)
async def test_the_agent_holds_a_key_that_is_worth_nothing_and_the_provider_sees_the_real_one(wire: WireKind) -> None:
    async with metered() as (endpoint, _, session, client):
        response = await client.ask(ask_for(wire))

        assert response.status_code == 200
        assert endpoint.calls[0].keys == (REAL_KEY,)
        assert REAL_KEY not in response.text + str(response.headers) + repr(session)

        client.key = "another"
        refused = await client.ask(ask_for(wire))
        assert refused.status_code == 401
        assert "key" in refused.json()["error"]["message"]
        assert len(endpoint.calls) == 1
        verdict = session.verdict()
        assert isinstance(verdict, EnvironmentFailure)
        assert "another key" in str(verdict)


async def test_a_key_in_the_query_is_replaced_too() -> None:
    async with metered() as (endpoint, _, session, client):
        conversation = ask_for("gemini")
        url = f"{session.base_url}{conversation.path}&key={session.key}"
        response = await client.http.post(url, json=conversation.body())

        assert response.status_code == 200
        assert endpoint.calls[0].keys == (REAL_KEY,)


async def test_sessions_do_not_see_each_other_and_end_with_their_block() -> None:
    async with metered() as (endpoint, meter, session, client):
        with meter.session() as other:
            client.base_url = other.base_url
            assert (await client.ask(ask_for("anthropic"))).status_code == 401
            client.key = other.key
            assert (await client.ask(ask_for("anthropic"))).status_code == 200
        assert (await client.ask(ask_for("anthropic"))).status_code == 404
        assert (session.calls, len(other.calls), len(endpoint.calls)) == ((), 2, 1)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_watch_is_shown_what_is_passed_on_and_nothing_that_is_refused(wire: WireKind) -> None:
    shown: list[bytes] = []
    async with metered() as (_, meter, _, client):
        with meter.session(watch=shown.append) as session:
            client.base_url = session.base_url
            assert (await client.ask(ask_for(wire, "with a wrong key"))).status_code == 401
            client.key = session.key
            assert (await client.ask(ask_for(wire, "what is in the note?"))).status_code == 200

    assert len(shown) == 1
    assert b"what is in the note?" in shown[0]


async def test_only_addresses_of_models_are_passed_on() -> None:
    async with metered() as (endpoint, _, session, client):
        headers = {"authorization": f"Bearer {session.key}"}
        assert (await client.http.get(f"{session.base_url}/v1/models", headers=headers)).status_code == 200
        assert (await client.http.post(f"{session.base_url}/v1/files", headers=headers)).status_code == 404
        assert (await client.http.get(f"{session.base_url}/../../v1/models", headers=headers)).status_code == 404
        assert (endpoint.calls, session.calls) == ([], ())


@pytest.mark.parametrize("wire", WIRES)
async def test_pieces_are_passed_on_as_they_come(wire: WireKind) -> None:
    script = Script(solution=Solution(answer="w " * 40), pace=Pace(between_s=0.02))
    async with metered(script) as (_, _, session, client):
        async with client.stream(ask_for(wire)) as response:
            arrivals = [anyio.current_time() async for _ in response.aiter_raw()]
        (call,) = session.calls

    assert len(arrivals) > 5
    assert arrivals[-1] - arrivals[0] > 0.1
    assert call.time_to_first_token_ms is not None
    assert call.duration_ms is not None
    assert call.time_to_first_token_ms < call.duration_ms - 50


async def test_side_calls_are_told_apart_whenever_they_come() -> None:
    async with metered() as (endpoint, meter, _, client):
        with meter.session(model="vendor/scripted-1") as session:
            client.base_url, client.key = session.base_url, session.key
            session.expect_prompt(PROMPT)
            await client.ask(ask_for("openai-chat", "Make a title.", tools=()))
            conversation = ask_for("openai-chat")
            await client.work(conversation, lambda _: "done")
            conversation.say("[SUGGESTION MODE] What may the user type next?")
            await client.ask(conversation)
            await client.ask(ask_for("openai-chat", model="tiny"))
            await client.ask(ask_for("openai-chat", "Extract what is worth remembering.", tools=("save",)))

            sides = [call.side for call in session.calls]
            assert sides == ["no_tools", None, None, None, "other_prompt", "other_model", "other_prompt"]
            assert session.offered_tools() == ("bash",)
            assert session.usage() == endpoint.claimed_usage(session=session.id)


async def test_an_agent_without_any_tools_has_a_conversation_all_the_same() -> None:
    async with metered() as (_, _, session, client):
        assert session.offered_tools() is None
        await client.ask(ask_for("anthropic", tools=()))
        assert [call.side for call in session.calls] == [None]
        assert session.offered_tools() == ()


@pytest.mark.parametrize("wire", WIRES)
async def test_a_stream_that_the_provider_cuts_is_cut_for_the_agent_and_its_tokens_are_unknown(wire: WireKind) -> None:
    script = Script(solution=Solution(answer="w " * 40), pace=Pace(cut_after=3))
    async with metered(script) as (_, _, session, client):
        with pytest.raises(httpx2.TransportError):
            await client.ask(ask_for(wire))
        await session.settle(5)
        (call,) = session.calls

        assert (call.cut, call.error_kind, call.status) == (True, "connection", 200)
        assert session.usage() == TokenUsage(**dict.fromkeys(TokenUsage.model_fields))
        at_least = session.usage_at_least()
        assert (at_least.input, at_least.cache_read, at_least.output) == (
            (200, 1000, 1) if wire == "anthropic" else (0, 0, 0)
        )
        assert isinstance(session.verdict(), TransientError)


@pytest.mark.parametrize("wire", WIRES)
async def test_an_agent_that_hangs_up_ends_the_call_upstream_at_once(wire: WireKind) -> None:
    script = Script(solution=Solution(answer="w " * 400), pace=Pace(between_s=0.05))
    async with metered(script) as (endpoint, _, session, client):
        async with client.stream(ask_for(wire)) as response:
            await anext(response.aiter_raw())
            assert not session.is_idle
            (going_on,) = session.calls
            assert (going_on.cut, going_on.error_kind) == (True, "abandoned")
        await wait_until(lambda: endpoint.cut_offs > 0)
        await session.settle(5)
        (call,) = session.calls

        assert (call.cut, call.error_kind, call.has_failed) == (True, "abandoned", False)
        assert session.usage().total is None
        assert session.verdict() is None


async def test_an_agent_that_leaves_at_the_head_of_an_error_has_not_given_up_the_call() -> None:
    """OpenAI's client does so where it will ask again: it does not read the error."""

    async def serve(stream: Any) -> None:
        async with stream:
            await stream.receive()
            await stream.send(b"HTTP/1.1 529 Overloaded\r\nretry-after: 7\r\ncontent-length: 100\r\n\r\n{")
            await anyio.sleep_forever()

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        provider = ModelProvider(name="down", upstream=HttpUpstream(f"http://127.0.0.1:{port}/v1"))
        async with Meter({"openai-chat": provider}) as meter:
            with meter.session() as session:
                async with (
                    wire_client(session.base_url, session.key) as client,
                    client.stream(ask_for("openai-chat")) as response,
                ):
                    assert response.status_code == 529
                await wait_until(lambda: session.is_idle)
                (call,) = session.calls
                verdict = session.verdict()
        group.cancel_scope.cancel()

    assert (call.has_failed, call.status, call.retry_after_s) == (True, 529, 7)
    assert isinstance(verdict, TransientError)


async def test_a_call_that_waits_for_its_first_token_is_ended_with_its_session() -> None:
    async with (
        metered(Script(pace=Pace(before_first_s=60))) as (_, meter, _, client),
        anyio.create_task_group() as group,
    ):
        with meter.session() as session:
            client.base_url, client.key = session.base_url, session.key
            group.start_soon(_ask_in_vain, client)
            await wait_until(lambda: not session.is_idle)
        await wait_until(lambda: session.is_idle)
        (call,) = session.calls
        assert (call.cut, call.error_kind, call.status) == (True, "abandoned", None)


async def _ask_in_vain(client: WireClient) -> None:
    with pytest.raises(httpx2.TransportError):
        await client.ask(ask_for("anthropic"))


async def test_a_session_settles_with_calls_that_began_a_moment_later() -> None:
    script, clock = Script(solution=STEPS, pace=Pace(before_first_s=0.2)), StandingClock()
    async with metered(script, clock=clock) as (endpoint, _, session, client), anyio.create_task_group() as group:

        async def start_clock() -> None:
            await wait_until(lambda: not session.is_idle)
            clock.goes = True

        group.start_soon(client.ask, ask_for("anthropic"))
        group.start_soon(start_clock)
        await session.settle(10)
        (call,) = session.calls
        assert (call.cut, session.usage()) == (False, endpoint.claimed_usage())


async def test_a_session_does_not_wait_for_ever_until_it_settles() -> None:
    script = Script(pace=Pace(before_first_s=60))
    async with metered(script) as (_, _, session, client), anyio.create_task_group() as group:
        group.start_soon(_ask_in_vain, client)
        await wait_until(lambda: not session.is_idle)
        with anyio.fail_after(5):
            await session.settle(0.1)
        assert not session.is_idle
        group.cancel_scope.cancel()


async def test_an_agent_that_leaves_after_the_last_event_has_cut_nothing() -> None:
    """Codex does so: it closes the connection on `response.completed`, before the end of the body."""
    async with served(_answer_without_end) as address:
        provider = ModelProvider(name="slow", upstream=HttpUpstream(f"{address}/v1"))
        async with Meter({"openai-responses": provider}) as meter:
            with meter.session() as session:
                async with (
                    wire_client(session.base_url, session.key) as client,
                    client.stream(ask_for("openai-responses")) as response,
                ):
                    async for piece in response.aiter_raw():
                        if b"response.completed" in piece:
                            break
                await session.settle(5)
                (call,) = session.calls

    assert (call.cut, call.error_kind, call.usage.input, call.usage.reasoning) == (False, None, 200, 7)


async def _answer_without_end(stream: Any) -> None:
    answer = ScriptedAnswer(text="done", tokens=ScriptedTokens(input=200, output=3, reasoning=7))
    content = b"".join(write_stream("openai-responses", answer, "m"))
    async with stream:
        await stream.receive()
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        await stream.send(head + b"%x\r\n%s\r\n" % (len(content), content))
        with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
            await stream.receive()


@pytest.mark.parametrize("wire", WIRES)
async def test_errors_are_passed_on_and_told_and_retries_counted(wire: WireKind) -> None:
    faults = (Fault(status=529, times=1, message="overloaded"), Fault(status=429, times=1, retry_after="30"))
    async with metered(Script(solution=STEPS, faults=faults)) as (endpoint, meter, session, client):
        conversation = ask_for(wire)
        responses = [await client.ask(conversation) for _ in range(3)]
        first, second, third = session.calls

        assert [response.status_code for response in responses] == [529, 429, 200]
        assert responses[0].json()["error"]["message"] == "overloaded"
        assert (first.error_kind, first.error, first.attempt, first.retry_of) == ("overloaded", "overloaded", 1, None)
        assert (second.error_kind, second.retry_after_s, second.attempt, second.retry_of) == ("rate_limit", 30, 2, 1)
        assert (third.error_kind, third.attempt, third.retry_of) == (None, 3, 1)
        assert 29 < meter.queue.hold_s(meter.providers[wire]) <= 30
        assert meter.queue.hold_s(ANOTHER) == 0
        assert session.usage() == endpoint.claimed_usage()
        assert session.verdict() is None

        await client.ask(ask_for(wire, "Something else."))
        assert session.calls[-1].retry_of is None


ANOTHER = ModelProvider(name="scripted", upstream=HttpUpstream("http://127.0.0.1:9"), key="of another account")


@pytest.mark.parametrize("wire", WIRES)
async def test_a_result_that_a_failed_call_told_is_known_by_the_next_attempt(wire: WireKind) -> None:
    async with metered(Script(solution=STEPS, faults=(Fault(status=529, times=1),))) as (_, _, session, client):
        conversation = ask_for(wire)
        conversation.take_result(RequestedToolCall(id="call_1", name="bash", arguments={"command": "one"}), "did one")
        for _ in range(2):
            await client.ask(conversation)
        failed, again = session.calls

    assert (failed.has_failed, again.has_failed) == (True, False)
    assert [each.text for each in again.tool_results] == ["did one"]


async def test_no_more_sessions_than_allowed_ask_with_one_key_at_once_whichever_agent_they_are_of() -> None:
    queue, inside, most = ServiceQueue(ModelService(sessions_at_once=2)), 0, 0

    async def take_part(meter: Meter) -> None:
        nonlocal inside, most
        async with meter.queue.admit(meter.providers["openai-chat"]):
            inside += 1
            most = max(most, inside)
            for _ in range(5):
                await anyio.lowlevel.checkpoint()
            inside -= 1

    async with (
        metered(queue=queue) as (_, one, _, _),
        metered(queue=queue) as (_, other, _, _),
        anyio.create_task_group() as group,
    ):
        for meter in (one, other) * 3:
            group.start_soon(take_part, meter)
        async with queue.admit(ANOTHER):
            pass

    assert (most, inside) == (2, 0)


async def test_after_a_minutes_calls_new_sessions_wait_and_open_ones_go_on() -> None:
    clock = StandingClock()
    queue = ServiceQueue(ModelService(requests_per_minute=2), clock)
    async with metered(queue=queue) as (_, meter, _, client):
        provider = meter.providers["openai-chat"]
        waits: list[float] = []
        for moment in (0.0, 20.0, 30.0):
            clock.stands_at = moment
            assert (await client.ask(ask_for("openai-chat"))).status_code == 200
            waits.append(queue.hold_s(provider))
        clock.stands_at = 81.0

        # The last two calls were at 20 and 30 s.
        assert waits == [0.0, 40.0, 50.0]
        assert (queue.hold_s(provider), queue.hold_s(ANOTHER)) == (0.0, 0.0)


async def test_a_provider_is_not_left_alone_for_a_day_because_it_says_so() -> None:
    async with metered(Script(faults=(Fault(status=429, retry_after="86400"),))) as (_, meter, _, client):
        await client.ask(ask_for("openai-chat"))
        assert 590 < meter.queue.hold_s(meter.providers["openai-chat"]) <= 600


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (429, TransientError),
        (500, TransientError),
        (529, TransientError),
        (401, ModelProviderError),
        (404, ModelProviderError),
    ],
)
async def test_an_outage_is_the_providers_fault(status: int, kind: type[Exception]) -> None:
    fault = Fault(status=status, retry_after="7" if status == 429 else None)
    async with metered(Script(faults=(fault,))) as (_, _, session, client):
        for _ in range(2):
            await client.ask(ask_for("openai-chat"))
        await client.ask(ask_for("openai-chat", "A title.", tools=()))  # a side call that works does not change that

        verdict = session.verdict()
        assert isinstance(verdict, kind)
        assert verdict.cause is Cause.MODEL_PROVIDER
        assert str(status) in str(verdict)
        assert "2 attempts" in str(verdict)
        assert getattr(verdict, "retry_after_s", None) == (7 if status == 429 else None)


@pytest.mark.parametrize(
    ("has_worked", "message", "is_outage"),
    [
        (True, "the context is too long", False),
        (True, "Your credit balance is too low to access the API.", True),
        (True, "API key not valid. Please pass a valid API key.", True),
        (False, "Unsupported parameter: 'max_tokens'", True),
    ],
)
async def test_a_request_that_is_refused_is_the_agents_fault_where_others_were_answered(
    has_worked: bool, message: str, is_outage: bool
) -> None:
    refused = Script(prompt="More.", faults=(Fault(status=400, message=message),))
    async with metered(Script(solution=STEPS), refused) as (_, _, session, client):
        if has_worked:
            await client.ask(ask_for("openai-chat"))
        await client.ask(ask_for("openai-chat", "More."))

        assert session.calls[-1].error_kind == "request"
        assert isinstance(session.verdict(), ModelProviderError) is is_outage


async def test_a_provider_that_cannot_be_reached_is_told() -> None:
    provider = ModelProvider(name="gone", upstream=HttpUpstream("http://127.0.0.1:9/v1"))
    async with Meter({"openai-chat": provider}) as meter:
        with meter.session() as session:
            async with wire_client(session.base_url, session.key) as client:
                response = await client.ask(ask_for("openai-chat"))
            (call,) = session.calls

    assert response.status_code == 502
    assert "127.0.0.1:9" in response.json()["error"]["message"]
    assert (call.status, call.error_kind, call.cut) == (None, "connection", False)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("budget", "passed"),
    [
        (Budget(max_model_calls=2), 2),
        (Budget(max_turns=2), 2),
        (Budget(max_tokens=2000), 2),
        (Budget(max_usd=0.02), 2),
    ],
)
async def test_a_budget_refuses_further_calls_and_is_the_cause(wire: WireKind, budget: Budget, passed: int) -> None:
    settings = {"session_budget": budget, "price": lambda usage, model: 0.011}
    async with metered(**settings) as (endpoint, _, session, client):
        assert session.verdict() is None
        statuses = [(await client.ask(ask_for(wire, f"Question {number}."))).status_code for number in range(4)]
        response = await client.ask(ask_for(wire))

        assert statuses == [200] * passed + [400] * (4 - passed)
        assert "used up" in response.json()["error"]["message"]
        assert len(endpoint.calls) == passed
        assert {call.error_kind for call in session.calls[passed:]} == {"budget"}
        verdict = session.verdict()
        assert isinstance(verdict, BudgetExhaustedError)
        assert verdict.cause is Cause.AGENT_SPEND
        assert session.usage() == endpoint.claimed_usage()


async def test_side_calls_are_no_turns() -> None:
    async with metered(session_budget=Budget(max_turns=1)) as (_, _, _, client):
        assert (await client.ask(ask_for("anthropic"))).status_code == 200
        assert (await client.ask(ask_for("anthropic", tools=()))).status_code == 200
        assert (await client.ask(ask_for("anthropic", "More."))).status_code == 400


async def test_a_side_call_before_the_first_turn_is_none() -> None:
    async with metered(session_budget=Budget(max_turns=1)) as (_, _, session, client):
        session.expect_prompt(PROMPT)
        assert (await client.ask(ask_for("anthropic", tools=()))).status_code == 200
        assert (await client.ask(ask_for("anthropic"))).status_code == 200
        assert (await client.ask(ask_for("anthropic", f"{PROMPT} More."))).status_code == 400
        assert "max_turns of the session is used up (1 of 1)" in str(session.verdict())


async def test_the_budget_of_a_run_holds_for_all_its_sessions_and_blames_no_agent() -> None:
    async with metered(run_spending=Spending(budget=Budget(max_model_calls=1), scope="run")) as (
        _,
        meter,
        session,
        client,
    ):
        assert (await client.ask(ask_for("anthropic"))).status_code == 200
        assert session.verdict() is None
        with meter.session() as other:
            client.base_url, client.key = other.base_url, other.key
            assert (await client.ask(ask_for("anthropic"))).status_code == 400
            verdict = other.verdict()
        assert isinstance(verdict, RunBudgetError)
        assert verdict.cause is Cause.RUN_BUDGET


async def test_a_limit_in_dollars_without_a_price_stops_after_the_first_call() -> None:
    async with metered(session_budget=Budget(max_usd=100.0)) as (_, _, session, client):
        statuses = [(await client.ask(ask_for("anthropic"))).status_code for _ in range(2)]
        assert statuses == [200, 400]
        assert "no price is known for model 'scripted-1'" in str(session.verdict())


async def test_a_call_costs_what_its_row_will_say() -> None:
    """Also at a gateway, whose names of models begin with the vendor, over a wire that is not the vendor's."""
    requested: list[str] = []

    def price(_usage: TokenUsage, model: str) -> float:
        requested.append(model)
        return 0.01

    async with metered(session_budget=Budget(max_usd=1.0), price=price) as (_, meter, _, client):
        for session_model, model in (
            ("anthropic/claude-x", "anthropic/claude-x"),
            ("openai/gpt-x", "gpt-x"),
            ("openai/gpt-x", "gpt-x-mini"),
        ):
            with meter.session(model=session_model) as session:
                client.base_url, client.key = session.base_url, session.key
                await client.ask(ask_for("openai-chat", model=model))

    assert requested == ["anthropic/claude-x", "openai/gpt-x", "gpt-x-mini"]


async def test_sixteen_sessions_at_once_count_their_own() -> None:
    async with metered() as (endpoint, meter, _, _):

        async def work(wire: WireKind) -> None:
            with meter.session() as session:
                async with wire_client(session.base_url, session.key) as client:
                    await client.work(ask_for(wire), lambda _: "done")
                assert session.usage() == endpoint.claimed_usage(session=session.id)
                assert len(session.calls) == 3

        async with anyio.create_task_group() as group:
            for number in range(16):
                group.start_soon(work, WIRES[number % 4])


class OneAnswer:
    """An answer whose connection is given to another call as soon as it is closed."""

    status, headers, times_closed = 200, ((b"content-type", b"application/json"),), 0

    async def read(self) -> bytes:
        return b""

    def close(self) -> None:
        self.times_closed += 1


ECHOES = {
    "an error": (401, "application/json", json.dumps({"error": {"message": f"no such key: {REAL_KEY}"}})),
    "an error in a stream": (200, "text/event-stream", f'data: {{"error": {{"message": "key {REAL_KEY}"}}}}\n\n'),
    "an answer to what is no model call": (200, "application/json", json.dumps({"data": [{"id": REAL_KEY}]})),
}


class LoudUpstream(HttpUpstream):
    """A provider that repeats the key it was sent, in two pieces."""

    def __init__(self, status: int, kind: str, body: str) -> None:
        super().__init__("http://127.0.0.1:9")
        middle = body.index(REAL_KEY) + 4
        self.status, self.pieces = status, [body[:middle].encode(), body[middle:].encode()]
        length = str(len(body)).encode()
        self.headers = [(b"content-type", kind.encode()), (b"x-key", REAL_KEY.encode()), (b"content-length", length)]

    async def send(self, request: UpstreamRequest) -> Any:
        assert any(REAL_KEY.encode() in value for _, value in request.headers)
        return self

    async def read(self) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""


@pytest.mark.parametrize("echo", ECHOES)
async def test_a_key_that_the_provider_repeats_reaches_no_agent_no_trace_and_no_recording(
    echo: str, tmp_path: Path
) -> None:
    status, kind, body = ECHOES[echo]
    upstream = ModelRecorder(tmp_path).wrap(LoudUpstream(status, kind, body))
    async with Meter({"openai-chat": ModelProvider(name="loud", upstream=upstream, key=REAL_KEY)}) as meter:
        with meter.session("loud") as session:
            async with wire_client(session.base_url, session.key) as client:
                if "no model call" in echo:
                    headers = {"authorization": f"Bearer {session.key}"}
                    response = await client.http.get(f"{session.base_url}/v1/models", headers=headers)
                else:
                    response = await client.ask(ask_for("openai-chat"))
            texts = [response.text, str(response.headers), *map(repr, session.calls), repr(session.verdict())]

    assert response.text == body.replace(REAL_KEY, "*" * len(REAL_KEY))
    assert response.headers["x-key"] == "*" * len(REAL_KEY)
    texts += [file.read_text() for file in tmp_path.rglob("*") if file.is_file()]
    assert len(texts) > 3
    assert not [each for each in texts if REAL_KEY in each]


class OneUpstream(HttpUpstream):
    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:9")
        self.answer = OneAnswer()

    async def send(self, request: UpstreamRequest) -> OneAnswer:
        return self.answer


async def test_a_call_that_is_over_is_abandoned_without_harm_to_the_next_one_on_its_connection() -> None:
    upstream, route = OneUpstream(), Route(wire="openai-chat")
    provider = ModelProvider(name="one", upstream=upstream)
    spendings = [Spending(budget=Budget(), scope=scope, price=price_in_usd) for scope in ("session", "run")]
    session = MeteredSession("id", "name", "http://meter/s/id", SystemClock(), *spendings)
    scope = {
        "method": "POST",
        "raw_path": b"/s/id/v1/chat/completions",
        "query_string": b"",
        "headers": [(b"authorization", f"Bearer {session.key}".encode())],
    }

    async def receive() -> dict[str, Any]:
        await anyio.sleep_forever()
        raise AssertionError

    async def send(_message: Any) -> None:
        pass

    request = write_upstream_request(session, provider, route, scope, b"{}")
    exchange = Exchange(session, provider, route, request, hold=lambda *_: None)
    await exchange.serve(scope, receive, send)
    exchange.abandon()  # as the end of the session does, which comes from another thread

    assert upstream.answer.times_closed == 1


@pytest.mark.parametrize(("answers", "connections"), [(100, 1), (1, 3)])
async def test_a_connection_is_kept_unless_the_provider_has_closed_it_meanwhile(answers: int, connections: int) -> None:
    opened = 0

    async def serve(stream: Any) -> None:
        nonlocal opened
        opened += 1
        body = json.dumps({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}).encode()
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
        async with stream:
            with suppress(anyio.EndOfStream):
                for _ in range(answers):
                    await stream.receive()
                    await stream.send(head + body)

    async with served(serve) as address:
        provider = ModelProvider(name="curt", upstream=HttpUpstream(f"{address}/v1"))
        async with Meter({"openai-chat": provider}) as meter:
            with meter.session() as session:
                async with wire_client(session.base_url, session.key) as client:
                    statuses = [(await client.ask(ask_for("openai-chat", stream=False))).status_code for _ in range(3)]
    assert (statuses, opened) == ([200, 200, 200], connections)


async def test_a_provider_is_asked_over_tls_and_only_if_it_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificates = make_certificates(tmp_path, ["localhost"])

    async def serve(stream: Any) -> None:
        async with stream:
            await stream.receive()
            await stream.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}")

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    statuses: list[int] = []
    async with TLSListener(listener, certificates.context) as secure, anyio.create_task_group() as group:
        group.start_soon(secure.serve, serve)
        for trusted in (certificates.authority, None):
            if trusted is None:
                monkeypatch.delenv("SSL_CERT_FILE")
            else:
                monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
            provider = ModelProvider(name="secure", upstream=HttpUpstream(f"https://localhost:{port}/v1"))
            async with Meter({"openai-chat": provider}) as meter:
                with meter.session() as session:
                    async with wire_client(session.base_url, session.key) as client:
                        statuses.append((await client.ask(ask_for("openai-chat", stream=False))).status_code)
        group.cancel_scope.cancel()
    assert statuses == [200, 502]
    assert "certificate" in (session.calls[0].error or "")


async def test_gemini_tells_in_the_body_when_to_try_again() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "23.5s"}]
    body = json.dumps([{"error": {"code": 429, "message": "quota", "details": details}}]).encode()

    async def serve(stream: Any) -> None:
        async with stream:
            await stream.receive()
            head = b"HTTP/1.1 429 Too Many\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
            await stream.send(head + body)

    async with served(serve) as address:
        provider = ModelProvider(name="gemini", upstream=HttpUpstream(address))
        async with Meter({"gemini": provider}) as meter:
            with meter.session() as session:
                async with wire_client(session.base_url, session.key) as client:
                    await client.ask(ask_for("gemini"))
                assert (session.calls[0].retry_after_s, session.calls[0].error) == (23.5, "quota")
                assert 23 < meter.queue.hold_s(provider) <= 23.5


async def test_connections_that_come_while_a_meter_ends_are_closed() -> None:
    for _ in range(20):
        with ExitStack() as opened:
            async with metered() as (_, _, session, _):
                place = ("127.0.0.1", urlsplit(session.base_url).port or 0)
                waiting = [opened.enter_context(socket.create_connection(place, timeout=300)) for _ in range(20)]
            for each in waiting:
                with suppress(ConnectionResetError):
                    assert each.recv(65536) == b""


@pytest.mark.both_backends
async def test_a_meter_can_be_used_under_any_event_loop() -> None:
    async with metered() as (endpoint, _, session, client):
        await client.work(ask_for("anthropic"), lambda _: "done")
        await session.settle()
        assert session.usage() == endpoint.claimed_usage()


def test_a_key_that_is_not_there_is_told_in_one_line() -> None:
    with pytest.raises(InputError, match="'openai': the variable OPENAI_API_KEY is not set"):
        ModelProvider.at("openai", "https://api.openai.com/v1", key_variable="OPENAI_API_KEY", environment={})
    with pytest.raises(InputError, match="is no address"):
        ModelProvider.at("local", "localhost:8080", key_variable=None, environment={})
    provider = ModelProvider.at("x", "http://localhost:1", key_variable="K", environment={"K": REAL_KEY})
    assert REAL_KEY not in repr(provider)
