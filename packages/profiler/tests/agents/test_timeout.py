"""A real program that outlives its scenario's time: gone with its children, what it did kept, the time true."""

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from anyio.abc import Process
from anyio.streams.text import TextReceiveStream

from ghx_profiler import (
    Answer,
    BaseScenario,
    Evidence,
    Instruments,
    Mode,
    Profile,
    ProfileConfig,
    Score,
    SessionRequest,
    SessionTrace,
    TokenUsage,
    TraceRecorder,
    read_rows,
)
from ghx_profiler.agents.processes.process import program

pytestmark = pytest.mark.anyio

# Calls two tools, one of which goes on for ever in a process of its own, and never comes to an end.
PROGRAM = r"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print(f"tool {child.pid}", flush=True)
print("tool 0", flush=True)
time.sleep(600)
"""


class ProgramSession:
    def __init__(self, process: Process, pids: list[int]) -> None:
        self._process = process
        self._pids = pids
        self._recorder = TraceRecorder(session_id=f"pid-{process.pid}")

    async def prompt(self, text: str) -> Answer:
        assert self._process.stdout is not None
        self._recorder.begin_turn()
        async for chunk in TextReceiveStream(self._process.stdout):
            for line in chunk.splitlines():
                self._pids.append(int(line.removeprefix("tool ")))
                self._recorder.begin_tool_call(line, "work", {"line": line})
                if line == "tool 0":
                    self._recorder.end_tool_call(line, "done", success=True)
                self._recorder.add_usage(TokenUsage.of(input=10, output=1, cache_read=0))
        return Answer(text=text)

    async def trace(self) -> SessionTrace:
        return self._recorder.trace()


class ProgramProvider:
    name = "program"

    def __init__(self) -> None:
        self.pids: list[int] = []

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator[ProgramSession]:
        command = [sys.executable, "-c", PROGRAM]
        async with program(command, environment=request.environment, grace_s=0.5) as process:
            self.pids.append(process.pid)
            yield ProgramSession(process, self.pids)


class NeverRight:
    async def score(self, evidence: Evidence[Any]) -> Score:
        return Score(success=False)


async def test_a_program_past_its_deadline_is_gone_and_what_it_did_is_on_the_row(tmp_path: Path) -> None:
    provider = ProgramProvider()
    task = BaseScenario(id="slow-001", name="s", description="s", prompt="p", timeout_ms=2_000)
    profile = Profile(
        scenarios=[task],
        modes=[Mode(name="plain")],
        instruments=Instruments(provider=provider, scorer=NeverRight(), environment={"PATH": os.environ["PATH"]}),
    )
    settings = ProfileConfig.model_validate(
        {"modes": ["plain"], "execution": {"repetitions": 1, "warmup": False}, "output": {"results_dir": str(tmp_path)}}
    )
    before = anyio.current_time()

    result = await profile.run(settings)

    took_ms = (anyio.current_time() - before) * 1000
    [row] = read_rows(result.directory / "rows.jsonl")
    assert row.completion_reason == "timeout"
    assert row.cause == "agent_timeout"
    assert row.success is False
    assert row.timing.wall_ms is not None
    assert 2_000 <= row.timing.wall_ms <= took_ms
    assert row.tool_calls.total == 2
    running, done = row.tool_calls.records
    assert (running.unfinished, running.success, done.unfinished, done.success) == (True, None, False, True)
    assert running.duration_ms is not None
    assert running.duration_ms > 500  # it ran until the deadline
    assert row.tokens.total == 22
    [session] = (result.directory / "sessions").glob("*/none/plain/slow-001/0.json")
    trace = SessionTrace.model_validate_json(session.read_text())
    assert len(trace.tool_calls) == 2
    agent, child, _ = provider.pids
    assert not psutil.pid_exists(agent)
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE
