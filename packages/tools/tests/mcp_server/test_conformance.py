"""What the server says over stdio is what the protocol's own library says, and fits its models of every revision."""

import importlib.util
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from mcp_types.methods import parse_server_notification, validate_server_result
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, KNOWN_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from raw_mcp import STATELESS, RawServer, call, initialize, raw_server, request

from ghx_tools.capabilities.environment import client_from_environment
from ghx_tools.mcp import http_server
from ghx_tools.mcp.stdio_session import HANDSHAKE_REVISIONS, STATELESS_REVISION, Call, Session
from ghx_tools.mcp.toolsets import select
from ghx_twin.pytest_plugin import GitHubTwin

ISSUE = {"owner": "acme", "name": "widgets", "issueNumber": 1}
STEP = {"task": "issue_view", "input": ISSUE}
REQUESTS = [
    request("tools/list"),
    request("tools/list", {"cursor": None}),
    request("tools/list", {"cursor": "x"}),
    request("no/such"),
    request("prompts/list"),
    request("logging/setLevel", {"level": "info"}),
    request("tools/call", {}),
    request("tools/call", {"name": 5}),
    call("issue_view", [1]),
    call("issue_view"),
    call("issue_view", {}),
    call("issue_view", ISSUE),
    call("issue.view", {**ISSUE, "issueNumber": "1"}),
    call("issue_view", {**ISSUE, "issueNumber": 999}),
    call("issue_view", {**ISSUE, "issueNumber": "x"}),
    call("issue_view", {**ISSUE, "issueNumber": 0}),
    call("issue_view", {**ISSUE, "issueNumber": None}),
    call("issue_view", {**ISSUE, "issue_number": 2}),
    call("issue_view", {**ISSUE, "numbr": 2}),
    call("issue_veiw", ISSUE),
    call("", {}),
    call("repo_labels_list", {"owner": "acme", "name": "widgets", "first": 2}),
    call("chain", {}),
    call("chain", {"steps": []}),
    call("chain", {"steps": [{"task": "issue_view", "input": 5}]}),
    call("chain", {"steps": [STEP, {"task": "no.such", "input": {}}]}),
    call("chain", {"steps": [{"task": "no.such", "input": {}}]}),
]
PINGS = [
    request("ping"),
    {**request("ping"), "params": None},
    request("ping", {"_meta": 5}),
    request("server/discover", {}),
]
OPENINGS = [initialize(revision) for revision in (*HANDSHAKE_REVISIONS, STATELESS_REVISION, "x")]


def stateless(message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "params": {**message.get("params", {}), "_meta": STATELESS}}


@asynccontextmanager
async def library_server(twin: GitHubTwin) -> AsyncGenerator[Any]:
    """The same tools behind the library's own server, asked in memory."""
    async with (
        client_from_environment(twin.environment) as client,
        create_client_server_memory_streams() as ((answers, requests), (incoming, outgoing)),
        anyio.create_task_group() as group,
    ):
        server = http_server._make_server(client, select())
        group.start_soon(server.run, incoming, outgoing, server.create_initialization_options())

        async def ask(message: dict[str, Any]) -> dict[str, Any]:
            await requests.send(SessionMessage(jsonrpc_message_adapter.validate_python(message)))
            answer = await answers.receive()
            return answer.message.model_dump(mode="json", by_alias=True, exclude_unset=True)

        yield ask
        group.cancel_scope.cancel()


def comparable(answer: dict[str, Any]) -> object:
    """Return what must be the same: all of a result, and the code of an error, whose words may say more."""
    return answer["error"]["code"] if "error" in answer else answer["result"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    "messages",
    [
        *([opening, *PINGS] for opening in OPENINGS),
        [initialize(), *REQUESTS],
        [request("ping"), request("tools/list"), call("issue_view", ISSUE), initialize({}), initialize(), initialize()],  # type: ignore[arg-type]
        [stateless(request("server/discover")), *map(stateless, REQUESTS), *PINGS, *OPENINGS],
        [initialize(), *map(stateless, REQUESTS[-2:])],
    ],
)
async def test_the_same_is_answered_as_by_the_library(
    github_twin: GitHubTwin, messages: Sequence[dict[str, Any]]
) -> None:
    with raw_server(github_twin.environment) as ours:
        async with library_server(github_twin) as ask_library:
            for message in messages:
                mine = await anyio.to_thread.run_sync(ours.ask, message)
                assert comparable(mine) == comparable(await ask_library(message)), message


def test_the_revisions_are_those_that_the_library_knows() -> None:
    assert HANDSHAKE_REVISIONS == HANDSHAKE_PROTOCOL_VERSIONS
    assert (STATELESS_REVISION,) == MODERN_PROTOCOL_VERSIONS


def open_session(server: RawServer, revision: str) -> None:
    if revision in HANDSHAKE_REVISIONS:
        validate_server_result("initialize", revision, server.start(revision)["result"])
        validate_server_result("ping", revision, server.ask(request("ping"))["result"])
    else:
        found = server.ask(stateless(request("server/discover")))["result"]
        validate_server_result("server/discover", revision, found)


@pytest.mark.parametrize("revision", KNOWN_PROTOCOL_VERSIONS)
def test_every_message_fits_the_models_of_its_revision(github_twin: GitHubTwin, revision: str) -> None:
    dress = stateless if revision == STATELESS_REVISION else dict
    with raw_server(github_twin.environment) as server:
        open_session(server, revision)
        for message in REQUESTS:
            answer = server.ask(dress(message))
            jsonrpc_message_adapter.validate_python(answer)
            if "result" in answer:
                validate_server_result(message["method"], revision, answer["result"])
        chained = dress(call("chain", {"steps": [STEP, STEP]}))
        chained["params"] = {**chained["params"], "_meta": {**chained["params"].get("_meta", {}), "progressToken": 7}}
        server.send(chained)
        told = [server.read() for _ in range(2)]
        assert server.read()["id"] == 1
    for each in told:
        assert jsonrpc_message_adapter.validate_python(each).method == "notifications/progress"
        parse_server_notification(each["method"], revision, each["params"])


class Calls:
    """Answers every call at once."""

    def prepare(self) -> None:
        pass

    def submit(self, call: Call) -> None:
        call.reply({"jsonrpc": "2.0", "id": call.id, "result": dict(call.complete({"content": []}))})

    def cancel(self, id_: object) -> None:
        pass


IDS = st.one_of(st.integers(), st.text(max_size=3), st.none(), st.booleans(), st.floats())
METHODS = st.sampled_from(["initialize", "ping", "tools/list", "tools/call", "server/discover", "x", 5, None])
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=3), st.lists, max_leaves=5)
PARAMS = st.one_of(
    JSON,
    st.fixed_dictionaries({}, optional={"name": JSON, "arguments": JSON, "cursor": JSON, "_meta": JSON}),
    st.just({"_meta": STATELESS, "name": "issue_view"}),
    st.sampled_from([opening["params"] for opening in OPENINGS]),
)
MESSAGES = st.fixed_dictionaries(
    {}, optional={"jsonrpc": st.just("2.0"), "id": IDS, "method": METHODS, "params": PARAMS}
)


@given(st.lists(st.one_of(MESSAGES, JSON, st.lists(MESSAGES, max_size=3)), max_size=6))
def test_whatever_a_client_sends_every_answer_is_a_message(values: list[object]) -> None:
    sent: list[Any] = []
    session = Session(select(["search"]), Calls(), sent.append)
    for value in values:
        session.receive(json.dumps(value).encode())

    for message in sent:
        jsonrpc_message_adapter.validate_python(message)


def test_the_data_of_the_tools_is_what_the_capabilities_say() -> None:
    place = Path(__file__).parents[4] / "scripts" / "mcp_tools.py"
    specification = importlib.util.spec_from_file_location("mcp_tools", place)
    assert specification is not None
    assert specification.loader is not None
    script = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(script)

    assert script.text() == script.TARGET.read_text(encoding="utf-8"), "run: python scripts/mcp_tools.py"
