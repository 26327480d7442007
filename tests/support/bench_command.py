"""The real `ghx-bench` command, in a folder of its own."""

import json
import os
import subprocess
import sysconfig
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from forked_commands import run_forked

from ghx_bench.cli.main import run
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.store.rows import read_rows

COMMAND = Path(sysconfig.get_path("scripts"), "ghx-bench")
_OURS = ("GITHUB_", "GH_", "GHX_")


def environment(folder: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a user who has no GitHub at all, and whose temporary files go into the folder."""
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    return {**kept, "TMPDIR": str(temporary), "HOME": str(folder), "COLUMNS": "100", **(extra or {})}


def ghx_bench(
    folder: Path, *arguments: str, extra: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run the command to its end."""
    return subprocess.run(
        [COMMAND, *arguments],
        cwd=folder,
        env=environment(folder, extra),
        capture_output=True,
        text=True,
        check=False,
    )


def run_in_process(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Return the exit code of the command, run in this process and folder, and everything it printed."""
    code = run(words)
    printed = capsys.readouterr()
    return code, printed.out + printed.err


def start(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    """Start the command, in a process group of its own."""
    return subprocess.Popen(
        [COMMAND, *arguments],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def fork_ghx_bench(
    folder: Path, *arguments: str, extra: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run the command to its end without a fresh start; see `forked_commands` for what that is not enough for."""
    return run_forked(COMMAND, arguments, folder=folder, environment=environment(folder, extra))


def run_in(folder: Path) -> Path:
    """Return the one run in the results of a folder."""
    (record,) = (folder / "results").glob("run_*/run.json")
    return record.parent


def rows_of(run: Path) -> list[ProfileRow]:
    return list(read_rows(run / "rows.jsonl"))


def wait_for_rows(folder: Path, process: "subprocess.Popen[str]", count: int) -> None:
    """Wait until the run has that many rows; it must not have ended by then."""
    while process.poll() is None:
        row_files = list((folder / "results").glob("run_*/rows.jsonl"))
        if row_files and row_files[0].read_bytes().count(b"\n") >= count:
            return
        time.sleep(0.005)
    raise AssertionError(f"the run ended with {process.returncode}: {process.communicate()[1]}")


def printed(done: "subprocess.CompletedProcess[str]") -> Any:
    """Return what was printed as JSON; a command that failed is shown whole."""
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def write_files(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def left_in(folder: Path) -> Sequence[str]:
    """Name the temporary files that are left of commands in a folder."""
    return sorted(each.name for each in (folder / "tmp").iterdir())


_AGENT = """
import subprocess
import sys
from contextlib import asynccontextmanager

from ghx_profiler import Answer, TraceRecorder


class Agent:
    name = "program"

    @asynccontextmanager
    async def session(self, request):
        self.environment = dict(request.environment)
        yield self

    async def prompt(self, text):
        subprocess.run([sys.executable, "-c", {program!r}], env=self.environment, check=True)
        return Answer(text={answer!r})

    async def trace(self):
        return TraceRecorder().trace()
"""


def agent_that_runs(program: str, answer: str) -> str:
    """Return the text of a module with an agent that runs a Python program in its session, and answers."""
    return _AGENT.format(program=program, answer=answer)
