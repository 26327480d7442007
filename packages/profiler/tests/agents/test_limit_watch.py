"""What the programs of a session use is counted over all of them, from its start to its end."""

import os
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from ghx_profiler import Answer, Evidence, Instruments, Mode, Score, SessionRequest, SessionTrace, TraceRecorder
from ghx_profiler.agents import ToolSet, tool_belt
from ghx_profiler.agents.processes import limit_watch
from ghx_profiler.agents.processes.limit_watch import measure_folders
from ghx_profiler.agents.processes.process import process_group, program
from ghx_profiler.agents.tools.toolset import McpServer
from ghx_profiler.records.causes import Cause
from ghx_profiler.records.outcome import Completed, Failed
from ghx_profiler.runner.iteration import Task, measure
from ghx_profiler.session_limits import ALLOWANCE, Allowance, LimitBrokenError, Resource, SessionLimits
from ghx_profiler.testing import sample_cell, sample_scenario

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


THREADS = """
import threading, time
for _ in range(60):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
time.sleep(600)
"""


async def test_threads_count_over_all_processes() -> None:
    allowance = allowed(threads=100)
    async with program([sys.executable, "-c", THREADS], environment=PATH) as one:
        await anyio.sleep(0.6)
        was_fine = allowance.broken is None
        async with program([sys.executable, "-c", THREADS], environment=PATH) as other:
            said = await broken(allowance)
            ended = await one.wait(), await other.wait()

    assert was_fine
    assert said.endswith("threads, where 100 are the limit")
    assert ended == (-9, -9)


HOLDS = "import time; kept = bytes([7]) * (200 << 20); time.sleep(600)"


async def test_memory_of_a_program_that_does_not_let_it_be_read_counts_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: psutil.Process) -> None:
        raise psutil.AccessDenied(self.pid)

    monkeypatch.setattr(psutil.Process, "memory_full_info", refuse)
    allowance = allowed(memory_mib=150)
    async with program([sys.executable, "-c", HOLDS], environment=PATH):
        assert (await broken(allowance)).endswith("MiB of memory, where 150 MiB are the limit")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a session that stops its keeper has an end only")
async def test_a_keeper_that_is_stopped_goes_on_while_its_session_is_watched() -> None:
    allowed(processes=100)
    with anyio.fail_after(60):
        async with program(["bash", "-c", "kill -STOP $PPID; exit 7"], environment=PATH) as process:
            assert await process.wait() == 7


class Unseen(Allowance):
    """An allowance that cannot be looked at."""

    def exceeds(self, resource: Resource, used: int) -> bool:
        raise RuntimeError(f"{resource} cannot be counted")


async def test_a_session_that_cannot_be_looked_at_does_not_hide_the_others() -> None:
    unseen = Unseen(limits=SessionLimits())
    ALLOWANCE.set(unseen)
    async with program(["sleep", "600"], environment=PATH):
        allowance = allowed(output_mib=1)
        async with program(["yes"], environment=PATH) as process:
            assert process.stdout is not None
            async for _ in process.stdout:  # to its end, which is that of the program
                pass

    assert allowance.broken is not None
    assert allowance.unseen is None
    assert str(unseen.unseen) == "processes cannot be counted"


async def test_a_long_walk_through_the_files_of_a_session_keeps_nothing_else_from_being_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    walking, ended = threading.Event(), threading.Event()

    def walk(*_given: object, **_options: object) -> int:
        walking.set()
        ended.wait(60)
        return 0

    monkeypatch.setattr(limit_watch, "measure_folders", walk)
    allowance = allowed(output_mib=1)
    try:
        async with program(["yes"], environment=PATH) as process:
            assert process.stdout is not None
            async for _ in process.stdout:
                pass
        assert walking.is_set()
        assert allowance.broken is not None
    finally:
        ended.set()


def test_small_files_count_as_blocks_and_no_more_are_counted_than_it_takes(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / str(number)).touch()

    assert measure_folders([tmp_path]) == 100 * 4096
    assert measure_folders([tmp_path], enough=10 * 4096) == 10 * 4096


def test_a_folder_that_became_a_link_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_bytes(bytes(1 << 20))
    (tmp_path / "work").symlink_to(tmp_path / "elsewhere")

    assert measure_folders([tmp_path / "work"]) == 0


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


class Working:
    """An agent that runs a program for as long as it takes to be looked at."""

    name = "working"

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator[Any]:
        async with tool_belt(request, TraceRecorder()) as belt:
            self.belt = belt
            yield self

    async def prompt(self, _text: str) -> Answer:
        allowance = ALLOWANCE.get()
        async with program(["sleep", "600"], environment=PATH):
            while allowance is not None and allowance.unseen is None:  # noqa: ASYNC110 - it is set by a thread
                await anyio.sleep(0.01)
        return Answer(text="done")

    async def trace(self) -> SessionTrace:
        return self.belt.recorder.trace()


class Passing:
    async def score(self, evidence: Evidence[Any]) -> Score:
        return Score(success=True)


async def test_a_row_says_that_its_session_could_not_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_given: object, **_options: object) -> int:
        raise RuntimeError("the disk is gone")

    monkeypatch.setattr(limit_watch, "measure_folders", fail)
    outcome = await measure(
        Task(
            cell=sample_cell(),
            scenario=sample_scenario(),
            mode=Mode(name="plain"),
            instruments=Instruments(providers={sample_cell().agent: Working()}, scorer=Passing(), environment=PATH),
        )
    )

    assert isinstance(outcome, Completed)
    assert outcome.success
    assert [(each.where, each.message) for each in outcome.problems] == [("limits", "the disk is gone")]
