"""Making a checkout ends with what waits for it."""

import socket
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import anyio
import psutil
import pytest
from anyio import to_thread

from ghx_bench.scenario.extensions import Workspace
from ghx_bench.stages.checkout import clone

pytestmark = [pytest.mark.anyio, pytest.mark.process]


async def test_a_clone_from_a_host_that_says_nothing_ends_when_it_is_cancelled(tmp_path: Path) -> None:
    with ExitStack() as held, socket.create_server(("127.0.0.1", 0)) as silent:
        host = f"http://127.0.0.1:{silent.getsockname()[1]}"
        place = tmp_path / "clone"
        with anyio.fail_after(60), anyio.CancelScope() as scope:
            async with anyio.create_task_group() as cloning:
                cloning.start_soon(
                    partial(
                        to_thread.run_sync,
                        partial(clone, Workspace(repo="a/b"), place, {"HOME": str(tmp_path)}, host=host),
                    )
                )
                client, _ = await to_thread.run_sync(silent.accept)  # git has come, and waits for an answer
                held.enter_context(client)
                scope.cancel()

    assert scope.cancelled_caught
    assert [each for each in psutil.process_iter() if str(place) in _words(each)] == []


def _words(process: psutil.Process) -> str:
    try:
        return "" if process.status() == psutil.STATUS_ZOMBIE else " ".join(process.cmdline())
    except psutil.Error:
        return ""
