"""The protocol over standard input and output, line by line, in all of its revisions."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from typing import Any

import pytest
from raw_mcp import COMMAND, STATELESS, RawServer, call, cancel, initialize, raw_server, request

from ghx_tools.mcp.stdio_session import HANDSHAKE_REVISIONS
from ghx_twin.faults import Fault
from ghx_twin.pytest_plugin import GitHubTwin

WIDGETS = {"owner": "acme", "name": "widgets"}
ISSUE = {**WIDGETS, "issueNumber": 1}
CLOSED = -32000


@pytest.fixture
def server(github_twin: GitHubTwin) -> Generator[RawServer]:
    with raw_server(github_twin.environment) as started:
        yield started


@pytest.fixture
def silent() -> Generator[socket.socket]:
    """A GitHub that takes requests and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(60)
        yield listening


@pytest.fixture
def stuck(silent: socket.socket) -> Generator[tuple[RawServer, socket.socket]]:
    """A server with call 1 in flight, and its connection to a GitHub that never answers."""
    with raw_server({"GITHUB_API_URL": f"http://127.0.0.1:{silent.getsockname()[1]}"}) as started:
        started.start()
        started.send(call("issue_view", ISSUE))
        connection, _ = silent.accept()
        with connection:
            connection.settimeout(60)
            assert connection.recv(1)
            yield started, connection


def drain(connection: socket.socket) -> None:
    """Read until the other side closes the connection; raise `TimeoutError` if it does not."""
    while connection.recv(65536):
        pass


def code_of(answer: dict[str, Any]) -> int:
    assert "result" not in answer
    return answer["error"]["code"]


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
def test_the_revision_that_a_client_asks_for_is_spoken(server: RawServer, revision: str) -> None:
    assert server.start(revision)["result"]["protocolVersion"] == revision
    assert server.ask(request("ping")) == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize("revision", ["1999-01-01", "2026-07-28", ""])
def test_a_revision_without_a_beginning_like_this_is_answered_with_the_newest_that_has_one(
    server: RawServer, revision: str
) -> None:
    assert server.start(revision)["result"]["protocolVersion"] == HANDSHAKE_REVISIONS[-1]


def test_before_the_beginning_only_pings_are_answered(server: RawServer) -> None:
    answers = [server.ask(message) for message in (request("tools/list"), call("issue_view", ISSUE), request("ping"))]

    assert [answer.get("error", {}).get("code") for answer in answers] == [-32602, -32602, None]
    assert "result" in server.ask(initialize())


@pytest.mark.parametrize(
    ("line", "id_", "code"),
    [
        (b"{nope\n", None, -32700),
        (b"\xff\xfe\xfd\n", None, -32700),
        (b"[" * 200_000 + b"\n", None, -32700),
        (b"5\n", None, -32600),
        (b"null\n", None, -32600),
        (b"[]\n", None, -32600),
        ([request("ping")], None, -32600),
        ({"id": 3, "method": "ping"}, 3, -32600),
        ({"jsonrpc": "1.0", "id": 3, "method": "ping"}, 3, -32600),
        ({"jsonrpc": "2.0", "id": 3}, 3, -32600),
        (request("ping", id_=None), None, -32600),
        (request("ping", id_=1.5), None, -32600),
        (request("ping", id_=True), None, -32600),
        (request("ping", id_=[1]), None, -32600),
        ({"jsonrpc": "2.0", "id": 3, "method": 5}, 3, -32600),
        (request("ping", 5, id_=3), 3, -32600),
        (request("prompts/list", id_="a"), "a", -32601),
        (request("logging/setLevel", {"level": "info"}), 1, -32601),
        (request("server/discover", {}), 1, -32601),
        (request("tools/list", {"cursor": "2"}), 1, -32602),
        (request("ping", {"_meta": 5}), 1, -32602),
        (call("issue_view", ISSUE, progressToken=1.5), 1, -32602),
        (call("issue_view", ISSUE, **STATELESS), 1, -32600),
        (call("issue_view", [1]), 1, -32602),
        (request("tools/call", {"arguments": {}}), 1, -32602),
        (request("initialize", {"protocolVersion": "2025-11-25"}), 1, -32602),
    ],
)
def test_what_is_no_request_is_refused_and_the_session_goes_on(
    server: RawServer, line: object, id_: object, code: int
) -> None:
    server.start()

    answer = server.ask(line)

    assert (answer["jsonrpc"], answer["id"], code_of(answer)) == ("2.0", id_, code)
    assert server.ask(request("ping", id_="after")) == {"jsonrpc": "2.0", "id": "after", "result": {}}
    assert server.leave() == ([], 0, "")


def test_what_wants_no_answer_gets_none(server: RawServer) -> None:
    server.start()
    server.send(
        b"\n",
        b"  \r\n",
        {"jsonrpc": "2.0", "method": "notifications/nothing-that-exists"},
        {"jsonrpc": "2.0", "id": 7, "result": {}},
        {"jsonrpc": "2.0", "id": 8, "error": {"code": 1, "message": "no"}},
        cancel("never was"),
        cancel([1]),
    )

    assert server.ask(request("ping"))["id"] == 1


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
def test_a_batch_is_refused_in_every_revision(server: RawServer, revision: str) -> None:
    server.start(revision)

    answer = server.ask([request("ping"), call("issue_view", ISSUE, id_="b")])

    assert (answer["id"], code_of(answer)) == (None, -32600)
    assert server.ask(request("ping", id_="after"))["id"] == "after"


def test_a_client_of_the_newest_revision_needs_no_beginning(server: RawServer) -> None:
    found = server.ask(request("server/discover", {"_meta": STATELESS}))["result"]
    listed = server.ask(request("tools/list", {"_meta": STATELESS}))["result"]
    called = server.ask(call("issue_view", ISSUE, **STATELESS))["result"]

    assert found["supportedVersions"] == ["2026-07-28"]
    assert {each["resultType"] for each in (found, listed, called)} == {"complete"}
    assert called["structuredContent"]["number"] == 1


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (request("ping", {"_meta": STATELESS}), -32601),
        (request("tools/list"), -32602),
        (request("tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}), -32602),
        (request("tools/list", {"_meta": {**STATELESS, "io.modelcontextprotocol/protocolVersion": 5}}), -32602),
        (request("tools/list", {"_meta": {**STATELESS, "io.modelcontextprotocol/protocolVersion": "2030"}}), -32022),
        (request("tools/list", {"_meta": STATELESS, "cursor": "2"}), -32602),
        (initialize(), -32022),
    ],
)
def test_what_the_newest_revision_does_not_know_is_refused(server: RawServer, message: object, code: int) -> None:
    server.ask(request("server/discover", {"_meta": STATELESS}))

    assert code_of(server.ask(message)) == code


def test_calls_are_answered_as_they_end(server: RawServer, github_twin: GitHubTwin) -> None:
    github_twin.world.faults.add(Fault(surface="rest", latency_ms=3000))
    server.start()
    server.send(
        call("issue_timeline_list", ISSUE, id_="slow"),
        call("issue_view", ISSUE, id_="quick"),
        request("ping", id_="at once"),
    )

    assert [server.read()["id"] for _ in range(3)] == ["at once", "quick", "slow"]


def test_a_cancelled_call_is_stopped_and_not_answered(stuck: tuple[RawServer, socket.socket]) -> None:
    server, connection = stuck
    server.send(cancel(1))

    drain(connection)

    assert server.ask(request("ping", id_=2))["id"] == 2
    assert server.leave() == ([], 0, "")


def test_progress_of_a_chain_is_told_to_who_asks_for_it(server: RawServer) -> None:
    step = {"task": "issue_view", "input": ISSUE}
    unknown = {"task": "issue_view", "input": {**ISSUE, "issueNumber": 999}}
    server.start()
    server.send(call("chain", {"steps": [step, step, unknown]}, progressToken="p"))
    told = [server.read()["params"] for _ in range(3)]
    answer = server.read()
    unasked = server.ask(call("chain", {"steps": [step]}, id_=2))

    assert [(each["progressToken"], each["progress"], each["total"]) for each in told] == [
        ("p", done, 3) for done in (1, 2, 3)
    ]
    assert sum("failed" in each["message"] for each in told) == 1
    assert answer["id"] == 1
    assert unasked["id"] == 2


def test_calls_in_flight_end_with_the_input(stuck: tuple[RawServer, socket.socket]) -> None:
    server, connection = stuck

    answers, code, complaint = server.leave()

    drain(connection)
    assert [(answer["id"], code_of(answer)) for answer in answers] == [(1, CLOSED)]
    assert (code, complaint) == (0, "")


def test_a_last_line_may_lack_its_end(server: RawServer) -> None:
    server.send(json.dumps(initialize()).encode())

    answers, code, _ = server.leave()

    assert [answer["id"] for answer in answers] == [0]
    assert code == 0


def test_a_client_that_stops_reading_ends_the_session(stuck: tuple[RawServer, socket.socket]) -> None:
    server, _ = stuck
    server.stdout.close()

    assert server.process.wait(60) == 0
    assert server.process.stderr is not None
    assert server.process.stderr.read() == b""


def test_termination_ends_it_without_a_word(stuck: tuple[RawServer, socket.socket]) -> None:
    server, connection = stuck
    server.process.terminate()

    drain(connection)
    assert server.leave() == ([], -signal.SIGTERM, "")


def test_a_line_may_be_huge(server: RawServer) -> None:
    server.start()
    title = "ü" * 4_000_000
    answer = server.ask(call("issue_view", {**ISSUE, "title": title}))

    assert answer["result"]["isError"]
    assert len(json.dumps(answer)) < 10_000
    assert server.ask(request("ping", {"_meta": {"note": title}}))["result"] == {}


def test_half_a_surrogate_pair_comes_back_as_it_was(server: RawServer) -> None:
    server.start()

    assert server.ask(request("ping", id_="\ud800"))["id"] == "\ud800"


def test_settings_that_cannot_be_used_are_said_before_anything_is_served() -> None:
    with raw_server({"GITHUB_API_URL": "nowhere"}) as server:
        answers, code, complaint = server.leave()

    assert (answers, code, complaint.count("\n")) == ([], 2, 1)
    assert "GITHUB_API_URL" in complaint


def test_a_proxy_that_cannot_be_used_is_said_in_the_answer_to_a_call() -> None:
    environment = {"GITHUB_API_URL": "https://api.github.com", "HTTPS_PROXY": "http://127.0.0.1:99999"}
    with raw_server(environment) as server:
        server.start()
        result = server.ask(call("issue_view", ISSUE))["result"]

    assert result["isError"]
    assert "HTTPS_PROXY" in json.loads(result["content"][0]["text"])["message"]


NOISY = """
import os, subprocess, sys
from ghx_tools.cli import main
from ghx_tools.mcp import stdio_session

def listed(selection):
    print("stray", flush=True)
    subprocess.run(["cat"])
    subprocess.run(["echo", "stray"])
    return []

stdio_session.describe_tools = listed
main.main(["mcp"])
"""


def test_nothing_but_the_protocol_goes_over_the_streams() -> None:
    with raw_server({"GITHUB_API_URL": "http://127.0.0.1:1"}, command=(sys.executable, "-c", NOISY)) as server:
        server.start()
        listed = server.ask(request("tools/list"))
        ping = server.ask(request("ping", id_=2))
        rest, code, complaint = server.leave()

    assert (listed["result"], ping["id"], rest, code) == ({"tools": []}, 2, [], 0)
    assert complaint == "stray\nstray\n"


def test_a_defect_behind_the_first_answer_ends_the_process_in_one_line() -> None:
    code = (
        "import sys; from ghx_tools.cli import main; sys.modules['ghx_tools.mcp.call_loop'] = None; main.main(['mcp'])"
    )
    with raw_server({"GITHUB_API_URL": "http://127.0.0.1:1"}, command=(sys.executable, "-c", code)) as server:
        server.ask(initialize())
        exit_code = server.process.wait(60)
        complaint = server.process.stderr.read()  # type: ignore[union-attr]

    assert (exit_code, complaint.count(b"\n")) == (2, 1)
    assert b"this is a defect" in complaint


def defective(place: str) -> tuple[str, ...]:
    """Return the command of a server in which a function of the call loop has a defect."""
    defect = f"def fail(*_): raise ZeroDivisionError('a defect')\ncall_loop.{place} = fail"
    return (
        sys.executable,
        "-c",
        f"from ghx_tools.cli import main\nfrom ghx_tools.mcp import call_loop\n{defect}\nmain.main(['mcp'])",
    )


def test_a_defect_while_loading_is_the_answer_to_each_call() -> None:
    environment = {"GITHUB_API_URL": "http://127.0.0.1:1"}
    with raw_server(environment, command=defective("client_from_environment")) as server:
        server.start()
        codes = [code_of(server.ask(call("issue_view", ISSUE, id_=number))) for number in (1, 2)]
        ending = server.leave()

    assert (codes, ending) == ([-32603, -32603], ([], 0, ""))


def test_a_capability_that_cannot_be_loaded_ahead_does_not_keep_others_from_being_called(
    github_twin: GitHubTwin,
) -> None:
    with raw_server(github_twin.environment, command=defective("capability")) as server:
        server.start()
        results = [server.ask(call("issue_view", ISSUE, id_=number))["result"] for number in (1, 2)]

    assert not any(result.get("isError") for result in results)


def test_a_defect_in_the_loop_of_calls_ends_the_process_in_one_line() -> None:
    environment = {"GITHUB_API_URL": "http://127.0.0.1:1"}
    with raw_server(environment, command=defective("CallLoop._reply")) as server:
        server.start()
        server.send(call("issue_view", ISSUE))
        exit_code = server.process.wait(60)
        complaint = server.process.stderr.read()  # type: ignore[union-attr]

    assert (exit_code, complaint.count(b"\n")) == (2, 1)


@pytest.mark.parametrize("id_", [True, 1.0, None, [1]])
def test_only_what_can_be_an_id_cancels_a_call(stuck: tuple[RawServer, socket.socket], id_: object) -> None:
    server, connection = stuck
    server.send(cancel(id_))
    ping = server.ask(request("ping", id_=2))
    connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")

    assert (ping["id"], server.read()["id"]) == (2, 1)


@pytest.mark.parametrize("stream", [0, 1])
def test_a_stream_that_is_closed_is_the_end_of_the_session(stream: int) -> None:
    done = subprocess.run(
        [*COMMAND],
        preexec_fn=lambda: os.close(stream),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_server_answers_before_it_loads_what_calls_need() -> None:
    code = "import sys, ghx_tools.cli.mcp, ghx_tools.mcp.stdio_server; print(*sys.modules)"
    with raw_server({}, command=(sys.executable, "-c", code)) as process:
        loaded = set(process.stdout.read().decode().split())

    assert not loaded & {"mcp", "mcp_types", "pydantic", "anyio", "asyncio", "httpx2", "importlib.metadata"}
