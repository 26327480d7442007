"""Real MCP servers, over pipes and over HTTP, with the official client."""

import os
import re
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import PIPE

import anyio
import psutil
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from ghx_profiler.agents.processes.process import program
from ghx_profiler.agents.tools.toolserver import ServerIdentity, connect
from ghx_profiler.agents.tools.toolset import McpServer
from ghx_profiler.records.causes import EnvironmentFailure

pytestmark = pytest.mark.anyio

CALCULATOR = str(Path(__file__).parents[4] / "tests" / "support" / "calculator_mcp.py")
PATH = {"PATH": os.environ["PATH"]}


def calculator(*arguments: str, **environment: str) -> McpServer:
    """Return the calculator of the SDK: the server that a user is most likely to have written."""
    arguments = arguments or ("--sdk",)
    return McpServer(command=sys.executable, args=(CALCULATOR, *arguments), environment=environment)


async def test_a_server_over_pipes_tells_who_it_is_and_answers() -> None:
    async with connect("calc", calculator(), environment=PATH) as server:
        assert server.identity == ServerIdentity(name="calculator", version="1.2.3")
        added = await server.call("add", {"a": 2, "b": 3})
        listed = await server.call("things", {"count": 2})

    assert (added.text, added.value, added.failed) == ("5", {"result": 5}, False)
    assert listed.value == {"items": [{"id": 1}, {"id": 2}]}


async def test_what_a_tool_or_the_server_refuses_is_a_failed_answer() -> None:
    async with connect("calc", calculator(), environment=PATH) as server:
        refused, unknown = await server.call("refuse", {}), await server.call("divide", {})
        wrong = await server.call("add", {"a": "many"})

    assert (refused.failed, unknown.failed, wrong.failed) == (True, True, True)
    assert "divide" in unknown.text
    assert "valid integer" in wrong.text


async def test_a_server_sees_the_session_and_its_own_variables_and_nothing_of_this_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/of/this/process")
    monkeypatch.setenv("SECRET", "of this process")
    environment = {**PATH, "GITHUB_TOKEN": "session-token"}
    async with connect("calc", calculator(TOKEN="<${GITHUB_TOKEN}>"), environment=environment) as server:
        seen = {name: (await server.call("variable", {"name": name})).text for name in ("TOKEN", "HOME", "SECRET")}

    assert seen == {"TOKEN": "<session-token>", "HOME": "(not set)", "SECRET": "(not set)"}


async def test_a_server_that_wants_a_variable_which_the_session_lacks_is_an_error_that_names_it() -> None:
    with pytest.raises(EnvironmentFailure, match=r"needs \$\{NOT_THERE\}"):
        async with connect("calc", calculator(TOKEN="${NOT_THERE}"), environment=PATH):
            pass


@pytest.mark.process
@pytest.mark.parametrize(
    ("server", "words"),
    [
        (calculator("--broken"), "'calc' (.*) does not come up: cannot find my abacus"),
        (McpServer(command="/nowhere/server"), "'calc' (/nowhere/server) does not come up: .*No such file"),
        (McpServer(url="http://127.0.0.1:9/mcp"), "'calc' (http://127.0.0.1:9/mcp) does not come up: "),
    ],
)
async def test_a_server_that_does_not_come_up_is_an_error_with_the_reason(server: McpServer, words: str) -> None:
    with pytest.raises(EnvironmentFailure, match=words.replace("(", r"\(").replace(")", r"\)")):
        async with connect("calc", server, environment=PATH):
            pass


async def test_a_server_that_ends_during_a_call_is_an_error_with_its_last_words() -> None:
    with pytest.raises(EnvironmentFailure, match="'calc' ended during a call of 'vanish': something terrible happened"):
        async with connect("calc", calculator(), environment=PATH) as server:
            await server.call("vanish", {})


async def test_of_a_server_that_ends_during_a_call_the_last_line_is_told_without_frames_and_banners() -> None:
    script = """
import json, os, sys
print("Welcome!", file=sys.stderr, flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "tools/call":
        if asked["params"]["name"] == "loud":
            print("╭─ Traceback ─╮\\n│ 1 / 0 │\\nZeroDivisionError: oh\\n╰─╯", file=sys.stderr)
        sys.stderr.flush()
        os._exit(1)
    if "id" in asked:
        told = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": told}), flush=True)
"""
    server = McpServer(command=sys.executable, args=("-X", "utf8", "-c", script))
    errors: dict[str, str] = {}
    for tool in ("loud", "still"):
        with pytest.raises(EnvironmentFailure) as raised:
            async with connect("s", server, environment=PATH) as opened:
                await opened.call(tool, {})
        errors[tool] = str(raised.value).partition(f"of {tool!r}")[2]

    assert errors == {"loud": ": ZeroDivisionError: oh", "still": ""}


async def test_when_a_call_is_cancelled_the_server_and_its_runaway_children_are_gone() -> None:
    async with program(["true"], environment=PATH):
        pass  # has the launcher started, which stays
    before = set(psutil.Process().children(recursive=True))
    seen: set[psutil.Process] = set()
    with anyio.CancelScope() as scope:
        async with (
            connect("calc", calculator(), environment=PATH) as server,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(server.call, "linger", {})
            while not any(child.name() == "sleep" for child in seen):
                await anyio.lowlevel.checkpoint()
                seen = set(psutil.Process().children(recursive=True)) - before
            scope.cancel()

    assert len(seen) >= 2
    psutil.wait_procs(seen, timeout=5)  # a keeper has closed its line a moment before it is gone
    assert [child for child in seen if child.is_running() and child.status() != psutil.STATUS_ZOMBIE] == []


async def test_a_server_over_http_is_spoken_to_with_the_headers_of_the_session() -> None:
    async with running_over_http() as url:
        server = McpServer(url="${SERVER}", headers={"X-Token": "<${TOKEN}>", "X-Plain": "as it is"})
        async with connect("calc", server, environment={"SERVER": url, "TOKEN": "t"}) as opened:
            assert opened.identity == ServerIdentity(name="calculator", version="1.2.3")
            assert (await opened.call("add", {"a": 2, "b": 3})).text == "5"
            seen = [(await opened.call("header", {"name": name})).text for name in ("X-Token", "X-Plain", "X-Other")]

    assert seen == ["<t>", "as it is", "(not there)"]


async def test_what_is_raised_while_a_server_is_open_comes_out_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        async with connect("calc", calculator(), environment=PATH):
            raise ZeroDivisionError


@asynccontextmanager
async def running_over_http() -> AsyncGenerator[str]:
    """Run the server on a port that the system chooses, and find out which from what it says."""
    words = [sys.executable, CALCULATOR, "--http", "0"]
    async with program(words, environment=PATH, stderr=PIPE) as process:
        assert process.stderr is not None
        said = BufferedByteReceiveStream(process.stderr)
        while True:
            line = (await said.receive_until(b"\n", 10_000)).decode()
            if match := re.search(r"running on (http://127\.0\.0\.1:\d+)", line):
                yield f"{match[1]}/mcp"
                return


MALFORMED = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    who = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}
    told = {"initialize": who, "tools/call": {"structuredContent": {"a": 1}}}.get(asked["method"])
    if told is None:
        told = PAGE
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": told}), flush=True)
"""


def malformed(page: object = None) -> McpServer:
    return McpServer(command=sys.executable, args=("-c", MALFORMED.replace("PAGE", repr(page or {"tools": []}))))


async def test_an_answer_that_is_none_of_the_protocol_is_a_failed_answer_and_not_the_end() -> None:
    async with connect("bad", malformed(), environment=PATH) as server:
        answers = [await server.call("look", {}) for _ in range(2)]

    assert [each.failed for each in answers] == [True, True]
    assert "none of the protocol" in answers[0].text
