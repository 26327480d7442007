"""A run killed at random moments, many times, and resumed each time."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from ghx_profiler.store.rows import read_rows

AGENT = """
from contextlib import asynccontextmanager
import anyio
from ghx_profiler import (Answer, AnalysisResult, BaseScenario, Instruments, Mode, Profile, Score, SessionTrace,
                                TextOutputEvent)

class Session:
    def __init__(self, request):
        self.id = f"{request.cell.scenario_id}-{request.mode.name}-{request.cell.iteration}"
    async def prompt(self, text):
        await anyio.sleep(0.005)
        return Answer(text="ok")
    async def trace(self):
        return SessionTrace(session_id=self.id, events=(TextOutputEvent(content="word " * 2000),))

class Agent:
    name = "slow"
    @asynccontextmanager
    async def session(self, request):
        yield Session(request)

class Fine:
    async def score(self, evidence):
        return Score(success=True)

class Says:
    name = "says"
    def analyze(self, evidence):
        return AnalysisResult(analyzer="says", findings={})

profile = Profile(
    scenarios=[BaseScenario(id=f"s-{n:03}", name="s", description="s", prompt="p", timeout_ms=9999) for n in range(10)],
    modes=[Mode(name="one"), Mode(name="two")],
    instruments=Instruments(provider=Agent(), scorer=Fine(), analyzers=[Says()]),
)
"""

CELLS = 10 * 2 * 10
KILLS = 12


@pytest.mark.nightly
def test_a_run_killed_at_random_moments_has_every_cell_exactly_once_in_the_end(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    dice = random.Random(4)
    killed = 0
    for _ in range(KILLS):
        directory = _run_directory(tmp_path)
        process = _start(tmp_path, directory)
        try:
            rows = _wait_for_rows(tmp_path, process, more=dice.randint(0, 7), than=_lines(directory))
            time.sleep(dice.uniform(0, 0.008))  # a random moment between two writes is the point of this test
            killed += rows is not None
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert process.stderr is not None
        process.stderr.close()
    last = _start(tmp_path, _run_directory(tmp_path))
    _out, errors = last.communicate()
    assert last.returncode == 0, errors.decode()

    directory = _run_directory(tmp_path)
    assert directory is not None
    counts = Counter(row.cell for row in read_rows(directory / "rows.jsonl"))
    assert killed >= KILLS // 2, "the process was too quick to be killed in the middle of its work"
    assert len(counts) == CELLS
    assert set(counts.values()) == {1}
    for kind in ("sessions", "analysis"):
        assert len([path for path in (directory / kind).rglob("*.json") if path.name[0] != "."]) == CELLS


SEVERAL = AGENT.replace("provider=Agent()", 'providers={"quick": Agent(), "other/agent": Agent()}')


def test_a_run_of_eight_arms_that_was_killed_has_every_cell_exactly_once_in_the_end(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(SEVERAL)
    models = ("--model", "vendor/one", "--model", "two", "--repetitions", "2")
    for _ in range(2):
        directory = _run_directory(tmp_path)
        process = _start(tmp_path, directory, *(() if directory else models))
        rows = _wait_for_rows(tmp_path, process, more=30, than=_lines(directory))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert rows is not None, "it ended by itself"
    before = _lines(_run_directory(tmp_path))
    last = _start(tmp_path, _run_directory(tmp_path))
    _out, errors = last.communicate(timeout=60)

    assert last.returncode == 0, errors.decode()
    directory = _run_directory(tmp_path)
    assert directory is not None
    counts = Counter(row.cell for row in read_rows(directory / "rows.jsonl"))
    assert 60 <= before < len(counts) == 8 * 10 * 2
    assert set(counts.values()) == {1}
    assert len({cell.arm for cell in counts}) == 8
    assert len(list((directory / "sessions").rglob("*.json"))) == len(counts)


def test_a_second_process_is_refused_while_the_first_one_runs(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT.replace("0.005", "0.5"))
    first = _start(tmp_path, None)
    try:
        _wait_for_rows(tmp_path, first, more=1, than=0)
        second = _start(tmp_path, _run_directory(tmp_path))
        _out, errors = second.communicate()
    finally:
        first.send_signal(signal.SIGKILL)
        first.communicate()

    assert second.returncode == 2
    assert f"another process (pid {first.pid}) is working on this run" in errors.decode()
    assert "Traceback" not in errors.decode()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command_says_how_to_resume_and_ends_with_130(number: int, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT.replace("0.005", "0.05"))
    process = _start(tmp_path, None)
    _wait_for_rows(tmp_path, process, more=2, than=0)
    process.send_signal(number)
    _out, errors = process.communicate()

    directory = _run_directory(tmp_path)
    assert directory is not None
    assert process.returncode == 130
    assert f"ghx-bench resume {directory.relative_to(tmp_path)}" in errors.decode()
    assert "Traceback" not in errors.decode()
    assert '"status": "interrupted"' in (directory / "run.json").read_text()
    done = _lines(directory)
    assert 2 <= done < CELLS


def _start(folder: Path, directory: Path | None, *flags: str) -> "subprocess.Popen[bytes]":
    new = [
        "profile",
        "agent.py",
        "--output-dir",
        "results",
        *(() if "--repetitions" in flags else ("--repetitions", "10")),
    ]
    arguments = [*(new if directory is None else ["resume", str(directory)]), "--max-concurrency", "4", *flags]
    return subprocess.Popen(
        [sys.executable, "-m", "ghx_bench.cli.main", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def _run_directory(folder: Path) -> Path | None:
    return next((record.parent for record in (folder / "results").glob("run_*/run.json")), None)


def _lines(directory: Path | None) -> int:
    rows = None if directory is None else directory / "rows.jsonl"
    return rows.read_bytes().count(b"\n") if rows is not None and rows.exists() else 0


def _wait_for_rows(folder: Path, process: "subprocess.Popen[bytes]", *, more: int, than: int) -> int | None:
    """Wait until the run has that many more rows; `None` if it ended by itself."""
    while process.poll() is None:
        rows = _lines(_run_directory(folder))
        if rows >= than + more and (more or rows):
            return rows
        time.sleep(0.001)
    return None
