"""Ctrl-C at every stage of a run: it ends in order, leaves nothing behind, and says how to go on."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from bench_command import ghx_bench, left_in, rows_of, run_in, start
from nightly import mostly_nightly

FLAGS = ("--agent", "nop", "--mode", "baseline", "--scenario-set", "quick", "--repetitions", "50", "--log-json", "log")


def has_directory(folder: Path) -> bool:
    return any((folder / "results").glob("run_*/run.json"))


def has_repository(folder: Path) -> bool:
    """Report whether the emulator has a repository, which is when fixtures begin to be made in it."""
    try:
        return any((folder / "tmp").glob("*/*/refs"))
    except FileNotFoundError:  # a folder of another purpose was removed while it was looked at
        return False


def has_told(event: str) -> Callable[[Path], bool]:
    def told(folder: Path) -> bool:
        log = folder / "log"
        return log.exists() and f'"{event}"' in log.read_text()

    return told


MOMENTS: dict[str, Callable[[Path], bool]] = {
    "the directory is made": has_directory,
    "fixtures are made": has_repository,
    "the modes are warmed up": has_told("canary_started"),
    "cells are run": has_told("cell_started"),
}


@pytest.mark.parametrize("moment", mostly_nightly(MOMENTS, keep=1))
def test_a_run_that_is_interrupted_says_how_to_go_on_and_leaves_nothing(moment: str, tmp_path: Path) -> None:
    process = start(tmp_path, "run", *FLAGS)
    while process.poll() is None and not MOMENTS[moment](tmp_path):
        time.sleep(0.002)  # looks again; the moment itself is what is waited for
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()

    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    directory = run_in(tmp_path).relative_to(tmp_path)
    assert f"go on with: ghx-bench resume {directory}" in errors
    assert left_in(tmp_path) == []


BLOCKING = """
import time
from contextlib import asynccontextmanager
from pathlib import Path

from ghx_profiler import Answer, TraceRecorder

HERE = Path(__file__).parent


class Agent:
    name = "blocking"

    @asynccontextmanager
    async def session(self, request):
        yield Session()


class Session:
    async def prompt(self, text):
        (HERE / "prompted").touch()
        time.sleep(600)
        return Answer(text="late")

    async def trace(self):
        return TraceRecorder().trace()
"""


PROFILE = """

from ghx_profiler import BaseScenario, Instruments, Mode, Profile, Score


class Scorer:
    async def score(self, evidence):
        return Score(success=evidence.answer is not None)


profile = Profile(
    scenarios=[BaseScenario(id="a-001", name="a", description="a", prompt="p", timeout_ms=TIMEOUT)],
    modes=[Mode(name="only")],
    instruments=Instruments(provider=Agent(), scorer=Scorer()),
)
"""


def test_a_profile_whose_agent_blocks_keeps_its_deadline(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(BLOCKING + PROFILE.replace("TIMEOUT", "300"))

    done = ghx_bench(tmp_path, "profile", "agent.py", "--repetitions", "1", "--skip-warmup")

    (row,) = rows_of(run_in(tmp_path))
    assert row.completion_reason == "timeout", done.stderr
    assert "its event loop stood still" in str(row.error)


@pytest.mark.parametrize("command", mostly_nightly(["run", "profile"], keep=1))
def test_a_run_whose_agent_blocks_can_be_interrupted(tmp_path: Path, command: str) -> None:
    (tmp_path / "agent.py").write_text(BLOCKING + PROFILE.replace("TIMEOUT", "600_000"))
    flags = {"run": ("--agent", "agent.py", *FLAGS[2:]), "profile": ("agent.py",)}
    process = start(tmp_path, command, *flags[command])
    while process.poll() is None and not (tmp_path / "prompted").exists():
        time.sleep(0.002)  # looks again; the moment itself is what is waited for
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()

    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert "go on with: ghx-bench resume " in errors
    assert left_in(tmp_path) == []
