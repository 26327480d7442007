"""Programs of a session are gone with it, with their descendants."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from ghx_profiler.agents.processes import keeper_client
from ghx_profiler.agents.processes.keeper_client import KeeperConnection, KeptProgram, launcher_pid
from ghx_profiler.agents.processes.process import ProcessGroup, _Tree, process_group, program
from ghx_profiler.records.causes import AgentError, Cause

pytestmark = pytest.mark.anyio

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing holds all descendants")
PATH = {"PATH": os.environ["PATH"]}

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
    really_start = KeeperConnection.start

    async def start(self: KeeperConnection, *arguments: Any, **options: Any) -> KeptProgram:
        process = await really_start(self, *arguments, **options)
        started.append(process.pid)
        scope.cancel()
        await anyio.lowlevel.checkpoint()
        return process

    monkeypatch.setattr(KeeperConnection, "start", start)
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


LEAVES_THE_FAMILY = """
import subprocess, sys
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
print(subprocess.Popen(sleep, start_new_session=True, stdout=-3, stderr=-3).pid, flush=True)
"""


# Leaves a child in its group, which has started another by which nothing tells whose it is: no mark, its own session.
LEAVES_SOMEBODY_BEHIND = r"""
import subprocess, sys
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
quiet = "start_new_session=True, env={}, stdout=-3, stderr=-3"
code = f"import subprocess, time; print(subprocess.Popen({sleep}, {quiet}).pid, flush=True); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
print(child.stdout.readline().decode().strip(), child.pid, flush=True)
"""


async def test_who_left_the_family_lives_as_long_as_the_process_group() -> None:
    async with process_group(grace_s=0.3) as group:
        leaver = await _pid_told(LEAVES_THE_FAMILY, group)
        lived_on = _is_alive(leaver)
        another = await _pid_told(LEAVES_THE_FAMILY, group)

    assert lived_on
    assert not _is_alive(leaver)
    assert not _is_alive(another)


async def test_who_left_the_family_of_a_program_that_is_cut_short_is_gone_at_once() -> None:
    async with process_group(grace_s=0.3) as group:
        with anyio.CancelScope() as scope:
            script = f"{LEAVES_THE_FAMILY}\nimport time; time.sleep(600)"
            command = [sys.executable, "-c", script]
            async with program(command, environment=dict(os.environ), group=group) as process:
                leaver = await _number(process)
                scope.cancel()
                await anyio.sleep_forever()

        assert not _is_alive(leaver)


async def test_what_a_program_leaves_in_its_group_is_gone_with_it_and_so_is_who_left_from_there() -> None:
    async with process_group(grace_s=0.3) as group:
        script = [sys.executable, "-c", LEAVES_SOMEBODY_BEHIND]
        async with program(script, environment=dict(os.environ), group=group) as process:
            assert process.stdout is not None
            line = await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", 1000)
            await process.wait()
        runaway, stayed = map(int, line.split())

        assert not _is_alive(stayed)
        assert not _is_alive(runaway)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing but the mark tells whose a process is")
async def test_no_process_of_the_machine_is_looked_at_but_those_of_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[object] = []
    monkeypatch.setattr(psutil, "process_iter", lambda *given: looked.append(given) or iter(()))
    async with process_group() as group:
        for _ in range(3):
            async with program(["true"], environment=dict(os.environ), group=group) as process:
                await process.wait()
        await _pid_told(LEAVES_THE_FAMILY, group)

    assert looked == []


async def test_a_program_is_asked_to_end_however_long_it_takes_to_find_its_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    really_find = _Tree.find_living

    def find_slowly(self: _Tree) -> list[psutil.Process]:
        time.sleep(0.5)
        return really_find(self)

    monkeypatch.setattr(_Tree, "find_living", find_slowly)
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    with anyio.fail_after(30):
        async with program(sleep, environment={}, grace_s=0.3) as process:
            pass

    assert process.returncode == -signal.SIGTERM  # its keeper would kill it
    assert not _is_alive(process.pid)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the time of boot is asked for in another way")
@pytest.mark.parametrize("step_s", [-3_600, 3_600], ids=["back", "forward"])
async def test_a_step_of_the_clock_hides_no_descendant(step_s: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from psutil import _pslinux

    booted = _pslinux.boot_time()
    list(psutil.process_iter(["create_time"]))  # as an earlier look did, before the step
    async with process_group(grace_s=0.3) as group:
        if step_s < 0:
            monkeypatch.setattr(_pslinux, "boot_time", lambda: booted + step_s)
        pid = await _pid_told(LEAVES_THE_FAMILY, group)
        if step_s > 0:
            list(psutil.process_iter(["create_time"]))
            monkeypatch.setattr(_pslinux, "boot_time", lambda: booted + step_s)
        assert _is_alive(pid)

    assert not _is_alive(pid)


async def _pid_told(script: str, group: ProcessGroup) -> int:
    async with program([sys.executable, "-c", script], environment=dict(os.environ), group=group) as process:
        number = await _number(process)
        await process.wait()
        return number


async def _number(process: Process) -> int:
    assert process.stdout is not None
    return int(await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", 1000))


@LINUX
@pytest.mark.parametrize("is_resumed", [True, False], ids=["resumed", "stopped for good"])
async def test_a_program_that_stops_its_keeper_ends_with_its_session(
    is_resumed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper_client, "_LEAST_PATIENCE_S", 1.0)
    if not is_resumed:  # as by a program that stops it again and again
        monkeypatch.setattr(KeeperConnection, "resume", _do_nothing)
    deaf = "trap '' TERM; setsid env -i sleep 600 & read; kill -STOP $PPID; echo $PPID $!; while :; do sleep 1; done"
    with anyio.fail_after(60):
        async with program(["bash", "-c", deaf], environment=PATH, grace_s=0.1) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            await process.stdin.send(b"\n")  # not before it is known that it has started
            line = await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", 1000)
            keeper, detached = map(int, line.split())
            while psutil.Process(keeper).status() != psutil.STATUS_STOPPED:  # noqa: ASYNC110 - there is no event for it
                await anyio.sleep(0.01)

    assert [pid for pid in (process.pid, detached) if _is_alive(pid)] == []
    while _is_alive(keeper):  # noqa: ASYNC110 - its end is known a moment before it is no more
        await anyio.sleep(0.01)


def _do_nothing(_: object) -> None: ...


@LINUX
@pytest.mark.parametrize("is_resumed", [True, False], ids=["resumed", "replaced"])
async def test_programs_start_though_the_launcher_was_stopped(
    is_resumed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper_client, "_LOOK_S", 0.2)
    async with program(["true"], environment=PATH) as process:
        await process.wait()
    stopped = psutil.Process(launcher_pid())
    stopped.suspend()
    if not is_resumed:
        monkeypatch.setattr(keeper_client, "_FORK_S", 1.0)
        monkeypatch.setattr(type(keeper_client._launcher), "resume", _do_nothing)  # as if it were stopped again
    with anyio.fail_after(60):
        async with program(["true"], environment=PATH) as process:
            code = await process.wait()

    assert code == 0
    assert _is_alive(stopped.pid) is is_resumed
    assert (launcher_pid() == stopped.pid) is is_resumed


@LINUX
async def test_a_session_that_kills_its_keeper_broke_down_by_itself() -> None:
    async with process_group() as group:
        command = ["bash", "-c", "read; kill -9 $PPID; sleep 600"]
        async with program(command, environment=PATH, group=group) as process:
            assert process.stdin is not None
            await process.stdin.send(b"\n")
            code = await process.wait()
        with pytest.raises(AgentError) as caught:
            async with program(["true"], environment=PATH, group=group):
                pass

    assert code == -signal.SIGKILL
    assert caught.value.cause is Cause.AGENT_CRASH
    assert not _is_alive(process.pid)


@LINUX
async def test_what_a_program_writes_to_all_files_of_its_keeper_changes_nothing() -> None:
    garble = "read; for file in /proc/$PPID/fd/*; do echo '{\"exit\": 0}' >>$file; done 2>/dev/null; exit 7"
    async with process_group() as group:
        codes: list[int] = []
        for command in (garble, "read; exit 5"):
            async with program(["bash", "-c", command], environment=PATH, group=group) as process:
                assert process.stdin is not None
                await process.stdin.send(b"\n")
                codes.append(await process.wait())

    assert codes == [7, 5]
