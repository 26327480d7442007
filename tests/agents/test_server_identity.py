"""Servers are asked who they are over their pipes, with nothing but the handshake."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, cast

import anyio
import psutil
import pytest

from ghx_profiler.agents.tools import server_identity
from ghx_profiler.agents.tools.server_identity import ServerIdentity, ask_identity, lines_of
from ghx_profiler.agents.tools.toolset import McpServer
from ghx_profiler.records.causes import EnvironmentFailure

pytestmark = [pytest.mark.anyio, pytest.mark.process]

CALCULATOR = str(Path(__file__).parents[1] / "support" / "calculator_mcp.py")
PATH = {"PATH": os.environ["PATH"]}
TALK = """
import json, os, sys
def say(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def hear(): return json.loads(sys.stdin.readline())
asked = hear()
def answer(**result): say(id=asked["id"], result={"protocolVersion": "2024-11-05", "capabilities": {}, **result})
"""


def talking(script: str) -> McpServer:
    return McpServer(command=sys.executable, args=("-c", TALK + script))


async def ask(server: McpServer) -> ServerIdentity:
    return await ask_identity("calc", server, environment=PATH, directory=Path.cwd())


async def test_a_server_made_with_the_sdk_says_who_it_is() -> None:
    identity = await ask(McpServer(command=sys.executable, args=(CALCULATOR, "--sdk")))

    assert identity == ServerIdentity(name="calculator", version="1.2.3")


async def test_the_request_is_the_one_that_every_session_begins_with() -> None:
    identity = await ask(
        talking("answer(serverInfo={'name': asked['method'], 'version': ' '.join(sorted(asked['params']))})")
    )

    assert identity == ServerIdentity(name="initialize", version="capabilities clientInfo protocolVersion")


async def test_what_a_server_says_before_its_answer_does_not_matter_and_its_requests_are_replied_to() -> None:
    identity = await ask(
        talking("""
print("Starting...")
print("[1]")
say(method="notifications/message", params={"level": "info", "data": "x"})
say(id=0, method="ping")
pong = hear()
say(id="r", method="roots/list")
roots = hear()
answer(serverInfo={"name": f"{pong['id']} {pong['result']}", "version": f"{roots['id']} {roots['error']['code']}"})
""")
    )

    assert identity == ServerIdentity(name="0 {}", version="r -32601")


async def test_a_server_that_does_not_say_who_it_is_has_no_name() -> None:
    assert await ask(talking("answer()")) == ServerIdentity(name=None, version=None)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("sys.exit('cannot find my abacus')", "does not come up: cannot find my abacus"),
        ("sys.exit(3)", "does not come up: it ended without an answer"),
        ("say(id=asked['id'], error={'code': -1, 'message': 'too old'})", "it refuses to start a session: too old"),
        ("say(id=asked['id'], result=[])", "is not one of the protocol"),
    ],
)
async def test_a_server_that_does_not_come_up_is_an_error_with_the_reason(script: str, reason: str) -> None:
    with pytest.raises(EnvironmentFailure, match=reason):
        await ask(talking(script))


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        (McpServer(command="/nowhere/server"), r"'calc' \(/nowhere/server\) does not come up: .*No such file"),
        (McpServer(command="false"), r"'calc' \(false\) does not come up: it ended without an answer"),
        (McpServer(command="true", environment={"KEY": "${NOT_THERE}"}), r"needs \$\{NOT_THERE\}"),
    ],
)
async def test_a_program_that_is_no_server_is_an_error_with_the_reason(server: McpServer, reason: str) -> None:
    with pytest.raises(EnvironmentFailure, match=reason):
        await ask(server)


async def test_no_process_is_left_whether_it_answered_or_not() -> None:
    await ask(talking("answer()"))  # has the launcher started, which stays
    before = set(psutil.Process().children(recursive=True))
    await ask(talking("answer()\nos.system('sleep 1000')"))
    with anyio.move_on_after(1) as patience:
        await ask(talking("os.system('sleep 1000')"))

    assert patience.cancelled_caught
    left = set(psutil.Process().children(recursive=True)) - before
    # A keeper that has ended its session is itself gone a moment later; `sleep` would stay.
    _, alive = psutil.wait_procs(left, timeout=60)
    assert [child for child in alive if child.status() != psutil.STATUS_ZOMBIE] == []


def test_asking_does_not_load_the_sdk() -> None:
    script = "import sys, ghx_bench.modes.resolver; print('mcp' in sys.modules)"

    assert (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "False\n"
    )


class Pieces:
    """A stream that comes in these pieces."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = iter(pieces)

    async def receive(self, max_bytes: int = 65536) -> bytes:
        try:
            return next(self._pieces)
        except StopIteration:
            raise anyio.EndOfStream from None


async def test_lines_come_whole_however_they_are_cut() -> None:
    stream = Pieces(b"on", b"e\ntw", b"o\n\nthr\xc3", b"\xa9", b"e\nlast")

    assert [line async for line in lines_of(cast("Any", stream))] == ["one", "two", "", "thrée", "last"]


async def test_a_line_without_end_comes_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_identity, "_LONGEST_LINE", 100)

    lines = [line async for line in lines_of(cast("Any", Pieces(*[b"x" * 60] * 4, b"\n{}\n")))]

    assert max(map(len, lines)) < 200
    assert "".join(lines) == "x" * 240 + "{}"
    assert lines[-1] == "{}"


@pytest.mark.slow
async def test_reading_a_long_line_takes_time_in_proportion_to_its_length() -> None:
    async def cpu_s(pieces: int) -> float:
        before = time.process_time()
        assert [len(line) async for line in lines_of(cast("Any", Pieces(*[b"x" * 4_096] * pieces)))] == [4_096 * pieces]
        return time.process_time() - before

    await cpu_s(100)
    # Four times the length; adding piece to piece copies sixteen times as much.
    assert await cpu_s(12_000) < 9 * await cpu_s(3_000)


async def test_a_program_that_sends_back_what_it_is_sent_is_told_to_be_no_server() -> None:
    with pytest.raises(EnvironmentFailure, match="sends back what it is sent"):
        await ask(McpServer(command="cat"))
