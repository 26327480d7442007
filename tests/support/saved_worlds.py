"""Runs that keep worlds, and a shell in what was kept."""

import json
import subprocess
from pathlib import Path
from typing import Any

from bench_command import fork_ghx_bench, rows_of, run_in

SCENARIO = "issue-find-and-close-001"

_AGENT = """
from contextlib import asynccontextmanager

from ghx_profiler.agents import tool_belt
from ghx_profiler import Answer, TraceRecorder


class Agent:
    name = "scripted"

    @asynccontextmanager
    async def session(self, request):
        recorder = TraceRecorder()
        async with tool_belt(request, recorder, with_servers=False) as belt:
            yield Session(belt, recorder)


class Session:
    def __init__(self, belt, recorder):
        self.belt, self.recorder = belt, recorder

    async def prompt(self, text):
        await self.belt.shell({script!r})
        return Answer(text={answer!r})

    async def trace(self):
        return self.recorder.trace()
"""


def agent_with_shell(script: str, answer: str = "Done.") -> str:
    """Return the text of a module with an agent that runs a script in the shell of its session, and answers."""
    return _AGENT.format(script=script, answer=answer)


def keep_worlds(folder: Path, *flags: str) -> Path:
    """Run one scenario in one mode, once, with the flags; return the directory of the run."""
    usual = ("--mode", "baseline", "--repetitions", "1", "--skip-warmup", "--no-report", "--json")
    done = fork_ghx_bench(folder, "run", *usual, *flags)
    assert done.returncode == 0, done.stderr
    return run_in(folder)


def open_shell(
    folder: Path, cell: str, *command: str, flags: tuple[str, ...] = ()
) -> "subprocess.CompletedProcess[str]":
    """Run a command in the world of a cell of the folder's latest run."""
    return fork_ghx_bench(folder, "shell", "latest", cell, *flags, "--", *command)


def see(folder: Path, cell: str, *command: str, flags: tuple[str, ...] = ()) -> Any:
    """Return the JSON that a command prints in the world of a cell."""
    done = open_shell(folder, cell, *command, flags=flags)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def issue_of(run: Path) -> tuple[str, str]:
    """Return the repository and the number of the issue that the scenario of a run is about."""
    bindings = rows_of(run)[0].bindings
    return str(bindings["repo"]), str(bindings["issue_number"])
