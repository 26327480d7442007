"""Which processes descend from one, and that none of a killed bench's is left."""

import os
import subprocess
import sys
import time

import psutil
import pytest
from nightly import mostly_nightly

from ghx_profiler.agents.processes import keeper

DEEP = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])"


@pytest.mark.parametrize("has_lists", [True, False])
def test_descendants_are_found_however_deep_and_can_be_killed(has_lists: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if has_lists and sys.platform != "linux":
        pytest.skip("there are no lists of children here")
    monkeypatch.setattr(keeper, "_HAS_LISTS_OF_CHILDREN", has_lists)
    with subprocess.Popen([sys.executable, "-c", DEEP], start_new_session=True) as process:
        while not (deep := keeper.find_descendants(process.pid)):
            time.sleep(0.01)
        ours = keeper.find_descendants(os.getpid())
        not_so_deep = keeper.find_descendants(os.getpid(), enough=1)
        keeper.kill_descendants(process.pid)
        code = process.wait(timeout=60)

    assert {process.pid, *deep} <= set(ours)
    assert not set(deep) & set(not_so_deep)
    assert code == -9
    assert keeper.find_descendants(process.pid) == []


STOPPED = {
    "its keeper": "kill -STOP $PPID",
    "the launcher": "read -r _ _ _ launcher _ </proc/$PPID/stat; kill -STOP $launcher",
}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing holds all descendants")
@pytest.mark.parametrize("stopped", mostly_nightly(STOPPED, keep=1))
def test_nothing_is_left_of_a_bench_that_is_killed_after_a_program_stopped(stopped: str) -> None:
    deaf = f"trap '' TERM; read; {STOPPED[stopped]}; echo $PPID; while :; do sleep 1; done"
    bench = f"""
import anyio, os
from ghx_profiler.agents.processes.keeper_client import launcher_pid
from ghx_profiler.agents.processes.process import program

async def main():
    async with program(["bash", "-c", {deaf!r}], environment={{"PATH": os.environ["PATH"]}}) as process:
        await process.stdin.send(b"\\n")
        keeper = (await process.stdout.receive()).decode()
        print(launcher_pid(), process.pid, keeper, flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""
    with subprocess.Popen([sys.executable, "-c", bench], stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        there = [psutil.Process(int(pid)) for pid in started.stdout.readline().split()]
        started.kill()

    assert len(there) == 3
    assert psutil.wait_procs(there, timeout=30)[1] == []
