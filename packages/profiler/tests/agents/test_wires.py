"""Reading what crosses to models: the same words for all wires."""

import json

import pytest
from wire_clients import WIRES, Conversation

from ghx_profiler.agents.testing import ScriptedAnswer, ScriptedTokens, write_stream, write_whole
from ghx_profiler.agents.wires.protocol import find_route, make_reader, read_error, read_request, write_error
from ghx_profiler.records.model_calls import RequestedToolCall, WireKind

TOKENS = ScriptedTokens(input=200, cache_read=1000, output=30, reasoning=7)
ANSWER = ScriptedAnswer(
    tokens=TOKENS,
    thought="I look first.",
    text="Here is an äöü.",
    calls=(("bash", {"command": "gh issue list"}),),
    number=3,
)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_a_stream_is_read_however_it_is_cut_into_pieces(wire: WireKind, size: int) -> None:
    stream = b"".join(write_stream(wire, ANSWER, "m"))
    reader = make_reader(wire, is_stream=True)

    for start in range(0, len(stream), size):
        reader.feed(stream[start : start + size])
    reader.end()

    assert (reader.model, reader.has_begun, reader.has_ended, reader.error) == ("m", True, True, None)
    assert reader.usage == TOKENS.as_metered(wire)
    assert [(call.name, call.arguments) for call in reader.tool_calls] == [("bash", {"command": "gh issue list"})]


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_that_is_not_streamed_says_the_same(wire: WireKind) -> None:
    reader = make_reader(wire, is_stream=False)

    reader.feed(json.dumps(write_whole(wire, ANSWER, "m")).encode())
    reader.end()

    assert (reader.model, reader.has_begun, reader.has_ended) == ("m", True, True)
    assert reader.usage == TOKENS.as_metered(wire)
    assert [(call.name, call.arguments) for call in reader.tool_calls] == [("bash", {"command": "gh issue list"})]


def test_every_wire_tells_the_same_active_sum() -> None:
    assert {TOKENS.as_metered(wire).active for wire in WIRES} == {237}


@pytest.mark.parametrize("wire", WIRES)
def test_a_stream_that_stops_before_its_end_has_not_ended(wire: WireKind) -> None:
    events = list(write_stream(wire, ANSWER, "m"))
    last = {"openai-chat": 3, "openai-responses": 1, "anthropic": 2, "gemini": 1}[wire]  # that say how it ended
    reader = make_reader(wire, is_stream=True)

    reader.feed(b"".join(events[:-last]))
    reader.end()

    assert not reader.has_ended
    reported = reader.usage
    if wire == "anthropic":
        assert reported is not None
        assert (reported.input, reported.cache_read, reported.output) == (200, 1000, 1)
    else:
        assert reported is None


@pytest.mark.parametrize("wire", WIRES)
def test_a_request_is_read_in_the_same_words(wire: WireKind) -> None:
    conversation = Conversation(wire, tools=("bash", "ghx_issue_view"))
    conversation.say("Triage issue 7.")
    conversation.take_result(RequestedToolCall(id="a", name="bash", arguments={"command": "ls"}), "one\ntwo")

    request = read_request(conversation.route, json.dumps(conversation.body()).encode())

    assert (request.wire, request.model, request.is_streamed) == (wire, "scripted-1", True)
    assert request.tools_offered == ("bash", "ghx_issue_view")
    (result,) = request.tool_results
    assert (result.name, result.text) == ("bash", "one\ntwo")
    assert request.mentions(["Triage   issue 7."])
    assert not request.mentions(["Close issue 7."])


@pytest.mark.parametrize("wire", WIRES)
def test_the_bytes_of_a_request_are_told_by_what_they_are_for(wire: WireKind) -> None:
    conversation = Conversation(wire, system="s" * 4000, tools=("t" * 3000,))
    conversation.say("u" * 2000)
    conversation.take_result(RequestedToolCall(id="a", name="bash", arguments={}), "r" * 1000)

    sizes = read_request(conversation.route, json.dumps(conversation.body()).encode()).anatomy

    reported = (sizes.instructions, sizes.tool_schemas, sizes.conversation, sizes.tool_results)
    assert all(
        size == pytest.approx(exact, abs=300) for size, exact in zip(reported, (4000, 3000, 2000, 1000), strict=True)
    )


def test_settings_are_read_where_a_wire_has_them() -> None:
    settings = {
        wire: read_request(Conversation(wire).route, json.dumps(Conversation(wire).body()).encode()).settings
        for wire in WIRES
    }
    assert settings["openai-chat"].seed == 7
    assert settings["openai-responses"].effort == "low"
    assert (settings["anthropic"].temperature, settings["anthropic"].max_output_tokens) == (0.5, 1000)
    assert (settings["gemini"].temperature, settings["gemini"].seed) == (0.5, None)


def test_settings_below_zero_are_settings_too() -> None:
    config = {"seed": -5, "thinkingConfig": {"thinkingBudget": -1}}
    gemini = read_request(Conversation("gemini").route, json.dumps({"generationConfig": config}).encode())
    chat = read_request(Conversation("openai-chat").route, b'{"seed": -1}')

    assert (gemini.settings.seed, gemini.settings.effort, chat.settings.seed) == (-5, "-1", -1)


@pytest.mark.parametrize("wire", WIRES)
def test_a_question_after_the_answer_is_told_from_a_reminder_between_results(wire: WireKind) -> None:
    def read(conversation: Conversation) -> bool:
        request = read_request(conversation.route, json.dumps(conversation.body()).encode())
        return request.continues_after_answer(["Triage issue 7."])

    conversation = Conversation(wire)
    conversation.say("Triage issue 7.")
    assert not read(conversation)
    conversation.take_result(RequestedToolCall(id="a", name="bash", arguments={}), "done")
    conversation.say("Reminder: there are todos.")
    assert not read(conversation)
    conversation.take_answer("All is done.")
    assert not read(conversation)
    conversation.say("Suggest what the user may type next.")
    assert read(conversation)


def test_names_of_a_namespace_are_joined() -> None:
    tools = [{"type": "namespace", "name": "mcp__ghx", "tools": [{"type": "function", "name": "issue_view"}]}]
    body = {"model": "m", "input": "hello", "tools": tools}
    route = find_route("POST", "/v1/responses")
    assert route is not None

    request = read_request(route, json.dumps(body).encode())

    assert request.tools_offered == ("mcp__ghx.issue_view",)
    assert request.mentions(["hello"])


def test_a_provider_that_counts_reasoning_beside_the_completion_is_read_right() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "total_tokens": 150,
        "completion_tokens_details": {"reasoning_tokens": 40},
    }
    reader = make_reader("openai-chat", is_stream=False)
    reader.feed(json.dumps({"choices": [], "usage": usage}).encode())
    reader.end()

    usage = reader.usage
    assert usage is not None
    assert (usage.input, usage.output, usage.reasoning, usage.cache_read, usage.total) == (
        100,
        10,
        40,
        None,
        150,
    )


def test_only_what_agents_need_has_a_route() -> None:
    assert find_route("POST", "/v1/files") is None
    assert find_route("POST", "/v1beta/models/m:embedContent") is None
    assert find_route("DELETE", "/v1/models/m") is None
    counting = find_route("POST", "/v1/messages/count_tokens")
    assert counting is not None
    assert not counting.is_model_call


@pytest.mark.parametrize("wire", WIRES)
def test_an_error_is_read_as_it_was_written(wire: WireKind) -> None:
    assert read_error(write_error(wire, 529, "too\nmuch")) == "too much"
    assert read_error(b"[%s]" % write_error(wire, 429, "slow down")) == "slow down"
    assert read_error(b"<html>Bad gateway</html>") == "<html>Bad gateway</html>"


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "junk", [b"", b"null", b"[]", b"{}", b'{"messages": 3, "tools": "x", "input": [1], "contents": {}}']
)
def test_junk_is_read_as_nothing(wire: WireKind, junk: bytes) -> None:
    request = read_request(Conversation(wire).route, junk)
    assert (request.tools_offered, request.tool_results) == ((), ())
    for is_stream in (True, False):
        reader = make_reader(wire, is_stream=is_stream)
        reader.feed(b"data: " + junk + b"\n\ndata: {\n\n" if is_stream else junk)
        reader.end()
        assert reader.usage is None
        assert not reader.tool_calls
