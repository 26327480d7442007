"""The scripted endpoint decides by the results in the request, and by nothing else."""

import anyio
import pytest
from wire_clients import WIRES, Conversation, wire_client

from ghx_profiler.agents.controls.solution import Solution
from ghx_profiler.agents.testing import (
    CallServerTool,
    Fault,
    RunShell,
    Say,
    Script,
    ScriptedEndpoint,
    decide,
    find_tool,
    find_value,
)
from ghx_profiler.records.model_calls import WireKind

pytestmark = pytest.mark.anyio

SOLUTION = Solution.model_validate(
    {
        "steps": [
            {"shell": "gh issue list --json number", "save": "issues"},
            {
                "for_each": "issues",
                "as": "each",
                "do": [{"mcp": {"tool": "issue_close", "arguments": {"n": "{{each.number}}"}}}],
            },
        ],
        "answer": "Closed {{issues.length}} in {{repo}}.",
    }
)
BINDINGS = {"repo": "acme/widgets"}


def test_the_next_step_follows_from_the_results() -> None:
    issues = '[{"number": 4}, {"number": 9}]'
    closed = CallServerTool(tool="issue_close", arguments={"n": 4})

    assert decide(SOLUTION, BINDINGS, []) == RunShell(command="gh issue list --json number")
    assert decide(SOLUTION, BINDINGS, [issues]) == closed
    assert decide(SOLUTION, BINDINGS, [issues, "ok"]) == CallServerTool(tool="issue_close", arguments={"n": 9})
    assert decide(SOLUTION, BINDINGS, [issues, "ok", "ok"]) == Say(text="Closed 2 in acme/widgets.")


def test_a_script_that_cannot_go_on_says_so() -> None:
    decision = decide(SOLUTION, BINDINGS, ["command not found"])

    assert isinstance(decision, Say)
    assert "issues is not a list" in decision.text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('Chunk ID: 3f\nWall time: 0.1\nOutput:\n[{"n": 1}]\n', [{"n": 1}]),
        ('Command: jq -n "[]"\nDirectory: (root)\nOutput: {"data": [1, 2]}\nExit Code: 0', {"data": [1, 2]}),
        ('{"output": "{\\"n\\": 1}"}', {"n": 1}),
        ("  plain words \n", "plain words"),
        ("{broken", "{broken"),
    ],
)
def test_the_value_in_a_result_is_the_longest_json_in_it(text: str, value: object) -> None:
    assert find_value(text) == value


def test_tools_are_found_under_the_names_of_agents() -> None:
    shell, tool = RunShell(command="ls"), CallServerTool(tool="issue_view", arguments={"n": 1})

    assert find_tool(shell, ["read", "exec_command"]) == ("exec_command", {"cmd": "ls"})
    assert find_tool(shell, ["platform__shell"]) == ("platform__shell", {"command": "ls"})
    assert find_tool(shell, ["read"]) is None
    for name in ("issue_view", "ghx_issue_view", "mcp__ghx__issue_view", "mcp__ghx.issue_view", "ghx/issue_view"):
        assert find_tool(tool, ["reissue_views", name]) == (name, {"n": 1})
    two = CallServerTool(tool="issue_view", arguments={}, server="other")
    assert find_tool(two, ["ghx_issue_view", "other_issue_view"]) == ("other_issue_view", {})


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("stream", [True, False])
async def test_a_conversation_is_led_to_its_end(wire: WireKind, stream: bool) -> None:
    results = iter(['[{"number": 4}, {"number": 9}]', "ok", "ok"])
    async with (
        ScriptedEndpoint.open(Script(solution=SOLUTION, bindings=BINDINGS)) as endpoint,
        wire_client(endpoint.url, "any") as client,
    ):
        conversation = Conversation(wire, tools=("bash", "ghx_issue_close"), stream=stream)
        conversation.say("Close all issues.")
        calls = await client.work(conversation, lambda _: next(results))

    assert calls == 4
    assert [call.decision for call in endpoint.calls][-1] == Say(text="Closed 2 in acme/widgets.")
    total = endpoint.claimed_usage()
    assert (total.input, total.cache_read, total.active) == (860, 4540, 860 + 126 + 7)


async def test_the_script_that_says_most_about_a_request_is_taken() -> None:
    scripts = [
        Script(solution=Solution(answer="any")),
        Script(solution=Solution(answer="mine"), prompt="Close issue 3"),
        Script(solution=Solution(answer="mine, on this model"), prompt="Close issue 3", model="m2"),
    ]
    async with ScriptedEndpoint.open(*scripts) as endpoint, wire_client(endpoint.url, "any") as client:
        for prompt, model in (("Hello", "m1"), ("Close issue 3", "m1"), ("Please: Close  issue 3", "m2")):
            conversation = Conversation("anthropic", model=model)
            conversation.say(prompt)
            await client.ask(conversation)

    assert [call.decision for call in endpoint.calls] == [Say(text=each.solution.answer) for each in scripts]


@pytest.mark.parametrize("wire", WIRES)
async def test_faults_come_as_often_as_they_are_told_and_claim_nothing(wire: WireKind) -> None:
    script = Script(faults=(Fault(status=429, times=2, retry_after="3"), Fault(status=529, times=1)))
    async with ScriptedEndpoint.open(script) as endpoint, wire_client(endpoint.url, "any") as client:
        conversation = Conversation(wire)
        conversation.say("Hello")
        responses = [await client.ask(conversation) for _ in range(4)]

    assert [response.status_code for response in responses] == [429, 429, 529, 200]
    assert responses[0].headers["retry-after"] == "3"
    assert endpoint.claimed_usage().input == 200


async def test_a_client_that_goes_away_before_the_end_of_its_request_has_asked_nothing() -> None:
    async with ScriptedEndpoint.open(Script()) as endpoint:
        host, _, port = endpoint.url.removeprefix("http://").partition(":")
        async with await anyio.connect_tcp(host, int(port)) as stream:
            await stream.send(b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{")
        async with wire_client(endpoint.url, "any") as client:
            await client.ask(Conversation("anthropic"))

    assert len(endpoint.calls) == 1
