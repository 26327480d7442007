"""Programs of a session are gone with it, with their descendants."""

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from ghx_bench.agents.process import program

pytestmark = pytest.mark.anyio

# Starts children of every kind: plain, in a session of its own, orphaned, with an empty environment, deaf to SIGTERM.
FAMILY = r"""
import subprocess, sys, time
python, out = [sys.executable, "-c"], subprocess.DEVNULL
sleep = [*python, "import time; time.sleep(600)"]
deaf = [*python, "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"]
orphaned = f"import subprocess; print(subprocess.Popen({sleep}, start_new_session=True, stdout=-3, stderr=-3).pid)"
pids = [subprocess.Popen(sleep).pid, subprocess.Popen(sleep, start_new_session=True).pid]
pids.append(subprocess.Popen(sleep, env={}).pid)
stubborn = subprocess.Popen(deaf, stdout=subprocess.PIPE)
stubborn.stdout.readline()
pids.append(stubborn.pid)
pids.append(int(subprocess.run([*python, orphaned], capture_output=True, check=True).stdout))
print(*pids, flush=True)
time.sleep(600)
"""


async def test_when_a_session_is_cancelled_the_program_and_all_its_descendants_are_gone() -> None:
    pids: list[int] = []
    with anyio.CancelScope() as scope:
        async with program([sys.executable, "-c", FAMILY], environment=dict(os.environ), grace_s=0.3) as process:
            assert process.stdout is not None
            line = await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", 1000)
            pids = [process.pid, *map(int, line.split())]
            assert all(psutil.pid_exists(pid) for pid in pids)
            scope.cancel()
            await anyio.sleep_forever()

    assert len(pids) == 6
    assert [pid for pid in pids if _is_alive(pid)] == []


async def test_a_program_that_is_cancelled_while_it_starts_is_gone_too(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    really_open = anyio.open_process

    async def open_process(*arguments: Any, **options: Any) -> Process:
        process = await really_open(*arguments, **options)
        started.append(process.pid)
        scope.cancel()
        await anyio.lowlevel.checkpoint()
        return process

    monkeypatch.setattr(anyio, "open_process", open_process)
    with anyio.CancelScope() as scope:
        async with program([sys.executable, "-c", "import time; time.sleep(600)"], environment={}):
            await anyio.sleep_forever()

    assert [pid for pid in started if not _is_alive(pid)] == started != []


async def test_a_program_sees_exactly_its_environment_and_folder(tmp_path: Path) -> None:
    code = "import os; print(sorted(set(os.environ) - {'LC_CTYPE'}), os.getcwd())"
    async with program([sys.executable, "-c", code], environment={"ONLY": "this"}, directory=tmp_path) as process:
        assert process.stdout is not None
        said = (await process.stdout.receive()).decode()

    assert "'ONLY'" in said
    assert "'PATH'" not in said
    assert str(tmp_path) in said


async def test_a_program_that_ended_by_itself_is_left_quickly_and_its_result_is_known() -> None:
    async with program([sys.executable, "-c", "raise SystemExit(7)"], environment={}) as process:
        assert await process.wait() == 7


async def test_a_program_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        async with program(["/nowhere/agent"], environment={}):
            pass


def _is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
