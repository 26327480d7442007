"""The tools of a session: what is booked as a tool's time, and what is not."""

import os
from datetime import UTC, datetime
from typing import Any

import anyio
import psutil
import pytest

from ghx_bench.agents.process import ProcessGroup
from ghx_bench.agents.toolbelt import tool_belt
from ghx_bench.agents.toolset import ToolAnswer
from ghx_bench.profiler.contracts import SessionRequest
from ghx_bench.profiler.evidence import Mode
from ghx_bench.profiler.recorder import TraceRecorder
from ghx_bench.profiler.testing import sample_cell

pytestmark = [pytest.mark.anyio, pytest.mark.process]

REQUEST = SessionRequest(cell=sample_cell(), mode=Mode(name="plain"), environment={"PATH": os.environ["PATH"]})


class StandingClock:
    """Time that passes only when somebody says so."""

    seconds = 0.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.seconds, UTC)

    def monotonic(self) -> float:
        return self.seconds


async def test_clearing_up_behind_a_command_is_not_the_tools_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = StandingClock()
    really_end = ProcessGroup.end

    async def end_slowly(self: ProcessGroup, *given: Any, **more: Any) -> None:
        clock.seconds += 60
        await really_end(self, *given, **more)

    monkeypatch.setattr(ProcessGroup, "end", end_slowly)
    recorder = TraceRecorder(clock=clock)
    async with tool_belt(REQUEST, recorder, with_servers=False) as belt:
        answer = await belt.shell("echo done")

    (call,) = recorder.trace().tool_calls
    assert answer.text == "done\n"
    assert clock.seconds == 60
    assert call.duration_ms == 0


async def test_a_command_that_is_cut_short_does_not_end_those_beside_it() -> None:
    beside: list[ToolAnswer] = []
    async with tool_belt(REQUEST, TraceRecorder(), with_servers=False) as belt, anyio.create_task_group() as tasks:

        async def go_on() -> None:
            beside.append(await belt.shell("sleep 1.5; echo all passed"))

        tasks.start_soon(go_on)
        with anyio.move_on_after(0.5):
            await belt.shell("sleep 1000")

    assert [answer.text for answer in beside] == ["all passed\n"]


async def test_what_left_the_family_of_a_command_is_there_for_the_next_one_and_gone_with_the_session() -> None:
    leaving = "set -m; sleep 1000 >/dev/null 2>&1 & echo $!"  # a group of its own, as job control makes them
    async with tool_belt(REQUEST, TraceRecorder(), with_servers=False) as belt:
        pid = int((await belt.shell(leaving)).text)
        seen = await belt.shell(f"kill -0 {pid}")

    assert not seen.failed
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
