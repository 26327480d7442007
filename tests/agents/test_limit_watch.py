"""What the programs of a session use is counted over all of them, from its start to its end."""

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from ghx_bench.agents import ToolSet, tool_belt
from ghx_bench.agents.processes.limit_watch import measure_folders
from ghx_bench.agents.processes.process import process_group, program
from ghx_bench.agents.tools.toolset import McpServer
from ghx_bench.profiler import Evidence, Instruments, Mode, Score, SessionRequest, TraceRecorder
from ghx_bench.profiler.causes import Cause
from ghx_bench.profiler.outcome import Failed
from ghx_bench.profiler.runner.iteration import Task, measure
from ghx_bench.profiler.session_limits import ALLOWANCE, Allowance, LimitBrokenError, SessionLimits
from ghx_bench.profiler.testing import sample_cell, sample_scenario

pytestmark = [pytest.mark.anyio, pytest.mark.process]

PATH = {"PATH": os.environ["PATH"]}


def allowed(**limits: int) -> Allowance:
    """Give what is started in this test an allowance."""
    allowance = Allowance(limits=SessionLimits(**limits))
    ALLOWANCE.set(allowance)
    return allowance


async def broken(allowance: Allowance) -> str:
    with anyio.fail_after(60):
        while allowance.broken is None:  # noqa: ASYNC110 - it is set by a thread
            await anyio.sleep(0.01)
    return str(allowance.broken)


async def test_processes_of_several_groups_count_together_and_all_of_them_are_ended() -> None:
    allowance = allowed(processes=9)
    six = ["bash", "-c", "for n in 1 2 3 4 5; do sleep 600 & done; wait"]
    async with program(six, environment=PATH) as one, process_group() as group:
        await anyio.sleep(0.6)
        was_fine = allowance.broken is None
        async with program(six, environment=PATH, group=group) as other:
            said = await broken(allowance)
            ended = await one.wait(), await other.wait()

    assert was_fine
    assert said == "12 processes, where 9 are the limit"
    assert ended == (-9, -9)


async def test_no_program_is_started_for_a_session_that_broke_a_limit() -> None:
    allowance = allowed(output_mib=1)
    async with process_group() as group:
        async with program(["yes"], environment=PATH, group=group) as process:
            assert process.stdout is not None
            async for _ in process.stdout:  # to its end, which is that of the program
                pass
        assert allowance.broken is not None
        with pytest.raises(LimitBrokenError, match="MiB of output, where 1 MiB are the limit"):
            async with program(["true"], environment=PATH, group=group):
                pass


SHARES = """
import os, time
kept = bytes([7]) * (150 << 20)
for _ in range(3):
    if os.fork() == 0:
        break
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it is not known what processes share")
async def test_memory_that_processes_share_counts_once() -> None:
    allowance = allowed(memory_mib=400)
    async with program([sys.executable, "-c", SHARES], environment=PATH):
        with anyio.move_on_after(3):
            await broken(allowance)

    assert allowance.broken is None


def test_folders_count_with_what_lies_in_them_and_each_file_once(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    before = measure_folders([tmp_path])
    (tmp_path / "deep" / "er" / "file").write_bytes(bytes([7]) * (1 << 20))
    (tmp_path / "again").hardlink_to(tmp_path / "deep" / "er" / "file")
    (tmp_path / "link").symlink_to("/")
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", 1 << 30)

    used = measure_folders([tmp_path, tmp_path / "deep", tmp_path / "not-there"]) - before
    assert 1 << 20 <= used < (1 << 20) + 65_536


class TalkingWhileItOpens:
    """An agent with an MCP server that writes without end before it answers."""

    name = "talking"

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator[Any]:
        async with tool_belt(request, TraceRecorder()):
            raise AssertionError("the server never comes up")
        yield


class NeverAsked:
    async def score(self, evidence: Evidence[Any]) -> Score:
        raise AssertionError("nothing was done that could be scored")


async def test_what_a_server_writes_while_the_session_opens_is_bounded_too() -> None:
    endless = "import sys\nwhile True: sys.stdout.write('x' * 65535 + chr(10))"
    servers = {"endless": McpServer(command=sys.executable, args=("-c", endless))}
    task = Task(
        cell=sample_cell(),
        scenario=sample_scenario(),
        mode=Mode(name="plain", settings=ToolSet(mcp_servers=servers).settings()),
        instruments=Instruments(
            providers={sample_cell().agent: TalkingWhileItOpens()}, scorer=NeverAsked(), environment=PATH
        ),
        session_limits=SessionLimits(output_mib=4),
    )
    outcome = await measure(task)

    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.ENVIRONMENT  # the agent has not been asked for anything yet
    assert "MiB of output, where 4 MiB are the limit" in str(outcome.error)
