"""A run with real programs, killed at random moments and resumed each time.

`GHX_BENCH_KILLS=200 pytest -s packages/bench/tests/test_killed_runs.py` kills more often than the suite has time for.
"""

import os
import random
import shutil
import signal
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
from bench_command import ghx_bench, left_in, printed, rows_of, start, write_files

from ghx_profiler.agents.processes import keeper

KILLS = int(os.environ.get("GHX_BENCH_KILLS", "6"))
CELLS = 12
KEEPER = keeper.__file__
RUN = ("run", "--agent", "agent.py", "--mode", "baseline", "--scenario", "issue-find-and-close-001", "--skip-warmup")
FLAGS = ("--repetitions", str(CELLS), "--max-concurrency", "2", "--json", "--no-report")

# Every session talks to GitHub, and leaves a daemon behind that has nothing in common with it but an ancestor.
AGENT = """
from contextlib import asynccontextmanager
from pathlib import Path

from ghx_profiler.agents import tool_belt
from ghx_profiler import Answer, TraceRecorder

HERE = Path(__file__).parent


class Agent:
    name = "daemonic"

    @asynccontextmanager
    async def session(self, request):
        recorder = TraceRecorder()
        async with tool_belt(request, recorder, with_servers=False) as belt:
            yield Session(belt, recorder)


class Session:
    def __init__(self, belt, recorder):
        self.belt, self.recorder = belt, recorder

    async def prompt(self, text):
        with (HERE / "begun").open("a") as file:
            file.write("x")
        await self.belt.shell(f"{HERE}/setsid {HERE}/env -i {HERE}/daemon 3000 >/dev/null 2>&1 & gh api user")
        await self.belt.shell("mktemp; gh api user; sleep 0.2")
        return Answer(text="done")

    async def trace(self):
        return self.recorder.trace()
"""


@pytest.mark.nightly
@pytest.mark.timeout(900 + 60 * KILLS)
def test_a_killed_run_has_every_cell_once_in_the_end_and_leaves_nothing(tmp_path: Path) -> None:
    project = write_files(tmp_path, {"agent.py": AGENT, "begun": ""})
    for name, program in (("daemon", "sleep"), ("setsid", "setsid"), ("env", "env")):
        shutil.copy(shutil.which(program) or "", project / name)
    dice = random.Random(KILLS)
    killed = programs_when_killed = finished = 0
    slowest_s = 0.0
    while killed < KILLS:
        run = unfinished_run(project)
        process = start(project, *((*RUN, *FLAGS) if run is None else ("resume", str(run), *FLAGS[-2:])))
        wait_for_sessions(project, process.pid, more=dice.choice([0, 1, 1, 2, 3]))
        time.sleep(dice.uniform(0, 1.0))  # a random moment is the point of this test
        programs = len(programs_of(project))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        finished += process.returncode != -signal.SIGKILL
        if process.returncode == -signal.SIGKILL:
            killed += 1
            programs_when_killed += programs
        began = time.monotonic()
        while left := programs_of(project):
            assert time.monotonic() < began + 30, f"{left} outlived the bench"
        slowest_s = max(slowest_s, time.monotonic() - began)
    if run := unfinished_run(project):
        printed(ghx_bench(project, "resume", str(run), *FLAGS[-2:]))

    runs = [each.parent for each in project.glob("results/*/run.json")]
    print(
        f"\n{killed} kills, {programs_when_killed} programs of sessions alive at them, gone after at most "
        f"{slowest_s:.2f} s; {len(runs)} runs, {finished} ends before the kill"
    )
    for run in runs:
        counts = Counter(row.cell for row in rows_of(run))
        assert len(counts) == CELLS, run
        assert set(counts.values()) == {1}
        assert len(list((run / "sessions").rglob("*.json"))) == CELLS
    assert programs_when_killed > 0, "no kill met a session with programs"
    assert programs_of(project) == []
    assert left_in(project) == []


def unfinished_run(project: Path) -> Path | None:
    """Return the run that has cells left; what was killed before it had a record is none."""
    for record in project.glob("results/*/run.json"):
        rows = record.with_name("rows.jsonl")
        if not rows.exists() or rows.read_bytes().count(b"\n") < CELLS:
            return record.parent
    return None


def wait_for_sessions(project: Path, pid: int, *, more: int) -> None:
    begun = project / "begun"
    before = begun.stat().st_size
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        if begun.stat().st_size >= before + more:
            return
        time.sleep(0.01)


def programs_of(project: Path) -> list[str]:
    """Return the programs of sessions in a project that run: those in its folder, and keepers without a bench."""
    found: list[str] = []
    for each in psutil.process_iter():
        try:
            if each.status() == psutil.STATUS_ZOMBIE:
                continue
            if (
                (KEEPER in each.cmdline() and each.ppid() == 1)
                or each.exe().startswith(str(project))
                or each.cwd().startswith(str(project / "tmp"))
            ):
                found.append(f"{each.pid} {each.name()}")
        except psutil.Error:
            continue
    return found
