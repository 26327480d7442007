"""Commands in a real shell: what they said, how they ended, and that nothing stays behind."""

import os
from pathlib import Path

import anyio
import psutil
import pytest
from shell_runs import run_in_shell

from ghx_profiler.agents.tools import toolbelt

pytestmark = pytest.mark.anyio

PATH = {"PATH": os.environ["PATH"]}


async def test_both_streams_and_the_exit_code_are_told(tmp_path: Path) -> None:
    ran = await run_in_shell("pwd; printf oops >&2; exit 3", environment=PATH, directory=tmp_path)

    assert (ran.stdout, ran.stderr, ran.exit_code) == (f"{tmp_path}\n", "oops", 3)
    assert ran.output == f"{tmp_path}\noops"


async def test_a_command_sees_its_environment_and_no_other() -> None:
    ran = await run_in_shell("env | cut -d= -f1 | sort", environment={**PATH, "MINE": "1"})

    assert set(ran.stdout.split()) - {"PWD", "SHLVL", "_"} == {"GHX_BENCH_PROCESS", "MINE", "PATH"}


async def test_a_command_that_asks_for_something_gets_no_answer_and_ends() -> None:
    ran = await run_in_shell("read -r name || echo nobody", environment=PATH)

    assert ran.stdout == "nobody\n"


async def test_what_a_command_leaves_in_the_background_is_not_waited_for_and_ended() -> None:
    ran = await run_in_shell("sleep 1000 & echo $!", environment=PATH)

    assert ran.exit_code == 0
    assert not _is_alive(int(ran.stdout))


async def test_a_cancelled_command_is_gone_with_its_children(tmp_path: Path) -> None:
    noted = tmp_path / "pid"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_run_for_ever, noted)
        while not (noted.exists() and noted.read_text().endswith("\n")):
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()

    assert not _is_alive(int(noted.read_text()))


async def test_strict_options_see_a_mistake_in_the_middle_of_a_pipe() -> None:
    loose = await run_in_shell("false | cat", environment=PATH)
    strict = await run_in_shell("false | cat", environment=PATH, options=("-euo", "pipefail"))

    assert (loose.exit_code, strict.exit_code) == (0, 1)


async def test_of_endless_output_the_beginning_is_kept_and_the_rest_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolbelt, "MOST_BYTES", 100)
    ran = await run_in_shell("head -c 100000 /dev/zero | tr '\\0' x", environment=PATH)

    assert ran.stdout == "x" * 100
    assert ran.bytes_left_out == 99_900
    assert ran.output.endswith("(99,900 bytes left out)\n")


async def test_output_that_is_no_text_is_told_all_the_same() -> None:
    ran = await run_in_shell(r"printf 'a\xffb'", environment=PATH)

    assert ran.stdout == "a�b"


async def _run_for_ever(noted: Path) -> None:
    await run_in_shell(f"sleep 1000 & echo $! > {noted}; wait", environment=PATH)


def _is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
