"""A bench that was stopped for a while: that time is not the agent's."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ghx_profiler.runner import deadlines
from ghx_profiler.runner.deadlines import Suspensions

SUPPORT = Path(__file__).parents[3] / "tests" / "support"

# Stops itself in the middle of a prompt for longer than the agent has, as Ctrl-Z does, and is continued from outside.
STOPPED = """
import json, os, signal, subprocess, sys
import anyio
from profiler_fakes import FakeProvider, instruments, scenario
from ghx_profiler.plan.cell import Cell
from ghx_profiler.evidence import Answer, Mode
from ghx_profiler.runner.deadlines import Suspensions
from ghx_profiler.runner.iteration import Task, measure

async def is_stopped(_session, _text):
    subprocess.Popen(["sh", "-c", f"sleep 4; kill -CONT {os.getpid()}"])
    os.kill(os.getpid(), signal.SIGSTOP)
    await anyio.sleep(0.1)
    if sys.argv[1] == "never":
        await anyio.sleep_forever()
    return Answer(text="3")

cell = Cell(agent="fake", model="none", mode="plain", scenario_id="add-001", iteration=0)
subject = scenario(timeout_ms=2_000)
watched = Suspensions()
tools = instruments(FakeProvider(is_stopped))
task = Task(cell=cell, scenario=subject, mode=Mode(name="plain"), instruments=tools, suspensions=watched)
with watched.watch():
    outcome = anyio.run(measure, task)
print(json.dumps([outcome.cause, outcome.evidence.completion_reason, outcome.evidence.timing.wall_ms]))
"""


@pytest.mark.parametrize(
    ("answers", "cause", "reason", "shortest_ms", "longest_ms"),
    [("soon", None, "stop", 0, 2_000), ("never", "agent_timeout", "timeout", 1_500, 3_900)],
)
def test_the_time_for_which_the_bench_was_stopped_is_not_the_agents(
    answers: str, cause: str | None, reason: str, shortest_ms: int, longest_ms: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STOPPED, answers], cwd=SUPPORT, capture_output=True, text=True, check=True
    )

    told_cause, told_reason, wall_ms = json.loads(done.stdout)
    assert (told_cause, told_reason) == (cause, reason)
    assert shortest_ms <= wall_ms < longest_ms


@pytest.mark.parametrize(
    ("gap_s", "cpu_s", "counted_s"),
    [(8.0, 0.1, 8.0), (8.0, 7.5, 0.0), (0.5, 0.0, 0.0)],
    ids=["stopped", "an agent that holds the interpreter", "a busy machine"],
)
def test_only_time_in_which_the_process_did_not_run_is_a_suspension(
    gap_s: float, cpu_s: float, counted_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments, used = iter([100.0, 100.0 + gap_s, 100.1 + gap_s]), iter([1.0, 1.0 + cpu_s, 1.0 + cpu_s])
    monkeypatch.setattr(deadlines, "time", type("Time", (), {"monotonic": time.monotonic}))
    suspensions = Suspensions(is_watched=True, _woken_at=next(moments), _cpu_s=next(used))
    monkeypatch.setattr(deadlines.time, "monotonic", lambda: next(moments), raising=False)
    monkeypatch.setattr(deadlines.time, "process_time", lambda: next(used), raising=False)

    assert suspensions.update() == counted_s
    assert suspensions.update() == counted_s
