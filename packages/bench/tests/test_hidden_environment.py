"""The keys of the person who starts a run: an agent does not find them in the memory of the bench."""

import sys
from pathlib import Path

import pytest
from bench_command import ghx_bench, rows_of, run_in, write_files

CANARY = "canary-5e1f0c"
CONFIG = """
agents: [./prying.py:Prying]
modes: [baseline]
scenarios: {ids: [issue-triage-001]}
execution: {repetitions: 1, warmup: false}
"""
PRYING = """
import subprocess
from contextlib import asynccontextmanager
from pathlib import Path
from ghx_profiler import Answer, TraceRecorder

# The parent of what a session starts is the bench.
LOOK = "cat /proc/$PPID/environ; cat /proc/$PPID/mem 2>&1 | head -c 0; echo; tr '\\\\0' ' ' < /proc/$PPID/cmdline"


class Prying:
    name = "looking"

    @asynccontextmanager
    async def session(self, request):
        yield Session(request)


class Session:
    def __init__(self, request):
        self.request = request

    async def prompt(self, text):
        found = subprocess.run(["/bin/sh", "-c", LOOK], env={}, capture_output=True, check=False).stdout
        Path("PLACE/found").write_bytes(found)
        Path("PLACE/inherited").write_text(subprocess.run(
            ["/bin/sh", "-c", "echo $MODEL_KEY"], capture_output=True, text=True, check=False).stdout)
        return Answer(text="done")

    async def trace(self):
        return TraceRecorder().trace()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the environment of a process in /proc")
def test_an_agent_does_not_find_the_keys_of_the_person_who_started_the_bench(tmp_path: Path) -> None:
    write_files(tmp_path, {"eval.config.yaml": CONFIG, "prying.py": PRYING.replace("PLACE", str(tmp_path))})

    done = ghx_bench(tmp_path, "run", "--no-report", extra={"MODEL_KEY": CANARY})

    assert done.returncode == 0, done.stderr
    assert len(rows_of(run_in(tmp_path))) == 1
    found = (tmp_path / "found").read_bytes()
    assert b"ghx-bench" in found, "the agent looked at another process"
    assert CANARY.encode() not in found
    # For the bench itself, and for what it starts on purpose, nothing has changed.
    assert (tmp_path / "inherited").read_text().strip() == CANARY
