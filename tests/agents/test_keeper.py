"""Which processes descend from one, by the kernel's lists and by `ps` where there are none."""

import os
import subprocess
import sys
import time

import pytest

from ghx_bench.agents.processes import keeper

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
        keeper.kill_descendants(process.pid)
        code = process.wait(timeout=60)

    assert {process.pid, *deep} <= set(ours)
    assert code == -9
    assert keeper.find_descendants(process.pid) == []
